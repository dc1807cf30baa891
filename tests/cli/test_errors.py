"""Errors on the command line: one line on standard error, nothing on standard output, exit status 2."""

import re
from pathlib import Path

import pytest

from tests.cli.running import Run

WRONG = {
    "an unknown command": ("comput", "unknown command 'comput'; did you mean 'compute'?"),
    "an unknown option": ("compute t.yaml --hedas 2", "unknown option --hedas; did you mean '--heads'?"),
    "an option without its value": (
        "compute t.yaml --heads",
        "Option '--heads' requires an argument; attn compute --help lists",
    ),
    "an argument too many": ("compute t.yaml u.yaml", "u.yaml; attn compute takes one problem; attn compare"),
    "a word for a number of heads": ("compute t.yaml --heads two", "--heads: 'two' is not a whole number"),
    "a word for a number of digits": ("compute t.yaml --precision x", "--precision: 'x' is not a whole number"),
    "a fraction for a part": ("demo --part 1.0", "--part: '1.0' is not a whole number"),
    "an integer of very many digits": (f"demo --precision {'9' * 5000}", " is not a whole number"),
    "digits that can't be shown": ("compute t.yaml --precision 99", "--precision: 99 digits can't be shown"),
    "a scale that is no number": ("compute t.yaml --scale nan", "--scale: 'nan' is not a finite number"),
    "a scale beyond all numbers": ("compute t.yaml --scale 1e999", "--scale: 1e999 is too large for a"),
    "several numbers": ("compute t.yaml --scale .5,1", "--scale: several values; attn compare --vary scale=.5,1"),
    "a range": ("check t.yaml --seed 1..30", "--seed: several values; attn compare --vary seed=1..30"),
    "several names": ("compute t.yaml --dtype float32,float64", "--dtype: several values; attn compare --vary dtype"),
    "an unknown context": ("compute t.yaml --context sum", "--context: unknown context 'sum'; "),
    "a parameter out of range": ("compute t.yaml --score gaussian:sigma=0", "sigma: 0 is out of range; expected > 0"),
    "a parameter that is missing": ("compute t.yaml --normalize topk", "--normalize: topk needs k; for example"),
    "an unknown format": ("compute t.yaml --format xml", "--format: unknown format 'xml'; expected one of table, json"),
    "a word for a number of terms": ("compute t.yaml --explain --terms few", "--terms: 'few' is not a number of terms"),
    "no terms": ("compute t.yaml --explain --terms 0", "--terms: '0' is not a number of terms"),
    "no name among names": ("compute t.yaml --select scores,", "--select: a name is empty in 'scores,'; expected"),
    "a selection of nothing": ("compute t.yaml --select=", "--select: a name is empty in ''; expected names between"),
    "a file without a name": ("compute t.yaml -o ", "--output: the name is empty; name a file, or - for standard"),
    "a folder without a name": ("generate t.yaml -o ", "--output: the name is empty"),
    "a copy without a name": ("demo --save=", "--save: the name is empty; name a file, or - for standard output"),
    "a list and a copy": ("demo --list --save x.yaml", "--list and --save contradict each other; leave out one"),
    "a type that a format lacks": ("compute t.yaml --dtype longdouble -o x.safetensors", "--output x.safetensors: "),
    "a folder for an output": ("compute t.yaml -o full", "--output full: is a folder; name a file in it"),
    "a folder with a suffix": ("compute t.yaml -o d.yaml", "d.yaml: is a folder; name a file in it"),
    "two formats": ("compute t.yaml --json --format csv", "--json and --format csv contradict each other"),
    "JSON in a file of CSV": ("compute t.yaml --json -o x.csv", "x.csv: json and the suffix .csv contradict each"),
    "an unknown suffix": ("compute t.yaml -o x.gif", "--output x.gif: the suffix '.gif' names no format"),
    "no suffix": ("compute t.yaml -o x", "--output x: the suffix '' names no format"),
    "a folder that is not there": ("compute t.yaml -o no/x.csv", "no/x.csv: can't be written (No such file"),
    "a cell that is none": ("compute t.yaml --explain --cell word_1", "--cell: 'word_1' is not a cell; expected"),
    "a cell that is not there": ("compute t.yaml --explain --cell word_1,9", "--cell: there is no position 9"),
    "a head that is not there": ("compute t.yaml --explain --head 1", "--head: there is only head 0"),
    "a file that is not there": ("compute no.yaml", "no.yaml: there is no such file"),
    "a folder for a file": ("compute d.yaml", "d.yaml: is a folder"),
    "a table for a problem": ("compute x.csv", "x.csv: is a table, not a problem"),
    "a matrix that is not there": ("compute t.yaml --w-q no.csv", "no.csv: there is no such file"),
    "a matrix that does not fit": (
        "compute t.yaml --w-q [[1,2]]",
        "--w-q: w_q has 1 row (x); embeddings has 3 columns (x)",
    ),
    "a window without a side": ("compute t.yaml --window 4,", "--window: '' is not a side of a window; expected"),
    "a list without quotes": ("compute --w-q [[1, 0], [0, 1]] t.yaml", "type --w-q '[[1, 0], [0, 1]]'"),
    "words without quotes": ("compute t.yaml --tokens [a, b, c, d]", "type --tokens '[a, b, c, d]'"),
    "a key of another library": ("compute k.yaml", "k.yaml, line 2: unknown key 'temperature'; give normalize, "),
    "an option of another library": ("compute t.yaml --num-heads 2", "--num-heads; give --heads 2"),
    "an option of another command": ("generate --decimals 2", "compute has it: give --precision 2"),
    "the rate of a descent": ("fit t.yaml --lr 0.1", "unknown option --lr; attn fit learns: give --rate 0.1"),
    "the rate of a descent elsewhere": ("compute t.yaml --lr 0.1", "--lr; attn fit learns: give --rate 0.1"),
    "training as an option": ("compute t.yaml --train", "--train; attn fit learns: give --learn w_q and --target out"),
    "training as a command": ("train t.yaml", "unknown command 'train'; type attn fit t.yaml"),
    "learning as a command": ("learn t.yaml --learn w_q", "'learn'; type attn fit t.yaml --learn w_q"),
    "an operator for an option": ("compute t.yaml --softmax", "--softmax; give --normalize softmax"),
    "an operator for a command": ("softmax", "unknown command 'softmax'; attn show softmax explains it"),
    "help for another command": ("help comput", "unknown command 'comput'; did you mean 'compute'?"),
    "another word for a command": ("explain softmax", "unknown command 'explain'; type attn show softmax"),
    "the version as a command": ("version", "unknown command 'version'; type attn --version"),
    "one word": ("hello", "'hello'; attn --help lists the commands; for a sentence of one word: attn compute "),
    "a sentence without quotes": ("my dog ate it", "lists the commands; for a sentence: attn 'my dog ate it'"),
    "words of an option behind": ("the cat --causal", "for a sentence: attn 'the cat' --causal"),
    "a sentence to compute": ("compute my dog ate it", "put a sentence in quotes: attn compute 'my dog ate it'"),
    "spaces in an edit": ("compute t.yaml --set embeddings[cat,x2] = 1", "type --set 'embeddings[cat,x2]=1'"),
    "spaces in a cell": ("compute t.yaml --cell 1 1", "--cell: the shell splits a value at spaces; type --cell 1,1"),
    "spaces in varied values": ("compare t.yaml --vary scale = 1,2", "type --vary scale=1,2"),
    "arrays to compute": (
        "compute q.npy k.npy v.npy",
        "are files of numbers, not of a problem; type attn compute --query q.npy --key k.npy --value v.npy",
    ),
    "arrays with options between": (
        "check q.npy --causal k.npy v.npy my_o.npy",
        "type --query q.npy --key k.npy --value v.npy --against output=my_o.npy",
    ),
    "arrays in another order": ("check --query q.npy o.npy v.npy --key k.npy", "--against output=o.npy --value v.npy"),
    "an unknown letter": ("compute t.yaml -x", "unknown option -x; attn compute --help lists the options"),
    "a temperature": ("compute t.yaml --temperature 0.5", "give --normalize softmax:temperature=0.5"),
    "temperatures": ("compare t.yaml --vary temperature=1,2", "'temperature'; give --vary normalize.temperature=1,2"),
    "a number of no default": ("compare t.yaml --vary topk=1,2", "give --vary normalize=topk --vary normalize.k=1,2"),
    "an option of two values": (
        "compare t.yaml --normalize softmax --normalize sparsemax",
        "--normalize: is given twice; to compare the values: --normalize softmax,sparsemax",
    ),
    "two files to write": (
        "compute t.yaml -o a.py -o b.html",
        "--output: is given twice, but only one file is written",
    ),
    "an option of two matrices": ("compare t.yaml --w-q a.csv --w-q b.csv", "--vary w_q=a.csv --vary w_q=b.csv"),
    "a length of other libraries": ("compute t.yaml --q-len 3", "--q-len; give --token-count, as in --token-count 4; "),
    "a mask of other libraries": ("compute t.yaml --attention-mask 1", "give --key-mask: 1 is a real key and 0"),
    "an unknown option that is near none": ("init --rewrite", "unknown option --rewrite; attn init --help lists the"),
    "another word for --force": ("init --redo", "unknown option --redo; give --force to replace a file"),
    "a file for a report": ("check t.yaml --output x", "--output x: the suffix '' names no format; expected one of"),
    "a picture of a check": ("check t.yaml --heatmap", "--heatmap; attn compute has it; attn check --help lists its"),
    "a key that is near none": ("compare t.yaml --vary nope=1", "--vary: unknown key 'nope'; attn list keys has every"),
    "a range with a hyphen": ("compare t.yaml --vary seed=1-30", "'1-30' is not a range; write seed=1..30"),
    "a range for an option": ("compute t.yaml --seed 1-30", "--seed: several values; attn compare --vary seed=1..30"),
    "a statistic for a result": ("compute t.yaml --select entropy", "it is a statistic: leave it out and add --stats"),
    "a statistic to compare": ("compare t.yaml --vary scale=1,2 --select largest", "leave it out and add --stats"),
    "a mapping with a name": ("compute name.yaml", '{"name": "softmax"} is not a name; write normalize: softmax'),
    "a printed table": ("compute printed.yaml", "is a table that attn printed, not a problem; add --json to"),
    "an unknown vocabulary": ("compute --sentence cat --vocabulary large", "unknown file 'large'; give small, which"),
    "a word without quotes": ("compute --tokens [a, b]", "type --tokens '[a, b]'"),
    "brackets that do not close": ("compute t.yaml --w-q [[1,2]", "--w-q: `[` is not closed; add ]"),
    "standard input twice": (
        "compute - --w-q -",
        "standard input: is named twice, but can be read only once; use - once",
    ),
    "nothing to compute": ("compute", "no input; type attn compute --embeddings '1 0 1; 0 1 0; 1 1 0' --explain"),
    "nothing to check": ("check", "no input; type attn check problem.yaml or attn check problem.yaml --against"),
    "nothing to compare": ("compare", "no input; type attn compare problem.yaml --vary "),
    "options alone": ("compute --causal", "no input; type attn compute --embeddings '1 0 1; 0 1 0; 1 1 0'"),
    "an option of an input alone": ("compute --tokens a,b", "no input; give embeddings, or query and key, or sentence"),
    "no folder to check": ("check nosuchdir", "nosuchdir: there is no such file or folder; expected .json, "),
    "a flag in words": ("compare t.yaml --vary causal=no,yes", "'no' is neither true nor false; write false"),
    "a number of one cell": (
        "check --query [[1]] --key [[1]] --against weights[0,1]=0.6",
        "is not NAME=NUMBERS; write 'weights={0: {1: 0.6}}'",
    ),
    "numbers without a name": ("check --query 1 --key 1 --against .4,.6", "no name; write NAME=NUMBERS: output=.4,.6"),
    "numbers left out": ("check --query 1 --key 1 --against weights=?,1", "out; give those that you know: weights={"),
    "results for a problem": ("compute both.yaml", "leave out one of them; attn check PROBLEM --against FILE compares"),
    "two names of which one means nothing": ("show w_q softmaxx", "unknown name 'w_q softmaxx'"),
    "no seed": ("compute --token-count 2 --dim 2", "seed: embeddings is drawn at random and there is no seed"),
    "an example over a file": ("demo tutorial --save t.yaml", "t.yaml: already exists; choose another name"),
    "a folder that is not empty": ("generate --seed 1 --token-count 2 --dim 2 -o full", "full: already exists; choose"),
    "escape sequences and newlines": ("compute a\x1b[31m\nb.yaml", "a\\x1b[31m\\nb.yaml: there is no such file"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_an_error_is_one_line_on_standard_error(
    words: str, message: str, run: Run, tutorial: str, tmp_path: Path
) -> None:
    (tmp_path / "d.yaml").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    (tmp_path / "x.csv").write_text("1,2\n")
    (tmp_path / "k.yaml").write_text("key: [[1]]\ntemperature: 2\n")
    (tmp_path / "name.yaml").write_text("query: [[1]]\nkey: [[1]]\nnormalize: {name: softmax}\n")
    (tmp_path / "both.yaml").write_text("scores: [[1]]\nweights: [[1]]\n")
    (tmp_path / "printed.yaml").write_text("scaled_dot → softmax\n\nscores\nn\\m   a   b\na   1   2\n")
    ran = run(*words.split(" "))
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("attn: ")
    assert ran.stderr.count("\n") == 1
    assert message in ran.stderr
    assert not re.search(r"(?<![\w.])1 (?!is\b|has\b|attends\b)[a-z]+s\b", ran.stderr), "one thing is no plural"


# Words with a slip of the keyboard, how the error begins, and the name that it proposes.
NEAR = [
    ("compute t.yaml --score gausian", "--score: ", "gaussian"),
    ("compute t.yaml --score gaussian:sigm=1", "--score: ", "sigma"),
    ("compute t.yaml --normalize softmx", "--normalize: ", "softmax"),
    ("compute t.yaml --dtype float46", "--dtype: ", "float64"),
    ("compute t.yaml --select weigths", "--select: ", "weights"),
    ("compute t.yaml --only word_11", "--only: ", "word_1"),
    ("compute t.yaml --as torch_sdpa", "--as: ", "torch-sdpa"),
    ("compute wrong.yaml", "wrong.yaml, line 2: ", "query"),
    ("check one.yaml --against ouput=1", "--against: ", "output"),
    ("compute t.yaml --as flashattention", "--as: ", "flash"),
    ("compute t.yaml --as torch", "--as: ", "torch-sdpa"),
    ("compute t.yaml --score dot_product", "--score: ", "dot"),
    ("check t.yaml --as fash", "--as: ", "flash"),
    ("compare t.yaml --vary sead=1", "--vary: ", "seed"),
    ("compare t.yaml --as fash", "--as: ", "flash"),
    ("demo tutorail", "", "tutorial"),
    ("demo shown.yaml", "shown.yaml, show: ", "weights"),
    ("list scorse", "", "scores"),
    ("show addtive", "", "additive"),
    ("show masked_score", "", "masked_scores"),
]


@pytest.mark.parametrize(("words", "place", "near"), NEAR, ids=[words for words, *_ in NEAR])
def test_the_nearest_name_is_proposed_where_the_wrong_one_stands(
    words: str, place: str, near: str, run: Run, tutorial: str, tmp_path: Path
) -> None:
    (tmp_path / "one.yaml").write_text("embeddings: [[1]]\n")
    (tmp_path / "wrong.yaml").write_text("key: [[1]]\nquary: [[1]]\n")
    (tmp_path / "shown.yaml").write_text("embeddings: [[1]]\nshow: [weigths]\n")
    ran = run(*words.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {place}")
    assert f" {near!r}" in ran.stderr.rpartition(";")[2]


# A file with a mistake (a warning's place too), and the line that it is on, with the place in it.
IN_YAML = {
    "no number": ("# a comment\nembeddings:\n- [1, 2]\n\n- [3, x]\n", "line 5, embeddings, row 2, number 2: "),
    "no number in one list": ("embeddings:\n  [[1, 2],\n   [3, x]]\n", "line 3, embeddings, row 2, number 2: "),
    "a short row": ("tokens: [a, b]\nembeddings:\n- [1, 2]\n- [3]\n", "line 4, embeddings, row 2: "),
    "a cell of a mask": ("query: [[1]]\nkey: [[1]]\nmask:\n- [2]\n", "line 4, mask: "),
    "an operator": ("query: [[1]]\nkey: [[1]]\n\nscore: [dot]\n", "line 4, score: "),
    "a label": ("embeddings: [[1], [2]]\ntokens:\n- [a]\n- b\n", "line 3, tokens: "),
    "a key that stands twice": ("query: [[1]]\nkey: [[1]]\nquery: [[2]]\n", "line 3: "),
    "a bracket": ("query: [[1]]\nkey: [[1]\nheads: 1\n", "line 2: `[` is not closed"),
    "a tab": ("query: [[1]]\nkey:\n\t- [1]\n", "line 3: "),
    "what is expected": ("query: [[1]]\nkey: [[1]]\nexpected:\n  weights: [[1, 2]]\n", "line 4, expected, weights: "),
}
IN_CSV = {
    "no number": ("1,2\n3,x\n", "line 2, number 2: "),
    "no number below names": (",x1,x2\na,1,2\nb,3,y\n", "line 3, number 2: "),
    "no number below comments": ("# c\n\n1,2\n# d\nx,3\n", "line 5, number 1: "),
    "a name of two lines": ('"a\nb",1,2\nc,3,x\n', "line 3, number 2: "),
    "no number behind a name of two lines": ('c,1,2\n"a\nb",3,x\n', "line 2, number 2: "),
    "line ends of Windows": ("1,2\r\n3,4\r\n5,x\r\n", "line 3, number 2: "),
    "many lines": ("1,2\n" * 3000 + "3,x\n", "line 3001, number 2: "),
    "a short row": ("1,2\n3,4\n5\n", "line 3: "),
    "an empty cell": ("1,2\n3,\n", "line 2, number 2: "),
    "bytes that are no text": ("1,2\n\udce9,3\n", "line 2: "),
}


@pytest.mark.parametrize(
    ("file", "text", "place"),
    [
        *(pytest.param("p.yaml", *case, id=f"YAML: {name}") for name, case in IN_YAML.items()),
        *(pytest.param("w.csv", *case, id=f"CSV: {name}") for name, case in IN_CSV.items()),
        pytest.param("w.tsv", "# c\n1\t2\n3\tx\n", "line 3, number 2: ", id="TSV"),
    ],
)
def test_a_mistake_is_reported_at_its_line(file: str, text: str, place: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(text.encode("utf-8", "surrogateescape"))
    ran = run("demo", file) if file == "p.yaml" else run("compute", "--embeddings", file)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {file}, {place}")


def test_what_is_not_finite_is_traced_to_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("# c\n1,2\n3,nan\n")
    (tmp_path / "p.yaml").write_text("key: w.csv\nquery:\n- [1, 2]\n- [.inf, 0]\n")
    assert "(p.yaml, line 4)" in run("compute", "p.yaml", "--key", "[[1, 2]]").stderr
    assert "(w.csv, line 3)" in run("compute", "p.yaml", "--only", "0").stderr


def test_an_error_leaves_the_old_output_file(run: Run, tutorial: str, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("old")
    assert run("compute", tutorial, "-o", "old.csv").returncode == 0
    before = (tmp_path / "old.csv").read_text()
    assert run("compute", tutorial, "--score", "nope", "-o", "old.csv").returncode == 2
    assert (tmp_path / "old.csv").read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.csv", "t.yaml"]

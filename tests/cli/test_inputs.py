"""What `attn` reads: pipes and files of every name, values that are empty, and errors that name their option."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from attncli.problem.spec import FIELDS
from tests.cli.running import Run

PROBLEM = "embeddings: [[1, 2, 3], [3, 4, 5]]\nw_q: [[1, 0], [0, 1], [1, 1]]\nw_k: [[1, 0], [0, 1], [1, 1]]\n"

# A wrong value of each option, in a problem that is right without it.
WRONG_VALUES: dict[str, str] = {
    "embeddings": "[[1, 2]]",
    "query_embeddings": "[[1, 2], [3]]",
    "tokens": "a",
    "query_tokens": "a",
    "sentence": "the cat",
    "vocabulary": "[[1, 2]]",
    "query": "[[1, 2, 3, 4]]",
    "key": "[[1, 2]]",
    "value": "[[1, 2]]",
    "w_q": "[[1, 2]]",
    "w_k": "[[1, 2]]",
    "w_v": "[[1, 2]]",
    "w_o": "[[1, 2]]",
    "b_q": "1,2,3",
    "b_k": "1,2,3",
    "b_v": "1,2",
    "b_o": "1,2",
    "heads": "3",
    "kv_heads": "3",
    "sink": "1,2",
    "scale": "x",
    "softcap": "0",
    "mask": "[[1, 1, 1]]",
    "bias": "[[1, 1, 1]]",
    "window": "4",
    "key_lengths": "3",
    "past_key": "[[1, 2, 3]]",
    "past_value": "[[1, 2, 3]]",
    "only": "nobody",
    "seed": "x",
    "token_count": "3",
    "dim": "7",
    "d_k": "5",
    "d_v": "5",
}


def option(key: str) -> str:
    """The option of a key."""
    return f"--{key.replace('_', '-')}"


@pytest.mark.parametrize("key", [key for key, field in FIELDS.items() if field.kind != "flag"])
def test_an_error_of_an_option_names_the_option(key: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROBLEM)
    for value in ("", WRONG_VALUES.get(key, "nothing-that-exists")):
        ran = run("compute", "p.yaml", option(key), value)
        assert ran.returncode == 2
        assert ran.stderr.startswith(f"attn: {option(key)}"), ran.stderr


CONTRADICTIONS = {
    "an option against a file": ("--embeddings [[1,2]]", "--embeddings: w_q has 3 rows (x); embeddings has 2 columns"),
    "a cache without values": ("--past-key [[1,2,3]]", "--past-key: a cache has keys and values; give past_key and"),
    "a query of a file with weights": ("--query [[1,2]]", "--query: query is already projected, so w_q would"),
    "a sentence and embeddings": ("--sentence a --vocabulary v.csv", "--sentence: sentence and embeddings are both"),
    "two options": ("--embeddings [[1,2]] --w-q [[1]]", "--w-q: w_q has 1 row (x); embeddings has 2 columns (x)"),
    "a name with an underscore": ("--kv-heads [[1", "--kv-heads: `[` is not closed; add ]"),
}


@pytest.mark.parametrize(("words", "message"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_contradiction_names_the_option_that_makes_it(words: str, message: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROBLEM)
    (tmp_path / "v.csv").write_text("a,1\n")
    ran = run("compute", "p.yaml", *words.split())
    assert ran.stderr.startswith(f"attn: {message}"), ran.stderr


# What a shell splits, or what is no value, and what the error says to type.
SPLIT = {
    "a list for a number": ("--heads [1, 2]", "put a list in quotes, as in '[1, 2]'"),
    "numbers": ("--query 1 2", "type --query '1 2'"),
    "numbers over the end": ("--query 1 0 2", "type --query '1 0 2'"),
    "numbers and a file": ("--query 1 0 2 p.yaml", "type --query '1 0 2'"),
    "a negative number": ("--query -1 0 -2", "type --query '-1 0 -2'"),
    "a matrix": ("--w-q [[1, 0], [0, 1]]", "type --w-q '[[1, 0], [0, 1]]'"),
    "a window": ("--window 3 0", "type --window 3,0"),
    "names": ("--select weights output", "type --select weights,output"),
    "names with a comma": ("p.yaml --select weights, output", "type --select weights,output"),
    "labels": ("--tokens the cat", "type --tokens the,cat"),
    "a sentence": ("--sentence the cat sat", "type --sentence 'the cat sat'"),
    "quotes of another shell": ("--query '1 0; 0 1'", 'type --query "1 0; 0 1"'),
    "quotes of another shell without spaces": ("--query '[[1,0],[0,1]]'", 'type --query "[[1,0],[0,1]]"'),
    "yes": ("--causal yes", "type --causal alone"),
    "no": ("p.yaml --causal no", "type --no-causal"),
    "a value of a flag": ("p.yaml --causal=yes", "type --causal alone"),
    "a value of a flag without a contrary": ("p.yaml --explain false", "leave it out"),
    "a word for a number": ("p.yaml --precision abc", "type one, such as --precision 2"),
}


@pytest.mark.parametrize(("words", "typed"), SPLIT.values(), ids=SPLIT)
def test_the_error_of_a_value_says_what_to_type(words: str, typed: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROBLEM)
    ran = run("compute", *words.split())
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert typed in ran.stderr


def test_a_file_behind_the_value_of_an_option_is_the_problem(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROBLEM)
    (tmp_path / "1").write_text(PROBLEM)
    assert run("compute", "--select", "weights", "p.yaml").returncode == 0
    assert run("compute", "--w-q", "[[1, 0], [0, 1], [1, 1]]", "p.yaml").returncode == 0
    assert run("compute", "--causal", "1").returncode == 0


ARRAYS: dict[str, Callable[[io.BytesIO], None]] = {
    "npz": lambda stream: np.savez(stream, w=np.eye(3)),
    "npy": lambda stream: np.save(stream, np.eye(3)),
    "csv": lambda stream: np.savetxt(stream, np.eye(3), delimiter=","),
}


@pytest.mark.parametrize("save", ARRAYS.values(), ids=ARRAYS)
def test_an_array_comes_through_standard_input(save: Callable[[io.BytesIO], None], run: Run) -> None:
    save(stream := io.BytesIO())
    ran = run("compute", "--embeddings", "-", "--select", "embeddings", "--json", input=stream.getvalue())
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["embeddings"] == np.eye(3).tolist()


@pytest.mark.deep
@pytest.mark.parametrize(("name", "word"), [("npz", "-"), ("npy", "/dev/stdin"), ("csv", "/dev/fd/0")])
def test_an_array_comes_through_a_pipe(name: str, word: str, tmp_path: Path) -> None:
    ARRAYS[name](stream := io.BytesIO())
    words = [sys.executable, "-m", "attncli", "compute", "--embeddings", word, "--select", "scores", "--json"]
    ran = subprocess.run(words, cwd=tmp_path, input=stream.getvalue(), capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b'"scores"' in ran.stdout


@pytest.mark.deep
def test_a_stream_without_end_ends_the_program(tmp_path: Path) -> None:
    command = f"yes 1,2 | {sys.executable} -m attncli compute --embeddings - --max-size 2M"
    ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "standard input: has more than the 2.0 MB that may be read (--max-size)" in ran.stderr


@pytest.mark.parametrize("command", ["compute", "generate", "demo"])
def test_a_file_is_read_up_to_the_limit(command: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROBLEM)
    ran = run(command, "p.yaml", "--max-size", "50")
    assert ran.stderr == (
        f"attn: p.yaml: has {len(PROBLEM)} bytes, more than the 50 bytes that may be read (--max-size); "
        "allow more with --max-size\n"
    )
    assert run(command, "p.yaml", "--max-size", "1K").returncode == 0
    assert "--max-size: 'x' is not a size" in run(command, "p.yaml", "--max-size", "x").stderr


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("--vocabulary problem.yaml", "name one: problem.yaml#vocabulary"),
        ("--vocabulary words.yaml", "name one: words.yaml#many, words.yaml#few"),
    ],
)
def test_an_entry_that_can_be_a_vocabulary_is_proposed(words: str, hint: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "problem.yaml").write_text("title: One\nsentence: a\nvocabulary: {a: [1, 2]}\n")
    (tmp_path / "words.yaml").write_text("about: words\nmany: {a: [1, 2]}\nfew: {b: [1, 2]}\n")
    assert hint in run("compute", "--sentence", "a", *words.split()).stderr


@pytest.mark.parametrize(
    ("earlier", "last"),
    [
        (("--causal",), ("--no-causal",)),
        (("--no-causal",), ("--causal",)),
        (("--heads", "9"), ("--heads", "1")),
        (("--scale", "x"), ("--scale", "2")),
        (("--precision", "2"), ("--precision", "1")),
        (("--score", "dot"), ("--score", "cosine")),
        (("--format", "csv"), ("-f", "json")),
        (("--as", "flash"), ("--as", "torch-sdpa")),
    ],
    ids=str,
)
def test_the_last_of_an_option_given_twice_wins(
    earlier: tuple[str, ...], last: tuple[str, ...], run: Run, tutorial: str
) -> None:
    twice, once = (run("compute", tutorial, *words) for words in ((*earlier, *last), last))
    assert (twice.returncode, twice.stdout, twice.stderr) == (0, once.stdout, once.stderr)
    assert twice.stdout != run("compute", tutorial, *earlier).stdout

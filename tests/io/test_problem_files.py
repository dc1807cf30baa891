"""Problem files: errors of one line with file, line and key; and those of a folder."""

import os
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.io.inputs import Inputs
from attncli.io.problem_files import expects_something, files_of_problems
from tests.problems import write_file

REFUSED = {
    "an unknown key": ("embedings: [[1]]", "p.yaml, line 1: unknown key 'embedings'"),
    "no mapping": ("[[1, 2]]", "p.yaml: is not a problem; expected keys such as embeddings:"),
    "nothing": ("# nothing\n", "p.yaml: is empty"),
    "a number as text": ("embeddings: [[1]]\nheads: '2'", "p.yaml, heads: '2' is not a whole number"),
    "half a head": ("embeddings: [[1]]\nheads: 1.5", "p.yaml, heads: 1.5 is not a whole number"),
    "true heads": ("embeddings: [[1]]\nheads: true", "p.yaml, heads: True is not a whole number"),
    "no heads": ("embeddings: [[1]]\nheads: 0", "p.yaml, heads: 0 is out of range; expected 1 or more"),
    "an infinite scale": ("embeddings: [[1]]\nscale: .inf", "p.yaml, scale: inf is not a finite number"),
    "a seed below nothing": ("embeddings: [[1]]\nseed: -1", "p.yaml, seed: -1 is out of range; expected 0 or more"),
    "an infinite seed": ("embeddings: [[1]]\nseed: .inf", "p.yaml, seed: inf is not a whole number"),
    "an unknown score": ("embeddings: [[1]]\nscore: dots", "p.yaml, score: unknown score 'dots'"),
    "a list as a score": ("embeddings: [[1]]\nscore: [dot]", "p.yaml, line 2, score: "),
    "a parameter out of range": (
        "embeddings: [[1]]\nnormalize: softmax:temperature=0",
        "p.yaml, normalize, softmax, temperature: 0 is out of range; expected > 0",
    ),
    "a matrix that is a list": (
        "embeddings: [1, 2]",
        "p.yaml, line 1, embeddings: has 1 axis; expected rows of numbers",
    ),
    "a vector that is a matrix": ("embeddings: [[1]]\nb_q: [[1, 2], [3, 4]]", "p.yaml, line 2, b_q: has 2 axes"),
    "a matrix without numbers": ("embeddings: [[]]", "p.yaml, embeddings: has no numbers"),
    "a matrix without rows": ("embeddings: []", "p.yaml, line 1, embeddings: has 1 axis"),
    "a label that is a list": ("embeddings: [[1]]\ntokens: [[a]]", 'p.yaml, line 2, tokens: ["a"] is not a label'),
    "a label that is nothing": ("embeddings: [[1]]\ntokens:\n- \n", "p.yaml, line 3, tokens: null is not a label"),
    "a label of a list in lines": (
        "embeddings: [[1], [2]]\ntokens:\n- a\n\n- [b]",
        'p.yaml, line 5, tokens: ["b"] is not a label',
    ),
    "a query of a list in lines": (
        "embeddings: [[1], [2]]\ntokens: [cat, sat]\nonly:\n- cat\n- sta",
        "p.yaml, line 5, only: unknown token 'sta'; did you mean 'sat'?",
    ),
    "a row of a table that is not there": (
        "token_table: [[1], [2]]\ntokens:\n- 0\n- 2",
        "p.yaml, line 4, tokens: there is no token 2",
    ),
    "a label with NUL": (
        'embeddings: [[1]]\ntokens: ["a\\0"]',
        "p.yaml, line 2, tokens: 'a\\x00' has the character NUL",
    ),
    "labels and no labels": ("embeddings: [[1]]\ntokens: []", "p.yaml, line 2, tokens: has no labels"),
    "words without a sentence": (
        "vocabulary: {the: [1]}",
        "p.yaml, sentence: vocabulary is given without sentence; give both",
    ),
    "a sentence and embeddings": (
        "sentence: a\nvocabulary: {a: [1]}\nembeddings: [[1]]",
        "p.yaml, embeddings: sentence and embeddings are both given",
    ),
    "a vocabulary without words": (
        "sentence: a\nvocabulary: [[1]]",
        "p.yaml, line 2, vocabulary: has no words; expected a vector for each word",
    ),
    "a layout that is none": ("embeddings: [[1]]\nweight_layout: in", "p.yaml, weight_layout: unknown word 'in'"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_an_error_in_a_problem_file_has_its_file_line_and_key(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(AttnError) as caught:
        attncli.load(write_file(tmp_path, text))
    shown = caught.value.typed.replace(f"{tmp_path}/", "")
    assert shown.startswith(message)
    assert "\n" not in shown


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.csv", "x.csv: is a table, not a problem; give it as an option: --embeddings x.csv"),
        ("x.png", "x.png: is not a problem file; expected .json, .yaml, .yml, .npz, .safetensors, .xlsx"),
        (
            "picture.gif",
            "picture.gif: there is no such file or folder; expected .json, .yaml, .yml, .npz, .safetensors, .xlsx or -",
        ),
        ("no.yaml", "no.yaml: there is no such file"),
        ("no.npz", "no.npz: there is no such file"),
    ],
)
def test_a_file_of_another_format_is_an_error(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("1,2\n")
    Path("x.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    with pytest.raises(AttnError) as caught:
        attncli.load(name)
    assert caught.value.typed == message


def test_a_checkpoint_given_as_a_problem_is_an_error_with_a_hint(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", **{"layer.0.weight": np.eye(2)})
    with pytest.raises(AttnError) as caught:
        attncli.load(tmp_path / "m.npz")
    assert caught.value.typed.replace(f"{tmp_path}/", "") == (
        "m.npz: has no entry with the name of a key; "
        "name the entry where it belongs, as in --w-q 'm.npz#layer.0.weight'"
    )


@pytest.mark.parametrize("name", ["a\0b.yaml", "~no-such-user/p.yaml"])
def test_an_invalid_path_is_an_error(name: str) -> None:
    with pytest.raises(AttnError) as caught:
        attncli.load(name)
    assert name.rpartition("\0")[2] in caught.value.typed


@pytest.mark.parametrize("key", ['"heads": %', '"scale": %', '"score": {"gaussian": {"sigma": %}}'])
def test_an_integer_beyond_all_floats_is_an_error_in_json_too(key: str, tmp_path: Path) -> None:
    text = f'{{"embeddings": [[1, 2]], {key.replace("%", "9" * 400)}}}'
    with pytest.raises(AttnError, match=r"p\.json"):
        attncli.load(write_file(tmp_path, text, "p.json"))


PROBLEM = "embeddings: [[1, 0], [0, 1]]\n"


def test_the_files_are_sorted_also_those_in_folders_and_hidden_ones_are_left_out(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.json", "in/c.npz", "in/deep/d.safetensors", "x.csv", "x.npy", ".e.yaml", ".git/f.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "link.yaml").symlink_to("nowhere.yaml")
    found = [Path(file).relative_to(tmp_path).as_posix() for file in files_of_problems(str(tmp_path))]
    assert found == ["a.json", "b.yaml", "in/c.npz", "in/deep/d.safetensors", "link.yaml"]


def test_a_link_to_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to("nowhere.yaml")
    with pytest.raises(AttnError, match=r"there is no such file; it is a link to 'nowhere\.yaml'"):
        expects_something(str(tmp_path / "link.yaml"), Inputs())


@pytest.mark.parametrize(
    ("text", "expects"),
    [
        (f"{PROBLEM}expected: {{output: [[1, 2], [3, 4]]}}\n", True),
        (f"{PROBLEM}parts: [{{causal: true}}]\n", True),
        (PROBLEM, False),
        ("[[1, 2], [3, 4]]\n", False),
        ("format: attn.result/1\noutput: [[1]]\n", False),
    ],
)
def test_a_text_expects_something_by_its_keys(text: str, expects: bool, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(text)
    assert expects_something(str(tmp_path / "p.yaml"), Inputs()) == expects


@pytest.mark.parametrize(
    ("names", "expects"),
    [
        (("query", "output"), True),
        (("query", "weights"), True),
        (("weights", "value", "output"), True),
        (("query", "key"), False),
        (("output",), False),
        (("q", "k", "out"), True),
        (("q", "query", "o"), True),
        (("out", "v"), True),
        (("out",), False),
        (("scores", "weights", "output"), False),
    ],
)
def test_an_archive_expects_its_entries_of_results(names: tuple[str, ...], expects: bool, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", **dict.fromkeys(names, np.eye(2)))
    assert expects_something(str(tmp_path / "p.npz"), Inputs()) == expects


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("a: [")
    with pytest.raises(AttnError, match=r"p\.yaml, line 1: `\[` is not closed"):
        expects_something(str(tmp_path / "p.yaml"), Inputs())


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_lists_under_the_names_of_kernels_are_read_and_numbers_are_not(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"p.{suffix}"
    file.write_text('{"q": [[1, 0]], "k": [[1, 0], [0, 1]], "expected": {"out": [[0.5, 0.5]]}}')
    problem = attncli.load(file)
    assert (problem.query.tolist(), problem.key.shape) == ([[1.0, 0.0]], (2, 2))
    assert list(problem.expected.by_name) == ["output"]
    file.write_text('{"query": [[1, 0]], "key": [[1, 0]], "k": 2}')
    with pytest.raises(AttnError, match="unknown key 'k'"):
        attncli.load(file)
    file.write_text('{"query": [[1, 0]], "key": [[1, 0]], "q": [[1, 0]]}')
    with pytest.raises(AttnError, match="unknown key 'q'"):
        attncli.load(file)

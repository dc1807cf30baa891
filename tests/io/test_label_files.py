"""Labels of options and of files: lists, numbers, lines; and labels that have commas themselves."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.io.label_files import labels_of_text
from tests.arrays import normal
from tests.cli.running import Run, run_in_process
from tests.problems import write_file


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return partial(run_in_process, folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("the, cat", ["the", "cat"]),
        ('the,",",cat', ["the", ",", "cat"]),
        ('"a ""b"", c",d', ['a "b", c', "d"]),
        ('5" pipe,"', ['5" pipe', '"']),
        ("[CLS],the,[SEP]", ["[CLS]", "the", "[SEP]"]),
        ("[CLS]", ["[CLS]"]),
        ("[the, cat", ["[the", "cat"]),
        ("[the, ',', \"[SEP]\"]", ["the", ",", "[SEP]"]),
        ("[010, no, 1e3]", ["010", "no", "1e3"]),
        ("[[101, 102]]", ["101", "102"]),
    ],
)
def test_the_labels_of_a_text_are_between_commas_or_in_a_list(text: str, labels: list[str]) -> None:
    assert list(map(str, labels_of_text(text, ()))) == labels


def test_a_list_that_is_not_closed_is_an_error_of_the_option(run: Run) -> None:
    ran = run("compute", "--seed", "1", "--dim", "2", "--tokens", "[the, 'cat]")
    assert (ran.returncode, ran.stderr.startswith("attn: --tokens: ")) == (2, True)


WRITTEN = {
    "ids.json": "[101, 7592, 102]",
    "batch.json": json.dumps({"input_ids": [[101, 7592, 102]], "attention_mask": [[1, 1, 1]]}),
    "one.json": '{"ids": [101, 7592, 102]}',
    "two.json#ids": '{"ids": [101, 7592, 102], "mask": [1, 1, 1]}',
    "ids.yaml": "- 101\n- 7592\n- 102\n",
    "ids.txt": "101\n7592\n\n102\n",
    "line.txt": "101 7592 102\n",
    "ids.csv": "101,7592,102\n",
    "ids.npy": "",
    "ids.npz#input_ids": "",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_of_numbers_is_read_by_option_and_by_key(name: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / name.partition("#")[0]
    numbers = np.array([[101, 7592, 102]])
    if WRITTEN[name]:
        file.write_text(WRITTEN[name], encoding="utf-8")
    elif file.suffix == ".npy":
        np.save(file, numbers)
    else:
        np.savez(file, input_ids=numbers)
    np.save(tmp_path / "x.npy", normal(3, 2))
    ran = run("compute", "--embeddings", "x.npy", "--tokens", name, "--select", "weights", "--json")
    assert json.loads(ran.stdout)["key_tokens"] == ["101", "7592", "102"]
    loaded = attncli.load(write_file(tmp_path, f"embeddings: x.npy\ntokens: {name}\n"))
    assert loaded.tokens == ("101", "7592", "102")


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("w.txt", 'the\n,\n"\n[SEP]\n', ("the", ",", '"', "[SEP]")),
        ("w.txt", "the cat sat\n", ("the", "cat", "sat")),
        ("w.txt", 'the,",",cat\n', ("the", ",", "cat")),
        ("w.json", '["the", ",", "[SEP]"]', ("the", ",", "[SEP]")),
    ],
)
def test_a_file_of_words_is_read(name: str, text: str, labels: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    file = write_file(tmp_path, f"tokens: {name}\nembeddings: normal\nseed: 1\ndim: 2\n")
    assert attncli.load(file).tokens == labels


def test_standard_input_has_tokens(run: Run) -> None:
    words = ("compute", "--token-table", "1 2; 3 4", "--select", "output", "--json", "--tokens", "-")
    assert json.loads(run(*words, input="[1, 0]").stdout)["key_tokens"] == ["1", "0"]
    assert "named twice" in run("compute", "-", "--tokens", "-", input="").stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.json", '{"a": [1], "b": [2]}', "w.json: has several entries; name one of a, b: w.json#a"),
        ("w.json#c", '{"a": [1]}', "w.json: has no entry 'c'; name one of a: w.json#a"),
        ("w.json#c", "[1]", "w.json: has no entry 'c': it is a list"),
        ("w.txt", "\n", "w.txt: has no labels; expected one in each line, or a list in JSON"),
        ("w.npy", None, "w.npy: there is no such file"),
    ],
)
def test_what_has_no_labels_is_named(
    name: str, text: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path(name.partition("#")[0]).write_text(text, encoding="utf-8")
    with pytest.raises(AttnError) as caught:
        attncli.load(write_file(tmp_path, f"tokens: {name}\nembeddings: normal\nseed: 1\ndim: 2\n"))
    assert str(caught.value).replace(f"{tmp_path}/", "") == message


@pytest.mark.parametrize(
    "words",
    [("--cell", '",",cat', "--explain"), ("--only", '","'), ("--set", 'embeddings[",",0]=3')],
    ids=lambda words: words[0],
)
def test_a_token_that_is_a_comma_is_named_in_quotes(words: tuple[str, ...], run: Run) -> None:
    ran = run("compute", "--seed", "1", "--dim", "2", "--tokens", 'the,",",cat', *words)
    assert (ran.returncode, ran.stderr) == (0, "")

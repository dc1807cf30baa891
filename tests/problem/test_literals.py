"""Literals: matrices as people type them, and one rule for numbers in every reader."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli import Problem, load
from attncli.base.errors import AttnError
from attncli.io.assemble import assemble
from attncli.io.parse import read_text_array
from attncli.io.problem_files import Origin
from attncli.problem.numbers import read_typed_matrix
from tests.cli.running import run_in_process
from tests.problems import raw_values, write_file

IDENTITY = [[1, 0], [0, 1]]
TYPED: dict[str, Any] = {
    "1 0; 0 1": IDENTITY,
    "1,0;0,1": IDENTITY,
    " 1, 0 ; 0 ,1 ;": IDENTITY,
    "[1 0; 0 1]": IDENTITY,
    "[1, 0; 0, 1]": IDENTITY,
    "1 0\n0 1\n": IDENTITY,
    "1,0,2": [[1, 0, 2]],
    "[1 0 2]": [[1, 0, 2]],
    "1; 2": [[1], [2]],
    "-1 1e3; .5 010": [[-1, 1000], [0.5, 10]],
    "1/2 -2*sqrt(2); (1 + 3)/2 0": [[0.5, -2 * math.sqrt(2)], [2, 0]],
    "-inf 0; 0 Infinity": [[-math.inf, 0], [0, math.inf]],
    "true false; true true": [[True, False], [True, True]],
    "3": 3,
    "1/2": 0.5,
    "words.csv": None,
    "[1, 2]": None,
    "[[1, 2], [3, 4]]": None,
    "a 0; 0 1": None,
    "0x10": None,
    "": None,
}


@pytest.mark.parametrize(("text", "rows"), TYPED.items(), ids=repr)
def test_rows_are_separated_by_semicolons_and_numbers_by_blanks_or_commas(text: str, rows: Any) -> None:
    assert read_typed_matrix(text, ()) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0; 0 x", "w, row 2, number 2: 'x' is not a number"),
        ("1 0;; 0 1", "w, row 2, number 1: is empty"),
        ("1,,2", "w, number 2: is empty"),
        ("1, 0x1F", "w, number 2: '0x1F' is not a number; write it in decimal digits: 31"),
        ("1 1/0", "w, number 2: 1/0 is not a finite number"),
    ],
)
def test_an_error_names_the_row_and_the_number(text: str, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        read_typed_matrix(text, ("w",))
    assert str(caught.value) == message


def test_a_file_of_that_name_has_precedence(tmp_path: Path) -> None:
    write_file(tmp_path, "5,6\n7,8\n", "1 0; 0 1")
    found = read_text_array("1 0; 0 1", ("w_q",), Origin(folder=tmp_path))
    assert found.array.tolist() == [[5, 6], [7, 8]]


OPTIONS = {
    "a matrix": ["--embeddings", "1 0; 0 1"],
    "a negative number first": ["--embeddings", "[[1, 0], [0, 1]]", "--w-q", "-1 0; 0 1"],
    "a vector": ["--embeddings", "1 0; 0 1", "--b-q", "1/2, -sqrt(2)"],
    "a mask": ["--embeddings", "1 0; 0 1", "--mask", "1 0; 1 1"],
    "a mask of booleans": ["--embeddings", "1 0; 0 1", "--mask", "true,false;true,true", "--key-mask", "true true"],
    "one number": ["--embeddings", "1; 2", "--w-q", "3", "--sink", "1/2"],
    "parameters": [
        "--embeddings",
        "1 0; 0 1",
        "--score",
        "gaussian:sigma=1/2",
        "--normalize",
        "softmax:temperature=pi/2",
    ],
    "a matrix of an operator": ["--embeddings", "1 0; 0 1", "--score", "additive:w1=1 0;0 1,w2=1 0;0 1,v=1/2;1"],
    "a scale": ["--embeddings", "1 0; 0 1", "--scale", "1/sqrt(3)"],
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options_have_them(options: list[str], tmp_path: Path) -> None:
    ran = run_in_process("compute", *options, folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_expressions_stand_in_yaml_json_and_python_and_not_in_csv(tmp_path: Path) -> None:
    write_file(tmp_path, "1/2,1\n3/4,2\n", "words.csv")
    yaml = write_file(tmp_path, "embeddings: [[1/2, sqrt(3)], [0, -2*sqrt(2)]]\nscale: 1/3\n")
    json = write_file(tmp_path, '{"embeddings": [["1/2", "sqrt(3)"], [0, "-2*sqrt(2)"]], "scale": "1/3"}', "p.json")
    python = Problem(embeddings=[["1/2", "sqrt(3)"], [0, "-2*sqrt(2)"]], scale="1/3")
    for problem in (load(yaml), load(json), python):
        assert problem.spec.embeddings.tolist() == [[0.5, math.sqrt(3)], [0, -2 * math.sqrt(2)]]
        assert problem.spec.scale == 1 / 3
    labelled = load(write_file(tmp_path, "embeddings: words.csv\n", "csv.yaml")).spec
    assert labelled.tokens == ("1/2", "3/4")
    assert labelled.embeddings.tolist() == [[1], [2]]


def matrix_in_yaml(cell: str, folder: Path) -> np.ndarray:
    """A cell without quotes in a problem file."""
    return attncli.load(write_file(folder, f"embeddings: [[1, {cell}]]\n")).embeddings


def matrix_in_json(cell: str, folder: Path) -> np.ndarray:
    """A cell as a text in a problem file of JSON, as attn itself writes it."""
    return attncli.load(write_file(folder, json.dumps({"embeddings": [[1, cell]]}), "p.json")).embeddings


def matrix_in_a_yaml_file(cell: str, folder: Path) -> np.ndarray:
    """A cell in quotes in a file of one matrix."""
    write_file(folder, f"- [1, '{cell}']\n", "x.yaml")
    return attncli.load(write_file(folder, "embeddings: x.yaml\n")).embeddings


def matrix_in_csv(cell: str, folder: Path) -> np.ndarray:
    """A cell of a table."""
    write_file(folder, f"1,{cell}\n", "x.csv")
    return attncli.load(write_file(folder, "embeddings: x.csv\n")).embeddings


def matrix_in_an_option(cell: str, folder: Path) -> np.ndarray:
    """A cell on the command line."""
    return np.asarray(assemble(raw_values(Origin(options=True), embeddings=f"[[1, {cell}]]")).embeddings)


def vector_in_an_option(cell: str, folder: Path) -> np.ndarray:
    """A number between commas on the command line."""
    values = raw_values(Origin(options=True), embeddings="[[1, 2]]", b_q=f"1,{cell}")
    return np.asarray(assemble(values).b_q)[None]


READERS = (
    matrix_in_yaml,
    matrix_in_json,
    matrix_in_a_yaml_file,
    matrix_in_csv,
    matrix_in_an_option,
    vector_in_an_option,
)
every_reader = pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
NAN, INF = float("nan"), float("inf")
WORDS = {
    "nan": NAN, "NaN": NAN, ".nan": NAN, ".NAN": NAN,
    "inf": INF, ".inf": INF, "Infinity": INF, "+inf": INF, "-inf": -INF, "-.Inf": -INF, "-Infinity": -INF,
}  # fmt: skip


@every_reader
@pytest.mark.parametrize(("word", "number"), WORDS.items(), ids=WORDS)
def test_nan_and_infinities_are_read(
    word: str, number: float, read: Callable[[str, Path], np.ndarray], tmp_path: Path
) -> None:
    np.testing.assert_array_equal(read(word, tmp_path), [[1, number]])


@every_reader
@pytest.mark.parametrize("word", ["0x10", "0o17", "0b1", "1_000", "1.5.2"])
def test_a_number_that_is_not_decimal_is_an_error(
    word: str, read: Callable[[str, Path], np.ndarray], tmp_path: Path
) -> None:
    with pytest.raises(AttnError, match=r"is not a number"):
        read(word, tmp_path)


@pytest.mark.parametrize("read", [matrix_in_yaml, matrix_in_csv, matrix_in_an_option, vector_in_an_option])
def test_a_number_with_leading_zeros_is_decimal(read: Callable[[str, Path], np.ndarray], tmp_path: Path) -> None:
    assert read("010", tmp_path).tolist() == [[1, 10]]


def test_numbers_of_json_may_be_words_without_quotes(tmp_path: Path) -> None:
    problem = attncli.load(write_file(tmp_path, '{"embeddings": [[NaN, -Infinity]]}', "p.json"))
    np.testing.assert_array_equal(problem.embeddings, [[NAN, -INF]])

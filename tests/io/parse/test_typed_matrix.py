"""Matrices as people type them, wherever a text stands in place of an array."""

import math
from pathlib import Path
from typing import Any

import pytest

from attncli import Problem, load
from attncli.base.errors import AttnError
from attncli.io.origin import Origin
from attncli.io.parse.matrix import read_text_array
from attncli.io.parse.typed_matrix import read_typed_matrix
from tests.cli.running import run_in_process
from tests.problems import write_file

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

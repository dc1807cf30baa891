"""Numbers in every reader: one rule for NaN, for infinities and for digits, whatever the numbers are written in."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.io.assemble import assemble
from attncli.io.origin import Origin
from tests.problems import raw_values, write_file


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

"""What is expected of one result: every form of a matrix, and the digits that were typed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.inputs import Inputs
from attncli.io.origin import Origin
from attncli.io.parse.expected_value import read_expected_value
from attncli.numbers.parsing import TypedNumber
from attncli.problem.convert.arrays import LabelledArray

YAML = "weights: [[0.10, 1e-3]]\nother: [[3]]\nnamed: {cat: [0.10, 2.0]}\n"
JSON = '{"format": "mine", "weights": [[0.10, 1e-3]]}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of files that hold the same numbers in different ways."""
    texts = {"w.yaml": YAML, "w.json": JSON, "w.csv": "0.10,1e-3\n", "named.csv": "cat,0.10,1e-3\ndog,2,3.0\n"}
    texts |= {"w.tsv": "0.10\t1e-3\n", "twice.csv": "cat,0.10,1e-3\ncat,2,3.0\n", "list.yaml": "[[0.10, 1e-3]]"}
    texts["labels.yaml"] = "cat: {dog: 0.10}\n"
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "w.npy", np.float32([[0.25, 0.75]]))
    np.savez(tmp_path / "one.npz", any_name=np.float32([[0.25, 0.75]]))
    np.savez(tmp_path / "two.npz", weights=np.float32([[0.25, 0.75]]), output=np.eye(2))
    return tmp_path


def read(value: Any, folder: Path, name: str = "weights") -> Any:
    """What is read, its numbers with the digits typed as text."""
    return digits(read_expected_value(value, name, "expected", Origin("p.yaml", folder, inputs=Inputs())))


def digits(value: Any) -> Any:
    """The same lists and mappings, with the text of each number that has one."""
    if isinstance(value, dict):
        return {label: digits(part) for label, part in value.items()}
    if isinstance(value, list):
        return [digits(part) for part in value]
    return value.text if isinstance(value, TypedNumber) else value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (".59 .130 28", [[".59", ".130", "28"]]),
        ("1 0.50; 2e-3 -4", [["1", "0.50"], ["2e-3", "-4"]]),
        ("0.70", [["0.70"]]),
        ("1/2, sqrt(3)", [["1/2", "sqrt(3)"]]),
        ("[[0.10, 1e-3]]", [["0.10", "1e-3"]]),
        ("{cat: {dog: 0.10}}", {"cat": {"dog": "0.10"}}),
        ("w.yaml", [["0.10", "1e-3"]]),
        ("w.yaml#other", [["3"]]),
        ("w.yaml#weights[0, 0:1]", ["0.10"]),
        ("w.yaml#named", {"cat": ["0.10", "2.0"]}),
        ("labels.yaml", {"cat": {"dog": "0.10"}}),
        ("list.yaml", [["0.10", "1e-3"]]),
        ("w.json", [["0.10", "1e-3"]]),
        ("w.csv", [["0.10", "1e-3"]]),
        ("w.tsv", [["0.10", "1e-3"]]),
        ("named.csv", {"cat": ["0.10", "1e-3"], "dog": ["2", "3.0"]}),
        ("named.csv[1:]", [["2", "3.0"]]),
        ("twice.csv", [["0.10", "1e-3"], ["2", "3.0"]]),
        ([[TypedNumber("0.50"), "1/2"]], [["0.50", "1/2"]]),
    ],
)
def test_the_digits_that_were_typed_are_kept(value: Any, expected: Any, folder: Path) -> None:
    assert read(value, folder) == expected


@pytest.mark.parametrize("value", ["w.npy", "one.npz", "two.npz", "two.npz#weights", "w.npy[0:1]"])
def test_arrays_keep_their_type(value: str, folder: Path) -> None:
    found = read(value, folder)
    assert isinstance(found, LabelledArray)
    assert (found.array.tolist(), found.dtype) == ([[0.25, 0.75]], "float32")


def test_a_list_without_words_is_the_same_object_by_which_its_line_is_found(folder: Path) -> None:
    rows = [[TypedNumber("0.50")], [TypedNumber("1")]]
    assert read_expected_value(rows, "weights", "expected", Origin("p.yaml", folder)) is rows


def test_words_for_numbers_are_numbers(folder: Path) -> None:
    ((nan, infinity),) = read_expected_value([["NaN", "-Infinity"]], "weights", "expected", Origin("p.yaml", folder))
    assert np.isnan(nan)
    assert infinity == -np.inf


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "p.yaml, expected, weights: '' names no file"),
        ("1 2; 3 x", "p.yaml, expected, weights, row 2, number 2: 'x' is not a number"),
        ("[1, 2", "p.yaml, expected, weights: is not YAML"),
        ([["1/0"]], "p.yaml, expected, weights: 1/0 is not a finite number"),
        ("no.npy", "no.npy: there is no such file"),
        ("weigths", "p.yaml, expected, weights: unknown file 'weigths'"),
        ("two.npz#wieghts", "two.npz: unknown entry 'wieghts'"),
        ("w.npy#a", "w.npy: has no entries, so #a names nothing"),
        ("w.yaml#named[0, 5]", "w.yaml: there is no position 5 on axis 1"),
    ],
)
def test_an_error_names_the_place_or_the_file(value: Any, message: str, folder: Path) -> None:
    with pytest.raises(AttnError) as raised:
        read(value, folder)
    assert str(raised.value).removeprefix(f"{folder}/").startswith(message)


def test_of_several_entries_none_of_which_is_the_result_one_is_to_be_named(folder: Path) -> None:
    with pytest.raises(AttnError, match=r"two.npz: has 2 entries and none is context; name one: .*two.npz#weights"):
        read("two.npz", folder, name="context")

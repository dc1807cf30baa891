"""Texts in place of values: matrices from text, lists, mappings, files or standard input, and `NAME:key=value`."""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.assemble import assemble, read_value
from attncli.io.parse import read_named
from attncli.io.problem_files import Origin, RawValue
from attncli.problem.arrays import GivenArray
from attncli.problem.convert import to_field
from attncli.problem.operators import PendingRandom, to_operator
from attncli.problem.spec import FIELDS
from tests.problems import raw_values

TWO = [[1.0, 2.0], [3.0, 4.0]]
FILES = {
    "t.csv": "a,1,2\nb,3,4\n",
    "t.tsv": "1\t2\n3\t4\n",
    "t.txt": "1 2\n3 4\n",
    "list.yaml": "[[1, 2], [3, 4]]\n",
    "one.yml": "w: [[1, 2], [3, 4]]\n",
    "two.yaml": "w: [[1, 2], [3, 4]]\nv: [[5]]\n",
    "words.yaml": "a: [1, 2]\nb: [3, 4]\n",
    "two.json": '{"w": [[1, 2], [3, 4]], "v": [["NaN", "Infinity", "-Infinity"]]}',
    "bom.csv": "\ufeff1,2\r\n3,4\r\n",
    "ragged.yaml": "w:\n  - [1, 2]\n  - [3]\n  - [4, 5]\n",
    "comma.tsv": "1,5\n2,5\n",
    "yes.yaml": "w:\n  - [1, 2]\n  - [yes, 3]\n",
}


def nested(depth: int) -> Any:
    """A number in nested lists of that depth."""
    value: Any = 1.0
    for _ in range(depth):
        value = [value]
    return value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "latin.csv").write_bytes(b"1,2\n\xe9,3\n")
    (tmp_path / "wide.csv").write_bytes("1,2\n".encode("utf-16"))
    (tmp_path / "sub.csv").mkdir()
    return tmp_path


def read(value: Any, folder: Path = Path()) -> GivenArray:
    found = converted(value, folder)
    assert isinstance(found, GivenArray)
    return found


def converted(value: Any, folder: Path = Path()) -> Any:
    """The matrix of a raw value, read and converted."""
    field = FIELDS["w_q"]
    return to_field(field, read_value(field, RawValue(value, Origin("p.yaml", folder))))


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        (TWO, None),
        ("t.csv", ("a", "b")),
        ("t.tsv", None),
        ("t.txt", None),
        ("bom.csv", None),
        ("list.yaml", None),
        ("one.yml", None),
        ("two.yaml#w", None),
        ("two.json#w", None),
        ("words.yaml", ("a", "b")),
        ("[[1, 2], [3, 4]]", None),
        ({"a": [1, 2], "b": [3, 4]}, ("a", "b")),
        ("{a: [1, 2], b: [3, 4]}", ("a", "b")),
        (np.array([[1, 2], [3, 4]]), None),
    ],
    ids=str,
)
def test_a_matrix_is_read_from_every_form(value: Any, labels: tuple[str, ...] | None, folder: Path) -> None:
    found = read(value, folder)
    assert found.array.tolist() == TWO
    assert found.array.dtype == np.float64
    assert found.labels == labels


def test_nan_and_infinity_are_strings_in_json(folder: Path) -> None:
    np.testing.assert_array_equal(read("two.json#v", folder).array, [[np.nan, np.inf, -np.inf]])


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a,1,2\nb,3,4\n", ("a", "b")),
        ("1\t2\n3\t4\n", None),
        ("[[1, 2], [3, 4]]", None),
        ('{"w": [[1, 2], [3, 4]]}', None),
        ("- [1, 2]\n- [3, 4]\n", None),
        ("# yaml\na: [1, 2]\nb: [3, 4]\n", ("a", "b")),
        ("[[1, .2e1], [3, 0004]]", None),
    ],
)
def test_the_format_of_standard_input_is_recognized_by_its_content(
    text: str, labels: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    found = read("-")
    assert found.array.tolist() == TWO
    assert found.labels == labels


@pytest.mark.parametrize("name", ["ones", "normal"])
def test_a_row_may_have_the_name_of_a_generator(name: str) -> None:
    found = read({name: [1, 2]})
    assert found.array.tolist() == [[1, 2]]
    assert found.labels == (name,)


def test_rows_may_be_arrays() -> None:
    assert read([np.array([1, 2]), np.array([3.0, 4.0])]).array.tolist() == TWO


@pytest.mark.parametrize("value", ["normal", "randint:low=0,high=3", {"uniform": {"low": -1}}, {"identity": None}])
def test_a_generator_is_kept_until_the_shape_is_known(value: Any) -> None:
    assert isinstance(converted(value), PendingRandom)


REFUSED: dict[str, tuple[Any, str]] = {
    "a word that is no file": (
        "wordz",
        "p.yaml, w_q: unknown file or generator 'wordz'; give numbers ('1 0; 0 1', '[[1, 0], [0, 1]]'), "
        "a file (words.csv, model.npz#w_q, -) or a generator (randint, uniform",
    ),
    "a division by zero": ([[1, "1/0"]], "p.yaml, w_q, row 1, number 2: 1/0 is not a finite number"),
    "a generator misspelt": ("normul", "p.yaml, w_q: unknown file or generator 'normul'"),
    "a file that is not there": ("no.csv", "no.csv: there is no such file"),
    "a folder": ("sub.csv", "sub.csv: is a folder"),
    "a picture": ("x.png", "p.yaml, w_q: 'x.png' is not a file that can be read; expected .csv"),
    "an entry that is not there": ("two.json#ww", "two.json: unknown entry 'ww'; did you mean 'w'?"),
    "an entry of a table": ("t.csv#w", "t.csv: a table has no entries"),
    "an entry of a list": ("list.yaml#w", "list.yaml: has no entries"),
    "several entries and none named": ("two.yaml", "two.yaml, line 1: has several entries; name one: "),
    "not UTF-8": ("latin.csv", "latin.csv, line 2: is not UTF-8 text; save it as UTF-8"),
    "UTF-16": ("wide.csv", "wide.csv: is UTF-16 text; save it as UTF-8"),
    "a ragged row": ("ragged.yaml", "ragged.yaml, line 3, w, row 2: 1 number where the other rows have 2"),
    "a word in a row": ("yes.yaml", 'yes.yaml, line 3, w, row 2, number 1: "yes" is not a number'),
    "true in a row": ([[1, True]], "p.yaml, w_q, row 1, number 2: true is not a number"),
    "null in a row": ([[1, None]], "p.yaml, w_q, row 1, number 2: null is not a number"),
    "rows of two depths": ([[1, 2], [[3], [4]]], "p.yaml, w_q, row 2"),
    "a number among rows, deeper": ([[[1], [2]], [3, 4]], "p.yaml, w_q, row 2"),
    "lists deeper than any array": (nested(70), "p.yaml, w_q"),
    "decimal commas where tabs delimit": ("comma.tsv", "comma.tsv, line 1, number 1: '1,5' is not a number"),
    "a path that no system can hold": ("a\0b.csv", "b.csv"),
    "an unknown home folder": ("~no-such-user/x.csv", "~no-such-user/x.csv"),
    "a NumPy file that is not there": ("x.npy", "x.npy: there is no such file"),
    "an archive that is not there": ("x.npz#w", "x.npz: there is no such file"),
    "a number in quotes": ([[1, "2"]], 'p.yaml, w_q, row 1, number 2: "2" is not a number'),
    "a boolean of NumPy in a row": ([[1.0, np.True_]], "p.yaml, w_q, row 1, number 2: "),
    "an array of complex numbers": (np.array([[1j]]), "is not a matrix"),
    "an array of objects": (np.array([[1, None]], dtype=object), "is not a matrix"),
    "a list in a row of numbers": ([[1, [2]]], "p.yaml, w_q, row 1, number 2: [2] is not a number"),
    "a number among rows": ([[1, 2], 3], "p.yaml, w_q, row 2: 3 is not a row"),
    "an integer beyond all floats": ([[10**400]], "is too large for a floating-point number"),
    "a single number": (5, "p.yaml, w_q: 5 is not a matrix"),
    "numbers among booleans": ([[True, 1]], "p.yaml, w_q, row 1, number 2: 1 is among true and false"),
    "an array of words": (np.array([["x"]]), "is not a matrix"),
}


@pytest.mark.parametrize(("value", "message"), REFUSED.values(), ids=REFUSED)
def test_an_error_in_a_matrix_has_its_file_line_and_key(value: Any, message: str, folder: Path) -> None:
    with pytest.raises(AttnError) as caught:
        assemble(raw_values(Origin("p.yaml", folder), w_q=value))
    assert message in str(caught.value).replace(f"{folder}/", "")
    assert "\n" not in str(caught.value)


def test_a_floating_point_array_keeps_its_type() -> None:
    assert read(np.ones((2, 2), dtype=np.float32)).array.dtype == np.float32


def test_large_integers_are_rounded_once() -> None:
    assert read([[2**62, 2**53 + 1]]).array.tolist() == [[float(2**62), float(2**53)]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dot", ("dot", {})),
        ("gaussian:sigma=2", ("gaussian", {"sigma": 2})),
        ("randint:low=0,high=3", ("randint", {"low": 0, "high": 3})),
        ("additive:w1=w1.csv,activation=relu", ("additive", {"w1": "w1.csv", "activation": "relu"})),
        ("general:w=[[1, 0], [0, 1]]", ("general", {"w": [[1, 0], [0, 1]]})),
        ("additive:v=[1,2],b=-.5e1", ("additive", {"v": [1, 2], "b": -5.0})),
        ("general:w={a: [1, 2], b: [3, 4]}", ("general", {"w": {"a": [1, 2], "b": [3, 4]}})),
        (" gaussian : sigma = 2 ", ("gaussian", {"sigma": 2})),
        ("general:w=m.yaml#a", ("general", {"w": "m.yaml#a"})),
    ],
    ids=str,
)
def test_the_short_form_is_read(text: Any, expected: tuple[str, dict[str, Any]]) -> None:
    assert read_named(text, ("score",)) == expected


@pytest.mark.parametrize(
    ("mapping", "name", "given"),
    [({"gaussian": {"sigma": 2}}, "gaussian", {"sigma": 2}), ({"dot": None}, "dot", {}), ({"dot": {}}, "dot", {})],
    ids=str,
)
def test_the_long_form_is_read(mapping: Any, name: str, given: dict[str, Any]) -> None:
    operator = to_operator("score", mapping, ("score",))
    assert (operator.record.name, operator.given) == (name, given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("own.py:f", "score: a problem file can't run the code of own.py; give it to the option"),
        ("gaussian:", "score: nothing follows the colon of 'gaussian:'; leave it out"),
        ("gaussian:2", "score: '2' is not key=value"),
        ("gaussian:sigma=", "score: 'sigma=' is not key=value"),
        ("gaussian:=2", "score: '=2' is not key=value"),
        ("gaussian:sigma=1,sigma=2", "score: sigma is given twice"),
        ("gaussian:sigma=1,", "score: '' is not key=value"),
        ("general:w=[[1, 2]", "score, w: `[` is not closed"),
    ],
    ids=str,
)
def test_anything_else_is_refused(text: Any, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        read_named(text, ("score",))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": 1, "b": 2}, 'score: {"a": 1, "b": 2} is not a name'),
        ({"a": 1}, 'score: {"a": 1} is not a name'),
        ({1: None}, 'score: {"1": null} is not a name'),
        ({"gaussian": 2}, 'score: {"gaussian": 2} is not a name'),
        ({}, "score: {} is not a name"),
        (3, "score: 3 is not a name; write NAME, NAME:key=value or {NAME: {key: value}}"),
    ],
    ids=str,
)
def test_a_value_that_names_no_operator_is_refused(value: Any, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        to_operator("score", value, ("score",))
    assert str(caught.value).startswith(message)

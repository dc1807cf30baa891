"""YAML and JSON text: a row of an array on each line, read back the same."""

import json
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from attncli.io.documents import json_text
from attncli.io.yaml import yaml_text
from attncli.numbers.parsing import TypedNumber

WORDS = st.text(st.characters(codec="utf-8"), max_size=4)
NUMBERS = st.floats(allow_nan=False) | st.integers(-(2**60), 2**60)
FLAT = NUMBERS | WORDS | st.none() | st.booleans() | st.lists(NUMBERS | WORDS, max_size=3)
NESTED = st.recursive(
    FLAT,
    lambda inner: (
        st.dictionaries(WORDS, inner, min_size=1, max_size=3)
        | st.lists(st.dictionaries(WORDS, inner, min_size=1, max_size=3), min_size=1, max_size=3)
        | st.lists(st.lists(NUMBERS, max_size=3), min_size=1, max_size=3)
    ),
    max_leaves=8,
)


@given(value=st.dictionaries(WORDS, NESTED, min_size=1, max_size=4))
def test_a_value_is_read_back_by_pyyaml(value: dict[str, Any]) -> None:
    assert yaml.safe_load("".join(yaml_text(value))) == value


AWKWARD = [1e16, 1e-7, 5e-324, -0.0, 1 / 3, np.inf, -np.inf, 2.0]


@pytest.mark.parametrize("shape", [(8,), (2, 4), (2, 2, 2), (4, 2, 1), (1, 2, 2, 2), (0,), (2, 0), (0, 3)])
@pytest.mark.parametrize("in_list", [False, True])
def test_an_array_is_written_as_its_lists(shape: tuple[int, ...], in_list: bool) -> None:
    array = np.array(AWKWARD[: int(np.prod(shape))]).reshape(shape)

    def document(entry: Any) -> dict[str, Any]:
        return {"steps": [{"name": "a", "value": entry}, {"b": entry}]} if in_list else {"a": {"b": entry}, "c": entry}

    text = "".join(yaml_text(document(array)))
    assert yaml.safe_load(text) == document(array.tolist())
    assert text == "".join(yaml_text(document(array.tolist())))


def test_numbers_of_an_array_are_numbers_to_readers_of_yaml_1_1() -> None:
    text = "".join(yaml_text({"a": np.array([[1e16, 1e-7], [np.nan, -np.inf]])}))
    assert text == "a:\n- [1.0e+16, 1.0e-07]\n- [.nan, -.inf]\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one\ntwo\n", ["  about: |", "    one", "    two"]),
        ("one\n\n  two", ["  about: |-", "    one", "", "      two"]),
    ],
)
def test_a_text_of_several_lines_has_them_under_each_other(text: str, lines: list[str]) -> None:
    value = {"parts": [{"title": "a", "about": text}]}
    written = "".join(yaml_text(value))
    assert [line.rstrip() for line in written.splitlines()[2:]] == lines
    assert yaml.safe_load(written) == value


@pytest.mark.parametrize("text", ["one\ntwo\n\n", " one\ntwo", "one \ntwo", "one\r\ntwo", "\none", "é\nè", "\n"])
def test_a_text_whose_blanks_could_get_lost_is_in_quotes(text: str) -> None:
    written = "".join(yaml_text({"about": text}))
    assert not written.startswith("about: |")
    assert yaml.safe_load(written) == {"about": text}


@pytest.mark.parametrize("value", [{}, {"a": {}}, {"a": [{}, {"b": []}]}, {"a": [[]]}, {"a": None, "b": [True, "x"]}])
def test_a_value_is_read_back(value: Any) -> None:
    assert json.loads("".join(json_text(value))) == value


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (0, 2, 3), (2, 0, 3), (2, 3, 0), (0, 0, 0), (2, 1, 3)])
def test_an_array_without_numbers_is_read_back_too(shape: tuple[int, ...]) -> None:
    value = np.zeros(shape)
    assert json.loads("".join(json_text({"x": value}))) == {"x": value.tolist()}


@pytest.mark.parametrize(
    ("text", "written"), [("0.50", "0.50"), ("+.5", "0.5"), ("010", "10"), ("1.", "1"), ("1e3", "1E+3")]
)
def test_a_number_has_the_digits_that_were_typed(text: str, written: str) -> None:
    assert "".join(json_text(TypedNumber(text))) == written


@pytest.mark.parametrize(("text", "value", "written"), [("1/2", 0.5, "0.5"), (".inf", float("inf"), '"Infinity"')])
def test_one_without_digits_is_written_as_any_other(text: str, value: float, written: str) -> None:
    assert "".join(json_text(TypedNumber(text, value))) == written


@pytest.mark.parametrize("text", ["a\u202eb", "\u2066", "\\\u202e", "'\u202d\"\n", "\u202e猫"])
@pytest.mark.parametrize(("write", "read"), [(json_text, json.loads), (yaml_text, yaml.safe_load)])
def test_what_turns_the_direction_of_text_is_an_escape_that_is_read_back(write: Any, read: Any, text: str) -> None:
    value = {"tokens": [text, "cat"], text: {"title": text}}
    written = "".join(write(value))
    assert set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069").isdisjoint(written)
    assert read(written) == value

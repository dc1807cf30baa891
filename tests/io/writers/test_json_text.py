"""JSON text: a value that Python's own reader reads back the same."""

import json
from typing import Any

import pytest

from attncli.io.writers.json_text import json_text
from attncli.numbers.parsing import TypedNumber


@pytest.mark.parametrize("value", [{}, {"a": {}}, {"a": [{}, {"b": []}]}, {"a": [[]]}, {"a": None, "b": [True, "x"]}])
def test_a_value_is_read_back(value: Any) -> None:
    assert json.loads("".join(json_text(value))) == value


@pytest.mark.parametrize(
    ("text", "written"), [("0.50", "0.50"), ("+.5", "0.5"), ("010", "10"), ("1.", "1"), ("1e3", "1E+3")]
)
def test_a_number_has_the_digits_that_were_typed(text: str, written: str) -> None:
    assert "".join(json_text(TypedNumber(text))) == written


@pytest.mark.parametrize(("text", "value", "written"), [("1/2", 0.5, "0.5"), (".inf", float("inf"), '"Infinity"')])
def test_one_without_digits_is_written_as_any_other(text: str, value: float, written: str) -> None:
    assert "".join(json_text(TypedNumber(text, value))) == written

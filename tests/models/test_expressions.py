"""Expressions of family files: arithmetic on the values of a configuration."""

from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.models.expressions import Names, evaluate, fill

VALUES = {"size": 8, "heads": 2, "window": None, "types": ["a", "b"], "inner": {"bias": True}, "word": "four"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size // heads * 3 - 1", 11),
        ("(size // heads) ** -0.5", 0.5),
        ("-size % 3", 1),
        ("[window_missing, size]", [None, 8]),
        ("first(window, missing, heads)", 2),
        ("window or heads", 2),
        ("window and heads", None),
        ("not window", True),
        ("'yes' if size > 4 else 'no'", "yes"),
        ("types[1]", "b"),
        ("'a' in types", True),
        ("'a' in missing", False),
        ("'a' not in missing", True),
        ("inner.bias", True),
        ("missing.bias", None),
        ("missing is None", True),
        ("int(2.9) + len(types) + max(1, 2) + min(3, 4)", 9),
        ("without(inner, 'bias')", {}),
    ],
)
def test_an_expression_has_the_value_that_python_gives_it(text: str, expected: Any) -> None:
    assert evaluate(text, Names(VALUES)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size // missing", "c.json: can't compute size // missing (size is 8, missing is missing)"),
        ("size - word", 'c.json: can\'t compute size - word (size is 8, word is "four")'),
        ("size // (heads - 2)", "c.json: can't compute size // (heads - 2) (size is 8, heads is 2)"),
        ("types[5]", 'c.json: can\'t compute types[5] (types is ["a", "b"])'),
    ],
)
def test_a_value_that_is_missing_is_named(text: str, message: str) -> None:
    with pytest.raises(AttnError) as raised:
        evaluate(text, Names(VALUES, "c.json"))
    assert str(raised.value) == message


@pytest.mark.parametrize("text", ["(lambda: 1)()", "[x for x in types]", "open('f')", "size.__class__.__mro__"])
def test_nothing_else_is_an_expression(text: str) -> None:
    with pytest.raises(AttnError):
        evaluate(text, Names(VALUES))


def test_the_names_that_decide_the_value_are_kept() -> None:
    names = Names(VALUES)
    evaluate("first(window, size, heads)", names)
    assert list(names.read) == ["size"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("by_any_name(size, heads)", 2), ("by_any_name(size, missing, 1)", 8), ("by_any_name(missing, 1)", 1)],
)
def test_of_several_names_of_a_value_the_one_in_the_file_counts(text: str, expected: int) -> None:
    assert evaluate(text, Names(VALUES, defaults={"size"})) == expected
    assert evaluate("first(size, heads)", Names(VALUES, defaults={"size"})) == 8


def test_a_template_with_one_expression_alone_has_its_value() -> None:
    assert fill("{size}", Names(VALUES)) == 8
    assert fill("h.{heads}.w[0:{size}]", Names(VALUES)) == "h.2.w[0:8]"

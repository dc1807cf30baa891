"""`NAME:key=value,key=value` and `{NAME: {key: value}}` say the same."""

from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.io.parse.grammar import parse
from attncli.problem.operators import to_operator


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
    assert parse(text, ("score",)) == expected


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
        ("gaussian:", "score: nothing follows the colon of 'gaussian:'; leave it out"),
        ("gaussian:2", "score: '2' is not key=value"),
        ("gaussian:sigma=", "score: 'sigma=' is not key=value"),
        ("gaussian:=2", "score: '=2' is not key=value"),
        ("gaussian:sigma=1,sigma=2", "score: sigma is given twice"),
        ("gaussian:sigma=1,", "score: '' is not key=value"),
        ("general:w=[[1, 2]", "score, w: is not YAML"),
    ],
    ids=str,
)
def test_anything_else_is_refused(text: Any, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        parse(text, ("score",))
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

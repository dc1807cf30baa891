"""Operators from names and mappings: parameters without a limit, and operators without parameters."""

from typing import Annotated, Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.ops.decorators import mask
from attncli.ops.records import Operator, Range
from attncli.problem.operators import to_operator

Distance = Annotated[float, Range(least=0, allows_infinity=True)]


@pytest.fixture
def near(restored_registry: None) -> None:
    """A mask of one's own, with a parameter that may be infinite and one that may not."""

    @mask(
        formula="visible where |j − posᵢ| ≤ most, and j ≥ first",
        shapes="query_positions[n], key_positions[m] -> [n m]",
        source="none",
        example={"query_positions": [0], "key_positions": [0, 1], "gives": [[True, False]]},
    )
    def near(
        query_positions: Array,
        key_positions: Array,
        *,
        most: Distance = 0.0,
        first: Annotated[float, Range(least=0)] = 0.0,
    ) -> Array:
        """Keys near the query are visible."""
        distances = abs(key_positions - query_positions[..., :, None])
        return (distances <= most) & (key_positions >= first)


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("value", [float("inf"), np.float32("inf"), "inf", "Infinity", 10**400])
def test_a_parameter_may_be_infinite_where_its_range_says_so(value: Any) -> None:
    operator = to_operator("mask", {"near": {"most": value}}, ("mask",))
    assert operator.given == {"most": float("inf")}
    assert str(operator) == "near:most=inf"


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("most", float("-inf"), "-inf is out of range; expected ≥ 0"),
        ("most", -1, "-1 is out of range; expected ≥ 0"),
        ("most", float("nan"), "nan is not a finite number"),
        ("most", "-inf", "-inf is out of range; expected ≥ 0"),
        ("most", True, "True is not a finite number"),
        ("first", float("inf"), "inf is not a finite number"),
        ("first", "inf", "'inf' is not a finite number"),
    ],
)
def test_a_parameter_is_finite_elsewhere(name: str, value: Any, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        to_operator("mask", {"near": {name: value}}, ("mask",))
    assert str(caught.value) == f"mask, near, {name}: {message}"


@pytest.mark.parametrize("value", [float("inf"), "inf"])
def test_a_side_of_a_window_may_have_no_limit(value: Any) -> None:
    x = np.eye(3)
    by_name = attncli.attention(x, x, mask={"window": {"left": value, "right": 0}}).output
    np.testing.assert_array_equal(by_name, attncli.attention(x, x, window=(-1, 0)).output)
    np.testing.assert_array_equal(by_name, attncli.attention(x, x, mask=f"window:left={value},right=0").output)


@pytest.mark.parametrize(("kind", "name"), [("mask", "causal"), ("score", "dot")])
def test_an_operator_without_parameters_says_so(kind: str, name: str) -> None:
    with pytest.raises(AttnError) as caught:
        to_operator(kind, {name: {"x": 1}}, (kind,))
    assert str(caught.value) == f"{kind}: {name} has no parameters"
    assert isinstance(to_operator(kind, {name: {}}, (kind,)), Operator)

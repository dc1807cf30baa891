"""Gradients in Python: by a gradient of the output, or ones."""

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from tests.arrays import normal

QUERY, KEY, VALUE = normal(3, 5), normal(7, 5), normal(7, 2)


def loss(gradient: np.ndarray, **arrays: np.ndarray) -> float:
    return float((attncli.attention(**arrays).output * gradient).sum())


def by_differences(name: str, gradient: np.ndarray) -> np.ndarray:
    """The gradient of an array, each number moved a little to both sides."""
    arrays, step = {"query": QUERY, "key": KEY, "value": VALUE}, 1e-6
    found = np.zeros_like(arrays[name])
    for index in np.ndindex(found.shape):
        both = []
        for sign in (1, -1):
            moved = arrays[name].copy()
            moved[index] += sign * step
            both.append(loss(gradient, **{**arrays, name: moved}))
        found[index] = (both[0] - both[1]) / (2 * step)
    return found


@pytest.mark.parametrize("gradient", [True, normal(3, 2)], ids=["ones", "an array"])
def test_gradients_are_finite_differences(gradient: np.ndarray | bool) -> None:
    result = attncli.Problem(query=QUERY, key=KEY, value=VALUE).compute(gradient=gradient)
    array = np.ones((3, 2)) if isinstance(gradient, bool) else gradient
    assert result.select == ("output", "grad_query", "grad_key", "grad_value")
    for name in ("query", "key", "value"):
        np.testing.assert_allclose(getattr(result, f"grad_{name}"), by_differences(name, array), atol=1e-8)


def test_one_call_has_them_too() -> None:
    found = attncli.attention(QUERY, KEY, VALUE, gradient=True)
    again = attncli.attention(QUERY, KEY, VALUE, grad_output=np.ones((3, 2)), select=("grad_key",))
    np.testing.assert_array_equal(found.grad_key, again.grad_key)


@pytest.mark.parametrize("gradient", [None, False])
def test_without_a_gradient_there_is_none(gradient: bool | None) -> None:
    result = attncli.Problem(query=QUERY, key=KEY, value=VALUE).compute(gradient=gradient)
    assert result.select == ("scores", "weights", "output")


def test_heads_in_the_features_have_their_gradients_side_by_side() -> None:
    apart = attncli.attention(
        QUERY[None, None].repeat(2, 1), KEY[None, None].repeat(2, 1), VALUE[None, None].repeat(2, 1), gradient=True
    )
    joined = attncli.attention(np.tile(QUERY, 2), np.tile(KEY, 2), np.tile(VALUE, 2), heads=2, gradient=True)
    np.testing.assert_allclose(joined.grad_query, np.hstack(list(apart.grad_query[0])))


def test_a_problem_with_its_own_gradient_keeps_it() -> None:
    problem = attncli.Problem(query=QUERY, key=KEY, value=VALUE, grad_output=[[2.0]])
    twice, once = problem.compute(gradient=True), problem.compute(gradient=[[1.0]])
    np.testing.assert_array_equal(twice.grad_query, 2 * once.grad_query)


def test_an_operator_without_a_derivative_is_named() -> None:
    with pytest.raises(AttnError, match="context argmax has no derivative"):
        attncli.attention(QUERY, KEY, VALUE, context="argmax", gradient=True)

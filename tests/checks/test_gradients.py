"""Gradients of a kernel, written by hand: right ones agree in each type, and of wrong ones the first step is named."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checks.check import check
from attncli.checks.report import CheckOptions
from tests.arrays import normal

Array = np.ndarray[Any, Any]

B, H, G, N, D, E = 2, 4, 2, 7, 5, 3
CAP = 2.0
QUIET = CheckOptions(tries_slips=False)
INPUTS = {
    "query": normal(B, H, N, D),
    "key": normal(B, G, N, D),
    "value": normal(B, G, N, E),
    "grad_output": normal(B, H, N, E),
}


def backward(dtype: str, mistake: str = "") -> dict[str, Array]:
    """A causal kernel with a softcap and groups, and its backward pass, which makes one mistake, step by step."""
    query, key, value, grad = (array.astype(dtype) for array in INPUTS.values())
    key, value = (np.repeat(array, H // G, axis=1) for array in (key, value))
    scale = np.dtype(dtype).type(D**-0.5)
    tanh = np.tanh(query @ key.mT * scale / np.dtype(dtype).type(CAP))
    visible = np.tril(np.ones((N, N), dtype=bool))
    exponentials = np.where(visible, np.exp(tanh * np.dtype(dtype).type(CAP)), np.dtype(dtype).type(0))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / total
    output = weights @ value

    if mistake == "causal not applied backwards":
        weights = np.exp(tanh * np.dtype(dtype).type(CAP)) / total
    row_sums = 0 if mistake == "no row sums" else (grad * output).sum(axis=-1, keepdims=True)
    grad_scores = weights * (grad @ value.mT - row_sums)
    if mistake != "no factor of the softcap":
        grad_scores = grad_scores * (1 - tanh * tanh)
    grad_key = grad_scores.mT @ query * (1 if mistake == "no scale in dk" else scale)

    def in_groups(array: Array) -> Array:
        parts = array.reshape(B, G, H // G, *array.shape[2:])
        return parts[:, :, 0] if mistake == "groups not summed" else parts.sum(axis=2)

    dq, dk, dv = grad_scores @ key * scale, in_groups(grad_key), in_groups(weights.mT @ grad)
    return {"output": output, "grad_query": dq, "grad_key": dk, "grad_value": dv}


def checked(dtype: str, mistake: str = "") -> Any:
    arrays: dict[str, Any] = {name: array.astype(dtype) for name, array in INPUTS.items()}
    problem = attncli.Problem(**arrays, causal=True, softcap=CAP)
    return check(problem.spec, backward(dtype, mistake), QUIET)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_right_gradients_agree(dtype: str) -> None:
    report = checked(dtype)
    assert {result.name: result.differ for result in report.results} == dict.fromkeys(backward(dtype), 0)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("mistake", "first", "right"),
    [
        ("no row sums", "grad_query", {"output", "grad_value"}),
        ("no factor of the softcap", "grad_query", {"output", "grad_value"}),
        ("no scale in dk", "grad_key", {"output", "grad_value", "grad_query"}),
        ("groups not summed", "grad_value", {"output", "grad_query"}),
        ("causal not applied backwards", "grad_query", {"output"}),
    ],
)
def test_the_first_gradient_that_differs_is_named(dtype: str, mistake: str, first: str, right: set[str]) -> None:
    report = checked(dtype, mistake)
    agreeing = {result.name for result in report.results if result.agrees}
    assert (report.first_difference, agreeing) == (first, right)


def test_names_of_a_kernel_are_read_in_python() -> None:
    problem = attncli.Problem(query=[[0.0]], key=[[1.0], [2.0]], value=[[1.0], [3.0]])
    assert attncli.check(problem, against={"dv": np.array([[0.5], [0.5]]), "dq": np.array([[0.5]])})


def test_a_file_expects_gradients_without_grad_output() -> None:
    problem = attncli.Problem(scores=[[0, 0, 0]], value=[[1], [2], [6]])
    assert attncli.check(problem, against={"grad_scores": np.array([[-2 / 3, -1 / 3, 1]])})

"""Kernels in float8: right ones agree, with the scales of their tensors; wrong ones differ."""

from typing import Any

import numpy as np
import pytest

from attncli.base.dtypes import FLOAT8, Precision, float8_numbers
from attncli.checks.check import check
from attncli.checks.report import CheckOptions
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.problems import problem

NO_SLIPS = CheckOptions(tries_slips=False)
N, D, TILE = 96, 32, 32


def encoded(x: np.ndarray, name: str) -> np.ndarray:
    """The nearest of all numbers of the type."""
    numbers = float8_numbers(name)
    finite = numbers[np.isfinite(numbers)]
    nearest: np.ndarray = finite[abs(x[..., None] - finite).argmin(axis=-1)]
    return nearest


def kernel(query: np.ndarray, key: np.ndarray, value: np.ndarray, name: str, scale: float, **wrong: bool) -> np.ndarray:
    """Causal attention tile by tile: scores and sums in float32, what is multiplied in float8."""
    largest, total, context = np.full((N, 1), -np.inf), np.zeros((N, 1)), np.zeros_like(value)
    for first in range(0, N, TILE):
        tile = slice(first, first + TILE)
        visible = np.arange(N)[tile] <= np.arange(N)[:, None]
        scores = np.where(visible | wrong.get("sees_all", False), query @ key[tile].T * scale, -np.inf)
        before, largest = largest, np.maximum(largest, scores.max(axis=1, keepdims=True))
        exponentials, factor = np.exp(scores - largest), np.exp(before - largest)
        total = total * factor + exponentials.sum(axis=1, keepdims=True)
        kept = context if wrong.get("is_not_rescaled") else context * factor
        context = kept + encoded(exponentials, name) @ value[tile]
    return context / total


def arrays(name: str) -> dict[str, np.ndarray]:
    """Queries, keys and values in float8."""
    return {key: encoded(normal(N, D, seed=seed), name) for seed, key in enumerate(("query", "key", "value"))}


def spec_of(name: str, **keys: Any) -> ProblemSpec:
    """The problem that the kernel answers."""
    return problem(**{**arrays(name), "causal": True, "dtype": name, **keys})


@pytest.mark.parametrize("output", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", FLOAT8)
def test_a_right_kernel_agrees(name: str, output: str) -> None:
    answer = Precision(output).round(kernel(*arrays(name).values(), name, 1 / np.sqrt(D)))
    report = check(spec_of(name), {"output": answer.astype(np.float32)}, NO_SLIPS)
    assert report.agrees
    assert 0.01 < report.results[0].tolerance < 0.6


@pytest.mark.parametrize("name", FLOAT8)
def test_the_scales_of_tensors_are_factors_of_scale_and_value_scale(name: str) -> None:
    query, key, value = arrays(name).values()
    answer = kernel(query, key, value, name, 0.3 * 0.7 / np.sqrt(D)) * 0.11
    spec = spec_of(name, scale=0.3 * 0.7 / np.sqrt(D), value_scale=0.11)
    assert check(spec, {"output": answer.astype(np.float32)}, NO_SLIPS).agrees
    assert not check(spec, {"output": (answer / 0.11).astype(np.float32)}, NO_SLIPS).agrees


@pytest.mark.parametrize(
    ("scale", "wrong"),
    [(1.2, {}), (0.7, {}), (1.0, {"sees_all": True}), (1.0, {"is_not_rescaled": True})],
)
@pytest.mark.parametrize("name", FLOAT8)
def test_a_wrong_kernel_differs(name: str, scale: float, wrong: dict[str, bool]) -> None:
    answer = kernel(*arrays(name).values(), name, scale / np.sqrt(D), **wrong)
    assert not check(spec_of(name), {"output": answer.astype(np.float32)}, NO_SLIPS).agrees

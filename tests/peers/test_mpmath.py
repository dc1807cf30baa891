"""Fifty digits: the largest error of a whole problem, ours beside PyTorch's."""

from typing import Any

import numpy as np
import pytest

from attncli import attention
from attncli.ops.sparse_normalizers import entmax

mpmath = pytest.importorskip("mpmath")
torch = pytest.importorskip("torch")

N, M, E = 4, 37, 5
SEEDS = range(6)


def difficult_arrays(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Queries, keys, values and a bias in single precision, random or difficult in some way."""
    random = np.random.default_rng([seed, *kind.encode()])
    d = {"wide": 128, "one feature": 1}.get(kind, 16)
    query, key, value = (random.standard_normal(shape) for shape in ((N, d), (M, d), (M, E)))
    bias = np.zeros((N, M))
    match kind:
        case "sharp":  # a few keys get nearly all the weight
            query *= 20
        case "alike":  # scores are large and differ in their last digits
            key += 100
        case "values that cancel":
            value += 1e4
        case "values of all sizes":
            value *= 10.0 ** random.integers(-6, 6, size=(M, 1))
        case "tiny":
            query, key = query * 1e-10, key * 1e-10
        case "masked":
            bias[random.random((N, M)) < 0.5] = -np.inf
            bias[:, 0] = 0
        case "biased":
            bias = random.standard_normal((N, M)) * 5
    query, key, value, bias = (x.astype(np.float32) for x in (query, key, value, bias))
    return query, key, value, bias


KINDS = [
    "plain", "wide", "one feature", "sharp", "alike", "values that cancel", "values of all sizes", "tiny", "masked",
    "biased",
]  # fmt: skip


def exact(query: np.ndarray, key: np.ndarray, value: np.ndarray, bias: np.ndarray) -> list[list[Any]]:
    """softmax(q·k / √d + bias) · v, each number to fifty digits."""
    with mpmath.workdps(50):
        q, k, v, extra = ([[mpmath.mpf(float(x)) for x in row] for row in array] for array in (query, key, value, bias))
        rows = []
        for i in range(len(q)):
            visible_keys = [j for j in range(len(k)) if bias[i, j] > -np.inf]
            scores = [mpmath.fdot(q[i], k[j]) / mpmath.sqrt(len(q[i])) + extra[i][j] for j in visible_keys]
            powers = [mpmath.exp(score - max(scores)) for score in scores]
            total = mpmath.fsum(powers)
            rows.append(
                [
                    mpmath.fsum(p * v[j][c] for p, j in zip(powers, visible_keys, strict=True)) / total
                    for c in range(value.shape[1])
                ]
            )
        return rows


def largest_error(found: np.ndarray, reference: list[list[Any]]) -> float:
    """The largest distance of any number from the reference."""
    with mpmath.workdps(50):
        return max(
            float(abs(mpmath.mpf(float(x)) - y))
            for row, right in zip(found, reference, strict=True)
            for x, y in zip(row, right, strict=True)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_error_in_single_precision_is_no_larger_than_that_of_pytorch(kind: str) -> None:
    ours, theirs = [], []
    for seed in SEEDS:
        query, key, value, bias = difficult_arrays(kind, seed)
        reference = exact(query, key, value, bias)
        output = attention(query, key, value, bias=bias).output
        assert output.dtype == np.float32
        ours.append(largest_error(output, reference))
        tensors = [torch.tensor(x)[None, None] for x in (query, key, value, bias)]
        other = torch.nn.functional.scaled_dot_product_attention(*tensors)[0, 0].numpy()
        theirs.append(largest_error(other, reference))
    assert max(ours) <= max(theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_in_double_precision_the_error_is_a_few_units_of_the_last_place(kind: str) -> None:
    query, key, value, bias = difficult_arrays(kind, 0)
    reference = exact(query, key, value, bias)
    error = largest_error(attention(query, key, value, bias=bias, dtype="float64").output, reference)
    scores = float(abs(query.astype(float) @ key.T.astype(float)).max()) / np.sqrt(query.shape[1])
    # One rounding of a score of that size moves its weight as much.
    assert error <= 8 * 2.0**-53 * (1 + scores) * float(abs(value).max())


@pytest.mark.parametrize(("alpha", "ulps"), [(1.0001, 64), (1.25, 16), (1.5, 16), (2.0, 4), (4.0, 64)])
def test_entmax_is_right_to_the_last_digits(alpha: float, ulps: int) -> None:
    """Against 60 digits; the power 1/(α−1), and for large α its steepness at the threshold, magnify the last bit."""
    row = [1.0, 0.75, 0.5, 0.25, -0.5]
    with mpmath.workdps(60):
        scaled = [(mpmath.mpf(alpha) - 1) * mpmath.mpf(s) for s in row]
        power = 1 / (mpmath.mpf(alpha) - 1)
        low, high = max(scaled) - 1, max(scaled)
        for _ in range(220):
            middle = (low + high) / 2
            total = sum(max(s - middle, mpmath.mpf(0)) ** power for s in scaled)
            low, high = (middle, high) if total > 1 else (low, middle)
        expected = [float(max(s - low, mpmath.mpf(0)) ** power) for s in scaled]
    computed = entmax(np.array([row]), alpha=alpha)[0]
    np.testing.assert_allclose(computed, expected, rtol=0, atol=ulps * np.finfo(float).eps)

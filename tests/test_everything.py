"""All stages together against a loop that visits one batch item, head and query at a time and reads visible keys alone.

Keys and values that are masked for every query are NaN or infinite: the loop never reads them.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli import attention
from attncli.ops import operators

SCORES: dict[str, Callable[..., float]] = {
    "dot": lambda q, k: sum(a * b for a, b in zip(q, k, strict=True)),
    "scaled_dot": lambda q, k: sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q)),
    "euclidean": lambda q, k: -math.dist(q, k),
    "cosine": lambda q, k: sum(a * b for a, b in zip(q, k, strict=True)) / (math.hypot(*q) * math.hypot(*k)),
}
NORMALIZERS = ["softmax", "softmax1", "sparsemax", "entmax", "sigmoid", "relu", "hardmax", "none"]
NOT_FINITE = [math.nan, math.inf, -math.inf]


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Any layout with any of the masks, a cache, a cap, a sink and a bias by distance."""
    sizes, some = st.integers(1, 4), st.booleans()
    axes, kv_heads, groups = draw(st.integers(2, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    batch = draw(st.integers(1, 3)) if axes > 2 else 1
    n, m, past, d, e = draw(sizes), draw(sizes), draw(st.integers(0, 3)), draw(sizes), draw(sizes)
    heads, total = kv_heads * groups, past + m
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def drawn(count: int, rows: int, features: int) -> np.ndarray:
        shape = {2: (rows, count * features), 3: (batch, rows, count * features), 4: (batch, count, rows, features)}
        return random.standard_normal(shape[axes])

    found: dict[str, Any] = {
        "query": drawn(heads, n, d),
        "key": drawn(kv_heads, m, d),
        "value": drawn(kv_heads, m, e),
        "heads": heads,
        "kv_heads": kv_heads,
        "score": draw(st.sampled_from(sorted(SCORES))),
        "normalize": draw(st.sampled_from(NORMALIZERS)),
        "causal": draw(some),
        "align": draw(st.sampled_from(["top_left", "bottom_right"])),
    }
    if past:
        found["past_key"], found["past_value"] = drawn(kv_heads, past, d), drawn(kv_heads, past, e)
    if draw(some):
        found["window"] = (draw(st.integers(-1, 3)), draw(st.integers(-1, 3)))
    if draw(some):
        found["key_lengths"] = random.integers(0, total + 1, size=batch)
    if draw(some):
        found["softcap"] = 0.7
    if draw(some):
        found["sink"] = random.standard_normal(heads)
    if draw(some):
        found["position"] = "alibi"
    for name in ("mask", "bias"):
        rank = draw(st.integers(0, 4))
        full = [batch, heads, n, total][4 - rank :]
        if rank == 3 and heads == 1 and axes == 3:
            full[0] = batch  # without an axis of heads the first of three axes is the batch
        shape = [size if draw(some) else 1 for size in full[:-1]] + full[-1:]
        if rank:
            shape[-1] = draw(st.integers(1, total))
            visible = random.random(shape) < 0.8
            found[name] = visible if name == "mask" else np.where(visible, random.standard_normal(shape), -np.inf)
    return found


def four_axes(problem: dict[str, Any], name: str, heads: int) -> np.ndarray:
    """An input as [batch, heads, rows, features]."""
    x = problem[name]
    if x.ndim == 4:
        return x
    x = x.reshape(*x.shape[:-1], heads, -1)
    return x.swapaxes(-2, -3)[None] if x.ndim == 3 else x.swapaxes(-2, -3)


def table_cell(table: np.ndarray, b: int, h: int, i: int, j: int, hidden: float, no_heads: bool) -> float:
    """A cell of a mask or bias, aligned on the right; columns that it lacks are hidden."""
    at = [b, h, i, j] if not (no_heads and table.ndim == 3) else [b, i, j]
    at = at[len(at) - table.ndim :]
    if j >= table.shape[-1]:
        return hidden
    return float(table[tuple(min(index, size - 1) for index, size in zip(at, table.shape, strict=True))])


def slope(h: int, heads: int) -> float:
    """The slope of a head in ALiBi, by the recursion of its authors' code."""
    if math.log2(heads).is_integer():
        return 2.0 ** (-8 * (h + 1) / heads)
    power = 2 ** math.floor(math.log2(heads))
    return slope(h, power) if h < power else slope(2 * (h - power), 2 * power)


def one_by_one(problem: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Weights [b h n m] and output [b h n e], each query on its own, over its visible keys."""
    heads, kv_heads = problem["heads"], problem["kv_heads"]
    query = four_axes(problem, "query", heads)
    key, value = (
        np.concatenate(
            [four_axes(problem, part, kv_heads) for part in (f"past_{name}", name) if part in problem], axis=2
        )
        for name in ("key", "value")
    )
    batch, _, n, _ = query.shape
    total, past = key.shape[2], problem["past_key"].shape[-2] if "past_key" in problem else 0
    weights, output = np.zeros((batch, heads, n, total)), np.zeros((batch, heads, n, value.shape[-1]))
    no_heads = heads == 1 and problem["query"].ndim == 3
    for b, h, i in np.ndindex(batch, heads, n):
        real = int(problem["key_lengths"][b]) if "key_lengths" in problem else total
        position = i + (past if problem["align"] == "top_left" else real - n)
        g = h // (heads // kv_heads)
        visible_keys, scores = [], []
        for j in range(total):
            left, right = problem.get("window", (-1, -1))
            hidden = (
                j >= real
                or (problem["causal"] and j > position)
                or (left >= 0 and j < position - left)
                or (right >= 0 and j > position + right)
                or ("mask" in problem and not table_cell(problem["mask"], b, h, i, j, False, no_heads))
            )
            extra = table_cell(problem["bias"], b, h, i, j, -math.inf, no_heads) if "bias" in problem else 0.0
            if hidden or extra == -math.inf:
                continue
            score = SCORES[problem["score"]](query[b, h, i], key[b, g, j])
            if "softcap" in problem:
                score = problem["softcap"] * math.tanh(score / problem["softcap"])
            if "position" in problem:
                score -= slope(h, heads) * abs(position - j)
            visible_keys.append(j)
            scores.append(score + extra)
        if not visible_keys:
            continue
        sink = [problem["sink"][h]] if "sink" in problem else []
        row = operators("normalize")[problem["normalize"]].function(np.array([scores + sink]))[0][: len(visible_keys)]
        for j, weight in zip(visible_keys, row, strict=True):
            weights[b, h, i, j] = weight
            if weight:
                output[b, h, i] += weight * value[b, g, j]
    return weights, output


def hide_nonfinite(problem: dict[str, Any], weights: np.ndarray, random: np.random.Generator) -> dict[str, Any]:
    """The problem with NaN or infinity in keys and values that are masked for every query of their head."""
    heads, kv_heads, found = problem["heads"], problem["kv_heads"], dict(problem)
    past = problem["past_key"].shape[-2] if "past_key" in problem else 0
    hidden_keys = ~(weights != 0).any(axis=2).reshape(len(weights), kv_heads, heads // kv_heads, -1).any(axis=2)
    if problem["normalize"] not in ("softmax", "softmax1", "sigmoid"):
        return found  # elsewhere a weight of 0 does not mean that the key is hidden
    for name, columns in (("key", slice(past, None)), ("value", slice(past, None))):
        by_head = four_axes(problem, name, kv_heads).copy()
        by_head[hidden_keys[:, :, columns]] = random.choice(NOT_FINITE)
        if problem[name].ndim < 4:
            by_head = by_head.swapaxes(1, 2).reshape(-1, *problem[name].shape[-2:])
            by_head = by_head.reshape(problem[name].shape)
        found[name] = by_head
    return found


SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(problems(), SEEDS)
def test_every_query_alone_has_the_same_result(problem: dict[str, Any], seed: int) -> None:
    assert_each_query_alone_agrees(problem, seed)


@pytest.mark.deep
@settings(max_examples=80, deadline=None)
@given(problems(), SEEDS)
def test_every_query_alone_has_the_same_result_in_many_problems(problem: dict[str, Any], seed: int) -> None:
    assert_each_query_alone_agrees(problem, seed)


def assert_each_query_alone_agrees(problem: dict[str, Any], seed: int) -> None:
    """Weights and outputs are those of the loop; one note names the queries whose keys are all masked."""
    weights, output = one_by_one(problem)
    given = hide_nonfinite(problem, weights, np.random.default_rng(seed))
    result = attention(**given, select=("weights", "output", "masked_scores"))
    np.testing.assert_allclose(result.weights.reshape(weights.shape), weights, rtol=1e-9, atol=1e-12)
    found = result.output
    if found.ndim < 4:
        found = found.reshape(*found.shape[:-1], problem["heads"], -1).swapaxes(-2, -3)
    np.testing.assert_allclose(found.reshape(output.shape), output, rtol=1e-9, atol=1e-12)
    empty = (result.weights == 0).all(axis=-1)
    assert len([note for note in result.trace.notes if "no key is visible" in note]) == int(empty.any())
    assert result.output.ndim == problem["query"].ndim

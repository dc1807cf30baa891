"""Exponentials as powers of 2 or of e: which of them are computed, and that both give the same answer."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from attncli.engine import accumulators, blockwise, tile_plan
from attncli.engine.exponentials import has_fast_exp2
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from tests.arrays import normal
from tests.problems import problem

HEADS, QUERIES, KEYS, FEATURES = 3, 5, 37, 8
MASK = np.random.default_rng(7).random((QUERIES, KEYS)) < 0.6
OPTIONS = RunOptions("serial", sizes=BlockSizes(0, 3, 3, 30, 4, 50))
VECTORIZED = {"exp2": {"ff": {"current": "AVX512_SKX", "available": "AVX512_SKX baseline(SSE SSE2 SSE3)"}}}
ONE_BY_ONE = {"exp2": {"ff": {"current": "baseline(NEON)", "available": "baseline(NEON)"}}}


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the exponential functions that blocks have called, in order."""
    called: list[str] = []

    def spy(name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            called.append(name)
            return getattr(np, name)(*args, **options)

        return call

    class Spy:
        """NumPy, whose exponential functions are noted."""

        exp, exp2 = staticmethod(spy("exp")), staticmethod(spy("exp2"))

        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

    monkeypatch.setattr(accumulators, "np", Spy())
    return called


@pytest.fixture
def unknown() -> Iterator[None]:
    """A process that has not yet looked how fast NumPy is."""
    has_fast_exp2.cache_clear()
    yield
    has_fast_exp2.cache_clear()


def output(*, is_fast: bool, monkeypatch: pytest.MonkeyPatch, **keys: Any) -> np.ndarray:
    """The output in blocks of a few queries and tiles of a few keys, where powers of 2 are fast or not."""
    monkeypatch.setattr(tile_plan, "has_fast_exp2", lambda: is_fast)
    given = {"query": normal(HEADS, QUERIES, FEATURES), "key": normal(HEADS, KEYS, FEATURES)}
    arrays = {name: x[None] for name, x in (given | {"value": normal(HEADS, KEYS, 2)}).items()}
    found: np.ndarray = run(problem(**(arrays | {"dtype": "float32"} | keys)), ("output",), options=OPTIONS).output
    return found


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"causal": True, "align": "bottom_right"},
        {"mask": MASK},
        {"bias": normal(QUERIES, KEYS)},
        {"sink": normal(HEADS)},
        {"position": "alibi"},
        {"scale": 0.7},
        {"normalize": "softmax1", "window": (9, 2)},
        {"normalize": "softmax:temperature=0.3"},
        {"normalize": "softmax:temperature=3", "bias": normal(QUERIES, KEYS)},
    ],
    ids=str,
)
def test_powers_of_2_give_the_answer_of_powers_of_e(
    keys: dict[str, Any], functions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = output(is_fast=False, monkeypatch=monkeypatch, **keys)
    assert set(functions) == {"exp"}
    functions.clear()
    found = output(is_fast=True, monkeypatch=monkeypatch, **keys)
    assert set(functions) == ({"exp"} if "position" in keys else {"exp2"})  # how large its biases are is not known
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(
    "keys",
    [
        {"dtype": "float64"},
        {"bias": np.where(MASK, 0, -np.inf)},
        {"bias": np.where(MASK, 0, -1e4)},
        {"scale": 50},
    ],
    ids=str,
)
def test_powers_that_may_be_0_or_have_many_digits_are_of_e(
    keys: dict[str, Any], functions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy takes ten times as long to compute powers of 2 that have no normal number as their result."""
    output(is_fast=True, monkeypatch=monkeypatch, **keys)
    assert "exp2" not in functions


@pytest.mark.parametrize(
    ("keys", "called"),
    [
        ({"score": "euclidean"}, ["exp2"]),
        ({"softcap": 5}, ["exp2"]),
        ({"score": "euclidean", "normalize": "softmax:temperature=0.15"}, ["exp", "exp"]),  # of the trial, and of all
        ({"score": "euclidean", "normalize": "softmax:temperature=0.01"}, ["exp"]),  # of the trial
        ({"softcap": 5, "sink": [100.0] * 8}, ["exp", "exp"]),  # of the trial: the sink, and the scores
    ],
    ids=str,
)
@pytest.mark.parametrize("are_many", [False, True])
def test_a_few_scores_say_how_large_the_others_are(
    keys: dict[str, Any], called: list[str], are_many: bool, functions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small ones are exponents of 2; larger ones are tried with all keys, and where that is in vain, not again."""
    monkeypatch.setattr(tile_plan, "has_fast_exp2", lambda: True)
    monkeypatch.setattr(blockwise, "PROBED_TWICE", 1 if are_many else 2**40)
    monkeypatch.setattr(blockwise, "MIN_BLOCKS", 1)
    query, key, value = (normal(1, 8, 64, FEATURES, seed=seed).astype("float32") for seed in range(3))
    given, options = {"query": query, "key": key, "value": value}, RunOptions("serial", sizes=BlockSizes(dense_cells=0))
    output = run(problem(**given, **keys), ("output",), options=options).output
    assert functions == called
    expected = run(problem(**given, **keys, dtype="float64"), ("output",)).output
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-4)  # a hundred times the score, and its rounding


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize(
    ("found", "platform", "is_fast"),
    [(VECTORIZED, "linux", True), (VECTORIZED, "win32", False), (ONE_BY_ONE, "linux", False), ({}, "linux", False)],
)
def test_powers_of_2_are_fast_where_numpy_has_vector_instructions_for_them(
    found: dict[str, Any], platform: str, is_fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np.lib.introspect, "opt_func_info", lambda **_: found)
    monkeypatch.setattr(sys, "platform", platform)
    assert has_fast_exp2() is is_fast

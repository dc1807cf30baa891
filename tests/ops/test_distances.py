"""Distances of many vectors: what is exact, how exact the rest is, and that nothing else depends on their number."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import attncli
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.ops.distances import absolute_distances, euclidean, gaussian, laplacian, squared_distances
from tests.arrays import normal
from tests.problems import problem

Distances = Callable[[np.ndarray, np.ndarray], np.ndarray]

N, M, D = 61, 89, 37  # together so many differences that distances are expanded; distinct primes
UNITS = 8.0  # of the relative error: as large as it may become for distances of a quarter of the norms
KINDS: dict[str, tuple[Distances, Callable[[np.ndarray], np.ndarray]]] = {
    "squared": (squared_distances, np.square),
    "absolute": (absolute_distances, np.abs),
}


def exact(kind: str, query: np.ndarray, key: np.ndarray) -> np.ndarray:
    """The distances, each difference of a pair in the widest type, [… n m]."""
    wide_query, wide_key = np.longdouble(query), np.longdouble(key)
    total = np.zeros(np.broadcast_shapes(wide_query[..., :1].shape, wide_key[..., :1].mT.shape), np.longdouble)
    for a, b in zip(np.moveaxis(wide_query, -1, 0), np.moveaxis(wide_key, -1, 0), strict=True):
        total += KINDS[kind][1](a[..., :, None] - b[..., None, :])
    return total


def assert_exact(kind: str, query: np.ndarray, key: np.ndarray, units: float = UNITS) -> None:
    """Every distance has a small relative error, and those of equal vectors are 0."""
    computed, expected = KINDS[kind][0](query, key), exact(kind, query, key)
    assert computed.dtype == query.dtype
    error = np.abs(computed - expected)
    assert (error <= units * np.finfo(query.dtype).eps * expected).all()


def clusters(count: int, seed: int, spread: float) -> np.ndarray:
    """Vectors around four far centres."""
    centres = 10 * normal(4, D, seed=7)
    places = np.random.default_rng([seed, count]).integers(0, 4, count)
    return np.asarray(centres[places] + spread * normal(count, D, seed=seed))


VECTORS: dict[str, tuple[np.ndarray, np.ndarray]] = {
    "far from each other": (normal(N, D), normal(M, D)),
    "at an offset of 1e3": (normal(N, D) + 1e3, normal(M, D) + 1e3),
    "at an offset of 1e5": (normal(N, D) + 1e5, normal(M, D) + 1e5),
    "at an offset of 1e8": (normal(N, D) + 1e8, normal(M, D) + 1e8),
    "nearly equal": (normal(N, D), normal(M, D)[np.arange(M) % N] * 0 + normal(N, D)[np.arange(M) % N] + 1e-6),
    "one nearly equal key each": (normal(N, D), np.concatenate([normal(N, D) * (1 + 1e-5), normal(M - N, D)])),
    "in clusters": (clusters(N, 1, 0.5), clusters(M, 2, 0.5)),
    "in narrow clusters": (clusters(N, 1, 1e-4), clusters(M, 2, 1e-4)),
    "huge": (normal(N, D) * 1e17, normal(M, D) * 1e17),
    "tiny": (normal(N, D) * 1e-15, normal(M, D) * 1e-15),
    "of all sizes": (normal(N, D) * 10 ** (3 * normal(N, 1)), normal(M, D) * 10 ** (3 * normal(M, 1))),
    "with features of all sizes": (normal(N, D) * 10 ** normal(D), normal(M, D) * 10 ** normal(D)),
    "with one key far away": (normal(N, D), np.concatenate([normal(M - 1, D), np.full((1, D), 1e6)])),
    "all of one sign": (np.exp(normal(N, D)), np.exp(normal(M, D))),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("vectors", VECTORS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_distance_is_exact_to_rounding(kind: str, vectors: str, dtype: str) -> None:
    """However near two vectors are to each other, and wherever they lie."""
    query, key = (x.astype(dtype) for x in VECTORS[vectors])
    assert_exact(kind, query, key)


@pytest.mark.parametrize("features", [1, 3, 16, 32, 65, 131])
@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_exact_for_any_number_of_features(kind: str, features: int) -> None:
    for dtype in ("float32", "float64"):
        assert_exact(kind, normal(N, features).astype(dtype), normal(M, features).astype(dtype))


@pytest.mark.parametrize(
    ("n", "m", "features"), [(1, 163, 41), (163, 1, 41), (5, 137, 41), (137, 5, 41), (21, 101, 131), (97, 23, 41)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_exact_for_any_number_of_queries_and_keys(
    kind: str, n: int, m: int, features: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts, of which the last have fewer queries and keys."""
    parts = {"MIN_DIFFERENCES": 1000, "CELLS": 512, "MIN_KEYS": 32, "MAXIMA": 2**14, "MIN_KEYS_OF_MAXIMA": 8}
    for name, size in parts.items():
        monkeypatch.setattr(f"attncli.ops.distances.{name}", size)
    assert_exact(kind, normal(n, features), normal(m, features))
    with monkeypatch.context() as patch:
        patch.setattr("attncli.ops.distances.MIN_ROWS", 1000)  # so that differences are added up
        assert_exact(kind, normal(n, features), normal(m, features))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1000.0])
def test_equal_vectors_have_the_distance_zero(offset: float, dtype: str) -> None:
    query = (normal(N, D) + offset).astype(dtype)
    key = np.concatenate([query[::-1], (normal(M, D) + offset).astype(dtype)])
    for score in (gaussian, euclidean, laplacian):
        scores = score(query, key)
        assert (scores[np.arange(N), np.arange(N)[::-1]] == 0).all()
        assert (scores <= 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_number_stays_where_it_is(kind: str, dtype: str) -> None:
    """A vector with an infinity is infinitely far from finite ones; from itself the distance is not a number."""
    query, key = normal(N, D).astype(dtype), normal(M, D).astype(dtype)
    query[3, 5], query[4, 0], key[7, 5], key[8, 1] = np.inf, np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        computed, expected = KINDS[kind][0](query, key), exact(kind, query, key)
    np.testing.assert_array_equal(np.isnan(computed), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(computed), np.isinf(expected))
    np.testing.assert_allclose(computed, expected, rtol=UNITS * np.finfo(dtype).eps)


@pytest.mark.parametrize("kind", KINDS)
def test_only_distances_that_overflow_are_infinite(kind: str) -> None:
    """Of vectors that are too long to be squared, and near to each other."""
    far = np.full((M, D), 1e300)
    query, key = far[:N] + 1e285 * normal(N, D), far + 1e285 * normal(M, D)
    with np.errstate(over="ignore"):
        assert np.isinf(squared_distances(query, key)).all()
        assert_exact("absolute", query, key)
    query, key = far[:N] * 1e-140 + 1e150 * normal(N, D), far * 1e-140 + 1e150 * normal(M, D)
    assert_exact(kind, query, key)


@pytest.mark.parametrize("kind", KINDS)
def test_distances_that_vanish_are_those_of_the_differences(kind: str) -> None:
    """Squares below the smallest number round to it or to 0; absolute differences are exact."""
    query, key = normal(N, D) * 1e-161, normal(M, D) * 1e-161
    computed, expected = KINDS[kind][0](query, key), exact(kind, query, key)
    assert (np.abs(computed - expected) <= D * np.finfo("float64").smallest_subnormal + 1e-14 * expected).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_axes_before_queries_and_keys_broadcast(kind: str, dtype: str) -> None:
    """Batch items and heads, of which some share their keys: each table is that of its own queries and keys."""
    query, key = normal(2, 3, N, D).astype(dtype), normal(2, 1, M, D).astype(dtype)
    query[1, 2, 5] = key[1, 0, 11]  # one pair is equal, in one head
    computed, expected = KINDS[kind][0](query, key), exact(kind, query, key)
    assert computed.shape == (2, 3, N, M)
    assert computed[1, 2, 5, 11] == 0
    np.testing.assert_allclose(computed, expected, rtol=UNITS * np.finfo(dtype).eps)
    np.testing.assert_allclose(KINDS[kind][0](query[0], key[0, 0]), expected[0], rtol=UNITS * np.finfo(dtype).eps)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_and_wide_numbers_stay_what_they_are(kind: str) -> None:
    whole = np.random.default_rng(3).integers(-9, 9, (N + M, D))
    computed = KINDS[kind][0](whole[:N], whole[N:])
    assert computed.dtype == whole.dtype
    np.testing.assert_array_equal(computed, exact(kind, whole[:N], whole[N:]))
    wide = np.longdouble(normal(N, D)) / 3, np.longdouble(normal(M, D)) / 3
    np.testing.assert_allclose(KINDS[kind][0](*wide), exact(kind, *wide), rtol=16 * np.finfo("longdouble").eps)


@pytest.mark.parametrize("kind", KINDS)
def test_no_queries_and_no_keys_have_no_distances(kind: str) -> None:
    assert KINDS[kind][0](np.zeros((0, D)), normal(M, D)).shape == (0, M)
    assert KINDS[kind][0](normal(N, D), np.zeros((0, D))).shape == (N, 0)
    np.testing.assert_array_equal(KINDS[kind][0](np.zeros((N, 0)), np.zeros((M, 0))), np.zeros((N, M)))


def attended(scores: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The softmax of scores, times the values, in the widest type."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: np.ndarray = weights / weights.sum(axis=-1, keepdims=True) @ value
    return result


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-3), ("float32", 1e-5), ("float64", 1e-13)])
@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize(
    ("score", "kind", "scores"),
    [
        ("gaussian:sigma=3", "squared", lambda distance: -distance / 18),
        ("euclidean", "squared", lambda distance: -np.sqrt(distance)),
        ("laplacian:sigma=4", "absolute", lambda distance: -distance / 4),
    ],
)
def test_the_output_of_many_vectors_is_that_of_their_exact_distances(
    score: str, kind: str, scores: Callable[[np.ndarray], np.ndarray], offset: float, dtype: str, tolerance: float
) -> None:
    """In tiles, and in whole rows where the weights are wanted too; with an equal key among the keys of each query."""
    query, value = (normal(97, D) + offset).astype(dtype), normal(97, 3, seed=2).astype(dtype)
    expected = attended(scores(exact(kind, query, query)), np.longdouble(value))
    spec, sizes = problem(query=query, key=query, value=value, score=score), BlockSizes(dense_cells=0, rows=64)
    for select in (("output",), ("weights", "output")):
        output = run(spec, select, options=RunOptions("serial", sizes=sizes)).output
        np.testing.assert_allclose(np.float64(output), np.float64(expected), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("features", [24, 128])
def test_equal_keys_near_a_query_are_at_equal_distances(features: int, dtype: str) -> None:
    for count in (2, 3, 5, 8, 11):
        query, key = normal(16, features).astype(dtype), normal(64, features).astype(dtype)
        key[10 : 10 + count] = query[3] + normal(features).astype(dtype) / 100
        weights = attncli.attention(query, key, score="gaussian", normalize="hardmax", select="weights").weights
        np.testing.assert_array_equal(weights[3, 10 : 10 + count], weights[3, 10])


def test_keys_that_heads_share_are_not_copied_for_each_of_them() -> None:
    query, key = normal(32, 4, 64), normal(8192, 64)
    query[0, 0] = key[0]  # which is computed pair by pair
    tracemalloc.start()
    table = squared_distances(query, key)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * (table.nbytes + key.nbytes) < query.shape[0] * key.nbytes


def test_queries_that_all_keys_share_are_not_copied_for_each_of_them() -> None:
    query, key = normal(2, 16), normal(20_000, 4, 16)
    tracemalloc.start()
    table = squared_distances(query, key)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * table.nbytes < key.nbytes


@pytest.mark.parametrize("features", [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 48, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_distances_depend_neither_on_how_many_are_computed_nor_on_their_order_in_memory(
    kind: str, features: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    distances = KINDS[kind][0]
    for shape in ((1, 1), (1, 3), (5, 1), (4, 8), (2, 3, 5, 7), (3, 1, 1)):
        query, key = normal(*shape[:-1], features), normal(*shape[:-2], shape[-1], features)
        few = distances(query, key), distances(query.mT.copy().mT, key.mT.copy().mT)
        with monkeypatch.context() as patch:
            patch.setattr("attncli.ops.distances.MIN_DIFFERENCES", 0)  # as if they were many, but
            patch.setattr("attncli.ops.distances.MIN_ROWS", 10)  # of too few rows to be expanded
            one_by_one = distances(query, key)
        np.testing.assert_array_equal(few[0], one_by_one)
        np.testing.assert_array_equal(few[1], one_by_one)


@pytest.mark.parametrize("score", ["gaussian", "euclidean", "laplacian"])
def test_equal_keys_tie_in_tiles_of_every_size(score: str) -> None:
    words = np.random.default_rng(0).integers(0, 8, 370)
    key = normal(8, 8)[words]
    query = key + normal(370, 8, seed=2) / 10
    numbers = np.arange(370.0)[:, None]
    found = attncli.attention(query, key, numbers, score=score, normalize="hardmax", causal=True).output
    nearest = exact("squared" if score != "laplacian" else "absolute", query, key)
    for row, cells in enumerate(nearest):
        tied = np.flatnonzero(words[: row + 1] == words[cells[: row + 1].argmin()])
        np.testing.assert_allclose(found[row, 0], tied.mean(), rtol=1e-14)


def test_heads_that_share_their_keys_have_the_distances_to_them() -> None:
    query, key, value = normal(2, 4, 181, D), normal(2, 2, 191, D), normal(2, 2, 191, 3, seed=1)
    output = attncli.attention(query, key, value, score="gaussian:sigma=3", select="context").context
    for item, head in np.ndindex(2, 4):
        scores = -exact("squared", query[item, head], key[item, head // 2]) / 18
        expected = attended(scores, np.longdouble(value[item, head // 2]))
        np.testing.assert_allclose(output[item, head], np.float64(expected), rtol=1e-13, atol=1e-13)

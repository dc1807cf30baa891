"""Projections of many rows are computed in parts: the parts together are the whole, on every executor."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import threadpoolctl

import attncli
from attncli import AttnError
from attncli.engine import dense, threads
from attncli.engine.dense import projection_parts
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.engine.threads import ThreadsExecutor
from attncli.ops.structural import project
from attncli.plan.build import plan_of
from tests.arrays import normal
from tests.problems import dense_trace, problem

SIZES = BlockSizes(dense_cells=0)
IN_BLOCKS = RunOptions(sizes=SIZES)
ROWS, FEATURES = 150, 24
CLOSE = {"float64": 1e-13, "float32": 2e-7, "float16": 1e-3, "bfloat16": 1e-2}
SHARED = {name: normal(FEATURES, 8, seed=seed) / 5 for seed, name in enumerate(("w_q", "w_k", "w_v"))}
PROBLEMS: dict[str, dict[str, Any]] = {
    "one head": {},
    "biases": {"b_q": normal(8), "b_v": normal(8, seed=1)},
    "an output projection of heads": {"heads": 2, "w_o": normal(8, 12)},
    "batch items": {"embeddings": normal(3, 70, FEATURES)},
    "a packed matrix": {"w_q": None, "w_k": None, "w_v": None, "w_qkv": normal(FEATURES, 24) / 5},
    "queries of their own": {"query_embeddings": normal(ROWS, FEATURES, seed=4)},
}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many parts each projection had; projections are large from a few numbers on."""
    parts: list[int] = []
    monkeypatch.setattr(dense, "MIN_PRODUCTS", 1)

    def run_all(functions: list[Callable[[], None]], pool: ThreadsExecutor | None) -> None:
        parts.append(len(functions))
        threads.run_all(functions, pool)

    monkeypatch.setattr("attncli.engine.blockwise.run_all", run_all)
    return parts


@pytest.mark.parametrize(
    ("keys", "dtype"), [(keys, "float64") for keys in PROBLEMS.values()] + [({}, dtype) for dtype in CLOSE][1:]
)
def test_projections_in_parts_are_the_whole_ones(keys: dict[str, Any], dtype: str, counted: list[int]) -> None:
    spec = problem(**{"embeddings": normal(ROWS, FEATURES), **SHARED, "dtype": dtype, **keys})
    whole = dense_trace(spec)
    names = [name for name in ("query", "key", "value", "output") if whole.plan.find(name) is not None]
    found = run(spec, names, options=IN_BLOCKS).trace
    assert counted
    assert min(counted) > 1
    for name in names:
        assert found.value(name).dtype == whole.value(name).dtype
        np.testing.assert_allclose(
            found.value(name).astype(float), whole.value(name).astype(float), rtol=0, atol=10 * CLOSE[dtype]
        )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_their_digits_do_not_depend_on_the_number_of_threads(
    dtype: str, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = problem(embeddings=normal(ROWS, FEATURES), **SHARED, dtype=dtype)
    serial = run(spec, ("query", "output"), options=RunOptions("serial", sizes=SIZES))
    for count in (2, 3):
        monkeypatch.setattr(threads, "cores", lambda count=count: count)
        threads._threads.cache_clear()
        found = run(spec, ("query", "output"), options=IN_BLOCKS)
        np.testing.assert_array_equal(found.query, serial.query)
        np.testing.assert_array_equal(found.output, serial.output)
    threads._threads.cache_clear()
    assert counted


MANY = normal(333, 65) / 18  # so many numbers that rows are in parts, and not of a multiple of what BLAS takes at once


def same_vectors(*counts: int) -> np.ndarray:
    """The same vector everywhere."""
    return np.broadcast_to(normal(333), (*counts, 333)).copy()


@pytest.mark.parametrize("rows", [600, 1000])
def test_equal_vectors_have_equal_projections(rows: int) -> None:
    one = problem(embeddings=same_vectors(rows), w_q=MANY, w_k=MANY, w_v=MANY)
    assert len(projection_parts(plan_of(one)["query"], plan_of(one))) > 1
    query = run(one, ("query",)).query
    np.testing.assert_array_equal(query, query[:1].repeat(rows, axis=0))


@pytest.mark.parametrize(("items", "rows"), [(3, 333), (16, 100)])
def test_equal_batch_items_have_equal_projections(items: int, rows: int) -> None:
    embeddings = np.broadcast_to(normal(rows, 256), (items, rows, 256)).copy()
    w = normal(256, 64) / 16
    one = problem(embeddings=embeddings, w_q=w, w_k=w, w_v=w)
    assert len(projection_parts(plan_of(one)["query"], plan_of(one))) > 1
    found = run(one, ("query", "output"))
    for item in range(1, items):
        np.testing.assert_array_equal(found.query[item], found.query[0])
        np.testing.assert_array_equal(found.output[item], found.output[0])


def test_keys_of_equal_words_tie() -> None:
    words = np.random.default_rng(0).integers(0, 8, 1000)
    given = {"embeddings": normal(8, 333)[words], "w_q": MANY, "w_k": MANY, "w_v": MANY}
    weights = attncli.attention(**given, normalize="hardmax", select="weights").weights
    assert np.count_nonzero(weights) == sum(np.count_nonzero(words == words[row.argmax()]) for row in weights)
    distances = attncli.attention(**given, score="euclidean", select="scores").scores
    assert not distances[words[:, None] == words].any()


def parts_of_vectors(*shape: int) -> Any:
    """The parts of the projections of so many vectors to 8 columns."""
    plan = SimpleNamespace(by_name={"x": SimpleNamespace(shape=shape), "w": SimpleNamespace(shape=(shape[-1], 8))})
    node = SimpleNamespace(function=project, inputs={"x": "x", "w": "w"})
    return projection_parts(cast(Any, node), cast(Any, plan))


@pytest.mark.parametrize(("rows", "count"), [(2**10, 0), (2**11, 2), (3 * 2**10, 3), (2**15, 8)])
def test_a_projection_is_in_as_many_parts_as_take_long_enough(
    rows: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A product of 1024 rows of 64 numbers with 8 columns takes as long as a part has to; there are 8 at most."""
    monkeypatch.setattr(dense, "MIN_PRODUCTS", 2**10 * 64 * 8)
    assert len(parts_of_vectors(rows, 64)) == count


def test_a_bias_without_a_matrix_is_added_in_one_part() -> None:
    plan = plan_of(problem(embeddings=normal(5, 3), b_q=normal(3)))
    assert projection_parts(plan["query"], plan) == ()


@pytest.mark.parametrize("shape", [(1000, 64), (3, 5000, 16), (50, 100, 64), (2, 3, 40, 900), (7, 130, 256)])
def test_the_parts_of_a_projection_are_all_its_rows_and_each_once(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "MIN_PRODUCTS", 2**14)
    seen = np.zeros(shape, int)
    for part in parts_of_vectors(*shape):
        seen[part] += 1
        assert seen[part].size * 8 >= 2**13 or seen[part].shape[-2] == shape[-2]
    assert (seen == 1).all()


@pytest.mark.parametrize("shape", [(10, 8), (100, 99_999), (1, 100, 99_999)])
def test_few_vectors_are_projected_at_once(shape: tuple[int, ...]) -> None:
    assert not parts_of_vectors(*shape)


@pytest.mark.parametrize(
    ("options", "are_parts"), [(IN_BLOCKS, False), (RunOptions(blas_is_limited=True, sizes=SIZES), True)]
)
def test_without_a_limit_of_blas_projections_are_not_split(
    options: RunOptions, are_parts: bool, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_limits", lambda: None)
    spec = problem(embeddings=normal(ROWS, FEATURES), **SHARED)
    found = run(spec, ("query",), options=options).query
    np.testing.assert_allclose(found, dense_trace(spec).value("query"), rtol=0, atol=1e-12)
    assert bool(counted) == are_parts


def test_products_have_one_thread_each_also_before_the_blocks(
    counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of BLAS that have nothing to do wait without sleeping, and slow down the blocks."""
    seen: set[int] = set()
    call = vars(dense)["call"]

    def look(*arguments: Any, **more: Any) -> np.ndarray:
        seen.update(found["num_threads"] for found in threadpoolctl.threadpool_info() if found["user_api"] == "blas")
        return call(*arguments, **more)

    monkeypatch.setattr(dense, "call", look)
    with threadpoolctl.threadpool_limits(2, "blas"):
        run(problem(embeddings=normal(ROWS, FEATURES), **SHARED), ("output",), options=IN_BLOCKS)
    assert seen == {1}


@pytest.mark.parametrize("executor", ["threads", "serial"])
def test_an_error_in_one_of_several_functions_reaches_the_caller(executor: str) -> None:
    begun, released = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert released.wait(60) if executor == "threads" else not released.is_set()

    def fail() -> None:
        released.set()
        raise AttnError("no")

    with pytest.raises(AttnError, match="no"):
        threads.run_all([wait, fail], threads.threads_of(RunOptions(executor)))
    assert begun.is_set() or executor == "threads"


def test_an_interrupt_while_functions_are_handed_out_cancels_those_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[Future[None]] = []

    class Pool(ThreadsExecutor):
        def submit(self, function: Callable[..., Any], /, *_: Any, **__: Any) -> "Future[Any]":
            if len(handed) == 2:
                raise KeyboardInterrupt
            handed.append(Future())
            return handed[-1]

    with pytest.raises(KeyboardInterrupt), Pool(2, limits_blas=False) as pool:
        threads.run_all([lambda: None] * 4, pool)
    assert [future.cancelled() for future in handed] == [True, True]


def test_beside_dask_the_threads_of_this_process_compute_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    assert threads.threads_of(RunOptions("tcp://127.0.0.1:1")) is threads.threads_of(RunOptions("threads"))
    assert threads.threads_of(RunOptions("serial")) is None


def test_every_function_is_called_once() -> None:
    called: list[int] = []
    pool = threads.threads_of(RunOptions())
    threads.run_all([lambda number=number: called.append(number) for number in range(50)], pool)
    assert sorted(called) == list(range(50))

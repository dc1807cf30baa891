"""BLAS has one thread while blocks are computed, and what it had thereafter."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from attncli.engine import blas_limit
from attncli.engine.options import RunOptions
from attncli.engine.run import run
from tests.problems import problem

Q, K, V = (np.random.default_rng(seed).standard_normal((700, 16)) for seed in range(3))


def test_blas_has_one_thread_while_blocks_are_computed_and_all_afterwards() -> None:
    controller = pytest.importorskip("threadpoolctl")

    def threads() -> list[int]:
        return [found["num_threads"] for found in controller.threadpool_info() if found["user_api"] == "blas"]

    during: list[list[int]] = []
    with controller.threadpool_limits(2, "blas"):
        options = RunOptions(progress=lambda _done, _total: during.append(threads()))
        run(problem(query=Q, key=K, value=V), ("output",), options=options)
        after = threads()
    assert (set(map(tuple, during)), set(after)) == ({(1,) * len(after)}, {2})


def test_the_limit_of_blas_ends_with_the_last_of_the_calls_that_overlap() -> None:
    controller = pytest.importorskip("threadpoolctl")

    def threads() -> set[int]:
        return {found["num_threads"] for found in controller.threadpool_info() if found["user_api"] == "blas"}

    one, other = threading.Event(), threading.Event()

    def compute_until(event: threading.Event, begun: threading.Event) -> None:
        def wait(_done: int, _total: int) -> None:
            begun.set()
            assert event.wait(10)

        run(problem(query=Q, key=K, value=V), ("output",), options=RunOptions(progress=wait))

    begun = [threading.Event(), threading.Event()]
    with controller.threadpool_limits(2, "blas"), ThreadPoolExecutor(2) as pool:
        first, last = (
            pool.submit(compute_until, event, begins) for event, begins in zip((one, other), begun, strict=True)
        )
        assert all(event.wait(10) for event in begun)
        one.set()
        first.result(10)
        within = threads()
        other.set()
        last.result(10)
        assert (within, threads()) == ({1}, {2})


def test_calls_that_begin_together_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two calls of a process may: the libraries are searched once, which takes milliseconds."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    searched: list[int] = []

    class SlowController(threadpoolctl.ThreadpoolController):  # type: ignore[misc] # untyped
        def __init__(self) -> None:
            searched.append(1)
            threading.Event().wait(0.1)
            super().__init__()

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", SlowController)
    blas_limit._find_limits.cache_clear()
    barrier = threading.Barrier(2)

    def enter() -> Any:
        barrier.wait(10)
        with blas_limit.one_blas_thread():
            return blas_limit._find_limits()

    with ThreadPoolExecutor(2) as pool:
        one, other = [future.result(10) for future in [pool.submit(enter), pool.submit(enter)]]
    assert one is other
    assert searched == [1]
    blas_limit._find_limits.cache_clear()

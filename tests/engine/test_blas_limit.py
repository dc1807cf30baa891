"""BLAS has one thread while blocks are computed, and what it had thereafter."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import threadpoolctl

from attncli.engine import threads
from attncli.engine.options import RunOptions
from attncli.engine.run import run
from tests.arrays import normal
from tests.problems import problem

Q, K, V = (normal(700, 16, seed=seed) for seed in range(3))


def test_blas_has_one_thread_while_blocks_are_computed_and_all_afterwards() -> None:

    def threads() -> list[int]:
        return [found["num_threads"] for found in threadpoolctl.threadpool_info() if found["user_api"] == "blas"]

    during: list[list[int]] = []
    with threadpoolctl.threadpool_limits(2, "blas"):
        options = RunOptions(progress=lambda _done, _total: during.append(threads()))
        run(problem(query=Q, key=K, value=V), ("output",), options=options)
        after = threads()
    assert (set(map(tuple, during)), set(after)) == ({(1,) * len(after)}, {2})


def test_the_limit_of_blas_ends_with_the_last_of_the_calls_that_overlap() -> None:

    def threads() -> set[int]:
        return {found["num_threads"] for found in threadpoolctl.threadpool_info() if found["user_api"] == "blas"}

    one, other = threading.Event(), threading.Event()

    def compute_until(event: threading.Event, begun: threading.Event) -> None:
        def wait(_done: int, _total: int) -> None:
            begun.set()
            assert event.wait(60)

        run(problem(query=Q, key=K, value=V), ("output",), options=RunOptions(progress=wait))

    begun = [threading.Event(), threading.Event()]
    with threadpoolctl.threadpool_limits(2, "blas"), ThreadPoolExecutor(2) as pool:
        first, last = (
            pool.submit(compute_until, event, begins) for event, begins in zip((one, other), begun, strict=True)
        )
        assert all(event.wait(60) for event in begun)
        one.set()
        first.result(60)
        within = threads()
        other.set()
        last.result(60)
        assert (within, threads()) == ({1}, {2})


@pytest.fixture
def searched_anew() -> Iterator[None]:
    """The libraries are searched in the test, and again after it."""
    threads._find_limits.cache_clear()
    yield
    threads._find_limits.cache_clear()


@pytest.mark.usefixtures("searched_anew")
def test_calls_that_begin_together_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two calls of a process may: the libraries are searched once, which takes milliseconds."""
    searched: list[int] = []

    class SlowController(threadpoolctl.ThreadpoolController):  # untyped
        def __init__(self) -> None:
            searched.append(1)
            threading.Event().wait(0.1)
            super().__init__()

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", SlowController)
    barrier = threading.Barrier(2)

    def enter() -> Any:
        barrier.wait(60)
        with threads.one_blas_thread():
            return threads._find_limits()

    with ThreadPoolExecutor(2) as pool:
        one, other = [future.result(60) for future in [pool.submit(enter), pool.submit(enter)]]
    assert one is other
    assert searched == [1]


@pytest.mark.usefixtures("searched_anew")
def test_a_library_where_each_thread_has_its_own_number_is_limited_in_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """As OpenBLAS on OpenMP is, since threadpoolctl 3.8."""
    limited: set[str] = set()

    class Limiter:
        """What limits as soon as it is made."""

        def __init__(self, is_any: bool) -> None:
            limited.update([threading.current_thread().name] if is_any else [])

        def __enter__(self) -> None: ...

        def __exit__(self, *_error: object) -> None: ...

        def restore_original_limits(self) -> None: ...

    class Controller:
        """Of one library, or of none."""

        def __init__(self, count: int = 1) -> None:
            library = SimpleNamespace(internal_api="openblas", threading_layer="openmp", filepath="libopenblas.so")
            self.lib_controllers = [library] * count

        def select(self, user_api: str = "", filepath: Sequence[str] = ()) -> "Controller":
            return Controller(1 if user_api else len(filepath))

        def limit(self, limits: int) -> Limiter:
            assert limits == 1
            return Limiter(bool(self.lib_controllers))

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", Controller)
    monkeypatch.setattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda force: None, raising=False)
    monkeypatch.setattr(threads, "cores", lambda: 2)
    threads._threads.cache_clear()
    run(problem(query=Q, key=K, value=V), ("output",), options=RunOptions(blas_is_limited=False))
    threads._threads(threads.cores(), blas_is_limited=False).shutdown()
    threads._threads.cache_clear()
    assert limited == {threading.current_thread().name, "attn_0"}

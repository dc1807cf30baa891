"""While blocks are computed the calling thread has a core of its own; afterwards every thread has those it had."""

import os
import sys
from collections.abc import Collection, Iterator
from threading import Event, Thread, get_ident, get_native_id

import numpy as np
import pytest

import attncli
from attncli.engine import blas_limit, core_placement, executors
from attncli.engine.core_placement import current_core
from attncli.engine.executors import ThreadsExecutor
from attncli.engine.options import RunOptions
from attncli.engine.run import run
from tests.arrays import normal
from tests.problems import problem

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="threads are placed on Linux, on several cores",
)
LARGE = {"query": normal(700, 16, seed=1), "key": normal(700, 16, seed=2), "value": normal(700, 16, seed=3)}


def cores_of_this_thread() -> set[int]:
    """The cores that the calling thread may use."""
    return os.sched_getaffinity(0)


@pytest.fixture
def pool() -> Iterator[ThreadsExecutor]:
    """A pool of two threads, none of which has begun."""
    with ThreadsExecutor(3, limits_blas=False) as made:
        yield made


def begin(pool: ThreadsExecutor, count: int) -> list[int]:
    """Let so many threads of a pool begin; their numbers in the system."""
    go_on = Event()
    waiting = [pool.submit(lambda: (go_on.wait(10), get_native_id())[1]) for _ in range(count)]
    go_on.set()
    return [future.result(10) for future in waiting]


def test_the_caller_and_the_threads_of_the_pool_have_other_cores_as_long_as_a_run_lasts(pool: ThreadsExecutor) -> None:
    every = cores_of_this_thread()
    threads = begin(pool, 2)
    with pool.placement.apart():
        assert cores_of_this_thread() == {current_core()}
        assert [os.sched_getaffinity(thread) for thread in threads] == [every - cores_of_this_thread()] * 2
    assert [cores_of_this_thread(), *map(os.sched_getaffinity, threads)] == [every] * 3


def test_threads_that_begin_in_a_run_leave_its_core_to_the_caller_which_then_stays_there(
    pool: ThreadsExecutor,
) -> None:
    every = cores_of_this_thread()
    with pool.placement.apart():
        assert cores_of_this_thread() == every
        for count in (1, 2):
            *_, last = begin(pool, count)
            assert cores_of_this_thread() == every - os.sched_getaffinity(last) == {current_core()}
    assert pool.submit(cores_of_this_thread).result(10) == cores_of_this_thread() == every


def test_a_thread_that_begins_while_the_run_ends_does_not_keep_the_caller_on_its_core(
    pool: ThreadsExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    every, set_cores, caller = cores_of_this_thread(), core_placement._set_cores, get_ident()
    late = list[int]()

    def begin_late(thread: int, cores: Collection[int]) -> None:
        set_cores(thread, cores)
        if get_ident() == caller and not late:  # the first that the caller does at the end
            late.extend(begin(pool, 1))

    with pool.placement.apart():
        monkeypatch.setattr(core_placement, "_set_cores", begin_late)
    assert [cores_of_this_thread(), *map(os.sched_getaffinity, late)] == [every] * 2


@pytest.mark.parametrize("is_own", [True, False], ids=["the core of the run", "another"])
def test_a_thread_that_was_started_in_a_run_and_begins_after_it_has_every_core(
    is_own: bool, pool: ThreadsExecutor
) -> None:
    """Its starter had the core of the run; where that is another, the user has limited it, and so it stays."""
    every = cores_of_this_thread()
    with pool.placement.apart():
        own = current_core()
    core = own if is_own else min(every - {own})
    os.sched_setaffinity(0, {core})
    try:
        (thread,) = begin(pool, 1)
    finally:
        os.sched_setaffinity(0, every)
    assert os.sched_getaffinity(thread) == (every if is_own else {core})


def test_cores_are_given_back_after_an_error(pool: ThreadsExecutor) -> None:
    every = cores_of_this_thread()
    (*threads,) = begin(pool, 2)
    with pytest.raises(KeyboardInterrupt), pool.placement.apart():
        raise KeyboardInterrupt
    assert [cores_of_this_thread(), *map(os.sched_getaffinity, threads)] == [every] * 3


def test_a_second_caller_at_the_same_time_changes_nothing(pool: ThreadsExecutor) -> None:
    every, found = cores_of_this_thread(), list[set[int]]()

    def call() -> None:
        with pool.placement.apart():
            found.append(cores_of_this_thread())

    begin(pool, 2)
    second = Thread(target=call)
    with pool.placement.apart():
        os.sched_setaffinity(0, every)  # which the second thread begins with
        second.start()
        second.join(10)
        os.sched_setaffinity(0, {min(every)})
        assert pool.submit(cores_of_this_thread).result(10) < every
    assert found == [every]
    assert cores_of_this_thread() == every


@pytest.mark.parametrize("core", [-1, 0], ids=["not known", "the only one"])
def test_nothing_is_changed_where_the_core_is_not_known_or_the_only_one(
    core: int, pool: ThreadsExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = cores_of_this_thread()
    begin(pool, 2)
    monkeypatch.setattr(core_placement, "current_core", lambda: core)
    if core == 0:
        monkeypatch.setattr(core_placement, "_cores_of_this_thread", lambda: {0})
    with pool.placement.apart():
        assert pool.submit(cores_of_this_thread).result(10) == cores_of_this_thread() == every


def test_blocks_are_computed_apart() -> None:
    """Unless an operator of the user's own takes part: threads that it starts, and keeps, would have the same cores."""
    every, during = cores_of_this_thread(), list[set[int]]()
    options = RunOptions(progress=lambda _done, _all: during.append(cores_of_this_thread()), blas_is_limited=True)
    executors._threads.cache_clear()
    for _ in range(2):  # the threads of the pool begin in the first
        during.clear()
        run(problem(**LARGE), ("output",), options=options)
    assert {len(cores) for cores in during} == {1}
    assert cores_of_this_thread() == every


def test_where_blas_has_its_own_threads_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may start them meanwhile, and keep them."""
    every, during = cores_of_this_thread(), list[set[int]]()
    monkeypatch.setattr(blas_limit, "_limits", lambda: None)
    options = RunOptions(progress=lambda _done, _all: during.append(cores_of_this_thread()))
    run(problem(**LARGE), ("output",), options=options)
    assert during
    assert all(cores == every for cores in during)


def test_without_ctypes_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctypes", None)
    core_placement._asker.cache_clear()
    found = current_core()
    core_placement._asker.cache_clear()
    assert found == -1


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """It computes with them, and leaves those of its parent where they are."""
    options = RunOptions(blas_is_limited=True)
    expected, before = run(problem(**LARGE), ("output",), options=options).output, executors.threads_of(options)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            output = run(problem(**LARGE), ("output",), options=options).output
            is_own = executors.threads_of(options) is not before
            status = 0 if is_own and np.array_equal(output, expected) else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert executors.threads_of(options) is before


@pytest.mark.usefixtures("restored_registry")
def test_an_operator_of_ones_own_has_the_cores_that_the_process_has() -> None:
    """Threads that it starts, and may keep, begin with the same."""
    found: dict[int, set[int]] = {}

    @attncli.position(
        formula="0",
        shapes="query_positions[n], key_positions[m] -> [n m]",
        source="this test",
        example={"query_positions": [0], "key_positions": [0], "gives": [[0]]},
        acts_on="scores",
    )
    def asking(query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
        """No bias."""
        found[get_ident()] = cores_of_this_thread()
        return np.zeros((*query_positions.shape, *key_positions.shape[-1:]))

    for _ in range(2):
        attncli.attention(**LARGE, position="asking")
    assert list(found.values()) == [cores_of_this_thread()] * len(found)
    assert found

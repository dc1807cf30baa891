"""Executors: every one gives the same results; errors and interrupts cancel waiting blocks."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import product
from typing import Any, cast

import numpy as np
import pytest

import attncli
from attncli import AttnError
from attncli.engine import threads
from attncli.engine.block_task import BlockTask
from attncli.engine.blocks import Block
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.engine.threads import Cancelled, compute
from tests.arrays import normal
from tests.problems import problem

Q, K, V = (normal(700, 16, seed=seed) for seed in range(3))


@pytest.mark.parametrize(
    ("keys", "select"),
    [
        *product([{}, {"causal": True, "heads": 4}, {"normalize": "sparsemax"}], ["output", "weights"]),
        *product([{}, {"causal": True, "heads": 4}, {"normalize": "softmax1"}], ["lse"]),
    ],
    ids=str,
)
def test_threads_give_what_one_thread_gives(keys: dict[str, Any], select: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = problem(query=Q[:90], key=K[:90], value=V[:90], dtype="float64", **keys)
    sizes = BlockSizes(0, rows=13, masked_rows=13, tile_cells=13 * 90, row_cells=13 * 90, alone_multiplications=0)
    serial = getattr(run(one, (select,), options=RunOptions("serial", sizes=sizes)), select)
    for count in (2, 5):
        monkeypatch.setattr(threads, "cores", lambda count=count: count)
        threads._threads.cache_clear()
        np.testing.assert_allclose(
            getattr(run(one, (select,), options=RunOptions(sizes=sizes)), select), serial, rtol=0, atol=1e-13
        )
    threads._threads.cache_clear()


def test_an_unknown_executor_is_an_error() -> None:
    with pytest.raises(AttnError, match=r"executor: unknown executor 'thread'; .*'threads'"):
        attncli.attention(Q, K, V, executor="thread")


def test_where_no_thread_can_be_started_one_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads._threads.cache_clear()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(AttnError, match=r"executor threads: no thread .* \(.*\); choose the executor serial"):
        run(problem(query=Q, key=K, value=V), ("output",))
    threads._threads.cache_clear()


def test_an_error_in_a_block_cancels_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Block] = []
    steps = BlockTask.steps

    def fail_at_last(task: BlockTask, block: Block, query_inputs: Any) -> Any:
        started.append(block)
        if len(started) == 5:
            raise AttnError("no")
        return steps(task, block, query_inputs)

    monkeypatch.setattr(BlockTask, "steps", fail_at_last)
    with pytest.raises(AttnError, match="no"):
        run(problem(query=Q, key=K, value=V), options=RunOptions(sizes=BlockSizes(rows=2)), select=("output",))
    assert len(started) < 350 / 2


@pytest.mark.parametrize("normalize", ["softmax", "sparsemax"], ids=["tiles", "whole rows"])
def test_waiting_blocks_are_cancelled_by_an_interrupt(normalize: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    started: list[Block] = []
    steps = BlockTask.steps

    def counted(task: BlockTask, block: Block, query_inputs: Any) -> Any:
        started.append(block)
        return steps(task, block, query_inputs)

    def interrupt(so_far: int, total: int) -> None:
        done.append(so_far)
        if so_far == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(BlockTask, "steps", counted)
    options = RunOptions(progress=interrupt, sizes=BlockSizes(rows=1, row_cells=1))
    with pytest.raises(KeyboardInterrupt):
        run(problem(query=Q, key=K, value=V, normalize=normalize), ("output",), options=options)
    threads._threads(threads.cores(), blas_is_limited=False).shutdown()  # after the blocks that have started
    threads._threads.cache_clear()
    assert done == [1, 2, 3]
    assert len(started) < 700  # other threads may compute some more until the calling one hears of it


def test_progress_counts_every_block() -> None:
    reported: list[tuple[int, int]] = []
    options = RunOptions(progress=lambda *counts: reported.append(counts))
    run(problem(query=Q, key=K, value=V), ("output",), options=options)
    assert [done for done, _ in reported] == list(range(1, reported[-1][1] + 1))


def blocks_of_one_query(count: int) -> list[Block]:
    """So many blocks, each of one query."""
    return [Block(slice(0, 1), slice(0, 1), slice(number, number + 1)) for number in range(count)]


def test_no_more_blocks_are_submitted_than_workers_can_use() -> None:
    """Otherwise the results of all blocks would be held until the end."""
    asked: list[Block] = []

    def blocks() -> Iterator[Block]:
        for block in blocks_of_one_query(100):
            asked.append(block)
            yield block

    with ThreadPoolExecutor(1) as pool:
        prepare = partial(partial, pool.submit, compute)
        steps = threads.submit_blocks(idle(), blocks(), lambda *_: None, prepare=prepare, ahead=8)
        next(steps)
        assert len(asked) == 9
        steps.close()


def test_submitted_blocks_are_stored_in_order_when_the_first_is_slow() -> None:
    blocks = blocks_of_one_query(5)
    last = threading.Event()

    def slow(_task: Any, block: Block, _query_inputs: Any) -> Any:
        if block is blocks[0]:
            assert last.wait(60)
        if block is blocks[-1]:
            last.set()
        return block

    kept: list[Any] = []
    with ThreadPoolExecutor(2) as pool:
        prepare = partial(partial, pool.submit, slow)
        steps = threads.submit_blocks(idle(), blocks, lambda *given: kept.append(given), prepare=prepare, ahead=8)
        assert list(steps) == blocks
    assert kept == list(zip(blocks, blocks, strict=True))


class Watched:
    """A BlockTask that tells of a block that it is begun, and then computed, by what it is made with."""

    def __init__(self, begin: Callable[[Block], object], compute: Callable[[Block], object]) -> None:
        self.begin, self.compute = begin, compute

    def query_inputs(self, block: Block) -> dict[str, Any]:
        return {}

    def steps(self, block: Block, query_inputs: Any) -> Any:
        self.begin(block)
        yield
        self.compute(block)


def share(task: Any, blocks: list[Block], pool: Any, keep: Any = lambda *_: None) -> list[Block]:
    """The blocks, in the order in which they are said to be kept, of a task that threads share."""
    return list(threads.share_blocks(task, blocks, keep, pool=pool, is_cancelled=bool))


def test_the_calling_thread_computes_blocks_that_no_other_has_begun() -> None:
    blocks, begun, others_are_kept = blocks_of_one_query(20), threading.Event(), threading.Event()
    kept: list[Block] = []

    def compute_slowly(block: Block) -> None:
        if block is blocks[0]:
            assert begun.wait(60)  # the second, by the only other thread
        if block is blocks[1]:
            begun.set()
            assert others_are_kept.wait(60)

    def keep(block: Block, _result: Any) -> None:
        kept.append(block)
        if len(kept) == len(blocks) - 1:
            others_are_kept.set()

    with threads.ThreadsExecutor(2, limits_blas=False) as pool:
        finished = share(Watched(lambda _: None, compute_slowly), blocks, pool, keep)
    assert finished == kept == [blocks[0], *blocks[2:], blocks[1]]


def test_the_calling_thread_begins_the_first_block_before_it_wakes_others() -> None:
    """These wake up while it is within a product, and don't wait for it to run Python."""
    done: list[Any] = []

    class Pool:
        cores = 2

        def submit(self, function: Any) -> Any:
            done.append("woken")
            function()
            future = Future[None]()
            future.set_result(None)
            return future

    first, second = blocks = blocks_of_one_query(2)
    task = Watched(lambda block: done.append(("begun", block)), lambda block: done.append(("computed", block)))
    assert share(task, blocks, Pool()) == [first, second]
    assert done == [("begun", first), "woken", ("begun", second), ("computed", second), ("computed", first)]


@pytest.mark.parametrize("count", [0, 1])
def test_no_thread_is_woken_for_a_single_block(count: int) -> None:
    class Pool:
        cores = 2

        def submit(self, function: Any) -> Any:
            raise AssertionError("submitted")

    blocks = blocks_of_one_query(count)
    assert share(idle(), blocks, Pool()) == blocks


def test_without_other_threads_blocks_are_computed_one_after_another() -> None:
    blocks, kept = blocks_of_one_query(5), list[Block]()
    assert share(idle(), blocks, None, lambda block, _result: kept.append(block)) == kept == blocks


def test_blocks_that_other_threads_have_begun_end_when_they_are_cancelled() -> None:
    """Ctrl-C does not wait for them."""
    has_begun, cancelled, ended = threading.Event(), threading.Event(), list[str]()

    class Long:
        def query_inputs(self, block: Block) -> dict[str, Any]:
            return {}

        def steps(self, block: Block, query_inputs: Any) -> Any:
            yield
            if threading.current_thread() is caller:
                assert has_begun.wait(60)
                raise KeyboardInterrupt
            has_begun.set()
            try:
                for _ in range(1000):
                    cancelled.wait(0.01)
                    yield
                ended.append("computed")
            finally:
                ended.append("closed")

    caller, task = threading.current_thread(), cast("BlockTask", Long())
    with threads.ThreadsExecutor(2, limits_blas=False) as pool:
        steps = threads.share_blocks(
            task, blocks_of_one_query(2), lambda *_: None, pool=pool, is_cancelled=cancelled.is_set
        )
        with pytest.raises(KeyboardInterrupt):
            next(steps)
        cancelled.set()
    assert ended == ["closed"]


def test_an_error_in_another_thread_is_raised_and_no_further_block_begins() -> None:
    blocks, has_failed, begun = blocks_of_one_query(50), threading.Event(), list[Block]()

    def compute_or_fail(block: Block) -> None:
        if threading.current_thread() is not caller:
            raise AttnError("no")
        assert has_failed.wait(60)

    caller = threading.current_thread()
    with threads.ThreadsExecutor(2, limits_blas=False) as pool:
        submit = pool.submit

        def submit_and_watch(function: Any) -> Any:
            future = submit(function)
            future.add_done_callback(lambda _: has_failed.set())
            return future

        pool.submit = submit_and_watch  # to know when it has failed
        with pytest.raises(AttnError, match="no"):
            share(Watched(begun.append, compute_or_fail), blocks, pool)
    assert begun == blocks[:2]


def idle() -> Any:
    """A BlockTask that computes nothing."""
    return Watched(lambda _: None, lambda _: None)


def test_a_block_is_cancelled_between_two_tiles() -> None:
    """Ctrl-C ends the work within a second, also in a long block."""
    asked: list[int] = []

    def is_cancelled() -> bool:
        asked.append(1)
        return len(asked) == 3

    class Endless:
        def steps(self, block: Block, query_inputs: Any) -> Any:
            while True:
                yield

    block = Block(slice(0, 1), slice(0, 1), slice(0, 1))
    with pytest.raises(Cancelled):
        compute(Endless(), block, {}, is_cancelled)  # in place of a BlockTask
    assert len(asked) == 3


def test_a_cancelled_block_is_closed_by_its_own_thread() -> None:
    """NumPy's error state belongs to a thread: another thread can not restore it, and would print a warning."""
    closed: list[threading.Thread] = []
    workers: list[threading.Thread] = []

    class Watched:
        def steps(self, block: Block, query_inputs: Any) -> Any:
            workers.append(threading.current_thread())
            try:
                yield
            finally:
                closed.append(threading.current_thread())

    block = Block(slice(0, 1), slice(0, 1), slice(0, 1))
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(compute, Watched(), block, {}, lambda: True)  # in place of a BlockTask
        error = future.exception()
    assert isinstance(error, Cancelled)  # which holds the frames, so that nothing is closed by garbage collection
    assert closed == workers

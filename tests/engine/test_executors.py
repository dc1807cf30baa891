"""Executors: every one gives the same results; errors and interrupts cancel waiting blocks."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import attncli
from attncli import AttnError
from attncli.engine import executors
from attncli.engine.block_task import BlockTask, Cancelled, compute
from attncli.engine.blocks import Block
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from tests.problems import problem

Q, K, V = (np.random.default_rng(seed).standard_normal((700, 16)) for seed in range(3))


@pytest.mark.parametrize("select", ["output", "weights"])
@pytest.mark.parametrize("keys", [{}, {"causal": True, "heads": 4}, {"normalize": "sparsemax"}], ids=str)
def test_threads_give_what_one_thread_gives(keys: dict[str, Any], select: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = problem(query=Q, key=K, value=V, dtype="float64", **keys)
    serial = getattr(run(one, (select,), options=RunOptions("serial")), select)
    for count in (2, 3, 5):
        monkeypatch.setattr(executors, "cores", lambda count=count: count)
        executors._threads.cache_clear()
        np.testing.assert_allclose(getattr(run(one, (select,)), select), serial, rtol=0, atol=1e-13)
    executors._threads.cache_clear()


def test_an_unknown_executor_is_an_error() -> None:
    with pytest.raises(AttnError, match="executor: unknown executor 'thread'; did you mean 'threads'"):
        attncli.attention(Q, K, V, executor="thread")


def test_where_no_thread_can_be_started_one_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    executors._threads.cache_clear()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(AttnError, match=r"executor threads: no thread .* \(.*\); choose the executor serial"):
        run(problem(query=Q, key=K, value=V), ("output",))
    executors._threads.cache_clear()


def test_an_error_in_a_block_cancels_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Block] = []

    def fails(self: BlockTask, block: Block, query_inputs: Any) -> Any:
        started.append(block)
        raise AttnError("no")

    monkeypatch.setattr(BlockTask, "steps", fails)
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
    executors._threads(executors.cores(), blas_is_limited=False).shutdown()  # after the blocks that have started
    executors._threads.cache_clear()
    assert done == [1, 2, 3]
    assert len(started) <= 3 + 2 * executors.cores() + 1


def test_progress_counts_every_block() -> None:
    reported: list[tuple[int, int]] = []
    options = RunOptions(progress=lambda *counts: reported.append(counts))
    run(problem(query=Q, key=K, value=V), ("output",), options=options)
    assert [done for done, _ in reported] == list(range(1, reported[-1][1] + 1))


def test_no_more_blocks_are_submitted_than_workers_can_use() -> None:
    """Otherwise the results of all blocks would be held until the end."""
    asked: list[int] = []

    def blocks() -> Iterator[Block]:
        for number in range(100):
            asked.append(number)
            yield Block(slice(0, 1), slice(0, 1), slice(number, number + 1))

    with ThreadPoolExecutor(1) as pool:
        steps = executors.run_blocks(
            idle(), blocks(), lambda *_: None, prepare=partial(partial, pool.submit, compute), ahead=8
        )
        next(steps)
        assert len(asked) == 9
        steps.close()


def test_blocks_are_stored_in_order_when_the_first_is_slow() -> None:
    blocks = [Block(slice(0, 1), slice(0, 1), slice(number, number + 1)) for number in range(5)]
    last = threading.Event()

    def slow(_task: Any, block: Block, _query_inputs: Any) -> Any:
        if block is blocks[0]:
            assert last.wait(10)
        if block is blocks[-1]:
            last.set()
        return block

    kept: list[Any] = []
    with ThreadPoolExecutor(2) as pool:
        ask = partial(partial, pool.submit, slow)
        steps = executors.run_blocks(idle(), blocks, lambda *given: kept.append(given), prepare=ask, ahead=8)
        assert list(steps) == blocks
    assert kept == list(zip(blocks, blocks, strict=True))


def test_the_calling_thread_computes_blocks_that_no_worker_has_begun() -> None:
    blocks = [Block(slice(0, 1), slice(0, 1), slice(number, number + 1)) for number in range(20)]
    begun, others_are_kept = threading.Event(), threading.Event()
    kept: list[Any] = []

    def slow(block: Block) -> Any:
        begun.set()
        others_are_kept.wait(10)
        return block

    def keep(block: Block, result: Any) -> None:
        kept.append((block, result))
        if len(kept) == len(blocks) - 1:
            others_are_kept.set()

    with ThreadPoolExecutor(1) as pool:

        def submit(block: Block, _query_inputs: Any) -> Any:
            future = pool.submit(slow, block)
            assert begun.wait(10)  # the only worker is at the second block, and the calling thread at the first
            return future

        steps = executors.run_blocks(idle(), blocks, keep, prepare=lambda _task: submit, ahead=8, takes_part=True)
        others = [blocks[0], *blocks[2:]]
        assert list(steps) == [*others, blocks[1]]
    assert kept == [*((block, None) for block in others), (blocks[1], blocks[1])]  # `idle` computes nothing


def test_the_calling_thread_begins_the_first_block_before_others_are_submitted() -> None:
    """Other threads wake up while it is within a product, and don't wait for it to run Python."""
    blocks = [Block(slice(0, 1), slice(0, 1), slice(number, number + 1)) for number in range(3)]
    done: list[tuple[str, Any]] = []

    class Noted:
        def query_inputs(self, block: Block) -> dict[str, Any]:
            return {}

        def steps(self, block: Block, query_inputs: Any) -> Any:
            done.append(("begun", block))
            yield
            done.append(("computed", block))

    def submit(block: Block, _query_inputs: Any) -> Any:
        done.append(("submitted", block))
        future = Future[None]()
        future.set_result(None)
        return future

    task: Any = Noted()
    steps = executors.run_blocks(task, blocks, lambda *_: None, prepare=lambda _: submit, ahead=8, takes_part=True)
    assert list(steps) == blocks
    submitted = [("submitted", block) for block in blocks[1:]]
    assert done == [("begun", blocks[0]), *submitted, ("computed", blocks[0])]


def test_a_single_block_is_computed_by_the_calling_thread() -> None:
    block = Block(slice(0, 1), slice(0, 1), slice(0, 1))

    def refuse(*_given: object) -> Any:
        raise AssertionError("submitted")

    steps = executors.run_blocks(idle(), [block], lambda *_: None, prepare=lambda _: refuse, ahead=8, takes_part=True)
    assert list(steps) == [block]


def idle() -> Any:
    """A BlockTask that computes nothing."""

    class Idle:
        def query_inputs(self, block: Block) -> dict[str, Any]:
            return {}

        def steps(self, block: Block, query_inputs: Any) -> Any:
            yield

    return Idle()


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
        compute(Endless(), block, {}, is_cancelled)  # type: ignore[arg-type] # in place of a BlockTask
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
        future = pool.submit(compute, Watched(), block, {}, lambda: True)  # type: ignore[arg-type] # in place of a BlockTask
        error = future.exception()
    assert isinstance(error, Cancelled)  # which holds the frames, so that nothing is closed by garbage collection
    assert closed == workers

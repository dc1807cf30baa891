"""Whoever computes the blocks, the answer is the same."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
    for count in (1, 2, 5):
        monkeypatch.setattr(executors, "cores", lambda count=count: count)
        executors._threads.cache_clear()
        np.testing.assert_allclose(getattr(run(one, (select,)), select), serial, rtol=0, atol=1e-13)
    executors._threads.cache_clear()


def test_a_name_that_nobody_has_is_met_before_any_work() -> None:
    with pytest.raises(AttnError, match="executor: unknown executor 'thread'; did you mean 'threads'"):
        attncli.attention(Q, K, V, executor="thread")


def test_an_error_in_a_block_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Block] = []

    def fails(self: BlockTask, block: Block, asking: Any) -> Any:
        begun.append(block)
        raise AttnError("no")

    monkeypatch.setattr(BlockTask, "steps", fails)
    with pytest.raises(AttnError, match="no"):
        run(problem(query=Q, key=K, value=V), options=RunOptions(sizes=BlockSizes(rows=2)), select=("output",))
    assert len(begun) < 350 / 2


@pytest.mark.parametrize("normalize", ["softmax", "sparsemax"], ids=["tiles", "whole rows"])
def test_blocks_that_wait_are_given_up_when_somebody_has_had_enough(
    normalize: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    begun: list[Block] = []
    steps = BlockTask.steps

    def counted(job: BlockTask, block: Block, asking: Any) -> Any:
        begun.append(block)
        return steps(job, block, asking)

    def enough(so_far: int, total: int) -> None:
        done.append(so_far)
        if so_far == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(BlockTask, "steps", counted)
    options = RunOptions(progress=enough, sizes=BlockSizes(rows=1, row_cells=1))
    with pytest.raises(KeyboardInterrupt):
        run(problem(query=Q, key=K, value=V, normalize=normalize), ("output",), options=options)
    executors._threads().shutdown()  # once what they have begun is done
    executors._threads.cache_clear()
    assert done == [1, 2, 3]
    assert len(begun) <= 3 + 2 * executors.cores() + 1


def test_progress_ends_where_the_work_ends() -> None:
    told: list[tuple[int, int]] = []
    options = RunOptions(progress=lambda *far: told.append(far))
    run(problem(query=Q, key=K, value=V), ("output",), options=options)
    assert [done for done, _ in told] == list(range(1, told[-1][1] + 1))


def test_no_more_blocks_wait_than_workers_can_use() -> None:
    """However many blocks there are: what has been computed is not held until the end."""
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


def test_blocks_come_back_in_order_whoever_is_slow() -> None:
    blocks = [Block(slice(0, 1), slice(0, 1), slice(number, number + 1)) for number in range(5)]
    last = threading.Event()

    def slow(_job: Any, block: Block, _asking: Any) -> Any:
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


def idle() -> Any:
    """Stands for a Job that has nothing to do."""

    class Idle:
        def query_inputs(self, block: Block) -> dict[str, Any]:
            return {}

        def steps(self, block: Block, asking: Any) -> Any:
            yield

    return Idle()


def test_a_block_is_given_up_between_two_tiles() -> None:
    """A long one must not be waited for: Ctrl-C ends the work within a second."""
    asked: list[int] = []

    def enough() -> bool:
        asked.append(1)
        return len(asked) == 3

    class Endless:
        def steps(self, block: Block, asking: Any) -> Any:
            while True:
                yield

    block = Block(slice(0, 1), slice(0, 1), slice(0, 1))
    with pytest.raises(Cancelled):
        compute(Endless(), block, {}, enough)  # type: ignore[arg-type] # stands for a Job
    assert len(asked) == 3


def test_a_thread_leaves_in_order_what_it_gives_up() -> None:
    """The state of arithmetic is a thread's own: another one can not put it back, and would say so on the screen."""
    closed: list[threading.Thread] = []
    workers: list[threading.Thread] = []

    class Watched:
        def steps(self, block: Block, asking: Any) -> Any:
            workers.append(threading.current_thread())
            try:
                yield
            finally:
                closed.append(threading.current_thread())

    block = Block(slice(0, 1), slice(0, 1), slice(0, 1))
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(compute, Watched(), block, {}, lambda: True)  # type: ignore[arg-type] # stands for a Job
        error = future.exception()
    assert isinstance(error, Cancelled)  # and as long as it is held nothing is cleared away by itself
    assert closed == workers


def test_products_have_one_thread_while_blocks_are_computed_and_all_of_them_afterwards() -> None:
    controller = pytest.importorskip("threadpoolctl")

    def threads() -> list[int]:
        return [found["num_threads"] for found in controller.threadpool_info() if found["user_api"] == "blas"]

    during: list[list[int]] = []
    with controller.threadpool_limits(2, "blas"):
        options = RunOptions(progress=lambda _done, _total: during.append(threads()))
        run(problem(query=Q, key=K, value=V), ("output",), options=options)
        after = threads()
    assert (set(map(tuple, during)), set(after)) == ({(1,) * len(after)}, {2})

"""Executors: blocks are computed by the calling thread, with or without others, or by the workers of Dask."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from itertools import islice
from threading import Event
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.engine.blas_limit import limit_this_thread, one_blas_thread
from attncli.engine.block_task import BlockResult, BlockTask, begin, compute
from attncli.engine.blocks import Block
from attncli.engine.options import SERIAL, THREADS, RunOptions

INSTALL = "pip install 'attncli[dask]'"
TIMEOUT = 10  # seconds within which a scheduler must be reached
RETRIES = 5  # of a block whose worker process ended

Keep = Callable[[Block, BlockResult], None]
IsCancelled = Callable[[], bool]
Prepare = Callable[[BlockTask], Callable[[Block, Mapping[str, Array]], "Future[BlockResult]"]]
Run = Callable[[BlockTask, Iterable[Block], Keep], Generator[Block]]


def share_blocks(
    task: BlockTask, blocks: Iterable[Block], keep: Keep, *, pool: "ThreadsExecutor | None", is_cancelled: IsCancelled
) -> Generator[Block]:
    """Compute every block of a task and keep its result; yields each block once it is kept.

    The calling thread and those of the pool, if any, each take the next block that none has begun, and keep its result.
    The calling thread yields those of the others between its own.
    """
    waiting, kept, others = deque(blocks), deque[Block](), list[Future[None]]()

    def compute_next() -> bool:
        """Compute a block that nobody has begun; False where there is none."""
        try:
            block = waiting.popleft()
        except IndexError:
            return False
        keep(block, compute(task, block, task.query_inputs(block), is_cancelled))
        kept.append(block)
        return True

    def compute_all() -> None:
        """Compute blocks as long as there are any; after an error no further one begins."""
        try:
            while compute_next():
                pass
        finally:
            waiting.clear()

    try:
        if waiting:
            first = waiting.popleft()
            # Threads that wake up while this one is within a product don't wait for each other to hold the interpreter.
            with begin(task, first, task.query_inputs(first)) as begun:
                if pool is not None:
                    for _ in range(min(pool.cores - 1, len(waiting))):
                        others.append(pool.submit(compute_all))
                keep(first, begun.finish(is_cancelled))
            yield first
        while compute_next():
            while kept:
                yield kept.popleft()
        for other in others:
            if not other.cancel():
                other.result()
        yield from kept
    finally:  # after an error or an interrupt no further block begins
        waiting.clear()
        for other in others:
            other.cancel()


def submit_blocks(
    task: BlockTask, blocks: Iterable[Block], keep: Keep, *, prepare: Prepare, ahead: int
) -> Generator[Block]:
    """Submit every block of a task, and keep the results in order; yields each block once it is kept.

    `prepare(task)` returns the function that submits one block of it; `ahead` blocks are submitted beyond the oldest
    unfinished one.
    """
    submit, waiting = prepare(task), iter(blocks)
    pending = deque[tuple[Block, Future[BlockResult]]]()
    try:
        while True:
            for block in islice(waiting, ahead + 1 - len(pending)):
                pending.append((block, submit(block, task.query_inputs(block))))
            if not pending:
                return
            block, future = pending.popleft()
            keep(block, future.result())
            yield block
    finally:  # after an error or an interrupt no further block begins
        for _, future in pending:
            future.cancel()


class ThreadsExecutor(ThreadPoolExecutor):
    """A pool of one thread fewer than cores, because the calling thread computes too.

    `submit` raises AttnError where no thread can be started.
    """

    def __init__(self, cores: int, *, limits_blas: bool) -> None:
        super().__init__(cores - 1, thread_name_prefix="attn", initializer=limit_this_thread if limits_blas else None)
        self.cores = cores

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Compute in a thread, which is started where none is idle."""
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError as error:  # a limit of memory or of processes is reached
            hint = f"choose the executor {SERIAL}"
            raise AttnError(f"no thread can be started ({error})", where=f"executor {THREADS}", hint=hint) from None


def one_thread_each(options: RunOptions) -> AbstractContextManager[None]:
    """While it lasts, products of this process have one thread each."""
    return nullcontext() if options.blas_is_limited else one_blas_thread()


def threads_of(options: RunOptions) -> ThreadsExecutor | None:
    """The pool of threads that computes with the calling thread; None where that computes alone.

    Where Dask computes the blocks it still computes what comes before and after them.
    """
    count = cores()
    if options.executor == SERIAL or count == 1:
        return None
    return _threads(count, blas_is_limited=options.blas_is_limited)


def run_all(functions: Sequence[Callable[[], None]], pool: ThreadsExecutor | None) -> None:
    """Call functions that are independent of each other, several at a time where there is a pool of threads."""
    if pool is None:
        for function in functions:
            function()
        return
    submitted = list[tuple[Callable[[], None], Future[None]]]()
    try:
        for function in functions:
            submitted.append((function, pool.submit(function)))
        for function, future in reversed(submitted):  # those that no thread has begun
            if future.cancel():
                function()
        for _, future in submitted:
            if not future.cancelled():
                future.result()
    finally:  # after an error or an interrupt no further one begins
        for _, future in submitted:
            future.cancel()


@contextmanager
def executor(options: RunOptions, pool: ThreadsExecutor | None) -> Iterator[Run]:
    """The function that runs blocks on the executor that the options name; `pool` is that of `threads_of`.

    Raises AttnError where a scheduler can't be reached, has no workers, or loses them.
    """
    if options.executor not in (SERIAL, THREADS):
        with _dask(options.executor) as run:
            yield run
        return
    cancelled = Event()
    try:
        yield partial(share_blocks, pool=pool, is_cancelled=cancelled.is_set)
    finally:
        cancelled.set()  # blocks that have begun end at their next yield


@cache
def _threads(cores: int, *, blas_is_limited: bool) -> ThreadsExecutor:
    """The pool of threads, which stay with their buffers for the next problem."""
    return ThreadsExecutor(cores, limits_blas=not blas_is_limited)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # it has none of its parent's threads


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _dask(address: str) -> Iterator[Run]:
    """The workers of a Dask scheduler: the arrays that every block reads are sent to each of them once."""
    try:
        from distributed import Client  # noqa: PLC0415 - an optional extra
        from distributed.client import FutureCancelledError  # noqa: PLC0415 - the same
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - the same
    except ImportError:
        raise AttnError("needs the package distributed", where="executor", hint=f"install it: {INSTALL}") from None
    try:
        client = Client(address, timeout=TIMEOUT)
    except (OSError, ValueError) as error:
        raise AttnError(f"no scheduler answers ({error})", where=f"executor {address}") from None
    try:
        count = sum(client.nthreads().values())
        if not count:
            raise AttnError("the scheduler has no workers", where=f"executor {address}", hint="start some")
        pool = client.get_executor(retries=RETRIES, pure=False)
        yield partial(
            submit_blocks,
            prepare=lambda task: partial(pool.submit, compute, client.scatter(task, broadcast=True)),
            ahead=4 * count,
        )
    except (KilledWorker, FutureCancelledError) as error:
        raise AttnError(f"the workers were lost ({error})", where=f"executor {address}") from None
    finally:
        client.close()

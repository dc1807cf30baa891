"""Threads and clusters: the calling thread, alone or with others, or Dask workers compute blocks.

Each worker has a core, and BLAS has one thread meanwhile: products have the same last digits with any number of
workers. Calls may overlap: if the number of BLAS threads is the process's, the first call sets the limit, and the last
to end lifts it. Without threadpoolctl there is no limit.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from threading import Event, Lock
from typing import Any

from attncli.base.errors import AttnError, missing_package
from attncli.base.lazy_numpy import Array
from attncli.base.memory import address_space_left
from attncli.engine.block_task import BlockResult, BlockTask
from attncli.engine.blocks import Block
from attncli.engine.options import SERIAL, THREADS, RunOptions
from attncli.engine.products import SCRATCH

TIMEOUT = 10  # seconds for reaching a scheduler
THREAD_BYTES = 2**28  # address space for a thread's stack and heap, and a buffer; without it BLAS ends the process
RETRIES = 5  # of a block after its worker process ended

Keep = Callable[[Block, BlockResult], None]
IsCancelled = Callable[[], bool]
Prepare = Callable[[BlockTask], Callable[[Block, Mapping[str, Array]], "Future[BlockResult]"]]
Run = Callable[[BlockTask, Iterable[Block], Keep], Generator[Block]]


class Cancelled(Exception):  # noqa: N818 - it stops a task early, and is not an error
    """The block's result is no longer needed."""


def share_blocks(
    task: BlockTask, blocks: Iterable[Block], keep: Keep, *, pool: "ThreadsExecutor | None", is_cancelled: IsCancelled
) -> Generator[Block]:
    """Compute every block of a task and keep its result; yields each block once it is kept.

    The calling thread and the pool's threads, if any, each take the next block and keep its result. The calling thread
    yields the others' blocks between its own.
    """
    waiting, kept, others = deque(blocks), deque[Block](), list[Future[None]]()

    def compute_next() -> bool:
        """Compute the next block; False if there is none."""
        try:
            block = waiting.popleft()
        except IndexError:
            return False
        keep(block, compute(task, block, task.query_inputs(block), is_cancelled))
        kept.append(block)
        return True

    def compute_all() -> None:
        """Compute blocks until none is left; after an error no further one begins."""
        try:
            while compute_next():
                pass
        finally:
            waiting.clear()

    try:
        if waiting:
            first = waiting.popleft()
            # Threads that wake up while this one is in a product don't wait for each other's GIL.
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
    """A pool with one thread fewer than cores, because the calling thread computes too.

    `submit` raises AttnError if no thread can be started.
    """

    def __init__(self, cores: int, *, limits_blas: bool) -> None:
        super().__init__(cores - 1, thread_name_prefix="attn", initializer=limit_this_thread if limits_blas else None)
        self.cores = cores

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Compute in an idle thread, or in a new one."""
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError as error:  # a limit of memory or processes
            hint = f"choose the executor {SERIAL}"
            raise AttnError(f"no thread can be started ({error})", where=f"executor {THREADS}", hint=hint) from None


def one_thread_each(options: RunOptions) -> AbstractContextManager[None]:
    """A block in which this process's products have one thread each."""
    return nullcontext() if options.blas_is_limited else one_blas_thread()


def threads_of(options: RunOptions) -> ThreadsExecutor | None:
    """The pool of threads that computes with the calling thread; None if that computes alone.

    If Dask computes the blocks, the pool still computes the steps before and after them.
    """
    left = address_space_left()
    count = cores() if left is None else min(cores(), 1 + left // THREAD_BYTES)
    if options.executor == SERIAL or count == 1:
        return None
    return _threads(count, blas_is_limited=options.blas_is_limited)


def run_all(functions: Sequence[Callable[[], None]], pool: ThreadsExecutor | None) -> None:
    """Call independent functions, in parallel if there is a pool."""
    if pool is None:
        for function in functions:
            function()
        return
    submitted = list[tuple[Callable[[], None], Future[None]]]()
    try:
        for function in functions:
            submitted.append((function, pool.submit(function)))
        for function, future in reversed(submitted):  # those not yet begun
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
    """The function that runs blocks on the options' executor; `pool` is from `threads_of`.

    Raises AttnError if a scheduler can't be reached, has no workers, or loses them.
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
    """The pool of threads, which keep their buffers for the next problem."""
    return ThreadsExecutor(cores, limits_blas=not blas_is_limited)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a child lacks its parent's threads


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _dask(address: str) -> Iterator[Run]:
    """The workers of a Dask scheduler; each gets the arrays that every block reads once."""
    try:
        from distributed import Client  # noqa: PLC0415 - an optional extra
        from distributed.client import FutureCancelledError  # noqa: PLC0415 - the same
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - the same
    except ImportError:
        raise missing_package("distributed", "dask", "executor") from None
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
            prepare=lambda task: partial(pool.submit, compute_on_worker, client.scatter(task, broadcast=True)),
            ahead=4 * count,
        )
    except (KilledWorker, FutureCancelledError) as error:
        raise AttnError(f"the workers were lost ({error})", where=f"executor {address}") from None
    finally:
        client.close()


def compute(
    task: BlockTask, block: Block, query_inputs: Mapping[str, Array], is_cancelled: Callable[[], bool] = bool
) -> BlockResult:
    """Compute a block of a task, anywhere; raises Cancelled at a yield if `is_cancelled()`."""
    with begin(task, block, query_inputs) as begun:
        return begun.finish(is_cancelled)


def compute_on_worker(task: BlockTask, block: Block, query_inputs: Mapping[str, Array]) -> BlockResult:
    """Compute a block in a Dask worker, with one BLAS thread, as here; it may have started with more."""
    with one_blas_thread():
        return compute(task, block, query_inputs)


@dataclass(frozen=True)
class BegunBlock:
    """A block that is computed up to the first yield of its steps."""

    steps: Generator[None, None, BlockResult]

    def finish(self, is_cancelled: Callable[[], bool] = bool) -> BlockResult:
        """Compute the rest; raises Cancelled at a yield if `is_cancelled()`."""
        while not is_cancelled():
            try:
                next(self.steps)
            except StopIteration as end:
                result: BlockResult = end.value
                return result
        raise Cancelled


@contextmanager
def begin(task: BlockTask, block: Block, query_inputs: Mapping[str, Array]) -> Iterator[BegunBlock]:
    """Compute a block of a task up to the first yield of its steps, before any of its products."""
    # Steps are closed by this thread, whose floating-point state they changed.
    with SCRATCH.in_use(), closing(task.steps(block, query_inputs)) as steps:
        next(steps)
        yield BegunBlock(steps)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in the whole process, or only in this thread if threads have their own number."""
    limits = _limits()
    if limits is None:
        yield
        return
    with limits.of_thread(), limits.of_process:
        yield


def has_one_thread_in_blocks(options: RunOptions) -> bool:
    """Whether BLAS has, or can be limited to, one thread while blocks are computed."""
    return options.blas_is_limited or _limits() is not None


def limit_this_thread() -> None:
    """Limit BLAS to one thread in this thread, for its lifetime, if threads have their own number."""
    limits = _limits()
    if limits is not None:
        limits.of_thread()


class ProcessLimit:
    """Limits libraries with a process-wide number of threads, each by its threadpoolctl controller.

    It replaces threadpoolctl's own limiter, which queries all facts about the libraries each time.
    """

    def __init__(self, libraries: Sequence[Any]) -> None:
        self._libraries = libraries
        self._lock = Lock()
        self._calls = 0
        self._threads_before: Sequence[int] = ()

    def __enter__(self) -> None:
        with self._lock:
            if self._calls == 0:
                self._threads_before = [library.get_num_threads() for library in self._libraries]
                self._set_threads([1] * len(self._libraries))
            self._calls += 1

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                self._set_threads(self._threads_before)
                _let_any_thread_limit()

    def _set_threads(self, numbers: Sequence[int]) -> None:
        """Set each library's number of threads, from any thread."""
        _let_any_thread_limit()
        for library, number in zip(self._libraries, numbers, strict=True):
            library.set_num_threads(number)


def _let_any_thread_limit() -> None:
    """Let the calling thread set the limit: since threadpoolctl 3.8 only the first thread that sets it can."""
    from threadpoolctl import OpenBLASController  # noqa: PLC0415 - an optional extra

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


@dataclass(frozen=True)
class _Limits:
    """The process's limit, and threadpoolctl's controller of libraries with a number per thread, if any."""

    of_process: ProcessLimit
    thread_controller: Any

    def of_thread(self) -> AbstractContextManager[None]:
        """Set the limit of this thread, and return it."""
        return nullcontext() if self.thread_controller is None else self.thread_controller.limit(limits=1)


_SEARCH = Lock()  # `cache` alone would search twice if two calls begin together


def _limits() -> _Limits | None:
    """The limits, the same object for all calls; None without threadpoolctl."""
    with _SEARCH:
        return _find_limits()


@cache
def _find_limits() -> _Limits | None:
    """The limits of the loaded BLAS libraries; None without threadpoolctl."""
    try:
        from threadpoolctl import OpenBLASController, ThreadpoolController  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None
    has_limits_of_threads = hasattr(OpenBLASController, "clear_controlling_thread")  # both exist since 3.8
    blas = ThreadpoolController().select(user_api="blas")
    of_process, of_thread = list[Any](), list[str]()
    for library in blas.lib_controllers:
        is_openmp = library.internal_api == "openblas" and library.threading_layer == "openmp"
        if is_openmp and has_limits_of_threads:
            of_thread.append(library.filepath)
        else:
            of_process.append(library)
    return _Limits(ProcessLimit(of_process), blas.select(filepath=of_thread) if of_thread else None)

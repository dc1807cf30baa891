"""Who computes the blocks: threads of this process, this process alone, or the workers of a Dask scheduler."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from threading import Event
from typing import Any

from attncli.blockwise.blocks import Block
from attncli.blockwise.job import Done, Job, compute
from attncli.errors import AttnError
from attncli.means import SERIAL, THREADS, Means

INSTALL = "pip install 'attncli[dask]'"
PATIENCE = 10  # seconds until a scheduler has to answer
RETRIES = 5  # of a block whose worker died

Keep = Callable[[Block, Done], None]


@dataclass(frozen=True)
class Workers:
    """An executor; how many blocks it is given ahead of the one that is waited for; what it is handed for a job.

    Where the workers share this process's memory they keep their results themselves.
    """

    executor: Executor
    ahead: int
    handed: Callable[[Job], Any]
    share_memory: bool = True


class _AtOnce(Executor):
    """An executor that computes what it is given before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """A future that is done already."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def fan_out(job: Job, blocks: Iterable[Block], workers: Workers, keep: Keep) -> Iterator[Block]:
    """Compute every block and keep what comes of it, in its place; a block comes back once it is kept."""
    handed = workers.handed(job)
    waiting: deque[tuple[Block, Future[Any]]] = deque()
    given_up = Event()

    def compute_and_keep(block: Block) -> None:
        """What a worker of this process does; nobody waits for its value."""
        keep(block, compute(job, block, job.asking(block), given_up.is_set))

    def finish() -> Block:
        """See to it that one block more is kept: the oldest, or one that nobody has begun."""
        if workers.share_memory and not waiting[0][1].done():
            for place, (block, future) in enumerate(waiting):
                if future.cancel():  # nobody has begun it: this thread need not be idle
                    del waiting[place]
                    compute_and_keep(block)
                    return block
        block, future = waiting.popleft()
        done = future.result()
        if not workers.share_memory:
            keep(block, done)
        return block

    try:
        for block in blocks:
            future: Future[Any] = (
                workers.executor.submit(compute_and_keep, block)
                if workers.share_memory
                else workers.executor.submit(compute, handed, block, job.asking(block))
            )
            waiting.append((block, future))
            if len(waiting) > workers.ahead:
                yield finish()
        while waiting:
            yield finish()
    finally:  # where something went wrong, or somebody has had enough: what has not begun never will
        given_up.set()
        for _, future in waiting:
            future.cancel()


@contextmanager
def workers(means: Means) -> Iterator[Workers]:
    """The workers that the executor's name or address means; raises AttnError where there are none."""
    if means.executor not in (SERIAL, THREADS):
        with _dask(means.executor) as found:
            yield found
        return
    with nullcontext() if means.blas_is_held else _one_blas_thread():
        if means.executor == SERIAL:
            yield Workers(_AtOnce(), 0, handed=lambda job: job)
        else:
            yield Workers(_threads(), 4 * cores(), handed=lambda job: job)


@cache
def _threads() -> ThreadPoolExecutor:
    """A thread for each core beside this one; they and their buffers stay for the next problem."""
    return ThreadPoolExecutor(max(cores() - 1, 1), thread_name_prefix="attn")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _one_blas_thread() -> AbstractContextManager[Any]:
    """Every worker has one core; so products have the same last digits whatever the number of workers.

    Without threadpoolctl neither can be seen to.
    """
    libraries = _libraries()
    return nullcontext() if libraries is None else libraries.limit(limits=1, user_api="blas")


@cache
def _libraries() -> Any:
    """The libraries of products that are loaded, found once."""
    try:
        from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None
    return ThreadpoolController()


@contextmanager
def _dask(address: str) -> Iterator[Workers]:
    """The workers of a Dask scheduler: what every block reads is sent to each of them once."""
    try:
        from distributed import Client  # noqa: PLC0415 - an optional extra
        from distributed.client import FutureCancelledError  # noqa: PLC0415 - the same
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - the same
    except ImportError:
        raise AttnError("needs the package distributed", where="executor", hint=f"install it: {INSTALL}") from None
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise AttnError(f"no scheduler answers ({error})", where=f"executor {address}") from None
    try:
        count = sum(client.nthreads().values())
        if not count:
            raise AttnError("the scheduler has no workers", where=f"executor {address}", hint="start some")
        executor = client.get_executor(retries=RETRIES, pure=False)
        yield Workers(executor, 4 * count, lambda job: client.scatter(job, broadcast=True), share_memory=False)
    except (KilledWorker, FutureCancelledError) as error:
        raise AttnError(f"the workers were lost ({error})", where=f"executor {address}") from None
    finally:
        client.close()

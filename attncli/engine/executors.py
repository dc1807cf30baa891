"""Who computes the blocks: threads of this process, this process alone, or the workers of a Dask scheduler."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from threading import Event
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.engine.block_task import BlockResult, BlockTask, compute
from attncli.engine.blocks import Block
from attncli.engine.options import SERIAL, THREADS, RunOptions

INSTALL = "pip install 'attncli[dask]'"
PATIENCE = 10  # seconds until a scheduler has to answer
RETRIES = 5  # of a block whose worker died

Keep = Callable[[Block, BlockResult], None]
Ask = Callable[[BlockTask], Callable[[Block, Mapping[str, Array]], "Future[BlockResult]"]]
FanOut = Callable[[BlockTask, Iterable[Block], Keep], Generator[Block]]


def fan_out(job: BlockTask, blocks: Iterable[Block], keep: Keep, *, ask: Ask, ahead: int) -> Generator[Block]:
    """Have every block computed and keep what comes of it, in order; a block comes back once it is kept.

    `ask` takes the job and says how one block of it is submitted; so many are, ahead of the one that is waited for.
    """
    submit = ask(job)
    waiting: deque[tuple[Block, Future[BlockResult]]] = deque()

    def finish() -> Block:
        """Wait for the oldest."""
        block, future = waiting.popleft()
        keep(block, future.result())
        return block

    try:
        for block in blocks:
            waiting.append((block, submit(block, job.asking(block))))
            if len(waiting) > ahead:
                yield finish()
        while waiting:
            yield finish()
    finally:  # where something went wrong, or somebody has had enough: what has not begun never will
        for _, future in waiting:
            future.cancel()


class SerialExecutor(Executor):
    """An executor that computes what it is given before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """A future that is done already."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def workers(means: RunOptions) -> Iterator[FanOut]:
    """Those that the executor's name or address means, as what they do; raises AttnError where there are none."""
    if means.executor not in (SERIAL, THREADS):
        with _dask(means.executor) as found:
            yield found
        return
    executor, ahead = (SerialExecutor(), 0) if means.executor == SERIAL else (_threads(), 2 * cores())
    given_up = Event()
    with nullcontext() if means.blas_is_held else _one_blas_thread():
        try:
            yield partial(
                fan_out,
                ask=lambda job: partial(executor.submit, compute, job, given_up=given_up.is_set),
                ahead=ahead,
            )
        finally:
            given_up.set()  # what has begun ends at its next pause


@cache
def _threads() -> ThreadPoolExecutor:
    """A thread for each core; they and their buffers stay for the next problem."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="attn")


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
def _dask(address: str) -> Iterator[FanOut]:
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
        yield partial(
            fan_out,
            ask=lambda job: partial(executor.submit, compute, client.scatter(job, broadcast=True)),
            ahead=4 * count,
        )
    except (KilledWorker, FutureCancelledError) as error:
        raise AttnError(f"the workers were lost ({error})", where=f"executor {address}") from None
    finally:
        client.close()

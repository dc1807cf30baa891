"""Who computes the blocks: threads of this process, this process alone, or the workers of a Dask scheduler."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from typing import Any

from attncli.blockwise.blocks import Block
from attncli.blockwise.job import Done, Job, compute
from attncli.errors import AttnError
from attncli.means import SERIAL, THREADS, Means

INSTALL = "pip install 'attncli[dask]'"
PATIENCE = 10  # seconds until a scheduler has to answer
RETRIES = 5  # of a block whose worker died

Keep = Callable[[Block, Done], None]
FanOut = Callable[[Job, Sequence[Block], Keep], Generator[Block]]


def together(job: Job, blocks: Sequence[Block], keep: Keep, *, executor: Executor, helpers: int) -> Generator[Block]:
    """Compute every block and keep what comes of it, in its place; a block comes back once it is kept.

    This thread and its helpers each take the next block that nobody has taken.
    """
    todo, kept, helping = deque(blocks), deque[Block](), list[Future[None]]()
    given_up = False

    def compute_next() -> bool:
        """One block more, if there is one."""
        try:
            block = todo.popleft()
        except IndexError:
            return False
        keep(block, compute(job, block, job.asking(block), lambda: given_up))
        kept.append(block)
        return True

    def help_out() -> None:
        """What a helper does, until there is nothing left."""
        while compute_next():
            pass

    try:
        for _ in range(min(helpers, len(blocks) - 1)):
            helping.append(executor.submit(help_out))
        while compute_next():
            while kept:
                yield kept.popleft()
            for future in helping:
                if future.done():
                    future.result()  # raises what stopped it
        for future in helping:
            if not future.cancel():  # one that never began has left nothing undone
                future.result()
        yield from kept
    finally:  # where something went wrong, or somebody has had enough: what has begun ends at its next pause
        given_up = True
        todo.clear()
        for future in helping:
            future.cancel()


def sent(
    job: Job, blocks: Iterable[Block], keep: Keep, *, executor: Executor, hand: Callable[[Job], Any], ahead: int
) -> Generator[Block]:
    """Have every block computed elsewhere and keep what comes of it, in order; a block comes back once it is kept.

    `hand` makes of the job what workers are sent; the executor is given so many blocks ahead of the one waited for.
    """
    handed = hand(job)
    waiting: deque[tuple[Block, Future[Done]]] = deque()

    def finish() -> Block:
        """Wait for the oldest."""
        block, future = waiting.popleft()
        keep(block, future.result())
        return block

    try:
        for block in blocks:
            waiting.append((block, executor.submit(compute, handed, block, job.asking(block))))
            if len(waiting) > ahead:
                yield finish()
        while waiting:
            yield finish()
    finally:  # where something went wrong, or somebody has had enough: what has not begun never will
        for _, future in waiting:
            future.cancel()


@contextmanager
def workers(means: Means) -> Iterator[FanOut]:
    """Those that the executor's name or address means, as what they do; raises AttnError where there are none."""
    if means.executor not in (SERIAL, THREADS):
        with _dask(means.executor) as found:
            yield found
        return
    helpers = 0 if means.executor == SERIAL else cores() - 1
    with nullcontext() if means.blas_is_held else _one_blas_thread():
        yield partial(together, executor=_threads(), helpers=helpers)


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
        hand = partial(client.scatter, broadcast=True)
        yield partial(sent, executor=executor, hand=hand, ahead=4 * count)
    except (KilledWorker, FutureCancelledError) as error:
        raise AttnError(f"the workers were lost ({error})", where=f"executor {address}") from None
    finally:
        client.close()

"""The cores of the threads of a run: the calling thread keeps its own, and the threads of the pool have the others.

Linux wakes a thread on the core of the thread that wakes it, unless another core looks idle. Cores of virtual machines
do not after a pause: two threads then share a core for many milliseconds while another one is idle.
"""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock, get_native_id

from attncli.base.dataclasses import dataclass

THIS_THREAD = 0  # as the system calls the thread that asks


@dataclass(frozen=True)
class _PlacedRun:
    """The thread that calls a pool, by its number in the system, its core, and those of the pool's threads."""

    caller: int
    own: int
    others: Collection[int]


class CorePlacement:
    """The cores of the threads of a pool, and of the thread that calls it."""

    def __init__(self) -> None:
        self._workers: set[int] = set()  # threads of the pool, by their numbers in the system
        self._run: _PlacedRun | None = None
        self._ended: _PlacedRun | None = None  # the last one
        self._change = Lock()

    def add_this_thread(self) -> None:
        """Count the calling thread among those of the pool, as whose first act it is."""
        with self._change:
            self._workers.add(get_native_id())
            if self._run is not None:
                _set_cores(THIS_THREAD, self._run.others)
                _set_cores(self._run.caller, {self._run.own})
            elif self._ended is not None and _cores_of_this_thread() == {self._ended.own}:  # it was started in that run
                _set_cores(THIS_THREAD, {self._ended.own, *self._ended.others})

    @contextmanager
    def apart(self) -> Iterator[None]:
        """While it lasts, the calling thread stays on its core, and the pool's threads leave that to it.

        It stays there from when a thread of the pool has begun. Nothing is changed where the system has no such calls
        or the process one core, nor for a second caller at the same time. After it all have the cores that the calling
        thread had before.
        """
        cores, own, is_placed = _cores_of_this_thread(), current_core(), False
        run = _PlacedRun(get_native_id(), own, cores - {own})
        try:
            with self._change:
                is_placed = self._run is None and own in cores and len(cores) > 1
                if is_placed:
                    self._run = run
                    self._place(run.others)
                    if self._workers:  # the first of them begins with the caller's cores, and then keeps it on its own
                        _set_cores(THIS_THREAD, {own})
            yield
        finally:
            if is_placed:
                try:
                    with self._change:
                        self._run, self._ended = None, run
                        self._place(cores)
                finally:  # a thread that begins only now does not put this one on its core any more
                    _set_cores(THIS_THREAD, cores)

    def _place(self, cores: Collection[int]) -> None:
        """Let the threads of the pool that have begun have these cores."""
        for thread in self._workers:
            _set_cores(thread, cores)


def current_core() -> int:
    """The number of the core that the calling thread is on; −1 where the system does not say."""
    ask = _asker()
    return -1 if ask is None else ask()


@cache
def _asker() -> Callable[[], int] | None:
    """The function of the C library that says it, if there is one."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    try:
        import ctypes  # noqa: PLC0415 - NumPy has loaded it, but for a Python that lacks it
    except ImportError:
        return None
    found: Callable[[], int] | None = getattr(ctypes.CDLL(None), "sched_getcpu", None)
    return found


def _cores_of_this_thread() -> set[int]:
    """The numbers of the cores that the calling thread may use; none where the system does not say."""
    return os.sched_getaffinity(THIS_THREAD) if hasattr(os, "sched_getaffinity") else set()


def _set_cores(thread: int, cores: Collection[int]) -> None:
    """Let a thread have these cores alone, unless the system refuses it, or the thread has ended."""
    with suppress(OSError):
        os.sched_setaffinity(thread, cores)

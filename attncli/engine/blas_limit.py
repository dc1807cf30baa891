"""The limit of BLAS, NumPy's library of matrix products, to one thread while blocks are computed.

Each worker has a core, and products have the same last digits with any number of workers. Calls may overlap: where the
number of threads is the process's, the first of them sets the limit, and the last to end lifts it. Without
threadpoolctl there is no limit.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.engine.options import RunOptions


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in the whole process, or where each thread has its own number, in this one."""
    limits = _limits()
    if limits is None:
        yield
        return
    with limits.of_thread(), limits.of_process:
        yield


def has_one_thread_in_blocks(options: RunOptions) -> bool:
    """Whether BLAS has one thread while blocks are computed: it has been limited, or can be."""
    return options.blas_is_limited or _limits() is not None


def limit_this_thread() -> None:
    """Limit BLAS to one thread in this one, as long as it lives, where each thread has its own number."""
    limits = _limits()
    if limits is not None:
        limits.of_thread()


class ProcessLimit:
    """Limits libraries whose number of threads is the process's, each by its controller of threadpoolctl.

    Without threadpoolctl's own limiter, which asks the libraries for all that is known of them each time.
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
        """Give each library its number of threads, from whatever thread."""
        _let_any_thread_limit()
        for library, number in zip(self._libraries, numbers, strict=True):
            library.set_num_threads(number)


def _let_any_thread_limit() -> None:
    """Let the calling thread set the limit: since threadpoolctl 3.8 only the first to set it can, until it ends."""
    from threadpoolctl import OpenBLASController  # noqa: PLC0415 - an optional extra

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


@dataclass(frozen=True)
class _Limits:
    """The limit of the process, and threadpoolctl's controller of libraries where each thread has its own, if any."""

    of_process: ProcessLimit
    thread_controller: Any

    def of_thread(self) -> AbstractContextManager[None]:
        """The limit of this thread, which is set when this is called."""
        return nullcontext() if self.thread_controller is None else self.thread_controller.limit(limits=1)


_SEARCH = Lock()  # `cache` alone would search twice where two calls begin together


def _limits() -> _Limits | None:
    """The limits, the same ones for all calls; None without threadpoolctl."""
    with _SEARCH:
        return _find_limits()


@cache
def _find_limits() -> _Limits | None:
    """The limits of the BLAS libraries that are loaded; None without threadpoolctl."""
    try:
        from threadpoolctl import OpenBLASController, ThreadpoolController  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None
    has_limits_of_threads = hasattr(OpenBLASController, "clear_controlling_thread")  # since 3.8, as that method
    blas = ThreadpoolController().select(user_api="blas")
    of_process, of_thread = list[Any](), list[str]()
    for library in blas.lib_controllers:
        is_openmp = library.internal_api == "openblas" and library.threading_layer == "openmp"
        if is_openmp and has_limits_of_threads:
            of_thread.append(library.filepath)
        else:
            of_process.append(library)
    return _Limits(ProcessLimit(of_process), blas.select(filepath=of_thread) if of_thread else None)

"""The limit of BLAS, NumPy's library of matrix products, to one thread while blocks are computed.

Each worker has a core, and products have the same last digits with any number of them. Calls may overlap: where the
number of threads is the process's, the first of them sets the limit, and the last to end lifts it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from attncli.base.dataclasses import dataclass


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; without threadpoolctl there is no limit."""
    with _SEARCH:  # so that all calls have the same ProcessLimit
        limits = _find_limits()
    if limits is None:
        yield
        return
    with limits.of_thread.limit(limits=1), limits.of_process:
        yield


class ProcessLimit:
    """Limits libraries whose number of threads is the process's, which `controller` of threadpoolctl controls."""

    def __init__(self, controller: Any) -> None:
        self._controller = controller
        self._lock = Lock()
        self._calls = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._calls == 0:
                _let_any_thread_limit()
                self._limiter = self._controller.limit(limits=1)
            self._calls += 1

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                _let_any_thread_limit()
                self._limiter.restore_original_limits()
                _let_any_thread_limit()


def _let_any_thread_limit() -> None:
    """Let the calling thread set the limit: since threadpoolctl 3.8 the first that did so alone can, until it ends."""
    from threadpoolctl import OpenBLASController  # noqa: PLC0415 - an optional extra

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


@dataclass(frozen=True)
class _Limits:
    """The limit of the whole process, and threadpoolctl's controller of libraries where each thread has its own."""

    of_process: ProcessLimit
    of_thread: Any


_SEARCH = Lock()


@cache
def _find_limits() -> _Limits | None:
    """The limits of the BLAS libraries that are loaded; None without threadpoolctl."""
    try:
        from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None
    blas = ThreadpoolController().select(user_api="blas")
    of_process, of_thread = list[str](), list[str]()
    for library in blas.lib_controllers:
        is_openmp = library.internal_api == "openblas" and library.threading_layer == "openmp"
        (of_thread if is_openmp else of_process).append(library.filepath)
    return _Limits(ProcessLimit(blas.select(filepath=of_process)), blas.select(filepath=of_thread))

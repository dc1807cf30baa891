"""Means: who computes the blocks of a large problem, where its tables are put, and who is told how far the work is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attncli.base.errors import UnknownNameError
from attncli.base.lazy_numpy import Array, np

THREADS, SERIAL, REMOTE = "threads", "serial", "tcp://"
EXECUTORS = (THREADS, SERIAL, f"{REMOTE}host:8786")

Allocate = Callable[[str, tuple[int, ...], "np.dtype[Any]"], Array]
Progress = Callable[[int, int], None]


def in_memory(_name: str, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Array:
    """Room for a result."""
    return np.empty(shape, dtype)


def is_executor(name: str) -> bool:
    """Whether a name or an address says who computes."""
    return name in (THREADS, SERIAL) or name.startswith(REMOTE)


@dataclass(frozen=True)
class RunOptions:
    """Who computes, where tables of scores and weights are put, and who is told how many blocks are done, of how many.

    `blas_is_held` says that NumPy's library of products was told to use one thread before it was loaded.
    Raises AttnError where nobody bears the name of the executor.
    """

    executor: str = THREADS
    allocate: Allocate = in_memory
    progress: Progress | None = None
    blas_is_held: bool = False

    def __post_init__(self) -> None:
        if not is_executor(self.executor):
            raise UnknownNameError("executor", self.executor, EXECUTORS, where="executor")

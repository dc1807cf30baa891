"""Execution options: the executor, the sizes of blocks, the allocator of large result tables, the progress callback."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import repr_excerpt

THREADS, SERIAL, REMOTE = "threads", "serial", "tcp://"
EXECUTORS = (THREADS, SERIAL, f"{REMOTE}host:8786")

Allocate = Callable[[str, tuple[int, ...], "np.dtype[Any]"], Array]
Progress = Callable[[int, int], None]


def in_memory(_name: str, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Array:
    """A new array of that shape, uninitialized."""
    return np.empty(shape, dtype)


def is_executor(name: str) -> bool:
    """Whether a name or an address is that of an executor."""
    return name in (THREADS, SERIAL) or name.startswith(REMOTE)


@dataclass(frozen=True, eq=False)
class BlockSizes:
    """Sizes of blocks and tiles; they do not depend on the number of workers, and so neither do the last digits.

    A problem of at most `dense_cells` scores, all heads and batch items together, is computed whole, unless what is
    computed for each of them, such as a hidden layer, has more than `row_cells` numbers, or the keys or values of all
    query heads have: for a few queries these take more time than the scores. One whose score is a product, and whose
    tiles take no longer than `alone_multiplications` in single precision, is one block, if it can be, and no other
    thread is woken: that, and to wait for the interpreter, would take longer than it saves.
    """

    dense_cells: int = 2**17
    rows: int = 1024  # queries of a block that is computed tile by tile, at most; of few keys up to four times as many
    masked_rows: int = 512  # where keys are masked, at most: smaller blocks compute fewer masked cells
    tile_cells: int = 2**19  # numbers of a tile: more leave the caches, fewer leave workers waiting for the interpreter
    min_unmasked_keys: int = 128  # for so many keys that are visible to all queries no mask is computed
    row_cells: int = 2**19  # numbers of the largest step of a block that is computed in whole rows
    alone_multiplications: int = 25 * 10**6  # which take a quarter to a half of a millisecond


@dataclass(frozen=True, eq=False)
class RunOptions:
    """Options of running a plan: executor, allocator, progress callback, sizes of blocks.

    `allocate(name, shape, dtype)` returns the array that a large result is written to; `progress(done, total)` is
    called after each block. `blas_is_limited` says that NumPy's linear algebra library has been limited to one
    thread before it was loaded; `caller_bytes` is the memory that the caller needs for the results besides them.
    Raises AttnError where the executor is neither "threads" nor "serial" nor an address.
    """

    executor: str = THREADS
    allocate: Allocate = in_memory
    progress: Progress | None = None
    blas_is_limited: bool = False
    caller_bytes: int = 0
    sizes: BlockSizes = BlockSizes()

    def __post_init__(self) -> None:
        _check_executor(self.executor)


def _check_executor(executor: object) -> None:
    """Raise AttnError where the value is not an executor; in Python it may be of any type."""
    if not isinstance(executor, str):
        hint = f"expected one of {', '.join(EXECUTORS)}"
        raise AttnError(f"{repr_excerpt(executor)} is not a name", where="executor", hint=hint)
    if not is_executor(executor):
        raise UnknownNameError("executor", executor, EXECUTORS, where="executor")

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
    """Whether a name or an address denotes an executor."""
    return name in (THREADS, SERIAL) or name.startswith(REMOTE)


@dataclass(frozen=True, eq=False)
class BlockSizes:
    """Sizes of blocks and tiles; they, and so the last digits, do not depend on the number of workers.

    A problem with at most `dense_cells` scores in all heads and batch items is computed whole. An exception is one with
    more than `row_cells` numbers in a table per score, such as a hidden layer, or in the keys or values of all query
    heads: for a few queries these take more time than the scores. If the score is a product, and the tiles take no
    longer than `alone_multiplications` in single precision, the problem is one block if possible, without other
    threads: waking them, and waiting for the GIL, would take longer than they save.
    """

    dense_cells: int = 2**17
    rows: int = 1024  # at most so many queries in a tiled block; up to four times as many for few keys
    masked_rows: int = 512  # the same if keys are masked: smaller blocks compute fewer masked cells
    tile_cells: int = 2**19  # numbers of a tile: more leave the caches, fewer make workers wait for the GIL
    min_unmasked_keys: int = 128  # no mask is computed for a run of so many keys that all queries see
    row_cells: int = 2**19  # numbers of the largest step of a block in whole rows
    alone_multiplications: int = 25 * 10**6  # 0.25 to 0.5 ms


@dataclass(frozen=True, eq=False)
class RunOptions:
    """Options of running a plan: executor, allocator, progress callback, sizes of blocks.

    `allocate(name, shape, dtype)` returns the array for a large result; `progress(done, total)` is called after each
    block. `blas_is_limited` says that BLAS was limited to one thread before it was loaded; `caller_bytes` is the
    caller's memory in addition to the results. Raises AttnError if the executor is neither "threads" nor "serial" nor
    an address.
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
    """Raise AttnError if the value is not an executor; in Python it may be of any type."""
    if not isinstance(executor, str):
        hint = f"expected one of {', '.join(EXECUTORS)}"
        raise AttnError(f"{repr_excerpt(executor)} is not a name", where="executor", hint=hint)
    if not is_executor(executor):
        raise UnknownNameError("executor", executor, EXECUTORS, where="executor")

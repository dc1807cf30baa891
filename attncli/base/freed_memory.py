"""Freed memory: the C library keeps it for the next arrays."""

from contextlib import suppress
from functools import cache

from attncli.base.lazy_numpy import np

KEPT = 2**25 - 2**16  # bytes; from arrays of 32 MB and more glibc learns nothing


@cache
def keep_freed_memory() -> None:
    """Have arrays of up to 32 MB take memory that earlier ones have freed, from now on.

    glibc has the system map each large array, and unmap it once it is freed: the page faults of temporaries take as
    long as their arithmetic. Once a mapped array has been freed, arrays up to its size come from memory that glibc
    keeps. This one is never written to, and so takes no memory itself. Other C libraries are left as they are.
    """
    with suppress(MemoryError):  # where there is so little, temporaries are smaller
        np.empty(KEPT, np.uint8)

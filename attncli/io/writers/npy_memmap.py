"""A large result computed in its `.npy` file, through a memory map."""

import math
import os
from typing import IO, Any

from attncli.base.lazy_numpy import Array, np


class NpyTarget:
    """Allocates the first result in an `.npy` file, and every other one in memory.

    `is_used` is true after the file has been used.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.is_used = False

    def allocate(self, _name: str, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Array:
        """An array of that shape and type, uninitialized: in the file, unless that is used already or can't be read.

        Raises OSError where the disk is full.
        """
        if self.is_used or not self.stream.readable():  # a pipe can't be mapped
            return np.empty(shape, dtype)
        np.lib.format.write_array_header_1_0(self.stream, {"descr": dtype.str, "fortran_order": False, "shape": shape})
        self.stream.flush()
        size = self.stream.tell() + math.prod(shape) * dtype.itemsize
        os.posix_fallocate(self.stream.fileno(), 0, size)  # a full disk raises here, not in the middle of the work
        self.is_used = True
        return np.memmap(self.stream, dtype, "r+", self.stream.tell(), shape)

"""Straight to a file: a table of scores or weights is computed into the `.npy` file that it would be written to."""

import math
import os
from pathlib import Path
from typing import IO, Any

from attncli.base.lazy_numpy import Array, np


class NpyTarget:
    """Room in a file for the first table that asks for it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.is_used = False

    def allocate(self, name: str, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Array:
        """Room in the file, where it is one and has not been taken; elsewhere in memory.

        Raises OSError where the disk has no room.
        """
        if self.is_used or not Path(self.stream.name).is_file():
            return np.empty(shape, dtype)
        np.lib.format.write_array_header_1_0(self.stream, {"descr": dtype.str, "fortran_order": False, "shape": shape})
        self.stream.flush()
        size = self.stream.tell() + math.prod(shape) * dtype.itemsize
        os.posix_fallocate(self.stream.fileno(), 0, size)  # a full disk is met here, and not in the middle
        self.is_used = True
        return np.memmap(self.stream.name, dtype, "r+", self.stream.tell(), shape)

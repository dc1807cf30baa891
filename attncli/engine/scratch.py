"""Buffers that a thread reuses from tile to tile: fresh memory would have to be cleared for each of them."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from attncli.base.lazy_numpy import Array, np


class _Scratch(threading.local):
    """Buffers of one thread, by name and type; a buffer grows to the largest size that was requested."""

    def __init__(self) -> None:
        self.buffers: dict[tuple[str, str], Array] = {}
        self.are_in_use = False

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Mark the buffers as in use while a block is computed; a block inside it gets buffers of its own.

        There is one where an operator of the user computes attention itself.
        """
        before = self.buffers, self.are_in_use
        if self.are_in_use:
            self.buffers = {}
        self.are_in_use = True
        try:
            yield
        finally:
            self.buffers, self.are_in_use = before

    def get(self, name: str, shape: tuple[int, ...], dtype: str) -> Array:
        """A buffer of a shape, uninitialized."""
        size, buffer = math.prod(shape), self.buffers.get((name, dtype))
        if buffer is None or buffer.size < size:
            buffer = self.buffers[name, dtype] = np.empty(size, dtype=dtype)
        return buffer[:size].reshape(shape)


SCRATCH = _Scratch()

"""Buffers that a thread reuses from tile to tile: fresh memory would have to be cleared for each of them."""

import math
import threading

from attncli.base.lazy_numpy import Array, np


class _Scratch(threading.local):
    """Buffers of one thread, by name and type; a buffer grows to the largest size that was requested."""

    def __init__(self) -> None:
        self.buffers: dict[tuple[str, str], Array] = {}

    def get(self, name: str, shape: tuple[int, ...], dtype: str) -> Array:
        """A buffer of a shape, uninitialized."""
        size, buffer = math.prod(shape), self.buffers.get((name, dtype))
        if buffer is None or buffer.size < size:
            buffer = self.buffers[name, dtype] = np.empty(size, dtype=dtype)
        return buffer[:size].reshape(shape)


SCRATCH = _Scratch()

"""Signatures: hashables of values without the numbers in their arrays, by which what depends on no number is kept."""

from collections.abc import Hashable
from typing import Any

from attncli.ops.records import Operator


def signature_of(value: Any) -> Hashable:
    """The shape of an array, the record and parameters of an operator, any other value itself.

    >>> import numpy as np
    >>> signature_of(np.zeros((2, 3))), signature_of(-0.0), signature_of("softmax")
    ((2, 3), '-0.0', 'softmax')
    """
    if isinstance(value, str):
        return value
    if hasattr(value, "shape"):
        shape: tuple[int, ...] = value.shape
        return shape
    if isinstance(value, Operator):
        return value.record, tuple((name, signature_of(parameter)) for name, parameter in value.given.items())
    if isinstance(value, float):
        return repr(value)  # 0 and −0 are equal, but lead to different results
    return value if isinstance(value, Hashable) else repr(value)

"""Safeguards against overflow, marked once: a record has the plain formula, and the value of the safe one."""

from collections.abc import Callable
from typing import Any


def stable(plain: Callable[..., Any], safe: Callable[..., Any], *arrays: Any) -> Any:
    """`safe(*arrays)`, which is `plain(*arrays)` computed without overflow; lines, code and gradients are of `plain`.

    >>> import math
    >>> stable(lambda x: math.log(1 + math.exp(x)), lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))), 1000.0)
    1000.0
    """
    recorded = [array for array in arrays if hasattr(array, "with_value")]
    if not recorded:
        return safe(*arrays)
    values = (array.value if hasattr(array, "with_value") else array for array in arrays)
    return plain(*arrays).with_value(safe(*values))

"""Marks for records: the plain formula of a safeguard against overflow, and names of inner arrays."""

from collections.abc import Callable
from typing import Any

from attncli.base.lazy_numpy import np


def stable(plain: Callable[..., Any], safe: Callable[..., Any], *arrays: Any) -> Any:
    """`safe(*arrays)`, which computes `plain(*arrays)` without overflow; lines, code and gradients follow `plain`.

    >>> import math
    >>> stable(lambda x: math.log(1 + math.exp(x)), lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))), 1000.0)
    1000.0
    """
    recorded = [array for array in arrays if hasattr(array, "with_value")]
    if not recorded:
        return safe(*arrays)
    values = (array.value if hasattr(array, "with_value") else array for array in arrays)
    found, computed = plain(*arrays), safe(*values)
    if not isinstance(found, tuple):
        return found.with_value(computed)
    return tuple(one.with_value(value) for one, value in zip(found, computed, strict=True))


def named(name: str, x: Any) -> Any:
    """An array with a name for worked lines and code.

    >>> named("size", 3.0)
    3.0
    """
    return x.with_name(name) if name and hasattr(x, "with_name") else x


def quotient(x: Any, divisor: Any) -> Any:
    """`x / divisor`, or 0 where the divisor is 0.

    >>> quotient(np.array([6.0, 6.0]), np.array([2.0, 0.0]))
    array([3., 0.])
    """
    return stable(
        lambda x, divisor: np.where(divisor == 0, 0, x / divisor),
        lambda x, divisor: np.where(divisor == 0, 0, x / np.where(divisor == 0, 1, divisor)),
        *(x, divisor),
    )


def logistic(x: Any) -> Any:
    """`1 / (1 + exp(−x))`.

    >>> logistic(np.array([0.0, -1000.0]))
    array([0.5, 0. ])
    """
    return stable(lambda x: 1 / (1 + np.exp(-x)), lambda x: np.exp(-np.logaddexp(0, -x)), x)

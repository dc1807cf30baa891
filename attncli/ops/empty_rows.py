"""Rows without keys: what a query gets that may attend to nothing, where that is not 0."""

from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.decorators import structural


def fill_empty_rows_by_hand(write: ArithmeticWriter, weights: Any, result: Any, *, fill: str, keys: int) -> list[str]:
    """The weight that a query without keys gets; one with keys keeps its own."""
    if result == weights:
        return []
    return ["every key is hidden: NaN" if fill == "nan" else f"every key is hidden: 1/{keys} = {write(result)}"]


@structural(by_hand=fill_empty_rows_by_hand)
def fill_empty_rows(weights: Array, *, fill: str, keys: int) -> Array:
    """The weights [… n m]; in a row that has only 0, NaN instead (`fill` is nan) or 1 / `keys` (uniform).

    Examples
    --------
    >>> fill_empty_rows(np.array([[0.0, 1.0], [0.0, 0.0]]), fill="uniform", keys=2)
    array([[0. , 1. ],
           [0.5, 0.5]])
    """
    is_empty = ~(weights != 0).any(axis=-1, keepdims=True)
    filled = weights + np.nan if fill == "nan" else (weights + 1) / keys
    return np.where(is_empty, filled, weights).astype(weights.dtype, copy=False)

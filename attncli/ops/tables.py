"""Tables [… n m] that the user gives, masks and biases: their cells for some queries and keys."""

from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number
from attncli.ops.decorators import structural


def table_cells(table: Array, query_rows: Array, key_positions: Array, *, fill: float) -> Array:
    """The cells of a table for some queries and keys.

    Parameters
    ----------
    table : array [… q t] or [… 1 t]
        One row serves every query.
    query_rows : array [n]
        The index of each query.
    key_positions : array [m]
        The index of each key.
    fill : number
        Fills the columns that the table lacks.

    Returns
    -------
    array [… n m]
        A view of the table where the indices are ranges of whole numbers.

    Examples
    --------
    >>> table_cells(np.array([[1, 2], [3, 4]]), np.array([1]), np.arange(3), fill=0)
    array([[3, 4, 0]])
    """
    if table.shape[-2] == 1:
        rows = np.broadcast_to(table, (*table.shape[:-2], len(query_rows), table.shape[-1]))
    else:
        rows = table[..., _as_slice(query_rows), :]
    has_column = key_positions < table.shape[-1]
    if has_column.all():
        return rows[..., _as_slice(key_positions)]
    return np.where(has_column, rows[..., np.where(has_column, key_positions, 0)], np.asarray(fill, dtype=table.dtype))


def _as_slice(index: Array) -> Any:
    """An index as a slice where it is a range of whole numbers: such a part of a table need not be copied."""
    is_range = len(index) == index[-1] - index[0] + 1 and bool((index[1:] - index[:-1] == 1).all())
    return slice(int(index[0]), int(index[-1]) + 1) if is_range else index


def add_bias_by_hand(
    write: ArithmeticWriter, scores: Any, table: Array, query_rows: Any, key_positions: Any, result: Any
) -> list[str]:
    """One score and its bias: what stands in the table, 0 beyond its columns and where it masks the key."""
    row = table[0 if table.shape[0] == 1 else int(query_rows)]
    bias = row[int(key_positions)] if key_positions < len(row) else 0
    return [write.equation(number(scores) + (0 if np.isneginf(bias) else bias), result)]


@structural(by_hand=add_bias_by_hand)
def add_bias(scores: Array, table: Array, query_rows: Array, key_positions: Array) -> Array:
    """The scores and the user's own numbers; where those are −∞ the key is masked, and nothing is added.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.
    table : array [… n m] or [… 1 m]
        Columns that it lacks count as 0.
    query_rows : array [n]
        The index of each query.
    key_positions : array [m]
        The index of each key.

    Returns
    -------
    array [… n m]

    Examples
    --------
    >>> add_bias(np.array([[1.0, 2.0, 3.0]]), np.array([[10.0, -np.inf]]), np.arange(1), np.arange(3))
    array([[11.,  2.,  3.]])
    """
    cells = table_cells(table, query_rows, key_positions, fill=0)
    return scores + np.where(cells == -np.inf, 0, cells)

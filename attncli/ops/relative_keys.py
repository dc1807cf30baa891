"""Position schemes that act on the products of queries and keys: further keys, one for each distance.

`query_positions` [… n] and `key_positions` [m] count from the first key.
"""

from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number, products
from attncli.ops.decorators import position
from attncli.ops.records import TABLE, Range
from attncli.ops.rules import OperatorUse


def check_shaw(use: OperatorUse) -> None:
    """Raise AttnError where the table of relative positions has no row of distance 0."""
    rows, left = len(use.parameters["table"]), use.parameters.get("left")
    if left is None and rows % 2 == 0:
        hint = "expected an odd number: the middle is distance 0; or give left, the distance of its first row"
        raise AttnError(f"has {rows} rows", where="table", hint=hint)
    if left is not None and left >= rows:
        message = f"{left} keys to the left and the query's own need {left + 1} rows; the table has {rows}"
        raise AttnError(message, where="left")


def shaw_by_hand(
    write: ArithmeticWriter,
    query: Array,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    *,
    table: Array,
    left: int | None = None,
) -> list[str]:
    """The distance of one query [d] and one key, and the dot product with its vector."""
    distance = int(key_positions - query_positions)
    row = int(relative_row(np.array(distance), len(table), left))
    clipped = row - rows_to_the_left(len(table), left)
    line = write.equation(number(int(key_positions)) - int(query_positions), distance, name="distance")
    beyond = f": beyond the table, so {write(clipped)}" if clipped != distance else ""
    name = f"{write.symbol('query')}({write.query})·table({write(clipped)})"
    return [line + beyond, write.equation(products(query, table[row]), result, name=name)]


@position(
    formula="Qᵢ·table(clip(j − posᵢ))",
    shapes="query[n d], query_positions[n], key_positions[m], table[r d] -> [n m]",
    source="Shaw, Uszkoreit & Vaswani 2018, eq. 4 and 5, relative keys; with left: Wav2Vec2-BERT",
    example={
        "query": [[1, 2], [3, 1]],
        "query_positions": [0, 1],
        "key_positions": [0, 1],
        "table": [[1, 0], [0, 0], [0, 1]],
        "gives": [[0, 2], [3, 0]],
    },
    by_hand=shaw_by_hand,
    check=check_shaw,
    acts_on="products",
)
def shaw(
    query: Array,
    query_positions: Array,
    key_positions: Array,
    *,
    table: Annotated[Array, TABLE],
    left: Annotated[int | None, Range(least=0)] = None,
) -> Array:
    """A learned key for each distance, up to the farthest on either side that the table has.

    Parameters
    ----------
    query : array [… n d]
        A query in each row.
    query_positions : array [… n]
        The position of each query among the keys.
    key_positions : array [m]
        The index of each key.
    table : array [r d]
        A vector for each distance; distances beyond its ends get the ends.
    left : int ≥ 0, optional
        How many rows stand before that of distance 0; without it as many as after it, and r is odd.

    Returns
    -------
    array [… n m]

    Examples
    --------
    >>> table = np.array([[1, 0], [0, 0], [0, 1]])
    >>> shaw(np.array([[1, 2], [3, 1]]), np.arange(2), np.arange(2), table=table)
    array([[0, 2],
           [3, 0]])
    """
    products = query @ table.mT
    index = relative_row(key_positions - query_positions[..., :, None], table.shape[-2], left)
    return np.take_along_axis(products, np.broadcast_to(index, (*products.shape[:-1], index.shape[-1])), axis=-1)


def relative_row(distance: Array, rows: int, left: int | None = None) -> Array:
    """The row of a table of distances from −`left`, by default of an odd number; those beyond its ends get the ends.

    Examples
    --------
    >>> relative_row(np.array([-5, -1, 0, 1, 5]), rows=5)
    array([0, 1, 2, 3, 4])
    >>> relative_row(np.array([-5, -1, 0, 1, 5]), rows=5, left=3)
    array([0, 2, 3, 4, 4])
    """
    row: Array = np.clip(distance + rows_to_the_left(rows, left), 0, rows - 1)
    return row


def rows_to_the_left(rows: int, left: int | None) -> int:
    """How many rows of a table stand before that of distance 0: `left`, or half of the others.

    >>> rows_to_the_left(5, None), rows_to_the_left(5, 3)
    (2, 3)
    """
    return rows // 2 if left is None else left

"""Position schemes that add vectors of distances to the keys of dot products, or to their queries.

`query_positions` [… n] and `key_positions` [m] count from the first key.
"""

from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number, products
from attncli.ops.decorators import position
from attncli.ops.position_biases import OF_POSITIONS
from attncli.ops.records import TABLE, OperatorUse, Range


def products_with_rows(x: Array, table: Array, rows: Array) -> Array:
    """The dot products of vectors [… n d] with one row of a table [… r d] for each pair [… n m]."""
    found = x @ table.mT
    return np.take_along_axis(found, np.broadcast_to(rows, (*found.shape[:-1], rows.shape[-1])), axis=-1)


def of_each_head(vector: Array) -> Array:
    """One vector per head [h d], reshaped to broadcast with [… h n d]; a single vector [d] stays."""
    return vector if vector.ndim == 1 else vector[..., None, :]


def projected(table: Array, w: Array | None, b: Array | None = None) -> Array:
    """A table's rows [r x] as keys or queries of each head: times [x d] or [h x d], plus [d] or [h d]."""
    rows = table if w is None else table @ w
    return rows if b is None else rows + of_each_head(b)


def plus_of_each_head(x: Array, vector: Array | None) -> Array:
    """Vectors [… n d] plus their head's vector."""
    return x if vector is None else x + of_each_head(vector)


def check_width(use: OperatorUse, weights: str) -> None:
    """Raise AttnError if a table without a projection is not as wide as the queries."""
    table, features = use.parameters.get("table"), use.lengths.get("d")
    if table is not None and weights not in use.parameters and features not in (None, table.shape[-1]):
        message = f"has {count_of(table.shape[-1], 'column')}; a query has {count_of(features or 0, 'feature')}"
        raise AttnError(message, where="table", hint=f"give {weights}, which projects it for each head")


def check_shaw(use: OperatorUse) -> None:
    """Raise AttnError if the table of relative positions has no row for distance 0."""
    rows, left = len(use.parameters["table"]), use.parameters.get("left")
    if left is None and rows % 2 == 0:
        hint = "expected an odd number: the middle is distance 0; or give left, the distance of its first row"
        raise AttnError(f"has {count_of(rows, 'row')}", where="table", hint=hint)
    if left is not None and left >= rows:
        message = f"the query and {count_of(left, 'key')} to the left need {left + 1} rows; the table has {rows}"
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
    clipped = row - _rows_to_the_left(len(table), left)
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
    derivatives={
        **OF_POSITIONS,
        "query": "{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ {table}(clip(j − posᵢ))",
        "table": "{d_table}(r) = Σᵢⱼ {d_result}ᵢⱼ {query}ᵢ of the pairs with the distance r",
    },
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
    """A learned key for each distance, up to the table's farthest on either side.

    Distances beyond the table's ends get the ends. `left` is the number of rows before distance 0; without it there are
    as many as after it, and r is odd.

    >>> table = np.array([[1, 0], [0, 0], [0, 1]])
    >>> shaw(np.array([[1, 2], [3, 1]]), np.arange(2), np.arange(2), table=table)
    array([[0, 2],
           [3, 0]])
    """
    row = relative_row(key_positions - query_positions[..., :, None], table.shape[-2], left)
    return products_with_rows(query, table, row)


def relative_row(distance: Array, rows: int, left: int | None = None) -> Array:
    """The row of each distance in a table that begins at −`left`; distances beyond its ends get the ends.

    >>> relative_row(np.array([-5, -1, 0, 1, 5]), rows=5)
    array([0, 1, 2, 3, 4])
    >>> relative_row(np.array([-5, -1, 0, 1, 5]), rows=5, left=3)
    array([0, 2, 3, 4, 4])
    """
    row: Array = np.clip(distance + _rows_to_the_left(rows, left), 0, rows - 1)
    return row


def _rows_to_the_left(rows: int, left: int | None) -> int:
    """The number of rows before distance 0: `left`, or half of the others."""
    return rows // 2 if left is None else left

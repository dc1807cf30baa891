"""Position schemes of images: tokens are the cells of a grid, row by row, and differ by so many rows and columns.

`query_positions` [… n] and `key_positions` [m] count from the first key.
"""

from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number
from attncli.ops.decorators import position
from attncli.ops.records import TABLE, Range
from attncli.ops.rules import OperatorUse
from attncli.ops.structural import per_head

Size = Annotated[int, Range(least=1)]
CLASS_ROWS = ("from the class token", "to the class token", "the class token to itself")  # the last rows of a table


def check_grid_bias(use: OperatorUse) -> None:
    """Raise AttnError where the grid has fewer cells than there are tokens, or the table other rows than it needs."""
    height, has_class = use.parameters["height"], use.parameters["class_token"]
    width = use.parameters.get("width", height)
    hint = None if has_class else "class_token: true is for one token before them"
    _check_cells(height, width, use, hint, has_class=has_class)
    found, needed = len(use.parameters["table"]), (2 * height - 1) * (2 * width - 1) + 3 * has_class
    if found != needed:
        more = " and 3 of the class token" if has_class else ""
        hint = f"expected {needed}: {2 * height - 1} · {2 * width - 1} of a grid of {height} × {width} cells{more}"
        raise AttnError(f"has {count_of(found, 'row')}", where="table", hint=hint)


def _check_cells(height: int, width: int, use: OperatorUse, hint: str | None, *, has_class: bool = False) -> None:
    """Raise AttnError where there are more tokens than cells, with that of the class."""
    cells, tokens = height * width, len(use.positions) + use.positions[0]
    if tokens > cells + has_class:
        message = f"a grid of {height} × {width} has {count_of(cells, 'cell')}; there are {count_of(tokens, 'token')}"
        raise AttnError(message, hint=hint)


def grid_bias_by_hand(
    write: ArithmeticWriter,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    *,
    table: Array,
    height: int,
    width: int | None = None,
    class_token: bool = False,
    heads: int | None = None,
) -> list[str]:
    """The cells of one query and one key, how far they are apart, and the number in the table."""
    width = height if width is None else width
    row = int(grid_row(np.array([query_positions]), np.array([key_positions]), height, width, class_token)[0, 0])
    in_table = f"table[{min(max(row, 0), len(table) - 1)}] = {write(result)}"
    of_class = row - (2 * height - 1) * (2 * width - 1)
    if of_class >= 0:
        return [f"{CLASS_ROWS[of_class]}: {in_table}"]
    lines, (rows, columns) = _offsets_by_hand(write, int(query_positions), int(key_positions), width, class_token)
    term = (number(rows) + (height - 1)) * (2 * width - 1) + (number(columns) + (width - 1))
    return [*lines, f"row of the table: {write.equation(term, row)}", in_table]


def _offsets_by_hand(
    write: ArithmeticWriter, query_position: int, key_position: int, width: int, class_token: bool
) -> tuple[list[str], tuple[int, int]]:
    """The cells of one query and one key; by how many rows and columns they differ, as lines and as numbers."""
    (row, column), (key_row, key_column) = (divmod(at - class_token, width) for at in (query_position, key_position))
    cells = f"{write.query} in row {row}, column {column}; {write.key} in row {key_row}, column {key_column}"
    rows, columns = row - key_row, column - key_column
    apart = [
        f"rows apart: {write.equation(number(row) - key_row, rows)}",
        f"columns apart: {write.equation(number(column) - key_column, columns)}",
    ]
    return [cells, *apart], (rows, columns)


@position(
    formula="Bᵢⱼ = table[(Δrow + height − 1) (2 width − 1) + Δcolumn + width − 1, h]",
    shapes="query_positions[n], key_positions[m], table[r h] -> [n m]",
    source="Liu et al. 2021 (Swin), eq. 4; with a class token: Bao et al. 2022 (BEiT), modeling_finetune.py",
    example={
        "query_positions": [0, 1],
        "key_positions": [0, 1],
        "table": [[5], [7], [9]],
        "height": 1,
        "width": 2,
        "gives": [[7, 5], [9, 7]],
    },
    by_hand=grid_bias_by_hand,
    check=check_grid_bias,
    acts_on="scores",
)
def grid_bias(
    query_positions: Array,
    key_positions: Array,
    heads: int | None = None,
    *,
    table: Annotated[Array, TABLE],
    height: Size,
    width: Annotated[int | None, Range(least=1)] = None,
    class_token: bool = False,
) -> Array:
    """A learned number for each head and each difference of rows and columns in a grid of tokens.

    Parameters
    ----------
    query_positions : array [… n]
        The position of each query among the keys.
    key_positions : array [m]
        The index of each key.
    heads : int, optional
        How many heads there are; None without an axis of heads.
    table : array [r h]
        (2 `height` − 1) (2 `width` − 1) rows, a column for each head; with a class token three rows more: from it to
        the others, from the others to it, and to itself.
    height : int ≥ 1
        How many rows of tokens the grid has.
    width : int ≥ 1, optional
        How many columns; without it as many as rows.
    class_token : bool, optional
        The first token is in no cell.

    Returns
    -------
    array [… h n m], or [… n m] without an axis of heads

    Examples
    --------
    >>> table = np.array([[5], [7], [9]])
    >>> grid_bias(np.arange(2), np.arange(2), table=table, height=1, width=2)
    array([[7, 5],
           [9, 7]])
    """
    row = grid_row(query_positions, key_positions, height, height if width is None else width, class_token)
    row = np.clip(row, 0, len(table) - 1)  # a query that stands before the first key is in no cell
    numbers: Array = table[row, per_head(np.arange(table.shape[-1]), heads)]
    return numbers


def grid_row(query_positions: Array, key_positions: Array, height: int, width: int, class_token: bool) -> Array:
    """The row of a table for each query and key of a grid of tokens, [… n m].

    Examples
    --------
    >>> grid_row(np.array([0, 3]), np.arange(4), height=2, width=2, class_token=False)
    array([[4, 3, 1, 0],
           [8, 7, 5, 4]])
    """
    queries, keys = grid_cells(query_positions - class_token, width), grid_cells(key_positions - class_token, width)
    rows, columns = (query[..., :, None] - key for query, key in zip(queries, keys, strict=True))
    offsets: Array = (rows + height - 1) * (2 * width - 1) + columns + width - 1
    if not class_token:
        return offsets
    first = (2 * height - 1) * (2 * width - 1)
    is_query, is_key = query_positions[..., :, None] <= 0, key_positions == 0
    classes = [is_query & is_key, is_query & ~is_key, ~is_query & is_key]
    row: Array = np.select(classes, [first + 2, first, first + 1], offsets)
    return row


def grid_cells(positions: Array, width: int) -> tuple[Array, Array]:
    """The row and the column of each position in a grid.

    Examples
    --------
    >>> grid_cells(np.arange(5), width=3)
    (array([0, 0, 0, 1, 1]), array([0, 1, 2, 0, 1]))
    """
    rows, columns = np.divmod(positions, width)
    return rows, columns

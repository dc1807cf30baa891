"""Position schemes for a grid of tokens, such as the patches of an image: by the differences of rows and columns.

`query_positions` [… n] and `key_positions` [m] count the cells row by row; `heads` is None without an axis of heads.
"""

from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number, products
from attncli.ops.decorators import position
from attncli.ops.position_biases import (
    OF_POSITIONS,
)
from attncli.ops.records import TABLE, OperatorUse, Range
from attncli.ops.relative_keys import products_with_rows
from attncli.ops.structural import per_head

Size = Annotated[int, Range(least=1)]
CLASS_ROWS = ("from the class token", "to the class token", "the class token to itself")  # the last rows of a table


def _check_cells(use: OperatorUse, *, has_class_token: bool | None = None) -> tuple[int, int]:
    """The height and the width; raises AttnError if the grid has fewer cells than there are tokens.

    `has_class_token` says whether a token precedes the cells; None if none may.
    """
    height = use.parameters["height"]
    width = use.parameters.get("width", height)
    cells, tokens = height * width, len(use.positions) + use.positions[0]
    if tokens > cells + bool(has_class_token):
        message = f"a grid of {height} × {width} has {count_of(cells, 'cell')}; there are {count_of(tokens, 'token')}"
        hint = "class_token: true allows one token before them" if has_class_token is False else None
        raise AttnError(message, hint=hint)
    return height, width


def check_grid_bias(use: OperatorUse) -> None:
    """Raise AttnError if the grid has fewer cells than there are tokens, or the table has the wrong number of rows."""
    has_class = use.parameters["class_token"]
    height, width = _check_cells(use, has_class_token=has_class)
    found, needed = len(use.parameters["table"]), (2 * height - 1) * (2 * width - 1) + 3 * has_class
    if found != needed:
        more = " and 3 of the class token" if has_class else ""
        hint = f"expected {needed}: {2 * height - 1} · {2 * width - 1} of a grid of {height} × {width} cells{more}"
        raise AttnError(f"has {count_of(found, 'row')}", where="table", hint=hint)


def grid_bias_by_hand(
    write: ArithmeticWriter,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    *,
    table: Array,
    height: int,
    width: int | None = None,
    class_token: bool,
    heads: int | None = None,
) -> list[str]:
    """The cells of one query and one key, their distances, and the number in the table."""
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
    """The cells of one query and one key, and their differences of rows and columns, as lines and as numbers."""
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
    derivatives={
        **OF_POSITIONS,
        "table": "{d_table}[r, h] = Σᵢⱼ {d_result}ᵢⱼ of the pairs whose difference is in row r",
    },
    check=check_grid_bias,
    counts_from_first_key=True,
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

    Without a width the grid is square. The table has (2 `height` − 1) (2 `width` − 1) rows and a column for each head.
    A `class_token` is the first token, outside the grid; the table then has three more rows: from it to the others,
    from the others to it, and to itself.

    >>> table = np.array([[5], [7], [9]])
    >>> grid_bias(np.arange(2), np.arange(2), table=table, height=1, width=2)
    array([[7, 5],
           [9, 7]])
    """
    row = grid_row(query_positions, key_positions, height, height if width is None else width, class_token)
    row = np.clip(row, 0, len(table) - 1)  # a query before the first key is outside the grid
    numbers: Array = table[row, per_head(np.arange(table.shape[-1]), heads)]
    return numbers


def grid_row(query_positions: Array, key_positions: Array, height: int, width: int, class_token: bool) -> Array:
    """The row of a table for each query and key of a grid of tokens, [… n m].

    >>> grid_row(np.array([0, 3]), np.arange(4), height=2, width=2, class_token=False)
    array([[4, 3, 1, 0],
           [8, 7, 5, 4]])
    """
    queries, keys = (np.divmod(positions - class_token, width) for positions in (query_positions, key_positions))
    rows, columns = (query[..., :, None] - key for query, key in zip(queries, keys, strict=True))
    offsets: Array = (rows + (height - 1)) * (2 * width - 1) + columns + (width - 1)
    if not class_token:
        return offsets
    first = (2 * height - 1) * (2 * width - 1)
    is_query, is_key = query_positions[..., :, None] <= 0, key_positions == 0
    classes = [is_query & is_key, is_query & ~is_key, ~is_query & is_key]
    row: Array = np.select(classes, [first + 2, first, first + 1], offsets)
    return row


def check_decomposed(use: OperatorUse) -> None:
    """Raise AttnError if the grid has fewer cells than there are tokens, or a table has the wrong number of rows."""
    height, width = _check_cells(use)
    for name, side in (("rel_pos_h", height), ("rel_pos_w", width)):
        found, needed = len(use.parameters[name]), 2 * side - 1
        if found != needed:
            hint = f"expected {needed}: the differences from {1 - side} to {side - 1}"
            raise AttnError(f"has {count_of(found, 'row')}", where=name, hint=hint)


def _axis_rows(
    query_positions: Array, key_positions: Array, rel_pos_h: Array, rel_pos_w: Array, height: int, width: int | None
) -> tuple[Array, Array]:
    """The row of each table for each query and key, [… n m]; a query before the first key gets the ends."""
    width = height if width is None else width
    queries, keys = np.divmod(query_positions, width), np.divmod(key_positions, width)
    rows, columns = (
        np.clip(query[..., :, None] - key + (side - 1), 0, len(table) - 1)
        for query, key, side, table in zip(queries, keys, (height, width), (rel_pos_h, rel_pos_w), strict=True)
    )
    return rows, columns


def decomposed_by_hand(
    write: ArithmeticWriter,
    query: Array,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    *,
    rel_pos_h: Array,
    rel_pos_w: Array,
    height: int,
    width: int | None = None,
) -> list[str]:
    """The cells of one query [d] and one key, and the query's dot products with the vectors of both differences."""
    width = height if width is None else width
    lines, (rows, columns) = _offsets_by_hand(write, int(query_positions), int(key_positions), width, class_token=False)
    row, column = rel_pos_h[rows + height - 1], rel_pos_w[columns + width - 1]
    name = f"{write.symbol('query')}({write.query})·"
    of_rows = write.computed(f"{name}rel_pos_h({rows})", products(query, row))
    of_columns = write.computed(f"{name}rel_pos_w({columns})", products(query, column))
    return [*lines, of_rows.line, of_columns.line, write.equation(of_rows + of_columns, result)]


@position(
    formula="Bᵢⱼ = Qᵢ·rel_pos_h(Δrow) + Qᵢ·rel_pos_w(Δcolumn)",
    shapes="query[n d], query_positions[n], key_positions[m], rel_pos_h[r d], rel_pos_w[t d] -> [n m]",
    source="Li et al. 2022 (MViTv2), eq. 4; as ViTDet and SAM have it (add_decomposed_rel_pos)",
    example={
        "query": [[1, 2], [3, 1]],
        "query_positions": [0, 1],
        "key_positions": [0, 1],
        "rel_pos_h": [[1, 1]],
        "rel_pos_w": [[1, 0], [0, 0], [0, 1]],
        "height": 1,
        "width": 2,
        "gives": [[3, 4], [5, 4]],
    },
    by_hand=decomposed_by_hand,
    derivatives={
        **OF_POSITIONS,
        "query": "{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ (rel_pos_h(Δrow) + rel_pos_w(Δcolumn))",
        "rel_pos_h": "{d_rel_pos_h}(r) = Σᵢⱼ {d_result}ᵢⱼ {query}ᵢ of the pairs whose rows differ by r",
        "rel_pos_w": "{d_rel_pos_w}(r) = Σᵢⱼ {d_result}ᵢⱼ {query}ᵢ of the pairs whose columns differ by r",
    },
    check=check_decomposed,
    counts_from_first_key=True,
    acts_on="scores",
)
def decomposed(
    query: Array,
    query_positions: Array,
    key_positions: Array,
    *,
    rel_pos_h: Annotated[Array, TABLE],
    rel_pos_w: Annotated[Array, TABLE],
    height: Size,
    width: Annotated[int | None, Range(least=1)] = None,
) -> Array:
    """A learned vector for each difference of rows and one for each of columns, by which every query is multiplied.

    The tokens are the cells of a grid, row by row; without a width it is square. The tables have 2 `height` − 1 and 2
    `width` − 1 rows, the differences of the query and the key from the smallest to the largest. The products are added
    to the scaled scores.

    >>> columns = np.array([[1, 0], [0, 0], [0, 1]])
    >>> positions, query = np.arange(2), np.array([[1, 2], [3, 1]])
    >>> decomposed(query, positions, positions, rel_pos_h=np.array([[1, 1]]), rel_pos_w=columns, height=1, width=2)
    array([[3, 4],
           [5, 4]])
    """
    rows, columns = _axis_rows(query_positions, key_positions, rel_pos_h, rel_pos_w, height, width)
    return products_with_rows(query, rel_pos_h, rows) + products_with_rows(query, rel_pos_w, columns)

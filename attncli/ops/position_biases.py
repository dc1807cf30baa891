"""Position schemes of pairs: a number for how far a key is from a query, added to their score or their product.

`query_positions` [… n] and `key_positions` [m] count from the first key; `heads` is None without an axis of heads.
"""

import math
from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import absolute, ln, number, products, total
from attncli.ops.code import CodeCall, NoCode
from attncli.ops.decorators import position, structural
from attncli.ops.derivatives import CONSTANT, Derivatives, add_rows, derivative
from attncli.ops.records import TABLE, DerivedInput, OperatorUse, Range
from attncli.ops.structural import per_head

OF_POSITIONS: Derivatives = {"query_positions": CONSTANT, "key_positions": CONSTANT}


def published_slopes_by_hand(write: ArithmeticWriter, result: Any, *, shape: tuple[int]) -> list[str]:
    """The slope of one head, by its number."""
    power, head = 2 ** int(math.log2(shape[0])), write.head
    step = number(8) * (head + 1) / power if head < power else number(4) * (2 * (head - power) + 1) / power
    return [write.equation(number(2) ** -step, result, name=f"slope of head {head}")]


def _slopes_code(call: CodeCall) -> str:
    """Powers of two; of a number of heads that is none those in between too."""
    (heads,) = call.options["shape"]
    power = 2 ** int(math.log2(heads))
    first = f"2.0 ** (-8 / {power} * np.arange(1, {power + 1}))"
    if power == heads:
        return first
    return f"np.concatenate([{first}, 2.0 ** (-4 / {power} * np.arange(1, {2 * power}, 2))])[:{heads}]"


def _per_head_code(call: CodeCall, name: str) -> str:
    """A number of each head in the shape of tables, or the one number."""
    if not call.has(name):
        return f"{{{name}}}"
    return f"{{{name}}}[0]" if call.option("heads") is None else f"{{{name}}}[:, None, None]"


@structural(is_exact=True, by_hand=published_slopes_by_hand, code=_slopes_code)
def published_slopes(*, shape: tuple[int]) -> Array:
    """2^(−8/h), 2^(−16/h), … for h heads, h a power of two.

    Of another count: those of the power of two below it, then every second one of the power above.

    Source: Press, Smith & Lewis 2022, §3; the slopes of other head counts: their code, get_slopes.

    >>> published_slopes(shape=(4,))
    array([0.25      , 0.0625    , 0.015625  , 0.00390625])
    """
    (heads,) = shape
    power = 2 ** int(math.log2(heads))
    first = 2.0 ** (-8 / power * np.arange(1, power + 1))
    between = 2.0 ** (-4 / power * np.arange(1, 2 * power + 1, 2))
    slopes: Array = np.concatenate([first, between])[:heads]
    return slopes


def alibi_by_hand(
    write: ArithmeticWriter,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    *,
    slopes: Any,
    heads: int | None = None,
) -> list[str]:
    """The slope times one distance, negative."""
    slope = slopes if np.ndim(slopes) == 0 else slopes[min(write.head, len(slopes) - 1)]
    return [write.equation(-(number(slope) * absolute(number(query_positions) - key_positions)), result)]


@derivative(
    "{d_slopes}ₕ = −Σᵢⱼ {d_result}ᵢⱼ |posᵢ − j|",
    code=lambda call: (
        "-({grad} * abs({query_positions}[..., None] - {key_positions})).sum(axis=(-2, -1))"
        + ("[..., None]" if call.option("heads") is None else "")
    ),
)
def alibi_slopes(grad: Array, query_positions: Array, key_positions: Array, *, heads: int | None = None) -> Array:
    """The gradient of the slopes: the sum over all pairs of each head."""
    distances = abs(query_positions[..., :, None] - key_positions)
    total: Array = -(grad * distances).sum(axis=(-2, -1))
    return total[..., None] if heads is None else total


def _alibi_code(call: CodeCall) -> str:
    """The slopes times the distances, negative."""
    return f"-{_per_head_code(call, 'slopes')} * abs({{query_positions}}[..., None] - {{key_positions}})"


@position(
    formula="Bᵢⱼ = −λₕ |posᵢ − j|",
    shapes="query_positions[n], key_positions[m], slopes[h] -> [n m]",
    source="Press, Smith & Lewis 2022, §3; the slopes of other head counts: their code, get_slopes",
    example={"query_positions": [0, 2], "key_positions": [0, 2], "slopes": [0.5], "gives": [[0, -1], [-1, 0]]},
    by_hand=alibi_by_hand,
    derivatives={**OF_POSITIONS, "slopes": alibi_slopes},
    derived={
        "slopes": DerivedInput(
            published_slopes,
            "λ",
            lambda shape: f"the published ones of {shape[0]} head{'s' if shape[0] > 1 else ''}",
            ("h",),
            purpose="How fast the score falls with the distance in each head: some heads look near, others far.",
        )
    },
    acts_on="scores",
    code=_alibi_code,
)
def alibi(
    query_positions: Array, key_positions: Array, heads: int | None = None, *, slopes: Array | float | None = None
) -> Array:
    """The farther a key, the lower its score; each head has a slope of its own.

    Without `slopes` they are `published_slopes`.

    >>> alibi(np.array([0, 2]), np.array([0, 2]), slopes=np.array([0.5]))
    array([[-0., -1.],
           [-1., -0.]])
    >>> alibi(np.array([1]), np.array([0, 1]), heads=2, slopes=np.array([0.5, 0.25]))
    array([[[-0.5 , -0.  ]],
    <BLANKLINE>
           [[-0.25, -0.  ]]])
    """
    if slopes is None:
        slopes = published_slopes(shape=(heads or 1,))
    slope = per_head(np.asarray(slopes), heads)
    distances = abs(query_positions[..., :, None] - key_positions)
    # In the type of the slopes, once for all heads: products of integers and float32 would be float64, of each head.
    bias: Array = slope * -distances.astype(np.result_type(slope, np.float32))
    return bias


def check_t5(use: OperatorUse) -> None:
    """Raise AttnError where the rows of the table can't be divided into buckets."""
    rows, bidirectional = len(use.parameters["table"]), use.parameters["bidirectional"]
    half = rows // 2 if bidirectional else rows
    if half < 2 or (bidirectional and rows % 2):
        raise AttnError(f"{rows} buckets can't be divided", where="table", hint="expected an even number ≥ 4")
    if use.parameters["max_distance"] <= half // 2:
        raise AttnError(
            f"max_distance is not beyond the {half // 2} buckets of one distance each", where="max_distance"
        )


def t5_by_hand(
    write: ArithmeticWriter,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    *,
    table: Array,
    max_distance: int,
    bidirectional: bool,
    heads: int | None = None,
) -> list[str]:
    """The bucket of one distance, and its number in the table."""
    distance = int(key_positions - query_positions)
    bucket = int(t5_bucket(np.array(distance), len(table), max_distance, bidirectional))
    half = len(table) // 2 if bidirectional else len(table)
    exact = half // 2
    first = half if bidirectional and distance > 0 else 0
    away = abs(distance) if bidirectional else max(-distance, 0)
    lines = [write.equation(number(int(key_positions)) - int(query_positions), distance, name="distance")]
    if away < exact:
        addends, explanation = [first, away], f"a bucket for each distance below {exact}"
    else:
        wider = write.computed("", ln(number(away) / exact) / ln(number(max_distance) / exact) * (half - exact))
        step = bucket - first - exact
        limit = f", but at most {step}" if wider.entries[0] >= step + 1 else ""
        lines.append(f"{wider.line}, rounded down{limit}")
        addends, explanation = [first, exact, step], "bucket"
    lines.append(f"{explanation}: {write.equation(total(addend for addend in addends if addend), bucket)}")
    return [*lines, f"table[{bucket}] = {write(result)}"]


def _table_gradient(grad: Array, rows: Array, table: Array, heads: int | None) -> Array:
    """The gradient of a table [r h] that has a row for each pair: what pairs of the same row get is added.

    `grad` is [… h n m], without an axis of heads [… n m]; `rows` are [… n m] of all heads.
    """
    if heads is None:
        grad, rows = grad[..., None, :, :], rows[..., None, :, :] if rows.ndim > 2 else rows
    pairs = (*grad.shape[:-2], grad.shape[-2] * grad.shape[-1])
    of_pairs = np.broadcast_to(rows, grad.shape).reshape(pairs)
    total: Array = add_rows(grad.reshape(pairs)[..., None], of_pairs, len(table))[..., 0]
    return total.mT


def _table_gradient_code(call: CodeCall, forward: str | NoCode, rows: str) -> str | NoCode:
    """The gradient of a table [r h]: of each row the sum over the pairs that read it."""
    if isinstance(forward, NoCode):
        return forward
    lines = forward.split("\n")[:-1]
    sums = f"({{grad}} * ({rows} == at)).sum(axis=(-2, -1)) for at in range({call.shape[-2]})"
    stacked = (
        f"np.stack([{sums}], axis=-1)[..., None]" if call.option("heads") is None else f"np.stack([{sums}], axis=-2)"
    )
    return "\n".join([*lines, stacked])


def _vectors_gradient(rows: str, count: int) -> str:
    """The gradient of vectors of distances: of each the queries, times the gradients of the pairs that read it."""
    of_pairs = f"({{grad}} * ({rows} == at)).sum(axis=-1, keepdims=True) * {{query}}"
    return f"np.stack([({of_pairs}).sum(axis=-2) for at in range({count})], axis=-2)"


@derivative(
    "{d_table}[r, h] = Σᵢⱼ {d_result}ᵢⱼ of the pairs whose distance is in bucket r",
    code=lambda call: _table_gradient_code(call, _t5_code(call), "bucket"),
)
def t5_table(
    grad: Array,
    query_positions: Array,
    key_positions: Array,
    table: Array,
    *,
    max_distance: int,
    bidirectional: bool,
    heads: int | None = None,
) -> Array:
    """The gradient of the table: what the pairs of each bucket get is added."""
    distance = key_positions - query_positions[..., :, None]
    return _table_gradient(grad, t5_bucket(distance, len(table), max_distance, bidirectional), table, heads)


def _rows_code(call: CodeCall, rows: str) -> str:
    """The numbers of a table [r h] in some rows [… n m], of each head."""
    if call.option("heads") is None:
        return f"{{table}}[{rows}, 0]"
    return f"{{table}}[{rows}, np.arange({call.shapes['table'][-1]})[:, None, None]]"


def _t5_code(call: CodeCall) -> str:
    """The distances, their buckets, and the numbers of these; wide buckets begin at the distances in a list."""
    buckets, both_ways = call.shapes["table"][-2], call.options["bidirectional"]
    half = buckets // 2 if both_ways else buckets
    exact = half // 2
    begins = _t5_begins(half, call.options["max_distance"])
    lines = ["distance = {key_positions} - {query_positions}[..., None]"]
    lines.append(f"away = {'abs(distance)' if both_ways else '(-distance).clip(0)'}")
    wide = f"{exact} + np.searchsorted(np.array({begins}), away, side='right')" if begins else f"{exact}"
    after = f" + {half} * (distance > 0)" if both_ways else ""
    return "\n".join([*lines, f"bucket = np.where(away < {exact}, away, {wide}){after}", _rows_code(call, "bucket")])


@position(
    formula="Bᵢⱼ = table[bucket(j − posᵢ), h]",
    shapes="query_positions[n], key_positions[m], table[r h] -> [n m]",
    source="Raffel et al. 2020, §2.1; the buckets: their code, _relative_position_bucket",
    example={
        "query_positions": [0, 1],
        "key_positions": [0, 1],
        "table": [[5], [7], [0], [3]],
        "gives": [[5, 3], [7, 5]],
    },
    by_hand=t5_by_hand,
    derivatives={**OF_POSITIONS, "table": t5_table},
    check=check_t5,
    acts_on="scores",
    code=_t5_code,
)
def t5(
    query_positions: Array,
    key_positions: Array,
    heads: int | None = None,
    *,
    table: Annotated[Array, TABLE],
    max_distance: Annotated[int, Range(least=2)] = 128,
    bidirectional: bool = True,
) -> Array:
    """A learned number for each head and each range of distances; far distances share one.

    The table has a row for each bucket of distances, a column for each head; the last bucket begins at `max_distance`.
    Half of the buckets are for keys after the query; where they are not `bidirectional`, those keys share the first
    bucket.

    >>> t5(np.arange(2), np.arange(2), table=np.array([[5], [7], [0], [3]]))
    array([[5, 3],
           [7, 5]])
    """
    distance = key_positions - query_positions[..., :, None]
    bucket = t5_bucket(distance, len(table), max_distance, bidirectional)
    return table[bucket, per_head(np.arange(table.shape[-1]), heads)]


def t5_bucket(distance: Array, buckets: int, max_distance: int, bidirectional: bool) -> Array:
    """Which bucket a distance j − i falls into: one each for near ones, logarithmically wider ones up to the last.

    Half of the buckets are for keys after the query; where they are not `bidirectional`, those keys share bucket 0.

    Source: Raffel et al. 2020, §2.1; their code, _relative_position_bucket.

    >>> t5_bucket(np.array([0, -1, -5, -100, 1]), buckets=8, max_distance=16, bidirectional=True)
    array([0, 1, 2, 3, 5])
    """
    half = buckets // 2 if bidirectional else buckets
    away = abs(distance) if bidirectional else np.maximum(-distance, 0)
    exact = half // 2
    begins = _t5_begins(half, max_distance)
    bucket = np.where(away < exact, away, exact + np.searchsorted(np.array(begins, dtype=np.int64), away, side="right"))
    return bucket + (half * (distance > 0) if bidirectional else 0)


def _t5_begins(half: int, max_distance: int) -> list[int]:
    """The distances at which the wider buckets begin but for the first, of so many buckets on one side.

    The bucket exact + k begins where away^wide ≥ exact^wide (max_distance / exact)^k: whole numbers, no rounding.
    """
    exact = half // 2
    wide = half - exact
    return [_integer_root(exact ** (wide - k) * max_distance**k, wide) for k in range(1, wide)]


def _integer_root(number: int, degree: int) -> int:
    """The least whole number whose power is at least `number`."""
    guess = max(int(number ** (1 / degree)) - 1, 0)
    while guess**degree < number:
        guess += 1
    return guess


def check_shaw(use: OperatorUse) -> None:
    """Raise AttnError where the table of relative positions has no row of distance 0."""
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


def _by_distance(grad: Array, query_positions: Array, key_positions: Array, rows: int, left: int | None) -> Array:
    """The gradient of the products of queries with the rows of the table [… n r]: that of pairs, added by distance."""
    index = relative_row(key_positions - query_positions[..., :, None], rows, left)
    return add_rows(grad[..., None], index, rows)[..., 0]


def shaw_query_by_hand(
    write: ArithmeticWriter,
    grad: Array,
    query_positions: Any,
    key_positions: Array,
    table: Array,
    result: Any,
    *,
    left: int | None = None,
) -> list[str]:
    """The vectors of the distances of all keys [m], each times the gradient of its pair."""
    rows = relative_row(key_positions - query_positions, len(table), left)
    return [write.equation(products(grad, table[rows]), result, letter="d")]


def _shaw_gradient_code(call: CodeCall, then: str) -> str | NoCode:
    """The rows of the distances, and what is made of them."""
    forward = _shaw_code(call)
    if isinstance(forward, NoCode):
        return forward
    vectors = "{table}[..., row, :]" if len(call.shapes["table"]) > 2 else "{table}[row]"
    return "\n".join([forward.split("\n")[0], then.replace("{vectors}", vectors)])


@derivative(
    "{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ {table}(clip(j − posᵢ))",
    sums_over=("m",),
    by_hand=shaw_query_by_hand,
    code=lambda call: _shaw_gradient_code(call, "({grad}[..., None] * {vectors}).sum(axis=-2)"),
)
def shaw_query(
    grad: Array, query_positions: Array, key_positions: Array, table: Array, *, left: int | None = None
) -> Array:
    """The gradient of the queries: the vectors of the distances, each times the gradient of its pair."""
    total: Array = _by_distance(grad, query_positions, key_positions, table.shape[-2], left) @ table
    return total


@derivative(
    "{d_table}(r) = Σᵢⱼ {d_result}ᵢⱼ {query}ᵢ of the pairs with the distance r",
    code=lambda call: _shaw_gradient_code(call, _vectors_gradient("row", call.shapes["table"][-2])),
)
def shaw_table(
    grad: Array,
    query: Array,
    query_positions: Array,
    key_positions: Array,
    table: Array,
    *,
    left: int | None = None,
) -> Array:
    """The gradient of the table: the queries, each times the gradients of the pairs with a distance."""
    total: Array = _by_distance(grad, query_positions, key_positions, table.shape[-2], left).mT @ query
    return total


def _shaw_code(call: CodeCall) -> str | NoCode:
    """The rows of the distances, and the products with their vectors."""
    *heads, rows, _ = call.shapes["table"]
    left = _rows_to_the_left(rows, call.option("left"))
    if heads and len(call.shapes["query_positions"]) > 1:
        return NoCode("each head and each batch item has rows of its own")
    index = f"row = ({{key_positions}} - {{query_positions}}[..., None] + {left}).clip(0, {rows - 1})"
    vectors = "{table}[..., row, :]" if heads else "{table}[row]"
    return f"{index}\n({{query}}[..., None, :] * {vectors}).sum(axis=-1)"


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
    derivatives={**OF_POSITIONS, "query": shaw_query, "table": shaw_table},
    check=check_shaw,
    acts_on="products",
    code=_shaw_code,
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

    Distances beyond the ends of the table get the ends. `left` is how many rows are before that of distance 0; without
    it there are as many as after it, and r is odd.

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

    >>> relative_row(np.array([-5, -1, 0, 1, 5]), rows=5)
    array([0, 1, 2, 3, 4])
    >>> relative_row(np.array([-5, -1, 0, 1, 5]), rows=5, left=3)
    array([0, 2, 3, 4, 4])
    """
    row: Array = np.clip(distance + _rows_to_the_left(rows, left), 0, rows - 1)
    return row


def _rows_to_the_left(rows: int, left: int | None) -> int:
    """How many rows of a table are before that of distance 0: `left`, or half of the others."""
    return rows // 2 if left is None else left


Size = Annotated[int, Range(least=1)]
CLASS_ROWS = ("from the class token", "to the class token", "the class token to itself")  # the last rows of a table


def check_grid_bias(use: OperatorUse) -> None:
    """Raise AttnError where the grid has fewer cells than there are tokens, or the table other rows than it needs."""
    height, has_class = use.parameters["height"], use.parameters["class_token"]
    width = use.parameters.get("width", height)
    cells, tokens = height * width, len(use.positions) + use.positions[0]
    if tokens > cells + has_class:
        message = f"a grid of {height} × {width} has {count_of(cells, 'cell')}; there are {count_of(tokens, 'token')}"
        raise AttnError(message, hint=None if has_class else "class_token: true is for one token before them")
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


@derivative(
    "{d_table}[r, h] = Σᵢⱼ {d_result}ᵢⱼ of the pairs whose difference is in row r",
    code=lambda call: _table_gradient_code(call, _grid_code(call), "row"),
)
def grid_bias_table(
    grad: Array,
    query_positions: Array,
    key_positions: Array,
    table: Array,
    *,
    height: int,
    width: int | None = None,
    class_token: bool = False,
    heads: int | None = None,
) -> Array:
    """The gradient of the table: what the pairs of each difference get is added."""
    row = grid_row(query_positions, key_positions, height, height if width is None else width, class_token)
    return _table_gradient(grad, np.clip(row, 0, len(table) - 1), table, heads)


def _cells_apart(call: CodeCall, rows: str, columns: str) -> list[str]:
    """The lines of the rows and of the columns of a grid by which queries and keys differ, where `{}` is in each."""
    width = call.option("width", call.options["height"])
    query, key = "{query_positions}[..., None]", "{key_positions}"
    if call.option("class_token"):
        query, key = f"({query} - 1)", f"({key} - 1)"
    return [
        rows.format(f"{query} // {width} - {key} // {width}"),
        columns.format(f"{query} % {width} - {key} % {width}"),
    ]


def _grid_code(call: CodeCall) -> str:
    """The row of the table of each difference, and its number; the class token has the last three rows."""
    height, rows = call.options["height"], call.shapes["table"][-2]
    width = call.option("width", height)
    lines = _cells_apart(call, "rows = {}", "columns = {}")
    lines.append(f"row = ((rows + {height - 1}) * {2 * width - 1} + columns + {width - 1}).clip(0, {rows - 1})")
    if call.option("class_token"):
        of_class = (
            f"np.where({{query_positions}}[..., None] > 0, {rows - 2}, {rows - 3} + 2 * ({{key_positions}} == 0))"
        )
        are_cells = "({query_positions}[..., None] > 0) & ({key_positions} > 0)"
        lines.append(f"row = np.where({are_cells}, row, {of_class})")
    return "\n".join([*lines, _rows_code(call, "row")])


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
    derivatives={**OF_POSITIONS, "table": grid_bias_table},
    check=check_grid_bias,
    counts_from_first_key=True,
    acts_on="scores",
    code=_grid_code,
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
    A `class_token` is the first token, which is in no cell; the table then has three rows more: from it to the others,
    from the others to it, and to itself.

    >>> table = np.array([[5], [7], [9]])
    >>> grid_bias(np.arange(2), np.arange(2), table=table, height=1, width=2)
    array([[7, 5],
           [9, 7]])
    """
    row = grid_row(query_positions, key_positions, height, height if width is None else width, class_token)
    row = np.clip(row, 0, len(table) - 1)  # a query before the first key is in no cell
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
    offsets: Array = (rows + height - 1) * (2 * width - 1) + columns + width - 1
    if not class_token:
        return offsets
    first = (2 * height - 1) * (2 * width - 1)
    is_query, is_key = query_positions[..., :, None] <= 0, key_positions == 0
    classes = [is_query & is_key, is_query & ~is_key, ~is_query & is_key]
    row: Array = np.select(classes, [first + 2, first, first + 1], offsets)
    return row


def check_decomposed(use: OperatorUse) -> None:
    """Raise AttnError where the grid has fewer cells than there are tokens, or a table other rows than it needs."""
    height = use.parameters["height"]
    width = use.parameters.get("width", height)
    cells, tokens = height * width, len(use.positions) + use.positions[0]
    if tokens > cells:
        message = f"a grid of {height} × {width} has {count_of(cells, 'cell')}; there are {count_of(tokens, 'token')}"
        raise AttnError(message)
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
        np.clip(query[..., :, None] - key + side - 1, 0, len(table) - 1)
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
    """The cells of one query [d] and one key, and the dot products with the vectors of both differences."""
    width = height if width is None else width
    lines, (rows, columns) = _offsets_by_hand(write, int(query_positions), int(key_positions), width, class_token=False)
    row, column = rel_pos_h[rows + height - 1], rel_pos_w[columns + width - 1]
    name = f"{write.symbol('query')}({write.query})·"
    of_rows = write.computed(f"{name}rel_pos_h({rows})", products(query, row))
    of_columns = write.computed(f"{name}rel_pos_w({columns})", products(query, column))
    return [*lines, of_rows.line, of_columns.line, write.equation(of_rows + of_columns, result)]


def _decomposed_gradient_code(call: CodeCall, then: str) -> str:
    """The rows of both tables, and what is made of them."""
    return "\n".join([*_decomposed_code(call).split("\n")[:-1], then])


def decomposed_query_by_hand(
    write: ArithmeticWriter,
    grad: Array,
    query_positions: Any,
    key_positions: Array,
    rel_pos_h: Array,
    rel_pos_w: Array,
    result: Any,
    *,
    height: int,
    width: int | None = None,
) -> list[str]:
    """The vectors of both differences of all keys [m], each times the gradient of its pair."""
    tables = rel_pos_h, rel_pos_w
    found = _axis_rows(np.array([query_positions]), key_positions, *tables, height, width)
    vectors = sum(table[rows[0]] for table, rows in zip(tables, found, strict=True))
    return [write.equation(products(grad, vectors), result, letter="d")]


@derivative(
    "{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ (rel_pos_h(Δrow) + rel_pos_w(Δcolumn))",
    sums_over=("m",),
    by_hand=decomposed_query_by_hand,
    code=lambda call: _decomposed_gradient_code(
        call, "({grad}[..., None] * ({rel_pos_h}[rows] + {rel_pos_w}[columns])).sum(axis=-2)"
    ),
)
def decomposed_query(
    grad: Array,
    query_positions: Array,
    key_positions: Array,
    rel_pos_h: Array,
    rel_pos_w: Array,
    *,
    height: int,
    width: int | None = None,
) -> Array:
    """The gradient of the queries: the vectors of the differences, each times the gradient of its pair."""
    rows, columns = _axis_rows(query_positions, key_positions, rel_pos_h, rel_pos_w, height, width)
    total: Array = _of_rows(grad, rows, rel_pos_h) @ rel_pos_h + _of_rows(grad, columns, rel_pos_w) @ rel_pos_w
    return total


def _of_rows(grad: Array, rows: Array, table: Array) -> Array:
    """The gradient of the products of queries with the rows of a table [… n r]: that of pairs of the same row added."""
    return add_rows(grad[..., None], rows, len(table))[..., 0]


@derivative(
    "{d_rel_pos_h}(r) = Σᵢⱼ {d_result}ᵢⱼ {query}ᵢ of the pairs whose rows differ by r",
    code=lambda call: _decomposed_gradient_code(call, _vectors_gradient("rows", call.shapes["rel_pos_h"][-2])),
)
def decomposed_rows(
    grad: Array,
    query: Array,
    query_positions: Array,
    key_positions: Array,
    rel_pos_h: Array,
    rel_pos_w: Array,
    *,
    height: int,
    width: int | None = None,
) -> Array:
    """The gradient of the vectors of rows: the queries, each times the gradients of its pairs."""
    rows, _ = _axis_rows(query_positions, key_positions, rel_pos_h, rel_pos_w, height, width)
    total: Array = _of_rows(grad, rows, rel_pos_h).mT @ query
    return total


@derivative(
    "{d_rel_pos_w}(r) = Σᵢⱼ {d_result}ᵢⱼ {query}ᵢ of the pairs whose columns differ by r",
    code=lambda call: _decomposed_gradient_code(call, _vectors_gradient("columns", call.shapes["rel_pos_w"][-2])),
)
def decomposed_columns(
    grad: Array,
    query: Array,
    query_positions: Array,
    key_positions: Array,
    rel_pos_h: Array,
    rel_pos_w: Array,
    *,
    height: int,
    width: int | None = None,
) -> Array:
    """The gradient of the vectors of columns: the queries, each times the gradients of its pairs."""
    _, columns = _axis_rows(query_positions, key_positions, rel_pos_h, rel_pos_w, height, width)
    total: Array = _of_rows(grad, columns, rel_pos_w).mT @ query
    return total


def _decomposed_code(call: CodeCall) -> str:
    """The vectors of both differences, added, and their products with the queries."""
    height = call.options["height"]
    width = call.option("width", height)
    row, column = (f"= ({{}} + {side - 1}).clip(0, {2 * side - 2})" for side in (height, width))
    lines = _cells_apart(call, f"rows {row}", f"columns {column}")
    vectors = "{rel_pos_h}[rows] + {rel_pos_w}[columns]"
    return "\n".join([*lines, f"({{query}}[..., None, :] * ({vectors})).sum(axis=-1)"])


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
        "query": decomposed_query,
        "rel_pos_h": decomposed_rows,
        "rel_pos_w": decomposed_columns,
    },
    check=check_decomposed,
    counts_from_first_key=True,
    acts_on="scores",
    code=_decomposed_code,
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

    The tokens are the cells of a grid, row by row; without a width it is square. The tables have 2 `height` − 1 and
    2 `width` − 1 rows, the differences of the query and the key from the smallest to the largest. What they give is
    added to the scores as they are, which the scale is in already.

    >>> columns = np.array([[1, 0], [0, 0], [0, 1]])
    >>> positions, query = np.arange(2), np.array([[1, 2], [3, 1]])
    >>> decomposed(query, positions, positions, rel_pos_h=np.array([[1, 1]]), rel_pos_w=columns, height=1, width=2)
    array([[3, 4],
           [5, 4]])
    """
    rows, columns = _axis_rows(query_positions, key_positions, rel_pos_h, rel_pos_w, height, width)
    found = []
    for table, index in ((rel_pos_h, rows), (rel_pos_w, columns)):
        of_queries = query @ table.mT
        whole = np.broadcast_to(index, (*of_queries.shape[:-1], index.shape[-1]))
        found.append(np.take_along_axis(of_queries, whole, axis=-1))
    total: Array = found[0] + found[1]
    return total

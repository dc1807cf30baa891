"""Steps on scores, weights and vectors, number by number: scale, softcap, clip, sums, the user's bias, empty rows."""

from typing import Any

from attncli.base.lazy_numpy import Array, all_finite, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number
from attncli.ops.code import Code, CodeCall
from attncli.ops.code_parts import cells_code
from attncli.ops.decorators import structural
from attncli.ops.derivatives import ByNumber, NoDerivative, add_rows, derivative, unchanged
from attncli.ops.records import format_value

MAX_FEATURES = 2**20  # of a head, for a scale of 1/√d


def _scale_code(scores: str, scale: Any) -> str:
    """A quotient by √d if d is a whole number for this scale; otherwise a product."""
    number = float(scale)
    features = round(number**-2) if number > 0 and number**-2 < MAX_FEATURES else 0
    return f"{scores} / np.sqrt({features})" if features and number == features**-0.5 else f"{scores} * {{scale}}"


@structural(
    derivatives={
        "scores": lambda _symbols, options: f"{{d_scores}} = {format_value(options['scale'])} {{d_result}}",
        "scale": ByNumber("scale", "{d_argument} = Σ {d_result}ᵢⱼ {scores}ᵢⱼ", keeps_sign=True),
    },
    code=lambda call: _scale_code("{scores}", call.options["scale"]),
)
def scale(scores: Array, *, scale: float) -> Array:
    """The scores [… n m] times a number."""
    return scores * scale


@structural(
    derivatives={
        "x": lambda _symbols, options: f"{{d_x}} = {format_value(options['factor'])} {{d_result}}",
        "factor": ByNumber("factor", "{d_argument} = Σ {d_result} ∘ {x}"),
    }
)
def multiply(x: Array, *, factor: float) -> Array:
    """The vectors [… n x] times a number."""
    return x * factor


@structural(derivatives={"x": "{d_x} = {factors} {d_result}", "factors": "{d_factors}ᵢ = {d_result}ᵢ·{x}ᵢ"})
def scale_rows(x: Array, factors: Array) -> Array:
    """Each vector of x [… n d] times its factor [… n]."""
    return x * factors[..., None]


def add_positions_by_hand(write: ArithmeticWriter, x: Array, positions: Array, result: Any) -> list[str]:
    """One embedding [x] and the vector of its position."""
    name = f"{write.symbol('x')} + {write.symbol('positions')}"
    return [write.equation(number(x) + positions, result, name=name, letter="x")]


@structural(
    by_hand=add_positions_by_hand, derivatives={"x": unchanged, "positions": unchanged}, code="{x} + {positions}"
)
def add_positions(x: Array, positions: Array) -> Array:
    """The embeddings [… n x] and the vectors of their positions [n x], together."""
    return x + positions


@structural(derivatives={"left": unchanged, "right": unchanged})
def add(left: Array, right: Array) -> Array:
    """The sum of two tables [… n m], whose leading axes broadcast."""
    return left + right


@derivative(
    lambda _symbols, options: f"{{d_scores}}ᵢⱼ = {{d_result}}ᵢⱼ (1 − ({{result}}ᵢⱼ / {format_value(options['cap'])})²)"
)
def softcap_scores(grad: Array, forward: Array, *, cap: float) -> Array:
    """The gradient of capped scores: times 1 − tanh² of the score before the mask."""
    return grad * (1 - (forward / cap) ** 2)


@structural(
    derivatives={
        "scores": softcap_scores,
        "cap": ByNumber("cap", "{d_argument} = Σ {d_result}ᵢⱼ (tᵢⱼ − {scores}ᵢⱼ/cap (1 − tᵢⱼ²)), tᵢⱼ = {result}ᵢⱼ/cap"),
    }
)
def softcap(scores: Array, *, cap: float) -> Array:
    """`cap · tanh(scores / cap)`: from −cap to cap, nearly unchanged for small scores.

    Source: Gemma Team 2024 (Gemma 2), §2, logit soft-capping.

    >>> softcap(np.array([[0.0, 1.0, 1000.0]]), cap=30.0).round(4)
    array([[ 0.    ,  0.9996, 30.    ]])
    """
    return cap * np.tanh(scores / cap)


@structural(derivatives={"x": "{d_x}: {d_result} where {x} is not limited, otherwise 0"})
def clip(x: Array, *, limit: float) -> Array:
    """The vectors [… n x] with every number limited to −limit … limit.

    Source: MosaicML 2023 (MPT), `clip_qkv`.

    >>> clip(np.array([[-9.0, 1.0]]), limit=8.0)
    array([[-8.,  1.]])
    """
    return np.minimum(np.maximum(x, -limit), limit)


def round_to_by_hand(write: ArithmeticWriter, x: Any, result: Any, *, decimals: int) -> list[str]:
    """A number, or one vector, and its rounded value."""
    return [f"{write(x)} to {count_of(decimals, 'decimal')}: {write(result)}"]


@structural(
    by_hand=round_to_by_hand,
    derivatives={"x": NoDerivative("it jumps between rounded numbers")},
    code=Code("np.round({x}, {decimals})", "torch.round({x}, decimals={decimals})"),
)
def round_to(x: Array, *, decimals: int) -> Array:
    """Round an array to so many decimals, ties to even.

    >>> round_to(np.array([0.125, 0.375, 2.0]), decimals=2)
    array([0.12, 0.38, 2.  ])
    """
    return np.rint(x * 10.0**decimals) / 10.0**decimals


def table_cells(table: Array, query_rows: Array, key_positions: Array, *, fill: float) -> Array:
    """The cells of the user's table [… q t] for some queries [n] and keys [m]: [… n m].

    A table of one row serves every query; missing columns have `fill`. For ranges of indices the result is a view.

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


def _as_slice(index: Any) -> Any:
    """An index as a slice if it is a range of whole numbers: then no cells are copied."""
    if not isinstance(index, np.ndarray):  # a recorded one may be any index
        return index
    is_range = len(index) == index[-1] - index[0] + 1 and bool((index[1:] - index[:-1] == 1).all())
    return slice(int(index[0]), int(index[-1]) + 1) if is_range else index


def _bias_code(call: CodeCall) -> str:
    """The scores plus the cells of the table, in which −∞ counts as 0."""
    cells, table = cells_code(call, "np.zeros({})"), call.values.get("table")
    if table is not None and all_finite(table):
        return f"{{scores}} + {cells}"
    return f"{{scores}} + np.where({cells} == -np.inf, 0, {cells})"


def _bias_gradient_code(call: CodeCall) -> str:
    """The gradients of the cells that read each number; 0 for −∞."""
    rows, columns = call.shapes["table"][-2:]
    queries, keys = call.shapes["grad"][-2:]
    found, code = call.values.get("query_rows"), "{grad}"
    if columns < keys:
        code = f"{code}[..., :{columns}]"
    if rows == 1 and queries > 1:
        code = f"{code}.sum(axis=-2, keepdims=True)"
    elif not (rows == queries and found is not None and np.array_equal(found, np.arange(rows))):
        code = f"((np.arange({rows})[:, None] == {{query_rows}}) * 1.0) @ {code}"
    if columns > keys:
        code = f"np.concatenate([{code}, np.zeros({(*call.shape[:-1], columns - keys)})], axis=-1)"
    table = call.values.get("table")
    return code if table is not None and all_finite(table) else f"np.where({{table}} == -np.inf, 0, {code})"


@derivative("{d_table}: the sums of {d_result} over the cells that read each number", code=_bias_gradient_code)
def add_bias_table(grad: Array, table: Array, query_rows: Array, key_positions: Array) -> Array:
    """The gradient of the user's numbers: the sum over the pairs that read each; 0 for −∞."""
    rows, columns = table.shape[-2:]
    has_column = key_positions < columns
    of_rows = add_rows(grad[..., has_column], query_rows if rows > 1 else np.zeros_like(query_rows), rows)
    whole: Array = add_rows(of_rows.mT, key_positions[has_column], columns).mT
    return np.where(np.isneginf(table), 0, whole)


# By hand, because it has the axes of batch items and heads, whose sum is a step of its own.
@structural(
    derivatives={
        "scores": unchanged,
        "table": add_bias_table,
        "query_rows": None,
        "key_positions": None,
    },
    code=_bias_code,
)
def add_bias(scores: Array, table: Array, query_rows: Array, key_positions: Array) -> Array:
    """The scores plus the user's numbers; −∞ masks the key instead, and adds nothing.

    A table of one row serves every query; columns that it lacks count as 0.

    >>> add_bias(np.array([[1.0, 2.0, 3.0]]), np.array([[10.0, -np.inf]]), np.arange(1), np.arange(3))
    array([[11.,  2.,  3.]])
    """
    cells = table_cells(table, query_rows, key_positions, fill=0)
    return scores + np.where(cells == -np.inf, 0, cells)


def _fill_code(call: CodeCall) -> str:
    """The fill of rows without a weight."""
    fill = "np.nan" if call.options["fill"] == "nan" else "1 / {keys}"
    return f"np.where(({{weights}} != 0).any(axis=-1, keepdims=True), {{weights}}, {fill})"


def fill_empty_rows_by_hand(write: ArithmeticWriter, weights: Any, result: Any, *, fill: str, keys: int) -> list[str]:
    """The weight for a query that sees no key; other queries keep their weights."""
    if result == weights:
        return []
    return ["every key is hidden: NaN" if fill == "nan" else f"every key is hidden: 1/{keys} = {write(result)}"]


@derivative(
    "{d_weights}: {d_result}, 0 in rows without keys",
    by_hand=lambda write, grad, weights, result: [
        f"the row has keys: the gradient is {write(result)}" if weights.any() else "every key is hidden: 0"
    ],
    sums_over=("m",),
)
def fill_empty_rows_weights(grad: Array, weights: Array) -> Array:
    """The gradient of weights before empty rows are filled."""
    return np.where((weights != 0).any(axis=-1, keepdims=True), grad, 0)


@structural(by_hand=fill_empty_rows_by_hand, derivatives={"weights": fill_empty_rows_weights}, code=_fill_code)
def fill_empty_rows(weights: Array, *, fill: str, keys: int) -> Array:
    """The weights [… n m]; a row of zeros becomes NaN (`fill` is nan) or 1 / `keys` (uniform).

    >>> fill_empty_rows(np.array([[0.0, 1.0], [0.0, 0.0]]), fill="uniform", keys=2)
    array([[0. , 1. ],
           [0.5, 0.5]])
    """
    is_empty = ~(weights != 0).any(axis=-1, keepdims=True)
    filled = weights + np.nan if fill == "nan" else (weights + 1) / keys
    return np.where(is_empty, filled, weights).astype(weights.dtype, copy=False)

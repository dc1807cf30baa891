"""Query scales: a factor for each query that grows with its position, so that attention stays sharp over many keys.

`positions` [… n] counts from 0; `heads` is None without an axis of heads. A position before the first key, which
padding may have, has the factor of the first.
"""

from typing import Annotated, Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, ln, number, parameter, products
from attncli.ops.code import CodeCall
from attncli.ops.decorators import query_scale, structural
from attncli.ops.derivatives import CONSTANT, Derivatives, derivative
from attncli.ops.records import Range

Length = Annotated[float, Range(above=0)]
Offset = Annotated[float, Range(least=0)]
OF_POSITIONS: Derivatives = {"positions": CONSTANT}


def log_steps_by_hand(
    write: ArithmeticWriter, positions: Any, result: Any, *, length: float, factor: float, offset: float
) -> list[str]:
    """How often the length fits into the position, and the logarithm of that."""
    position = max(int(positions), 0)
    steps = (position + offset) // length
    counted = number(position) + parameter(offset) if offset else number(position)
    quotient = write.computed("position / length", counted / parameter(length))
    rounded = f", rounded down {write(steps)}" if steps * length != position + offset else ""
    return [f"{quotient.line}{rounded}", write.equation(1 + parameter(factor) * ln(1 + number(steps)), result)]


@query_scale(
    formula="κᵢ = 1 + factor ln(1 + ⌊(posᵢ + offset) / length⌋)",
    shapes="positions[n] -> [n]",
    source="Llama 4 (attn_scale, floor_scale); Ministral 3 and Mistral 4 with offset 0 (llama_4_scaling_beta)",
    example={"positions": [0, 3], "length": 4, "offset": 0, "gives": [1, 1]},
    formula_in_force=lambda length, factor, offset: (
        f"κᵢ = 1 + factor ln(1 + ⌊{'(posᵢ + offset)' if offset else 'posᵢ'} / length⌋)"
    ),
    by_hand=log_steps_by_hand,
    derivatives=OF_POSITIONS,
    code="1 + {factor} * np.log1p(np.floor(({positions}.clip(0) + {offset}) / {length}))",
)
def log_steps(positions: Array, *, length: Length, factor: float = 0.1, offset: Offset = 1.0) -> Array:
    """The query's factor is 1 up to a length, and rises by a step at each multiple of it.

    An offset of 1 counts positions from 1.

    >>> log_steps(np.array([0, 7, 8]), length=8, offset=0).round(4)
    array([1.    , 1.    , 1.0693])
    """
    steps = np.floor((_from_first_key(positions) + offset) / length)
    return 1 + factor * np.log1p(steps)


def logn_by_hand(
    write: ArithmeticWriter, positions: Any, result: Any, *, length: float, factor: float | None = None
) -> list[str]:
    """The logarithm of the position, from the length on."""
    count = max(int(positions), 0) + 1
    if count <= length:
        return [f"{count} {'keys' if count > 1 else 'key'} ≤ length {write(length)}: {write(result)}"]
    if factor is None:
        return [write.equation(ln(number(count)) / ln(parameter(length)), result)]
    return [write.equation(1 + parameter(factor) * ln(number(count) / parameter(length)), result)]


def _logn_formula(*, length: float, factor: float | None = None) -> str:
    """With a factor, or as the quotient of two logarithms."""
    if factor is None:
        return "κᵢ = max(ln(posᵢ + 1) / ln(length), 1)"
    return "κᵢ = 1 + factor ln(max((posᵢ + 1) / length, 1))"


def _logn_code(call: CodeCall) -> str:
    """The logarithm from the length on, times a factor or over that of the length."""
    logarithm = "np.log((({positions}.clip(0) + 1) / {length}).clip(1))"
    if call.option("factor") is not None:
        return f"1 + {{factor}} * {logarithm}"
    return f"1 + {logarithm} / {float(np.log(call.options['length']))}"


@query_scale(
    formula="κᵢ = 1 + factor ln(max((posᵢ + 1) / length, 1))",
    shapes="positions[n] -> [n]",
    source="Su 2021 (log n scaling), as in Qwen (use_logn_attn, seq_length); Inkling (log_scaling_alpha, _n_floor)",
    example={"positions": [0, 3, 15], "length": 4, "gives": [1, 1, 2]},
    formula_in_force=_logn_formula,
    by_hand=logn_by_hand,
    derivatives=OF_POSITIONS,
    code=_logn_code,
)
def logn(positions: Array, *, length: Annotated[float, Range(above=1)], factor: float | None = None) -> Array:
    """The query's factor is 1 up to a length, and grows with the logarithm of the position beyond it.

    The length is that of the sequences in training. Without a factor it is 1 / ln(length), so that the query's is
    ln(posᵢ + 1) / ln(length).

    >>> logn(np.array([3, 15]), length=4)
    array([1., 2.])
    """
    times = np.maximum((_from_first_key(positions) + 1) / length, 1)
    return 1 + (1 / np.log(length) if factor is None else factor) * np.log(times)


def power_by_hand(write: ArithmeticWriter, positions: Any, result: Any, *, length: float, exponent: float) -> list[str]:
    """The power of one position."""
    count = number(max(int(positions), 0)) + 1
    return [write.equation((1 + count / parameter(length)) ** parameter(exponent), result)]


@query_scale(
    formula="κᵢ = (1 + (posᵢ + 1) / length)^exponent",
    shapes="positions[n] -> [n]",
    source="BEAM (compute_attention_scaling of transformers' modeling_beam.py)",
    example={"positions": [0, 2], "exponent": 0.5, "length": 1, "gives": [1.4142135623730951, 2]},
    by_hand=power_by_hand,
    derivatives=OF_POSITIONS,
    code="(1 + ({positions}.clip(0) + 1) / {length}) ** {exponent}",
)
def power(positions: Array, *, length: Length, exponent: float = 0.1) -> Array:
    """The query's factor grows with a power of the position.

    >>> power(np.array([0, 2]), exponent=0.5, length=1).round(4)
    array([1.4142, 2.    ])
    """
    return (1 + (_from_first_key(positions) + 1) / length) ** exponent


def ssmax_by_hand(
    write: ArithmeticWriter, positions: Any, result: Any, *, scale: Any, bias: Any, heads: int | None = None
) -> list[str]:
    """The logarithm of one position, times the scale of its head."""
    term: Term = ln(number(max(int(positions), 0)) + 1)
    own_scale, own_bias = _of_head(scale, write.head), _of_head(bias, write.head)
    term = number(own_scale) * term if own_scale != 1 else term
    return [write.equation(term + own_bias if own_bias else term, result)]


def _ssmax_formula(*, scale: float, bias: float) -> str:
    """The scale and the bias where they change something; those of each head, or one for all."""
    before = "scaleₕ " if scale is True else "scale " if scale != 1 else ""
    after = " + biasₕ" if bias is True else " + bias" if bias else ""
    return f"κᵢ = {before}ln(posᵢ + 1){after}"


def _of_head(values: Any, head: int) -> float:
    """The number of a head, or the one of all heads."""
    return float(values if np.ndim(values) == 0 else values[min(head, len(values) - 1)])


def _row_sums(of_queries: Array, heads: int | None) -> Array:
    """The sums over the queries [… h n] of each head; [… 1] without an axis of heads."""
    total: Array = of_queries.sum(axis=-1)
    return total[..., None] if heads is None else total


def _row_sums_code(call: CodeCall, numbers: str) -> str:
    """The sums over the queries as code."""
    return f"{numbers}.sum(axis=-1){'[..., None]' if call.option('heads') is None else ''}"


@derivative(
    "{d_scale}ₕ = Σᵢ {d_result}ᵢ ln(posᵢ + 1)",
    code=lambda call: _row_sums_code(call, "({grad} * np.log({positions}.clip(0) + 1))"),
)
def ssmax_scale(grad: Array, positions: Array, *, heads: int | None = None) -> Array:
    """The gradient of the scale: the sum over the queries of the logarithms."""
    counts = (_from_first_key(positions) + 1).astype(grad.dtype)
    return _row_sums(grad * np.log(counts), heads)


@derivative("{d_bias}ₕ = Σᵢ {d_result}ᵢ", code=lambda call: _row_sums_code(call, "{grad}"))
def ssmax_bias(grad: Array, *, heads: int | None = None) -> Array:
    """The gradient of the bias: the sum over the queries."""
    return _row_sums(grad, heads)


def _ssmax_code(call: CodeCall) -> str:
    """The logarithms, times the scale of each head, and its bias."""
    column = "" if call.option("heads") is None else "[:, None]"
    scale = f"{{scale}}{column} * " if call.has("scale") else "{scale} * " if call.option("scale", 1.0) != 1 else ""
    bias = f" + {{bias}}{column}" if call.has("bias") else " + {bias}" if call.option("bias", 0.0) else ""
    heads = len(call.shape) > 1 and not (scale.endswith("] * ") or bias.endswith("]"))
    logarithms = f"{scale}np.log({{positions}}.clip(0) + 1){bias}"
    return f"np.broadcast_to({logarithms}, {call.shape})" if heads else logarithms


@query_scale(
    formula="κᵢ = scaleₕ ln(posᵢ + 1) + biasₕ",
    shapes="positions[n], scale[h], bias[h] -> [n]",
    source="Nakanishi 2025 (Scalable-Softmax), eq. 3 and its variant with a bias; Mistral Large 4 (softmax_scaling)",
    example={"positions": [0, 0], "scale": [3], "bias": [0.5], "gives": [0.5, 0.5]},
    formula_in_force=_ssmax_formula,
    by_hand=ssmax_by_hand,
    derivatives={"positions": CONSTANT, "scale": ssmax_scale, "bias": ssmax_bias},
    code=_ssmax_code,
)
def ssmax(
    positions: Array, heads: int | None = None, *, scale: Array | float = 1.0, bias: Array | float = 0.0
) -> Array:
    """The query's factor grows with the logarithm of its number of keys, learned for each head.

    Scale and bias are numbers of each head, or one for all.

    >>> ssmax(np.array([0, 2]), heads=2, scale=np.array([1.0, 2.0])).round(4)
    array([[0.    , 1.0986],
           [0.    , 2.1972]])
    """
    counts = (_from_first_key(positions) + 1).astype(np.result_type(positions, scale, bias, np.float64))
    logarithms = np.log(counts)
    per_head = () if heads is None else (-1, 1)
    factors: Array = np.reshape(scale, per_head) * logarithms + np.reshape(bias, per_head)
    return factors


def _from_first_key(positions: Array) -> Array:
    """The positions, none before the first key."""
    return np.maximum(positions, 0)


def scale_rows_by_hand(write: ArithmeticWriter, x: Array, factors: Any, result: Any) -> list[str]:
    """The product of one factor and one vector [d]."""
    name = f"κ {write.symbol('x')}({write.query})"
    return [write.equation(number(factors) * number(x), result, letter="d", name=name)]


@derivative(
    "{d_x} = {factors} {d_result}",
    by_hand=lambda write, grad, factors, result: [write.equation(number(factors) * number(grad), result, letter="d")],
    code="{grad} * {factors}[..., None]",
)
def scale_rows_x(grad: Array, factors: Array) -> Array:
    """The gradient of the vectors: that of each, times its factor."""
    return grad * factors[..., None]


@derivative(
    "{d_factors}ᵢ = {d_result}ᵢ·{x}ᵢ",
    by_hand=lambda write, grad, x, result: [write.equation(products(grad, x), result)],
    code="({grad} * {x}).sum(axis=-1)",
)
def scale_rows_factors(grad: Array, x: Array) -> Array:
    """The gradient of the factors: how well each vector fits its gradient."""
    total: Array = (grad * x).sum(axis=-1)
    return total


@structural(
    by_hand=scale_rows_by_hand,
    derivatives={"x": scale_rows_x, "factors": scale_rows_factors},
    code="{x} * {factors}[..., None]",
)
def scale_rows(x: Array, factors: Array) -> Array:
    """Each vector of x [… n d] times its factor [… n]."""
    return x * factors[..., None]

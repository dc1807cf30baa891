"""Scores by products, angles or a network: how well each key matches each query, [… n d] and [… m c] to [… n m].

The last two axes are rows and features; axes before them (batch items, heads) broadcast. Nothing checks the shapes
here: NumPy raises ValueError where they don't fit.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from attncli.base.dtypes import square_root
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, exp, largest, number, parameter, products, sqrt, tanh, total
from attncli.ops.code import CodeCall
from attncli.ops.code_parts import turn_code, unit_code
from attncli.ops.decorators import score
from attncli.ops.derivatives import Formula, computed_products, derivative, derivative_by_number, sum_products
from attncli.ops.norms import ZERO_VECTOR, l2, l2_gradient
from attncli.ops.products import MatrixProduct, product, product_without_zeros
from attncli.ops.records import Factorization, Quantity, Symbol, Tap, no_tap, reused

Activation = Literal["tanh", "relu", "sigmoid", "identity"]
# The nonlinearity of a hidden layer: of an array, written to `out` where that is not None, and of a term.
ACTIVATIONS: Mapping[Activation, tuple[Callable[[Array, Array | None], Array], Callable[[Term], Term]]] = {
    "tanh": (lambda x, out: np.tanh(x, out=out), tanh),
    "relu": (lambda x, out: np.maximum(x, 0, out=out), lambda x: largest([x, 0])),
    "sigmoid": (lambda x, _out: np.exp(-np.logaddexp(0, -x)), lambda x: 1 / (1 + exp(-x))),
    "identity": (lambda x, _out: x, lambda x: x),
}
# The derivative of each, from its value.
SLOPES: Mapping[Activation, Callable[[Array], Array]] = {
    "tanh": lambda units: 1 - units**2,
    "relu": lambda units: (units > 0).astype(units.dtype),
    "sigmoid": lambda units: units * (1 - units),
    "identity": lambda units: np.ones_like(units),  # noqa: PLW0108 - NumPy is loaded at its first use
}
TERMS_OF_SLOPES: Mapping[str, Callable[[Term], Term]] = {
    "tanh": lambda units: 1 - units**2,
    "sigmoid": lambda units: units * (1 - units),
    "identity": lambda units: units - units + 1,
}
# The same in formulas; of relu at 0 it is 0.
NAMES_OF_SLOPES = {"tanh": " ∘ (1 − H²)", "relu": " where H > 0, otherwise 0", "sigmoid": " ∘ H ∘ (1 − H)"}
PAIRS = ("n", "m")
LUONG = "Luong, Pham & Manning 2015, §3.1"


def _dot_product_line(write: ArithmeticWriter, query: Array, key: Array, product: Any) -> str:
    """The line `Q(a)·K(b) = … = …`."""
    name = f"{write.symbol('query')}({write.query})·{write.symbol('key')}({write.key})"
    return write.equation(products(query, key), product, name=name)


def scaled_dot_by_hand(
    write: ArithmeticWriter, query: Array, key: Array, result: Any, *, dot_products: Any
) -> list[str]:
    """The dot product of one query [d] and one key [d], then its division by √d."""
    scaled = number(dot_products) / sqrt(len(query))
    return [_dot_product_line(write, query, key, dot_products), write.equation(scaled, result)]


def _query_lines(write: ArithmeticWriter, grad: Array, key: Array, result: Any) -> list[str]:
    """The keys [m d] times the gradients of one row of scores [m], and their sum, by √d where they are scaled."""
    return [write.equation(products(grad, key), result, letter="d")]


@derivative("{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ {key}ⱼ", sums_over=("m",), by_hand=_query_lines, code="{grad} @ {key}")
def dot_query(grad: Array, key: Array) -> Array:
    """The gradient of the queries: the keys, each times the gradient of its score."""
    return product_without_zeros(grad, key)


@derivative(
    "{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ {query}ᵢ",
    sums_over=("n",),
    by_hand=lambda write, grad, query, result: [write.equation(products(grad, query), result, letter="d")],
    code="{grad}.mT @ {query}",
)
def dot_key(grad: Array, query: Array) -> Array:
    """The gradient of the keys: the queries, each times the gradient of its score."""
    return product_without_zeros(grad.mT, query)


@derivative(
    "{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ {key}ⱼ / √d",
    sums_over=("m",),
    by_hand=lambda write, grad, key, result: [
        write.equation(products(grad, key) / sqrt(key.shape[-1]), result, letter="d")
    ],
    code=lambda call: f"{{grad}} @ {{key}} / np.sqrt({call.shape[-1]})",
)
def scaled_dot_query(grad: Array, key: Array) -> Array:
    """The gradient of the queries: the keys, each times the gradient of its score, by √d."""
    total: Array = product_without_zeros(grad, key) / np.sqrt(key.dtype.type(key.shape[-1]))
    return total


@derivative(
    "{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ {query}ᵢ / √d",
    sums_over=("n",),
    by_hand=lambda write, grad, query, result: [
        write.equation(products(grad, query) / sqrt(query.shape[-1]), result, letter="d")
    ],
    code=lambda call: f"{{grad}}.mT @ {{query}} / np.sqrt({call.shape[-1]})",
)
def scaled_dot_key(grad: Array, query: Array) -> Array:
    """The gradient of the keys: the queries, each times the gradient of its score, by √d."""
    total: Array = product_without_zeros(grad.mT, query) / np.sqrt(query.dtype.type(query.shape[-1]))
    return total


@score(
    formula="Sᵢⱼ = Qᵢ·Kⱼ / √d",
    shapes="query[n d], key[m d] -> [n m]",
    source="Vaswani et al. 2017, eq. 1",
    example={"query": [[2, 0, 2, 1]], "key": [[2, 4, 3, 0], [0, 1, 1, 2]], "gives": [[5, 2]]},
    inner=(
        Quantity(
            "dot_products",
            "QKᵀ",
            "Qᵢ·Kⱼ",
            PAIRS,
            "How well each key fits each query: their features are multiplied and added.",
        ),
    ),
    unscaled="dot",
    factorization=Factorization(lambda query: query, lambda key: key, scale=lambda features: 1 / square_root(features)),
    by_hand=scaled_dot_by_hand,
    derivatives={"query": scaled_dot_query, "key": scaled_dot_key},
    code="{dot_products} = {query} @ {key}.mT\n{dot_products} / np.sqrt({d})",
)
def scaled_dot(query: Array, key: Array, *, tap: Tap = no_tap, matmul: MatrixProduct = product) -> Array:
    """The dot product, divided by the square root of the number of features.

    >>> scaled_dot(np.array([[2.0, 0, 2, 1]]), np.array([[2.0, 4, 3, 0], [0, 1, 1, 2]]))
    array([[5., 2.]])
    """
    dot_products = tap("dot_products", matmul(query, key.mT))
    root = np.sqrt(query.dtype.type(query.shape[-1]))
    scaled_products: Array = np.divide(dot_products, root, out=reused(dot_products, tap))
    return scaled_products


@score(
    formula="Sᵢⱼ = Qᵢ·Kⱼ",
    shapes="query[n d], key[m d] -> [n m]",
    source=f"{LUONG} (dot)",
    example={"query": [[2, 0, 2]], "key": [[2, 4, 3], [0, 1, 1]], "gives": [[10, 2]]},
    factorization=Factorization(lambda query: query, lambda key: key),
    by_hand=lambda write, query, key, result: [_dot_product_line(write, query, key, result)],
    derivatives={"query": dot_query, "key": dot_key},
    code="{query} @ {key}.mT",
)
def dot(query: Array, key: Array, *, matmul: MatrixProduct = product) -> Array:
    """The dot product of the query and the key.

    >>> dot(np.array([[2, 0, 2]]), np.array([[2, 4, 3], [0, 1, 1]]))
    array([[10,  2]])
    """
    return matmul(query, key.mT)


def general_by_hand(
    write: ArithmeticWriter, query: Array, key: Array, result: Any, *, projected_query: Array, w: Array
) -> list[str]:
    """The projection of one query [d] with `w` [d c], then its dot product with one key [c]."""
    projection = f"{write.symbol('query')}({write.query})·W"
    return [
        write.equation(products(query, w), projected_query, name=projection, letter="c"),
        write.equation(products(projected_query, key), result, name=f"{projection}·{write.symbol('key')}({write.key})"),
    ]


@derivative(
    "{d_query}ᵢ = (Σⱼ {d_result}ᵢⱼ {key}ⱼ) {w}ᵀ",
    sums_over=("m",),
    by_hand=lambda write, grad, key, w, result: [
        (line := write.computed("Σⱼ dSᵢⱼ Kⱼ", products(grad, key), letter="c")).line,
        write.equation(products(line.entries, w.mT), result, letter="d"),
    ],
    code="{grad} @ {key} @ {w}.mT",
)
def general_query(grad: Array, key: Array, w: Array) -> Array:
    """The gradient of the queries: that of the projected queries, times the matrix."""
    return product(product_without_zeros(grad, key), w.mT)


@derivative(
    "{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ {query}ᵢ {w}",
    sums_over=("n",),
    by_hand=lambda write, grad, projected_query, result: [
        write.equation(products(grad, projected_query), result, letter="c")
    ],
    code="{grad}.mT @ {projected_query}",
)
def general_key(grad: Array, projected_query: Array) -> Array:
    """The gradient of the keys: the projected queries, each times the gradient of its score."""
    return product_without_zeros(grad.mT, projected_query)


@derivative("{d_w} = {query}ᵀ {d_result} {key}", code="{query}.mT @ {grad} @ {key}")
def general_w(grad: Array, query: Array, key: Array) -> Array:
    """The gradient of the matrix: the sum over all pairs."""
    return product_without_zeros(query.mT, product_without_zeros(grad, key))


@score(
    formula="Sᵢⱼ = Qᵢ W Kⱼᵀ",
    shapes="query[n d], key[m c], w[d c] -> [n m]",
    source=f"{LUONG} (general)",
    example={"query": [[1, 2]], "key": [[1, 0, 1], [0, 2, 0]], "w": [[1, 0, 2], [0, 1, 1]], "gives": [[5, 4]]},
    inner=(
        Quantity(
            "projected_query",
            "QW",
            "Qᵢ W",
            ("n", "c"),
            "Each query in the features of the keys, so that the two can be compared.",
        ),
    ),
    factorization=Factorization(lambda query, w: query @ w, lambda key, w: key),
    by_hand=general_by_hand,
    derivatives={"query": general_query, "key": general_key, "w": general_w},
    code="{projected_query} = {query} @ {w}\n{projected_query} @ {key}.mT",
)
def general(
    query: Array, key: Array, *, w: Annotated[Array, Symbol("W")], tap: Tap = no_tap, matmul: MatrixProduct = product
) -> Array:
    """The dot product of the key and the query, projected with a learned matrix to the key's features.

    With an axis of heads before those of `w`, each head has its own.

    >>> query, key = np.array([[1, 2]]), np.array([[1, 0, 1], [0, 2, 0]])
    >>> general(query, key, w=np.array([[1, 0, 2], [0, 1, 1]]))
    array([[5, 4]])
    """
    return matmul(tap("projected_query", matmul(query, w)), key.mT)


def additive_by_hand(
    write: ArithmeticWriter,
    query: Array,
    key: Array,
    result: Any,
    *,
    projected_key: Array,
    projected_query: Array,
    hidden: Array,
    w1: Array,
    w2: Array,
    v: Array,
    b: Array | float,
    activation: Activation,
) -> list[str]:
    """The projections of one key [c] and one query [d], their sum, the hidden layer [a], and its product with `v`."""
    names = [f"W₁·{write.symbol('key')}({write.key})", f"W₂·{write.symbol('query')}({write.query})"]
    addends: list[Array | float] = [projected_key, projected_query]
    if np.ndim(b):
        names, addends = [*names, "b_H"], [*addends, b]
    before = write.computed(
        f"H({write.query}, {write.key})" if activation == "identity" else " + ".join(names), total(addends), letter="a"
    )
    lines = [
        write.equation(products(key, w1), projected_key, name=names[0], letter="a"),
        write.equation(products(query, w2), projected_query, name=names[1], letter="a"),
        before.line,
    ]
    if activation != "identity":
        lines.append(write.equation(ACTIVATIONS[activation][1](before), hidden, name="H", letter="a"))
    return [*lines, write.equation(products(v, hidden), result, name="v·H")]


def _hidden_formula(*, b: bool | float = 0.0, activation: Activation = "tanh", **_: bool) -> str:
    """The hidden layer: without the bias where none is given."""
    name = "" if activation == "identity" else activation
    return f"{name}(W₁Kⱼ + W₂Qᵢ{' + b_H' if b else ''})"


def _with_slope(formula: str) -> Formula:
    """The formula with the derivative of the activation that is in force."""
    return lambda _symbols, options: formula + NAMES_OF_SLOPES.get(options["activation"], "")


def _slopes(grad: Array, hidden: Array, v: Array, activation: Activation) -> Array:
    """The gradient of the hidden layer before its activation, [… n m a], from its value after it."""
    return grad[..., None] * v[..., None, None, :] * SLOPES[activation](hidden)


def _slope_terms(grad: Array, hidden: Array, v: Any, activation: Activation) -> list[Term]:
    """The gradients of the hidden layer before its activation, of some pairs [r a] or of one unit in them [r]."""
    if activation == "relu":
        slopes = [number(np.where(units > 0, 1.0, 0.0)) for units in hidden]
    else:
        slopes = [TERMS_OF_SLOPES[activation](number(units)) for units in hidden]
    return [number(factor) * number(v) * slope for factor, slope in zip(grad, slopes, strict=True)]


def _first_of_pairs(
    write: ArithmeticWriter, grad: Array, hidden: Array, v: Array, x: Array, result: float, activation: Activation
) -> list[str]:
    """The first number of the gradient of a matrix: that of the first hidden unit, times numbers, of all pairs."""
    units = _slope_terms(grad.ravel(), hidden[..., 0].ravel(), v[0], activation)
    numbers = np.broadcast_to(x, grad.shape).ravel()
    return [write.equation(total(unit * factor for unit, factor in zip(units, numbers, strict=True)), result)]


def _slope_lines(
    write: ArithmeticWriter, grad: Array, hidden: Array, v: Array, w: Array, result: Any, activation: Activation
) -> list[str]:
    """The gradient of the hidden layer [r a] of some pairs, added, and its product with the matrix."""
    row = write.computed("Σ g", total(_slope_terms(grad, hidden, v, activation)), letter="a")
    return [row.line, write.equation(products(row.entries, w.mT), result, letter="d")]


def _slopes_code(call: CodeCall, after: str, before: str = "") -> str:
    """The gradient of the hidden layer before its activation, and what is made of it."""
    v = "{v}" if len(call.shapes["v"]) == 1 else "{v}[..., None, None, :]"
    slopes = {"tanh": " * (1 - {hidden} ** 2)", "relu": " * ({hidden} > 0)", "sigmoid": " * {hidden} * (1 - {hidden})"}
    return f"changes = {{grad}}[..., None] * {v}{slopes.get(call.options['activation'], '')}\n{before}changes{after}"


@derivative(
    _with_slope("{d_query}ᵢ = Σⱼ δᵢⱼ {w2}ᵀ, δᵢⱼ = {d_result}ᵢⱼ {v}"),
    sums_over=("m",),
    by_hand=lambda write, grad, hidden, w2, v, result, *, activation: _slope_lines(
        write, grad, hidden, v, w2, result, activation
    ),
    code=lambda call: _slopes_code(call, ".sum(axis=-2) @ {w2}.mT"),
)
def additive_query(grad: Array, hidden: Array, w2: Array, v: Array, *, activation: Activation) -> Array:
    """The gradient of the queries: that of the hidden layer, summed over the keys, times the matrix."""
    gradient: Array = _slopes(grad, hidden, v, activation).sum(axis=-2) @ w2.mT
    return gradient


@derivative(
    _with_slope("{d_key}ⱼ = Σᵢ δᵢⱼ {w1}ᵀ, δᵢⱼ = {d_result}ᵢⱼ {v}"),
    sums_over=("n",),
    by_hand=lambda write, grad, hidden, w1, v, result, *, activation: _slope_lines(
        write, grad, hidden, v, w1, result, activation
    ),
    code=lambda call: _slopes_code(call, ".sum(axis=-3) @ {w1}.mT"),
)
def additive_key(grad: Array, hidden: Array, w1: Array, v: Array, *, activation: Activation) -> Array:
    """The gradient of the keys: that of the hidden layer, summed over the queries, times the matrix."""
    gradient: Array = _slopes(grad, hidden, v, activation).sum(axis=-3) @ w1.mT
    return gradient


@derivative(
    _with_slope("{d_w1} = Σᵢⱼ {key}ⱼᵀ δᵢⱼ, δᵢⱼ = {d_result}ᵢⱼ {v}"),
    sums_over=PAIRS,
    by_hand=lambda write, grad, key, hidden, v, result, *, activation: _first_of_pairs(
        write, grad, hidden, v, key[:, 0], result[0, 0], activation
    ),
    code=lambda call: _slopes_code(call, ".sum(axis=-3)", "{key}.mT @ "),
)
def additive_w1(grad: Array, key: Array, hidden: Array, v: Array, *, activation: Activation) -> Array:
    """The gradient of the matrix of the keys: the sum over all pairs."""
    gradient: Array = key.mT @ _slopes(grad, hidden, v, activation).sum(axis=-3)
    return gradient


@derivative(
    _with_slope("{d_w2} = Σᵢⱼ {query}ᵢᵀ δᵢⱼ, δᵢⱼ = {d_result}ᵢⱼ {v}"),
    sums_over=PAIRS,
    by_hand=lambda write, grad, query, hidden, v, result, *, activation: _first_of_pairs(
        write, grad, hidden, v, query[:, :1], result[0, 0], activation
    ),
    code=lambda call: _slopes_code(call, ".sum(axis=-2)", "{query}.mT @ "),
)
def additive_w2(grad: Array, query: Array, hidden: Array, v: Array, *, activation: Activation) -> Array:
    """The gradient of the matrix of the queries: the sum over all pairs."""
    gradient: Array = query.mT @ _slopes(grad, hidden, v, activation).sum(axis=-2)
    return gradient


@derivative(
    _with_slope("{d_b} = Σᵢⱼ δᵢⱼ, δᵢⱼ = {d_result}ᵢⱼ {v}"),
    sums_over=PAIRS,
    by_hand=lambda write, grad, hidden, v, result, *, activation: [
        write.equation(total(_slope_terms(grad.ravel(), hidden.reshape(-1, len(v)), v, activation)), result, letter="a")
    ],
    code=lambda call: _slopes_code(call, ".sum(axis=(-3, -2))"),
)
def additive_b(grad: Array, hidden: Array, v: Array, *, activation: Activation) -> Array:
    """The gradient of the bias of the hidden layer: the sum over all pairs."""
    gradient: Array = _slopes(grad, hidden, v, activation).sum(axis=(-3, -2))
    return gradient


@derivative(
    "{d_v} = Σᵢⱼ {d_result}ᵢⱼ Hᵢⱼ",
    sums_over=PAIRS,
    by_hand=lambda write, grad, hidden, result: [
        write.equation(products(grad.ravel(), hidden.reshape(-1, hidden.shape[-1])), result, letter="a")
    ],
    code="({grad}[..., None] * {hidden}).sum(axis=(-3, -2))",
)
def additive_v(grad: Array, hidden: Array) -> Array:
    """The gradient of the last vector: the hidden layer, times the gradient of each score."""
    gradient: Array = (grad[..., None] * hidden).sum(axis=(-3, -2))
    return gradient


def _additive_code(call: CodeCall) -> str:
    """Both projections, the hidden layer of their sum, and its product with the last vector."""
    total = "{projected_key}[..., None, :, :] + {projected_query}[..., :, None, :]"
    if call.has("b"):
        total += " + {b}" if len(call.shapes["b"]) == 1 else " + {b}[..., None, None, :]"
    activations = {"tanh": "np.tanh({})", "relu": "({}).clip(0)", "sigmoid": "1 / (1 + np.exp(-({})))"}
    lines = ["{projected_key} = {key} @ {w1}", "{projected_query} = {query} @ {w2}"]
    lines.append(f"{{hidden}} = {activations.get(call.options['activation'], '{}').format(total)}")
    of_heads = len(call.shapes["v"]) > 1
    lines.append("({hidden} @ {v}[..., None, :, None])[..., 0]" if of_heads else "{hidden} @ {v}")
    return "\n".join(lines)


@score(
    formula="Sᵢⱼ = vᵀ act(W₁Kⱼ + W₂Qᵢ + b_H)",
    shapes="query[n d], key[m c], w1[c a], w2[d a], v[a], b[a] -> [n m]",
    source="Bahdanau, Cho & Bengio 2015, A.1.2",
    example={
        "query": [[1, 0]],
        "key": [[1], [2]],
        "w1": [[1, -1]],
        "w2": [[0, 1], [1, 0]],
        "v": [3, 1],
        "b": [0, 1],
        "activation": "relu",
        "gives": [[4, 6]],
    },
    inner=(
        Quantity("projected_key", "W₁K", "W₁Kⱼ", ("m", "a"), "Each key, projected to the hidden units."),
        Quantity("projected_query", "W₂Q", "W₂Qᵢ", ("n", "a"), "Each query, projected to the hidden units."),
        Quantity(
            "hidden",
            "H",
            "Hᵢⱼ = act(W₁Kⱼ + W₂Qᵢ + b_H)",
            ("n", "m", "a"),
            "What each hidden unit makes of each pair: the two projections, added, through the activation.",
            lambda **parameters: f"Hᵢⱼ = {_hidden_formula(**parameters)}",
        ),
    ),
    formula_in_force=lambda **parameters: f"Sᵢⱼ = vᵀ {_hidden_formula(**parameters)}",
    by_hand=additive_by_hand,
    derivatives={
        "query": additive_query,
        "key": additive_key,
        "w1": additive_w1,
        "w2": additive_w2,
        "v": additive_v,
        "b": additive_b,
    },
    code=_additive_code,
)
def additive(
    query: Array,
    key: Array,
    *,
    w1: Annotated[Array, Symbol("W₁")],
    w2: Annotated[Array, Symbol("W₂")],
    v: Array,
    b: Annotated[Array | float, Symbol("b_H")] = 0.0,
    activation: Activation = "tanh",
    tap: Tap = no_tap,
) -> Array:
    """A network with one hidden layer scores each pair.

    Projections multiply from the right: `key @ w1`, `query @ w2`. With an axis of heads before their own, all four
    parameters are those of each head. Needs memory for n · m · a numbers.

    One query of two features and two keys of one feature, with two hidden units:

    >>> additive(
    ...     np.array([[1, 0]]),
    ...     np.array([[1], [2]]),
    ...     w1=np.array([[1, -1]]),
    ...     w2=np.array([[0, 1], [1, 0]]),
    ...     v=np.array([3, 1]),
    ...     b=np.array([0, 1]),
    ...     activation="relu",
    ... )
    array([[4, 6]])

    Without a bias and with the default nonlinearity, tanh:

    >>> one = np.ones((1, 1))
    >>> additive(one, np.array([[0.0], [1.0], [2.0]]), w1=one, w2=one, v=np.ones(1)).round(4)
    array([[0.7616, 0.964 , 0.9951]])
    """
    of_key = tap("projected_key", key @ w1).mT.copy()  # without gaps, which adds fast
    of_query = tap("projected_query", query @ w2) + (b if isinstance(b, (int, float)) else b[..., None, :])
    sums = of_key[..., None, :, :] + of_query[..., None]  # [… n a m]: long rows add fast
    units = ACTIVATIONS[activation][0](sums, sums if sums.dtype.kind == "f" else None)
    hidden = tap("hidden", units.mT)
    return hidden @ v if v.ndim == 1 else (hidden @ v[..., None, :, None])[..., 0]


def location_by_hand(write: ArithmeticWriter, query: Array, key: Array, result: Any, *, w: Array) -> list[str]:
    """The dot product of one query [d] and the key's column of `w` [d m]."""
    name = f"{write.symbol('query')}({write.query})·W[{write.key}]"
    return [write.equation(products(query, w[:, write.column]), result, name=name)]


@derivative(
    "{d_query}ᵢ = {d_result}ᵢ {w}ᵀ",
    sums_over=("m",),
    by_hand=lambda write, grad, w, result: [write.equation(products(grad, w.mT), result, letter="d")],
    code="{grad} @ {w}.mT",
)
def location_query(grad: Array, w: Array) -> Array:
    """The gradient of the queries: that of the scores, times the matrix."""
    gradient: Array = grad @ w.mT
    return gradient


@derivative("{d_key} = 0: the keys are not read", code=lambda call: f"np.zeros({call.shape})")
def location_key(grad: Array, key: Array) -> Array:
    """The gradient of the keys, which are not read."""
    return np.zeros((*grad.shape[:-2], *key.shape[-2:]), grad.dtype)


@derivative("{d_w} = {query}ᵀ {d_result}", code="{query}.mT @ {grad}")
def location_w(grad: Array, query: Array) -> Array:
    """The gradient of the matrix: the sum over the queries."""
    gradient: Array = query.mT @ grad
    return gradient


@score(
    formula="Sᵢⱼ = (Qᵢ W)ⱼ",
    shapes="query[n d], key[m c], w[d m] -> [n m]",
    source="Luong, Pham & Manning 2015, eq. 8",
    example={"query": [[1, 2]], "key": [[9], [9], [9]], "w": [[1, 0, 2], [0, 1, 1]], "gives": [[1, 2, 4]]},
    by_hand=location_by_hand,
    derivatives={"query": location_query, "key": location_key, "w": location_w},
    code="{query} @ {w}",
)
def location(query: Array, key: Array, *, w: Annotated[Array, Symbol("W")]) -> Array:
    """A score for each position from the query alone; the keys are not read.

    `w` has a column for each key.

    >>> location(np.array([[1, 2]]), np.zeros((3, 1)), w=np.array([[1, 0, 2], [0, 1, 1]]))
    array([[1, 2, 4]])
    """
    return query @ w


def cosine_by_hand(
    write: ArithmeticWriter,
    query: Array,
    key: Array,
    result: Any,
    *,
    unit_query: Array,
    unit_key: Array,
    beta: float,
) -> list[str]:
    """The norms and unit vectors of one query [d] and one key [d], then β times their dot product."""
    lines = []
    for name, vector, unit in (
        (f"{write.symbol('query')}({write.query})", query, unit_query),
        (f"{write.symbol('key')}({write.key})", key, unit_key),
    ):
        if not vector.any():
            return [f"{name} is a zero vector: the score is 0"]
        norm = write.computed(f"‖{name}‖", sqrt(products(vector, vector)))
        lines += [norm.line, write.equation(number(vector) / norm, unit, name=f"{name}/‖{name}‖", letter="d")]
    product = products(unit_query, unit_key)
    return [*lines, write.equation(product if beta == 1 else parameter(beta) * product, result)]


def _turn_lines(
    write: ArithmeticWriter, grad: Array, vector: Array, others: Array, result: Any, beta: float
) -> list[str]:
    """The unit vectors [r d], each times the gradient of its score, and what of that is across one vector [d]."""
    if not vector.any():
        return ["a zero vector: 0 is taken"]
    pull = products(grad, others)
    g = write.computed("g", pull if beta == 1 else parameter(beta) * pull, letter="d")
    norm = write.computed("‖u‖", sqrt(products(vector, vector)))
    unit = write.computed("u/‖u‖", number(vector) / norm, letter="d")
    fit = write.computed("u/‖u‖·g", products(unit.entries, g.entries))
    return [g.line, norm.line, unit.line, fit.line, write.equation((g - fit * unit) / norm, result, letter="d")]


@derivative(
    "{d_query}ᵢ = (gᵢ − Qᵤᵢ (Qᵤᵢ·gᵢ)) / ‖{query}ᵢ‖, gᵢ = β Σⱼ {d_result}ᵢⱼ Kᵤⱼ, Qᵤ and Kᵤ the unit vectors",
    sums_over=("m",),
    by_hand=lambda write, grad, query, unit_key, result, *, beta: _turn_lines(
        write, grad, query, unit_key, result, beta
    ),
    remark=ZERO_VECTOR,
    code=lambda call: f"g = {{beta}} * {{grad}} @ {{unit_key}}\n{turn_code(call, 'query')}",
)
def cosine_query(grad: Array, query: Array, unit_key: Array, *, beta: float) -> Array:
    """The gradient of the queries: only what turns a query changes its score."""
    return l2_gradient(grad @ unit_key * beta, query)


@derivative(
    "{d_key}ⱼ = (gⱼ − Kᵤⱼ (Kᵤⱼ·gⱼ)) / ‖{key}ⱼ‖, gⱼ = β Σᵢ {d_result}ᵢⱼ Qᵤᵢ, Qᵤ and Kᵤ the unit vectors",
    sums_over=("n",),
    by_hand=lambda write, grad, key, unit_query, result, *, beta: _turn_lines(
        write, grad, key, unit_query, result, beta
    ),
    remark=ZERO_VECTOR,
    code=lambda call: f"g = {{beta}} * {{grad}}.mT @ {{unit_query}}\n{turn_code(call, 'key')}",
)
def cosine_key(grad: Array, key: Array, unit_query: Array, *, beta: float) -> Array:
    """The gradient of the keys: only what turns a key changes its scores."""
    return l2_gradient(grad.mT @ unit_query * beta, key)


@derivative_by_number(
    "β",
    "{d_argument} = Σ {d_result}ᵢⱼ Qᵤᵢ·Kᵤⱼ, Qᵤ and Kᵤ the unit vectors",
    by_hand=lambda write, grad, unit_query, unit_key, result: [
        computed_products(write, "Σ dS∘QᵤKᵤᵀ", grad, unit_query @ unit_key.mT).line
    ],
    keeps_sign=True,
    code="({grad} * ({unit_query} @ {unit_key}.mT)).sum()",
)
def cosine_beta(grad: Array, unit_query: Array, unit_key: Array) -> Array:
    """The gradient of the strength: the cosines, each times the gradient of its score."""
    return sum_products(grad, unit_query @ unit_key.mT)


def _cosine_code(call: CodeCall) -> str:
    """The unit vectors, and their products."""
    lines = [f"{{unit_{name}}} = {unit_code(call, name)}" for name in ("query", "key")]
    product = "{unit_query} @ {unit_key}.mT"
    return "\n".join([*lines, product if call.options["beta"] == 1 else f"{{beta}} * {product}"])


@score(
    formula="Sᵢⱼ = β Qᵢ·Kⱼ / (‖Qᵢ‖ ‖Kⱼ‖)",
    shapes="query[n d], key[m d] -> [n m]",
    source="Graves, Wayne & Danihelka 2014, eq. 5 and 6",
    example={"query": [[3, 4]], "key": [[6, 8], [4, -3], [0, 0]], "beta": 2, "gives": [[2, 0, 0]]},
    inner=(
        Quantity("unit_query", "Qᵤ", "Qᵢ / ‖Qᵢ‖", ("n", "d"), "The direction of each query, without its length."),
        Quantity("unit_key", "Kᵤ", "Kⱼ / ‖Kⱼ‖", ("m", "d"), "The direction of each key, without its length."),
    ),
    factorization=Factorization(lambda query, beta: l2(query) * beta, lambda key, beta: l2(key)),
    formula_in_force=lambda beta: f"Sᵢⱼ = {'' if beta == 1 else 'β '}Qᵢ·Kⱼ / (‖Qᵢ‖ ‖Kⱼ‖)",
    by_hand=cosine_by_hand,
    derivatives={"query": cosine_query, "key": cosine_key, "beta": cosine_beta},
    code=_cosine_code,
)
def cosine(query: Array, key: Array, *, beta: float = 1.0, tap: Tap = no_tap, matmul: MatrixProduct = product) -> Array:
    """The cosine of the angle between query and key, times a strength; a zero vector scores 0.

    >>> cosine(np.array([[3.0, 4.0]]), np.array([[6.0, 8.0], [-3.0, -4.0], [0.0, 0.0]]), beta=2)
    array([[ 2., -2.,  0.]])
    """
    return matmul(tap("unit_query", l2(query)), tap("unit_key", l2(key)).mT) * beta

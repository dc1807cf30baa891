"""Scores by products, angles or a network: how well each key matches each query, [… n d] and [… m c] to [… n m].

The last two axes are rows and features; axes before them (batch items, heads) broadcast. NumPy raises ValueError if the
shapes don't match.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from attncli.base.dtypes import square_root
from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import score
from attncli.ops.derivatives import ByNumber, Formula, derivative
from attncli.ops.norms import ZERO_VECTOR, l2, l2_gradient
from attncli.ops.products import MatrixProduct, product, product_without_zeros
from attncli.ops.recording.stable import logistic
from attncli.ops.records import Factorization, Quantity, Symbol, Tap, no_tap, reused

Activation = Literal["tanh", "relu", "sigmoid", "identity"]
# The nonlinearity of a hidden layer, written to `out` unless it is None.
ACTIVATIONS: Mapping[Activation, Callable[[Array, Array | None], Array]] = {
    "tanh": lambda x, out: np.tanh(x, out=out),
    "relu": lambda x, out: np.maximum(x, 0, out=out),
    "sigmoid": lambda x, _out: logistic(x),
    "identity": lambda x, _out: x,
}
# Their derivatives in formulas; relu's is 0 at 0.
NAMES_OF_SLOPES = {"tanh": " ∘ (1 − H²)", "relu": " where H > 0, otherwise 0", "sigmoid": " ∘ H ∘ (1 − H)"}
PAIRS = ("n", "m")
LUONG = "Luong, Pham & Manning 2015, §3.1"


# The derivatives of products are by hand: blocks of large problems call them, and recorded ones are slower.


@derivative("{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ {key}ⱼ")
def dot_query(grad: Array, key: Array) -> Array:
    """The gradient of the queries: the keys, each times the gradient of its score."""
    return product_without_zeros(grad, key)


@derivative("{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ {query}ᵢ")
def dot_key(grad: Array, query: Array) -> Array:
    """The gradient of the keys: the queries, each times the gradient of its score."""
    return product_without_zeros(grad.mT, query)


@derivative("{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ {key}ⱼ / √d")
def scaled_dot_query(grad: Array, key: Array) -> Array:
    """The gradient of the queries: the keys, each times the gradient of its score, over √d."""
    total: Array = product_without_zeros(grad, key) / np.sqrt(key.dtype.type(key.shape[-1]))
    return total


@derivative("{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ {query}ᵢ / √d")
def scaled_dot_key(grad: Array, query: Array) -> Array:
    """The gradient of the keys: the queries, each times the gradient of its score, over √d."""
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
    derivatives={"query": scaled_dot_query, "key": scaled_dot_key},
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
    derivatives={"query": dot_query, "key": dot_key},
)
def dot(query: Array, key: Array, *, matmul: MatrixProduct = product) -> Array:
    """The dot product of the query and the key.

    >>> dot(np.array([[2, 0, 2]]), np.array([[2, 4, 3], [0, 1, 1]]))
    array([[10,  2]])
    """
    return matmul(query, key.mT)


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
    derivatives={
        "query": "{d_query}ᵢ = (Σⱼ {d_result}ᵢⱼ {key}ⱼ) {w}ᵀ",
        "key": "{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ {query}ᵢ {w}",
        "w": "{d_w} = {query}ᵀ {d_result} {key}",
    },
)
def general(
    query: Array, key: Array, *, w: Annotated[Array, Symbol("W")], tap: Tap = no_tap, matmul: MatrixProduct = product
) -> Array:
    """The dot product of the key and the query, projected with a learned matrix to the key's features.

    If `w` has an axis of heads first, each head has its own matrix.

    >>> query, key = np.array([[1, 2]]), np.array([[1, 0, 1], [0, 2, 0]])
    >>> general(query, key, w=np.array([[1, 0, 2], [0, 1, 1]]))
    array([[5, 4]])
    """
    return matmul(tap("projected_query", matmul(query, w)), key.mT)


def _hidden_formula(*, b: bool | float = 0.0, activation: Activation = "tanh", **_: bool) -> str:
    """The hidden layer, with the bias if given."""
    name = "" if activation == "identity" else activation
    return f"{name}(W₁Kⱼ + W₂Qᵢ{' + b_H' if b else ''})"


def _with_slope(formula: str) -> Formula:
    """The formula with the activation's derivative."""
    return lambda _symbols, options: formula + NAMES_OF_SLOPES.get(options["activation"], "")


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
            "Each hidden unit for each pair: the sum of the two projections, through the activation.",
            lambda **parameters: f"Hᵢⱼ = {_hidden_formula(**parameters)}",
        ),
    ),
    formula_in_force=lambda **parameters: f"Sᵢⱼ = vᵀ {_hidden_formula(**parameters)}",
    derivatives={
        "query": _with_slope("{d_query}ᵢ = Σⱼ δᵢⱼ {w2}ᵀ, δᵢⱼ = {d_result}ᵢⱼ {v}"),
        "key": _with_slope("{d_key}ⱼ = Σᵢ δᵢⱼ {w1}ᵀ, δᵢⱼ = {d_result}ᵢⱼ {v}"),
        "w1": _with_slope("{d_w1} = Σᵢⱼ {key}ⱼᵀ δᵢⱼ, δᵢⱼ = {d_result}ᵢⱼ {v}"),
        "w2": _with_slope("{d_w2} = Σᵢⱼ {query}ᵢᵀ δᵢⱼ, δᵢⱼ = {d_result}ᵢⱼ {v}"),
        "v": "{d_v} = Σᵢⱼ {d_result}ᵢⱼ Hᵢⱼ",
        "b": _with_slope("{d_b} = Σᵢⱼ δᵢⱼ, δᵢⱼ = {d_result}ᵢⱼ {v}"),
    },
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

    Projections multiply from the right: `key @ w1`, `query @ w2`. All four parameters may have an axis of heads first.
    Needs memory for n · m · a numbers.

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
    of_key = tap("projected_key", key @ w1).mT.copy()  # contiguous, for fast addition
    of_query = tap("projected_query", query @ w2) + (
        b if isinstance(b, (int, float)) or not b.ndim else b[..., None, :]
    )
    sums = of_key[..., None, :, :] + of_query[..., None]  # [… n a m]: long rows add fast
    units = ACTIVATIONS[activation](sums, sums if sums.dtype.kind == "f" else None)
    hidden = tap("hidden", units.mT)
    return hidden @ v if v.ndim == 1 else (hidden @ v[..., None, :, None])[..., 0]


@score(
    formula="Sᵢⱼ = (Qᵢ W)ⱼ",
    shapes="query[n d], key[m c], w[d m] -> [n m]",
    source="Luong, Pham & Manning 2015, eq. 8",
    example={"query": [[1, 2]], "key": [[9], [9], [9]], "w": [[1, 0, 2], [0, 1, 1]], "gives": [[1, 2, 4]]},
    derivatives={
        "query": "{d_query}ᵢ = {d_result}ᵢ {w}ᵀ",
        "key": "{d_key} = 0: the keys are not read",
        "w": "{d_w} = {query}ᵀ {d_result}",
    },
)
def location(query: Array, key: Array, *, w: Annotated[Array, Symbol("W")]) -> Array:
    """A score for each position from the query alone; the keys are not read.

    `w` has a column for each key.

    >>> location(np.array([[1, 2]]), np.zeros((3, 1)), w=np.array([[1, 0, 2], [0, 1, 1]]))
    array([[1, 2, 4]])
    """
    return query @ w


@derivative(
    "{d_query}ᵢ = (gᵢ − Qᵤᵢ (Qᵤᵢ·gᵢ)) / ‖{query}ᵢ‖, gᵢ = β Σⱼ {d_result}ᵢⱼ Kᵤⱼ, Qᵤ and Kᵤ the unit vectors",
    remark=ZERO_VECTOR,
)
def cosine_query(grad: Array, query: Array, unit_key: Array, *, beta: float) -> Array:
    """The gradient of the queries: only what turns a query changes its score."""
    return l2_gradient(grad @ unit_key * beta, query)


@derivative(
    "{d_key}ⱼ = (gⱼ − Kᵤⱼ (Kᵤⱼ·gⱼ)) / ‖{key}ⱼ‖, gⱼ = β Σᵢ {d_result}ᵢⱼ Qᵤᵢ, Qᵤ and Kᵤ the unit vectors",
    remark=ZERO_VECTOR,
)
def cosine_key(grad: Array, key: Array, unit_query: Array, *, beta: float) -> Array:
    """The gradient of the keys: only what turns a key changes its scores."""
    return l2_gradient(grad.mT @ unit_query * beta, key)


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
    derivatives={
        "query": cosine_query,
        "key": cosine_key,
        "beta": ByNumber("β", "{d_argument} = Σ {d_result}ᵢⱼ Qᵤᵢ·Kᵤⱼ, Qᵤ and Kᵤ the unit vectors", keeps_sign=True),
    },
)
def cosine(query: Array, key: Array, *, beta: float = 1.0, tap: Tap = no_tap, matmul: MatrixProduct = product) -> Array:
    """The cosine of the angle between query and key, times a strength; a zero vector scores 0.

    >>> cosine(np.array([[3.0, 4.0]]), np.array([[6.0, 8.0], [-3.0, -4.0], [0.0, 0.0]]), beta=2)
    array([[ 2., -2.,  0.]])
    """
    return matmul(tap("unit_query", l2(query)), tap("unit_key", l2(key)).mT) * beta

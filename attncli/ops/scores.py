"""Scores by products or a network: how well each key matches each query, [… n d] and [… m c] to [… n m].

The last two axes are rows and features; axes before them (batch items, heads) broadcast. Nothing checks the shapes
here: NumPy raises ValueError where they don't fit.
"""

from typing import Annotated, Any, Literal

from attncli.base.dtypes import square_root
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, exp, largest, number, products, sqrt, tanh, total
from attncli.ops.decorators import score
from attncli.ops.products import MatrixProduct, product
from attncli.ops.records import Quantity, Symbol, Tap, no_tap, reused
from attncli.ops.rules import Factorization

Activation = Literal["tanh", "relu", "sigmoid", "identity"]
LUONG = "Luong, Pham & Manning 2015, §3.1"


def scaled_dot_by_hand(
    write: ArithmeticWriter, query: Array, key: Array, result: Any, *, dot_products: Any
) -> list[str]:
    """The dot product of one query [d] and one key [d], then its division by √d."""
    scaled = number(dot_products) / sqrt(len(query))
    return [dot_product_line(write, query, key, dot_products), write.equation(scaled, result)]


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
            ("n", "m"),
            "How well each key fits each query: their features are multiplied and added.",
        ),
    ),
    unscaled="dot",
    factorization=Factorization(lambda query: query, lambda key: key, scale=lambda features: 1 / square_root(features)),
    by_hand=scaled_dot_by_hand,
)
def scaled_dot(query: Array, key: Array, *, tap: Tap = no_tap, matmul: MatrixProduct = product) -> Array:
    """The dot product, divided by the square root of the number of features.

    Parameters
    ----------
    query : array [… n d]
        A query in each row.
    key : array [… m d]
        A key in each row.
    tap : callable, optional
        Receives "dot_products" [… n m].
    matmul : callable, optional
        Multiplies matrices.

    Returns
    -------
    array [… n m]

    Raises
    ------
    ValueError
        Where queries and keys have different numbers of features.

    Examples
    --------
    >>> scaled_dot(np.array([[2.0, 0, 2, 1]]), np.array([[2.0, 4, 3, 0], [0, 1, 1, 2]]))
    array([[5., 2.]])
    """
    dot_products = tap("dot_products", matmul(query, key.mT))
    root = np.sqrt(query.dtype.type(query.shape[-1]))
    scaled_products: Array = np.divide(dot_products, root, out=reused(dot_products, tap))
    return scaled_products


def dot_by_hand(write: ArithmeticWriter, query: Array, key: Array, result: Any) -> list[str]:
    """The dot product of one query [d] and one key [d]."""
    return [dot_product_line(write, query, key, result)]


@score(
    formula="Sᵢⱼ = Qᵢ·Kⱼ",
    shapes="query[n d], key[m d] -> [n m]",
    source=f"{LUONG} (dot)",
    example={"query": [[2, 0, 2]], "key": [[2, 4, 3], [0, 1, 1]], "gives": [[10, 2]]},
    factorization=Factorization(lambda query: query, lambda key: key),
    by_hand=dot_by_hand,
)
def dot(query: Array, key: Array, *, matmul: MatrixProduct = product) -> Array:
    """The dot product of the query and the key.

    Parameters
    ----------
    query : array [… n d]
        A query in each row.
    key : array [… m d]
        A key in each row.
    matmul : callable, optional
        Multiplies matrices.

    Returns
    -------
    array [… n m]

    Raises
    ------
    ValueError
        Where queries and keys have different numbers of features.

    Examples
    --------
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


@score(
    formula="Sᵢⱼ = Qᵢ W Kⱼᵀ",
    shapes="query[n d], key[m c], w[d c] -> [n m]",
    source=f"{LUONG} (general)",
    example={
        "query": [[1, 2]],
        "key": [[1, 0, 1], [0, 2, 0]],
        "w": [[1, 0, 2], [0, 1, 1]],
        "gives": [[5, 4]],
    },
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
)
def general(
    query: Array,
    key: Array,
    *,
    w: Annotated[Array, Symbol("W")],
    tap: Tap = no_tap,
    matmul: MatrixProduct = product,
) -> Array:
    """The dot product of the key and the query, projected with a learned matrix to the key's features.

    Parameters
    ----------
    query : array [… n d]
        A query in each row.
    key : array [… m c]
        The number of features c may differ from d.
    w : array [d c]
        Projects queries, from the right; with an axis of heads before it each head has its own.
    tap : callable, optional
        Receives "projected_query" [… n c].
    matmul : callable, optional
        Multiplies matrices.

    Returns
    -------
    array [… n m]

    Raises
    ------
    ValueError
        Where `w` does not have a row for each feature of the queries and a column for each feature of the keys.

    Examples
    --------
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
    b: Array | float = 0.0,
    activation: Activation = "tanh",
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
        lines.append(write.equation(_activation_term(activation, before), hidden, name="H", letter="a"))
    return [*lines, write.equation(products(v, hidden), result, name="v·H")]


def _activation_term(activation: Activation, x: Term) -> Term:
    """The hidden layer's nonlinearity, with the functions of a pocket calculator."""
    match activation:
        case "tanh":
            return tanh(x)
        case "relu":
            return largest([x, 0])
        case "sigmoid":
            return 1 / (1 + exp(-x))
        case "identity":
            return x


def _hidden_formula(*, b: bool | float = 0.0, activation: Activation = "tanh", **_: bool) -> str:
    """The hidden layer: without the bias where none is given."""
    name = "" if activation == "identity" else activation
    return f"{name}(W₁Kⱼ + W₂Qᵢ{' + b_H' if b else ''})"


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

    Parameters
    ----------
    query : array [… n d]
        A query in each row.
    key : array [… m c]
        The number of features c may differ from d.
    w1 : array [c a]
        Projects keys to the a hidden units, from the right (`key @ w1`); with an axis of heads before it, as `w2`, `v`
        and `b` may have too, each head has its own.
    w2 : array [d a]
        Projects queries to the hidden units, from the right (`query @ w2`).
    v : array [a]
        Weights of the hidden units in the score.
    b : array [a] or float, optional
        Bias of the hidden units.
    activation : {"tanh", "relu", "sigmoid", "identity"}, optional
        Nonlinearity of the hidden layer.
    tap : callable, optional
        Receives "projected_key" [… m a], "projected_query" [… n a] and "hidden" [… n m a].

    Returns
    -------
    array [… n m]
        Needs memory for n · m · a numbers on the way.

    Raises
    ------
    ValueError
        Where `w1`, `w2`, `v` and `b` differ in their number of hidden units, or do not fit queries and keys.

    Examples
    --------
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
    of_key = np.ascontiguousarray(tap("projected_key", key @ w1).mT)
    of_query = tap("projected_query", query @ w2) + (b if isinstance(b, (int, float)) else b[..., None, :])
    units = _activate(activation, of_key[..., None, :, :] + of_query[..., None])  # [… n a m]: long rows add fast
    hidden = tap("hidden", units.mT)
    return hidden @ v if v.ndim == 1 else (hidden @ v[..., None, :, None])[..., 0]


def location_by_hand(write: ArithmeticWriter, query: Array, key: Array, result: Any, *, w: Array) -> list[str]:
    """The dot product of one query [d] and the key's column of `w` [d m]."""
    name = f"{write.symbol('query')}({write.query})·W[{write.key}]"
    return [write.equation(products(query, w[:, write.column]), result, name=name)]


@score(
    formula="Sᵢⱼ = (Qᵢ W)ⱼ",
    shapes="query[n d], key[m c], w[d m] -> [n m]",
    source="Luong, Pham & Manning 2015, eq. 8",
    example={"query": [[1, 2]], "key": [[9], [9], [9]], "w": [[1, 0, 2], [0, 1, 1]], "gives": [[1, 2, 4]]},
    by_hand=location_by_hand,
)
def location(query: Array, key: Array, *, w: Annotated[Array, Symbol("W")]) -> Array:
    """A score for each position from the query alone; the keys are not read.

    Parameters
    ----------
    query : array [… n d]
        A query in each row.
    key : array [… m c]
        Not read.
    w : array [d m]
        A column for each key.

    Returns
    -------
    array [… n m]

    Raises
    ------
    ValueError
        Where `w` does not have a row for each feature of the queries.

    Examples
    --------
    >>> location(np.array([[1, 2]]), np.zeros((3, 1)), w=np.array([[1, 0, 2], [0, 1, 1]]))
    array([[1, 2, 4]])
    """
    return query @ w


def _activate(activation: Activation, x: Array) -> Array:
    """The hidden layer's nonlinearity, in the place of its argument where that holds fractions."""
    out = x if x.dtype.kind == "f" else None
    match activation:
        case "tanh":
            return np.tanh(x, out=out)
        case "relu":
            return np.maximum(x, 0, out=out)
        case "sigmoid":
            return np.exp(-np.logaddexp(0, -x))
        case "identity":
            return x


def dot_product_line(write: ArithmeticWriter, query: Array, key: Array, product: Any) -> str:
    """The line `Q(a)·K(b) = … = …`."""
    return write.equation(
        products(query, key), product, name=f"{write.symbol('query')}({write.query})·{write.symbol('key')}({write.key})"
    )

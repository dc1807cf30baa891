"""Scores: how well each key answers each query. The last two axes are rows and features; others lead."""

import math
from typing import Annotated, Any, Literal

from attncli.base.arithmetic import ArithmeticWriter
from attncli.base.lazy_numpy import Array, np
from attncli.ops.registry import Quantity, Range, Tap, no_tap, score, structural
from attncli.ops.rules import Factorization

Activation = Literal["tanh", "relu", "sigmoid", "identity"]

Positive = Annotated[float, Range(above=0)]

LUONG = "Luong, Pham & Manning 2015, §3.1"


def scaled_dot_by_hand(write: ArithmeticWriter, query: Array, key: Array, result: Any) -> list[str]:
    """Work out one cell by hand."""
    product = query @ key
    return [_product(write, query, key), f"{write(product)}/√{len(query)} = {write(result)}"]


@score(
    formula="sᵢⱼ = qᵢ·kⱼ / √d",
    shapes="query[n d], key[m d] -> [n m]",
    source="Vaswani et al. 2017, eq. 1",
    example={"query": [[2, 0, 2, 1]], "key": [[2, 4, 3, 0], [0, 1, 1, 2]], "gives": [[5, 2]]},
    inner=(Quantity("dot_products", "QKᵀ", "qᵢ·kⱼ", ("n", "m")),),
    unscaled="dot",
    factorization=Factorization(lambda query: query, lambda key: key, scale=lambda features: 1 / math.sqrt(features)),
    by_hand=scaled_dot_by_hand,
)
def scaled_dot(query: Array, key: Array, *, tap: Tap = no_tap) -> Array:
    """The dot product, divided by the square root of the number of features."""
    scaled_products: Array = tap("dot_products", query @ key.mT) / np.sqrt(query.dtype.type(query.shape[-1]))
    return scaled_products


def dot_by_hand(write: ArithmeticWriter, query: Array, key: Array, result: Any) -> list[str]:
    """Work out one cell by hand."""
    return [_product(write, query, key)]


@score(
    formula="sᵢⱼ = qᵢ·kⱼ",
    shapes="query[n d], key[m d] -> [n m]",
    source=f"{LUONG} (dot)",
    example={"query": [[2, 0, 2]], "key": [[2, 4, 3], [0, 1, 1]], "gives": [[10, 2]]},
    factorization=Factorization(lambda query: query, lambda key: key),
    by_hand=dot_by_hand,
)
def dot(query: Array, key: Array) -> Array:
    """The dot product of the query and the key."""
    return query @ key.mT


def general_by_hand(write: ArithmeticWriter, query: Array, key: Array, result: Any, *, w: Array) -> list[str]:
    """Work out one cell by hand."""
    projected = query @ w
    return [
        write.linear_combination(f"q({write.query})·W", "c", query, w, projected),
        f"{write(projected)}·k({write.key}) = {write.products(projected, key)} = {write(result)}",
    ]


@score(
    formula="sᵢⱼ = qᵢ W kⱼᵀ",
    shapes="query[n d], key[m c], w[d c] -> [n m]",
    source=f"{LUONG} (general)",
    example={
        "query": [[1, 2]],
        "key": [[1, 0, 1], [0, 2, 0]],
        "w": [[1, 0, 2], [0, 1, 1]],
        "gives": [[5, 4]],
    },
    inner=(Quantity("projected_query", "QW", "qᵢ W", ("n", "c")),),
    factorization=Factorization(lambda query, w: query @ w, lambda key, w: key),
    by_hand=general_by_hand,
)
def general(query: Array, key: Array, *, w: Array, tap: Tap = no_tap) -> Array:
    """The dot product after a learned matrix has carried the query over to the key's features."""
    return tap("projected_query", query @ w) @ key.mT


def additive_by_hand(
    write: ArithmeticWriter,
    query: Array,
    key: Array,
    result: Any,
    *,
    w1: Array,
    w2: Array,
    v: Array,
    b: Array | float = 0.0,
    activation: Activation = "tanh",
) -> list[str]:
    """Work out one cell by hand."""
    from_key, from_query = key @ w1, query @ w2
    hidden = _activate(activation, from_key + from_query + b)
    bias = f" + {write(b)}" if np.any(b) else ""
    return [
        write.linear_combination(f"W₁·k({write.key})", "a", key, w1, from_key),
        write.linear_combination(f"W₂·q({write.query})", "a", query, w2, from_query),
        f"h = {activation}({write(from_key)} + {write(from_query)}{bias}) = {write(hidden)}",
        f"v·h = {write.products(v, hidden)} = {write(result)}",
    ]


@score(
    formula="sᵢⱼ = vᵀ act(W₁kⱼ + W₂qᵢ + b)",
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
        Quantity("projected_key", "W₁K", "W₁kⱼ", ("m", "a")),
        Quantity("projected_query", "W₂Q", "W₂qᵢ", ("n", "a")),
        Quantity("hidden", "H", "hᵢⱼ = act(W₁kⱼ + W₂qᵢ + b)", ("n", "m", "a")),
    ),
    by_hand=additive_by_hand,
)
def additive(
    query: Array,
    key: Array,
    *,
    w1: Array,
    w2: Array,
    v: Array,
    b: Array | float = 0.0,
    activation: Activation = "tanh",
    tap: Tap = no_tap,
) -> Array:
    """A network with one hidden layer scores each pair."""
    from_key = tap("projected_key", key @ w1)[..., None, :, :]
    from_query = tap("projected_query", query @ w2)[..., :, None, :]
    return tap("hidden", _activate(activation, from_key + from_query + b)) @ v


def location_by_hand(write: ArithmeticWriter, query: Array, key: Array, result: Any, *, w: Array) -> list[str]:
    """Work out one cell by hand."""
    return [f"q({write.query})·W[{write.key}] = {write.products(query, w[:, write.column])} = {write(result)}"]


@score(
    formula="sᵢⱼ = (qᵢ W)ⱼ",
    shapes="query[n d], key[m c], w[d m] -> [n m]",
    source="Luong, Pham & Manning 2015, eq. 8",
    example={"query": [[1, 2]], "key": [[9], [9], [9]], "w": [[1, 0, 2], [0, 1, 1]], "gives": [[1, 2, 4]]},
    by_hand=location_by_hand,
)
def location(query: Array, key: Array, *, w: Array) -> Array:
    """The query alone says where to look; the keys are not read."""
    return query @ w


def cosine_by_hand(write: ArithmeticWriter, query: Array, key: Array, result: Any, *, beta: float = 1.0) -> list[str]:
    """Work out one cell by hand."""
    product, lengths = query @ key, (np.linalg.norm(query), np.linalg.norm(key))
    if 0 in lengths:
        return ["a zero vector scores 0 = 0"]
    strength = "" if beta == 1 else f"{write(beta)}·"
    return [
        _product(write, query, key),
        f"‖q({write.query})‖ = √({write.products(query, query)}) = {write(lengths[0])}",
        f"‖k({write.key})‖ = √({write.products(key, key)}) = {write(lengths[1])}",
        f"{strength}{write.factor(product)}/({write(lengths[0])}·{write(lengths[1])}) = {write(result)}",
    ]


@score(
    formula="sᵢⱼ = β qᵢ·kⱼ / (‖qᵢ‖ ‖kⱼ‖)",
    shapes="query[n d], key[m d] -> [n m]",
    source="Graves, Wayne & Danihelka 2014, eq. 5 and 6",
    example={"query": [[3, 4]], "key": [[6, 8], [4, -3], [0, 0]], "beta": 2, "gives": [[2, 0, 0]]},
    inner=(
        Quantity("unit_query", "Q̂", "qᵢ / ‖qᵢ‖", ("n", "d")),
        Quantity("unit_key", "K̂", "kⱼ / ‖kⱼ‖", ("m", "d")),
    ),
    factorization=Factorization(
        lambda query, beta=1.0: l2_normalize(query) * beta, lambda key, beta=1.0: l2_normalize(key)
    ),
    by_hand=cosine_by_hand,
)
def cosine(query: Array, key: Array, *, beta: float = 1.0, tap: Tap = no_tap) -> Array:
    """The cosine of the angle between query and key, times a strength; a zero vector scores 0."""
    return tap("unit_query", l2_normalize(query)) @ tap("unit_key", l2_normalize(key)).mT * beta


def gaussian_by_hand(
    write: ArithmeticWriter, query: Array, key: Array, result: Any, *, sigma: float = 1.0
) -> list[str]:
    """Work out one cell by hand."""
    squared = ((query - key) ** 2).sum()
    return [
        _squares(write, query, key) + f" = {write(squared)}",
        f"−{write(squared)}/(2·{write(sigma)}²) = {write(result)}",
    ]


@score(
    formula="sᵢⱼ = −‖qᵢ − kⱼ‖² / 2σ²",
    shapes="query[n d], key[m d] -> [n m]",
    source="Nadaraya 1964 and Watson 1964, with the Gaussian kernel",
    example={"query": [[1, 2]], "key": [[1, 4], [4, 6]], "sigma": 0.5, "gives": [[-8, -50]]},
    inner=(Quantity("squared_distances", "D²", "‖qᵢ − kⱼ‖²", ("n", "m")),),
    by_hand=gaussian_by_hand,
)
def gaussian(query: Array, key: Array, *, sigma: Positive = 1.0, tap: Tap = no_tap) -> Array:
    """The logarithm of a bell around the query: the squared distance, negative, in units of the width σ."""
    return -tap("squared_distances", _squared_distances(query, key)) / (2 * sigma**2)


def laplacian_by_hand(
    write: ArithmeticWriter, query: Array, key: Array, result: Any, *, sigma: float = 1.0
) -> list[str]:
    """Work out one cell by hand."""
    terms = write.join([f"|{write.minus(a, b)}|" for a, b in zip(query, key, strict=True)])
    distance = abs(query - key).sum()
    return [
        f"‖q({write.query}) − k({write.key})‖₁ = {terms} = {write(distance)}",
        f"−{write(distance)}/{write(sigma)} = {write(result)}",
    ]


@score(
    formula="sᵢⱼ = −‖qᵢ − kⱼ‖₁ / σ",
    shapes="query[n d], key[m d] -> [n m]",
    source="Kim et al. 2019 (Attentive Neural Processes), Laplace attention",
    example={"query": [[1, 2]], "key": [[1, 4], [4, 6]], "sigma": 0.5, "gives": [[-4, -14]]},
    inner=(Quantity("distances", "D", "‖qᵢ − kⱼ‖₁", ("n", "m")),),
    by_hand=laplacian_by_hand,
)
def laplacian(query: Array, key: Array, *, sigma: Positive = 1.0, tap: Tap = no_tap) -> Array:
    """The sum of the absolute differences, negative, in units of the width σ."""
    return -tap("distances", _summed(abs, query, key)) / sigma


def euclidean_by_hand(write: ArithmeticWriter, query: Array, key: Array, result: Any) -> list[str]:
    """Work out one cell by hand."""
    squared = ((query - key) ** 2).sum()
    return [_squares(write, query, key) + f" = {write(squared)}", f"−√{write(squared)} = {write(result)}"]


@score(
    formula="sᵢⱼ = −‖qᵢ − kⱼ‖",
    shapes="query[n d], key[m d] -> [n m]",
    source="Snell, Swersky & Zemel 2017, eq. 2, with the Euclidean distance",
    example={"query": [[1, 2]], "key": [[1, 4], [4, 6]], "gives": [[-2, -5]]},
    inner=(Quantity("squared_distances", "D²", "‖qᵢ − kⱼ‖²", ("n", "m")),),
    by_hand=euclidean_by_hand,
)
def euclidean(query: Array, key: Array, *, tap: Tap = no_tap) -> Array:
    """The distance between query and key, negative."""
    return -np.sqrt(tap("squared_distances", _squared_distances(query, key)))


def scale_by_hand(write: ArithmeticWriter, scores: Any, result: Any, *, scale: float) -> list[str]:
    """Work out one cell by hand."""
    return [f"{write(scale)}·{write.factor(scores)} = {write(result)}"]


@structural(by_hand=scale_by_hand)
def scale(scores: Array, *, scale: float) -> Array:
    """The scores times a number of the user's own."""
    return scores * scale


def add_by_hand(write: ArithmeticWriter, left: Any, right: Any, result: Any) -> list[str]:
    """Work out one cell by hand."""
    return [f"{write(left)} + {write.factor(right)} = {write(result)}"]


@structural(by_hand=add_by_hand)
def add(left: Array, right: Array) -> Array:
    """Two tables, added cell by cell."""
    return left + right


def softcap_by_hand(write: ArithmeticWriter, scores: Any, result: Any, *, cap: float) -> list[str]:
    """Work out one cell by hand."""
    return [f"{write(cap)}·tanh({write(scores)}/{write(cap)}) = {write(result)}"]


@structural(by_hand=softcap_by_hand)
def softcap(scores: Array, *, cap: float) -> Array:
    """`cap · tanh(scores / cap)`: between −cap and cap, nearly unchanged where they are small."""
    return cap * np.tanh(scores / cap)


def _activate(activation: Activation, x: Array) -> Array:
    """The hidden layer's nonlinearity."""
    match activation:
        case "tanh":
            return np.tanh(x)
        case "relu":
            return np.maximum(x, 0)
        case "sigmoid":
            return np.exp(-np.logaddexp(0, -x))
        case "identity":
            return x


def l2_normalize(x: Array) -> Array:
    """Each row divided by its length; by its largest entry first, so that squares neither overflow nor vanish."""
    largest = abs(x).max(axis=-1, keepdims=True, initial=0)
    x = x / np.where(largest == 0, 1, largest)
    length = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return x / np.where(length == 0, 1, length)


def _summed(function: Any, query: Array, key: Array) -> Array:
    """The sum over features of a function of `qᵢ − kⱼ`, a feature at a time: memory for one table, not d of them."""
    total = np.zeros_like(query[..., :1] @ key[..., :1].mT)
    for feature in range(query.shape[-1]):
        total += function(query[..., :, None, feature] - key[..., None, :, feature])
    return total


def _squared_distances(query: Array, key: Array) -> Array:
    """`‖q − k‖²` from the differences themselves: q·q − 2q·k + k·k would cancel."""
    return _summed(np.square, query, key)


def _product(write: ArithmeticWriter, query: Array, key: Array) -> str:
    """The line `q(a)·k(b) = … = …`."""
    return f"q({write.query})·k({write.key}) = {write.products(query, key)} = {write(query @ key)}"


def _squares(write: ArithmeticWriter, query: Array, key: Array) -> str:
    """The line `‖q(a) − k(b)‖² = (…)² + …`, without its result."""
    terms = write.join([f"({write.minus(a, b)})²" for a, b in zip(query, key, strict=True)])
    return f"‖q({write.query}) − k({write.key})‖² = {terms}"

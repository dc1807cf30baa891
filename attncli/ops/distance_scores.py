"""Scores by the angle or the distance between query and key, [… n d] and [… m d] to [… n m].

The last two axes are rows and features; axes before them (batch items, heads) broadcast. Nothing checks the shapes
here: NumPy raises ValueError where they don't fit.
"""

from typing import Annotated, Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, absolute, number, parameter, products, sqrt, total
from attncli.ops.decorators import score
from attncli.ops.distances import absolute_distances, squared_distances
from attncli.ops.products import MatrixProduct, product
from attncli.ops.records import Quantity, Range, Tap, no_tap, reused
from attncli.ops.rules import Factorization

Positive = Annotated[float, Range(above=0)]

SQUARED_DISTANCES = Quantity(
    "squared_distances",
    "D²",
    "‖Qᵢ − Kⱼ‖²",
    ("n", "m"),
    "How far each query is from each key: the squared differences of all features, added.",
)


def cosine_by_hand(
    write: ArithmeticWriter,
    query: Array,
    key: Array,
    result: Any,
    *,
    unit_query: Array,
    unit_key: Array,
    beta: float = 1.0,
) -> list[str]:
    """The norms and unit vectors of one query [d] and one key [d], then β times their dot product."""
    lines = []
    for name, letter, vector, unit in (
        (f"{write.symbol('query')}({write.query})", "d", query, unit_query),
        (f"{write.symbol('key')}({write.key})", "d", key, unit_key),
    ):
        if not vector.any():
            return [f"{name} is a zero vector: the score is 0"]
        norm = write.computed(f"‖{name}‖", sqrt(products(vector, vector)))
        lines += [norm.line, write.equation(number(vector) / norm, unit, name=f"{name}/‖{name}‖", letter=letter)]
    product = products(unit_query, unit_key)
    return [*lines, write.equation(product if beta == 1 else parameter(beta) * product, result)]


def l2_normalize(x: Array) -> Array:
    """Each row divided by its Euclidean norm; a zero row stays zero.

    A row is divided by its largest entry first, so that its squares neither overflow nor vanish.

    Parameters
    ----------
    x : array [… n d]
        A vector in each row.

    Returns
    -------
    array [… n d]
        Rows of norm 1, or 0.

    Examples
    --------
    >>> l2_normalize(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    largest = abs(x).max(axis=-1, keepdims=True, initial=0)
    x = x / np.where(largest == 0, 1, largest)
    norm = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return x / np.where(norm == 0, 1, norm)


@score(
    formula="Sᵢⱼ = β Qᵢ·Kⱼ / (‖Qᵢ‖ ‖Kⱼ‖)",
    shapes="query[n d], key[m d] -> [n m]",
    source="Graves, Wayne & Danihelka 2014, eq. 5 and 6",
    example={"query": [[3, 4]], "key": [[6, 8], [4, -3], [0, 0]], "beta": 2, "gives": [[2, 0, 0]]},
    inner=(
        Quantity("unit_query", "Qᵤ", "Qᵢ / ‖Qᵢ‖", ("n", "d"), "The direction of each query, without its length."),
        Quantity("unit_key", "Kᵤ", "Kⱼ / ‖Kⱼ‖", ("m", "d"), "The direction of each key, without its length."),
    ),
    factorization=Factorization(lambda query, beta: l2_normalize(query) * beta, lambda key, beta: l2_normalize(key)),
    formula_in_force=lambda beta: f"Sᵢⱼ = {'' if beta == 1 else 'β '}Qᵢ·Kⱼ / (‖Qᵢ‖ ‖Kⱼ‖)",
    by_hand=cosine_by_hand,
)
def cosine(query: Array, key: Array, *, beta: float = 1.0, tap: Tap = no_tap, matmul: MatrixProduct = product) -> Array:
    """The cosine of the angle between query and key, times a strength; a zero vector scores 0.

    Parameters
    ----------
    query : array [… n d]
        A query in each row.
    key : array [… m d]
        A key in each row.
    beta : float, optional
        The strength β.
    tap : callable, optional
        Receives "unit_query" [… n d] and "unit_key" [… m d].
    matmul : callable, optional
        Multiplies matrices.

    Returns
    -------
    array [… n m]
        From −|β| to |β|.

    Raises
    ------
    ValueError
        Where queries and keys have different numbers of features.

    Examples
    --------
    >>> cosine(np.array([[3.0, 4.0]]), np.array([[6.0, 8.0], [-3.0, -4.0], [0.0, 0.0]]), beta=2)
    array([[ 2., -2.,  0.]])
    """
    return matmul(tap("unit_query", l2_normalize(query)), tap("unit_key", l2_normalize(key)).mT) * beta


def gaussian_by_hand(
    write: ArithmeticWriter, query: Array, key: Array, result: Any, *, squared_distances: Any, sigma: float = 1.0
) -> list[str]:
    """The squared distance of one query [d] and one key [d], then its division by −2σ²."""
    width = number(2) if sigma == 1 else 2 * parameter(sigma) ** 2
    return [
        _squared_distance_line(write, query, key, squared_distances),
        write.equation(-(number(squared_distances) / width), result),
    ]


@score(
    formula="Sᵢⱼ = −‖Qᵢ − Kⱼ‖² / 2σ²",
    shapes="query[n d], key[m d] -> [n m]",
    source="Nadaraya 1964 and Watson 1964, with the Gaussian kernel",
    example={"query": [[1, 2]], "key": [[1, 4], [4, 6]], "sigma": 0.5, "gives": [[-8, -50]]},
    inner=(SQUARED_DISTANCES,),
    formula_in_force=lambda sigma: f"Sᵢⱼ = −‖Qᵢ − Kⱼ‖² / 2{'' if sigma == 1 else 'σ²'}",
    by_hand=gaussian_by_hand,
)
def gaussian(query: Array, key: Array, *, sigma: Positive = 1.0, tap: Tap = no_tap) -> Array:
    """The squared distance over 2σ², negative: its exponential is a bell of width σ around the query.

    Parameters
    ----------
    query : array [… n d]
        A query in each row.
    key : array [… m d]
        A key in each row.
    sigma : float > 0, optional
        The width σ.
    tap : callable, optional
        Receives "squared_distances" [… n m].

    Returns
    -------
    array [… n m]
        ≤ 0.

    Raises
    ------
    ValueError
        Where queries and keys have different numbers of features.

    Examples
    --------
    >>> gaussian(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [4.0, 6.0]]), sigma=0.5)
    array([[ -8., -50.]])
    """
    squared = tap("squared_distances", squared_distances(query, key))
    return np.divide(squared, -2 * sigma * sigma, out=reused(squared, tap))


def laplacian_by_hand(
    write: ArithmeticWriter, query: Array, key: Array, result: Any, *, distances: Any, sigma: float = 1.0
) -> list[str]:
    """The sum of absolute differences of one query [d] and one key [d], then its division by −σ."""
    distance, term = number(distances), total(absolute(difference) for difference in _differences(query, key))
    return [
        write.equation(term, distances, name=f"‖{_difference_name(write)}‖₁"),
        write.equation(-distance if sigma == 1 else -(distance / parameter(sigma)), result),
    ]


@score(
    formula="Sᵢⱼ = −‖Qᵢ − Kⱼ‖₁ / σ",
    shapes="query[n d], key[m d] -> [n m]",
    source="Kim et al. 2019 (Attentive Neural Processes), Laplace attention",
    example={"query": [[1, 2]], "key": [[1, 4], [4, 6]], "sigma": 0.5, "gives": [[-4, -14]]},
    inner=(
        Quantity(
            "distances",
            "D",
            "‖Qᵢ − Kⱼ‖₁",
            ("n", "m"),
            "How far each query is from each key: the absolute differences of all features, added.",
        ),
    ),
    formula_in_force=lambda sigma: f"Sᵢⱼ = −‖Qᵢ − Kⱼ‖₁{'' if sigma == 1 else ' / σ'}",
    by_hand=laplacian_by_hand,
)
def laplacian(query: Array, key: Array, *, sigma: Positive = 1.0, tap: Tap = no_tap) -> Array:
    """The sum of the absolute differences, negative, in units of the width σ.

    Parameters
    ----------
    query : array [… n d]
        A query in each row.
    key : array [… m d]
        A key in each row.
    sigma : float > 0, optional
        The width σ.
    tap : callable, optional
        Receives "distances" [… n m].

    Returns
    -------
    array [… n m]
        ≤ 0.

    Raises
    ------
    ValueError
        Where queries and keys have different numbers of features.

    Examples
    --------
    >>> laplacian(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [4.0, 6.0]]), sigma=0.5)
    array([[ -4., -14.]])
    """
    distances = tap("distances", absolute_distances(query, key))
    return np.divide(distances, -sigma, out=reused(distances, tap))


def euclidean_by_hand(
    write: ArithmeticWriter, query: Array, key: Array, result: Any, *, squared_distances: Any
) -> list[str]:
    """The squared distance of one query [d] and one key [d], then its root."""
    return [
        _squared_distance_line(write, query, key, squared_distances),
        write.equation(-sqrt(squared_distances), result),
    ]


@score(
    formula="Sᵢⱼ = −‖Qᵢ − Kⱼ‖",
    shapes="query[n d], key[m d] -> [n m]",
    source="Snell, Swersky & Zemel 2017, eq. 2, with the Euclidean distance",
    example={"query": [[1, 2]], "key": [[1, 4], [4, 6]], "gives": [[-2, -5]]},
    inner=(SQUARED_DISTANCES,),
    by_hand=euclidean_by_hand,
)
def euclidean(query: Array, key: Array, *, tap: Tap = no_tap) -> Array:
    """The distance between query and key, negative.

    Parameters
    ----------
    query : array [… n d]
        A query in each row.
    key : array [… m d]
        A key in each row.
    tap : callable, optional
        Receives "squared_distances" [… n m].

    Returns
    -------
    array [… n m]
        ≤ 0.

    Raises
    ------
    ValueError
        Where queries and keys have different numbers of features.

    Examples
    --------
    >>> euclidean(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [4.0, 6.0]]))
    array([[-2., -5.]])
    """
    squared = tap("squared_distances", squared_distances(query, key))
    roots = np.sqrt(squared, out=reused(squared, tap))
    return np.negative(roots, out=roots)


def _squared_distance_line(write: ArithmeticWriter, query: Array, key: Array, squared: Any) -> str:
    """The line `‖Q(a) − K(b)‖² = (…)² + … = …`."""
    term = total(difference**2 for difference in _differences(query, key))
    return write.equation(term, squared, name=f"‖{_difference_name(write)}‖²")


def _difference_name(write: ArithmeticWriter) -> str:
    """`Q(a) − K(b)`."""
    return f"{write.symbol('query')}({write.query}) − {write.symbol('key')}({write.key})"


def _differences(query: Array, key: Array) -> list[Term]:
    """The difference of each feature."""
    return [number(a) - b for a, b in zip(query, key, strict=True)]

"""Distances between queries and keys, [… n d] and [… m d] to [… n m], and the scores by them.

A distance is a sum over features: of differences, or expanded.

For many vectors distances are expanded into cheaper sums: ‖q − k‖² = ‖q‖² + ‖k‖² − 2 q·k, whose last term is a matrix
product, and |q − k| = 2 max(q, k) − q − k. Expansions cancel if q and k are nearer to each other than to the origin.
Hence:

- Both are shifted first, so that the mean c of the keys is the origin: q' = q − c, k' = k − c. No distance changes,
and a common offset disappears, such as 10⁸.
- Let N be ‖q'‖² + ‖k'‖², for absolute distances ‖q'‖₁ + ‖k'‖₁, and u the unit of rounding. The error of an expansion
is at most 2 (d + 4) u N: 4 u N from rounding q' and k', 2 (d + 2) u N from the norms, the product and the sums. For
absolute distances it is at most (3 d + 5) u N. So if an expansion is at least N / LOSS, its relative error is at most
LOSS times as many u. Summed differences have at most (d + 2) u. Measured errors are alike, a few u: terms of both
signs make small sums, with small errors, while a sum of squares grows.
- Every other cell is computed from the differences. So equal vectors have the distance 0, and no expansion is kept that
overflows, loses digits to underflow, or is not a number.
"""

from collections.abc import Callable
from math import prod

from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import score
from attncli.ops.derivatives import derivative, derivative_by_number, sum_products
from attncli.ops.recording.stable import quotient, stable
from attncli.ops.records import Positive, Quantity, Tap, no_tap, reused

LOSS = 4
MIN_DIFFERENCES = 2**16  # pairs times features: below this one array is faster than an expansion
MIN_ROWS = 4  # of queries and of keys: likewise
MIN_SQUARES, MIN_ABSOLUTE = 16, 32  # features of a pair: likewise
MAX_PAIRS = 1 / 4  # of all cells: up to this share, pair by pair is faster than differences for all
PAIRS = 2**12  # per call
ADDED_FIRST = 16  # features with a sum of their own, which is then added to the others'
# Cells in a section of a table: smaller sections would fit a core's own cache, but make threads wait for the GIL.
CELLS, MIN_KEYS = 2**18, 512  # when differences are summed feature by feature
MAXIMA, MIN_KEYS_OF_MAXIMA = 2**18, 128  # when the maxima of all pairs and features are summed at once
FEATURES = 64  # at most, per section of maxima
MANY_QUERIES = 16  # from here on a copy of the keys pays
MANY_KEYS = 512  # from here on a copy of the queries pays

Expand = Callable[[Array, Array], tuple[Array, Array, Array]]


def squared_distances(query: Array, key: Array) -> Array:
    """The squared Euclidean distances, `‖q − k‖²`.

    Exactly 0 if query and key are equal.

    >>> squared_distances(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [4.0, 6.0]]))
    array([[ 4., 25.]])
    """
    distances: Array = stable(
        lambda query, key: ((query[..., :, None, :] - key[..., None, :, :]) ** 2).sum(axis=-1),
        lambda query, key: _distances(np.square, query, key, _expand_squares, MIN_SQUARES),
        *(query, key),
    )
    return distances


def absolute_distances(query: Array, key: Array) -> Array:
    """The sums of absolute differences, `‖q − k‖₁`.

    Exactly 0 if query and key are equal.

    >>> absolute_distances(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [4.0, 6.0]]))
    array([[2., 7.]])
    """
    distances: Array = stable(
        lambda query, key: abs(query[..., :, None, :] - key[..., None, :, :]).sum(axis=-1),
        lambda query, key: _distances(np.absolute, query, key, _expand_absolute, MIN_ABSOLUTE),
        *(query, key),
    )
    return distances


def _distances(function: "np.ufunc", query: Array, key: Array, expand: Expand, min_features: int) -> Array:
    """The sums over features of `function(q − k)`: for many pairs and features expanded, where that is exact enough."""
    (queries, features), keys = query.shape[-2:], key.shape[-2]
    are_many = min(queries, keys) >= MIN_ROWS and features >= min_features and query.size * keys >= MIN_DIFFERENCES
    if not are_many or query.dtype != key.dtype or query.dtype not in (np.float32, np.float64):
        return _sum_over_features(function, query, key)
    with np.errstate(all="ignore"):  # an overflow is not kept
        origin = key.mean(axis=-2, keepdims=True)
        table, query_norms, key_norms = expand(query - origin, key - origin)
        from_query, from_key = _least_exact(query_norms), _least_exact(key_norms).mT
        if (table.min(axis=-2, keepdims=True) >= from_key + from_query.max(axis=-2, keepdims=True)).all():
            return table  # the minima along queries take half the time of those along keys
        is_exact = table >= from_query + from_key
    cancelled = is_exact.size - np.count_nonzero(is_exact)
    if cancelled > MAX_PAIRS * is_exact.size:
        return _sum_over_features(function, query, key)
    if cancelled:
        _recompute(function, table, ~is_exact, query, key)
    return table


def _least_exact(norms: Array) -> Array:
    """A norm's summand in the bound below which an expansion is too inexact; NaN (no expansion) if it might overflow.

    The constant keeps the bound above 0, so that underflow fails it too.
    """
    limits = np.finfo(norms.dtype)
    return np.where(norms < limits.max / 16, norms / LOSS + limits.tiny / limits.eps, np.nan)


def _expand_squares(query: Array, key: Array) -> tuple[Array, Array, Array]:
    """‖q‖² + ‖k‖² − 2 q·k [… n m], ‖q‖² [… n 1] and ‖k‖² [… m 1]."""
    query_norms, key_norms = (np.vecdot(x, x)[..., None] for x in (query, key))
    # The norms are the last columns of the factors: only the last two sums are as large as they.
    left = np.concatenate([query * -2, query_norms, np.ones_like(query_norms)], axis=-1)
    right = np.concatenate([key, np.ones_like(key_norms), key_norms], axis=-1)
    return left @ right.mT, query_norms, key_norms


def _expand_absolute(query: Array, key: Array) -> tuple[Array, Array, Array]:
    """Σ 2 max(q, k) − Σ q − Σ k [… n m], ‖q‖₁ [… n 1] and ‖k‖₁ [… m 1]."""
    half_sums = [x.sum(axis=-1, keepdims=True) / 2 for x in (query, key)]
    table = -half_sums[0] - half_sums[1].mT
    ones = np.ones(min(FEATURES, query.shape[-1]), table.dtype)
    are_many = query.shape[-2] >= MANY_QUERIES and key.shape[-2] >= MANY_KEYS
    height, width = _part_lengths(table.shape, MAXIMA // len(ones), MIN_KEYS_OF_MAXIMA if are_many else MIN_KEYS)
    parts = [(keys, _by_feature(key[..., keys, :], query.shape[-2])) for keys in _slices(key.shape[-2], width)]
    for rows in _slices(query.shape[-2], height):
        for features in _slices(query.shape[-1], FEATURES):
            numbers = query[..., rows, features, None]
            if are_many:  # maxima of two contiguous arrays take half the time of maxima of a number and a row
                numbers = np.broadcast_to(numbers, (*numbers.shape[:-1], width)).copy()
            for keys, by_feature in parts:
                others = by_feature[..., None, features, :]
                larger = np.maximum(numbers[..., : others.shape[-1]], others)
                table[..., rows, keys] += ones[: larger.shape[-2]] @ larger
    table *= 2
    query_norms, key_norms = (abs(x).sum(axis=-1, keepdims=True) for x in (query, key))
    return table, query_norms, key_norms


def _sum_over_features(function: "np.ufunc", query: Array, key: Array) -> Array:
    """The sum over features of `function(q − k)`: at once for few differences, else one section of the table at a time.

    Features are added one by one, in groups whose sums are then added: fewer large sums round less. The order is the
    same for sections of any size, so that equal keys in different tiles have equal distances.
    """
    if _are_few(query, key):
        return _sum_at_once(function, query, key)
    table = np.zeros_like(query[..., :1]) @ np.zeros_like(key[..., :1]).mT
    keys_by_feature = _by_feature(key, query.shape[-2])
    height, width = _part_lengths(table.shape, CELLS, MIN_KEYS)
    parts = ((rows, keys) for rows in _slices(query.shape[-2], height) for keys in _slices(key.shape[-2], width))
    for rows, keys in parts:
        part = table[..., rows, keys]
        difference, some = np.zeros_like(part), np.zeros_like(part)
        for feature in range(query.shape[-1]):
            np.subtract(query[..., rows, feature, None], keys_by_feature[..., None, feature, keys], out=difference)
            some += function(difference, out=difference)
            if feature % ADDED_FIRST == ADDED_FIRST - 1:
                part += some
                some[...] = 0
        part += some
    return table


def _are_few(query: Array, key: Array) -> bool:
    """Whether the differences are few enough for one array; for a single pair NumPy would add features in pairs."""
    (queries, features), keys = query.shape[-2:], key.shape[-2]
    others = keys if query.shape[:-2] == key.shape[:-2] else key.size // max(features, 1)  # per query, at most
    return bool(queries * keys > 1 and query.size * others < MIN_DIFFERENCES and features == key.shape[-1])


def _sum_at_once(function: "np.ufunc", query: Array, key: Array) -> Array:
    """The sum over features of `function(q − k)`, from one array [… d n m], feature by feature."""
    differences = query.mT.copy()[..., :, :, None] - key.mT.copy()[..., :, None, :]
    terms = function(differences, out=differences)
    table: Array = terms[..., :ADDED_FIRST, :, :].sum(axis=-3)
    for first in range(ADDED_FIRST, query.shape[-1], ADDED_FIRST):
        table += terms[..., first : first + ADDED_FIRST, :, :].sum(axis=-3)
    return table


def _by_feature(key: Array, queries: int) -> Array:
    """The keys as [… d m]; for many queries a copy with each feature contiguous."""
    return key.mT.copy() if queries >= MANY_QUERIES else key.mT


def _part_lengths(shape: tuple[int, ...], cells: int, min_keys: int) -> tuple[int, int]:
    """The queries and keys of a section of a table [… n m]: about so many cells, with the axes before."""
    *before, queries, keys = shape
    cells = max(cells // max(prod(before), 1), 1)
    width = max(min_keys, cells // max(queries, 1))
    return max(cells // max(min(width, keys), 1), 1), width


def _slices(length: int, step: int) -> list[slice]:
    """The slices of an axis, of so many numbers each."""
    return [slice(first, first + step) for first in range(0, length, step)]


def _recompute(function: "np.ufunc", table: Array, cells: Array, query: Array, key: Array) -> None:
    """Compute these cells of a table of distances [… n m] from the differences, pair by pair.

    Each pair is summed by itself, in the same order: equal keys among these pairs have equal distances.
    """
    before, (rows, columns) = table.shape[:-2], table.shape[-2:]
    queries, keys = (x.reshape(-1, x.shape[-1]) for x in (query, key))
    first_query, first_key = (_first_rows(x.shape, before) for x in (query, key))
    numbers, ones = np.flatnonzero(cells), np.ones(query.shape[-1], table.dtype)
    for first in range(0, len(numbers), PAIRS):
        some = numbers[first : first + PAIRS]
        row = some // columns  # with the product below a third of the time of `divmod`
        column = some - row * columns
        if len(first_query) > 1:
            part = row // rows
            row, column = row - part * rows + first_query[part], column + first_key[part]
        differences = queries.take(row, axis=0)
        differences -= keys.take(column, axis=0)
        is_square = function is np.square  # a vector's product with itself is the sum of squares
        terms, factors = (differences, differences) if is_square else (function(differences, out=differences), ones)
        table.put(some, np.vecdot(terms, factors))


def _first_rows(shape: tuple[int, ...], before: tuple[int, ...]) -> Array:
    """For each table on the axes `before`, the first of its rows in an array [… n d], as a row number."""
    *own, rows, _ = shape
    return np.broadcast_to(np.arange(prod(own)).reshape(own) * rows, before).reshape(-1)


SQUARED_DISTANCES = Quantity(
    "squared_distances",
    "D²",
    "‖Qᵢ − Kⱼ‖²",
    ("n", "m"),
    "How far each query is from each key: the squared differences of all features, added.",
)


def _towards(factors: Array, left: Array, right: Array) -> Array:
    """The differences of each vector of `left` [… a d] from all of `right` [… b d], times factors [… a b]: [… a d]."""
    sums: Array = stable(
        lambda factors, left, right: _summed(factors, right[..., None, :, :] - left[..., :, None, :]),
        lambda factors, left, right: factors @ right - factors.sum(axis=-1, keepdims=True) * left,
        *(factors, left, right),
    )
    return sums


def _summed(factors: Array, pairs: Array) -> Array:
    """Numbers of pairs [… a b d] times factors [… a b], added: [… a d]."""
    sums: Array = (factors[..., None] * pairs).sum(axis=-2)
    return sums


# Derivatives by vectors are written by hand: blocks call them, and recorded ones need memory for all pairs' features.
@derivative("{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ ({key}ⱼ − {query}ᵢ) / σ²")
def gaussian_query(grad: Array, query: Array, key: Array, *, sigma: float) -> Array:
    """The gradient of the queries: towards each key, by the gradient of its score."""
    return _towards(grad, query, key) / sigma**2


@derivative("{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ ({query}ᵢ − {key}ⱼ) / σ²")
def gaussian_key(grad: Array, query: Array, key: Array, *, sigma: float) -> Array:
    """The gradient of the keys: towards each query, by the gradient of its score."""
    return _towards(grad.mT, key, query) / sigma**2


# Derivatives by the width too: written with the scores they are shorter.
@derivative_by_number("σ", "{d_argument} = −2 Σ {d_result}ᵢⱼ {result}ᵢⱼ / {argument}")
def gaussian_sigma(grad: Array, forward: Array, *, sigma: float) -> Array:
    """The gradient of the width: a wider bell lifts every score, the farther a key the more."""
    return sum_products(grad, forward) * -2 / sigma


@score(
    formula="Sᵢⱼ = −‖Qᵢ − Kⱼ‖² / 2σ²",
    shapes="query[n d], key[m d] -> [n m]",
    source="Nadaraya 1964 and Watson 1964, with the Gaussian kernel",
    example={"query": [[1, 2]], "key": [[1, 4], [4, 6]], "sigma": 0.5, "gives": [[-8, -50]]},
    inner=(SQUARED_DISTANCES,),
    formula_in_force=lambda sigma: f"Sᵢⱼ = −‖Qᵢ − Kⱼ‖² / 2{'' if sigma == 1 else 'σ²'}",
    derivatives={
        "query": gaussian_query,
        "key": gaussian_key,
        "sigma": gaussian_sigma,
    },
)
def gaussian(query: Array, key: Array, *, sigma: Positive = 1.0, tap: Tap = no_tap) -> Array:
    """The squared distance over 2σ², negative: its exponential is a bell of width σ around the query.

    >>> gaussian(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [4.0, 6.0]]), sigma=0.5)
    array([[ -8., -50.]])
    """
    squared = tap("squared_distances", squared_distances(query, key))
    width = 2 * np.square(sigma)  # the square of a Python number would raise an error when it overflows
    scores: Array = np.divide(squared, -width, out=reused(squared, tap))
    return scores


def _signs(factors: Array, left: Array, right: Array) -> Array:
    """The signs of `right` [… b d] − `left` [… a d], times factors [… a b], added: [… a d]."""
    signs: Array = stable(
        lambda factors, left, right: _summed(factors, np.sign(right[..., None, :, :] - left[..., :, None, :])),
        _signs_by_feature,
        *(factors, left, right),
    )
    return signs


def _signs_by_feature(factors: Array, left: Array, right: Array) -> Array:
    """The same, one feature after another: all at once would take d times the memory of the scores."""
    columns = [
        (factors * np.sign(right[..., None, :, feature] - left[..., :, None, feature])).sum(axis=-1)
        for feature in range(left.shape[-1])
    ]
    return np.stack(columns, axis=-1)


EQUAL_FEATURES = "of equal features 0 is taken"


@derivative("{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ sign({key}ⱼ − {query}ᵢ) / σ", remark=EQUAL_FEATURES)
def laplacian_query(grad: Array, query: Array, key: Array, *, sigma: float) -> Array:
    """The gradient of the queries: in each feature towards each key, by the gradient of its score."""
    return _signs(grad, query, key) / sigma


@derivative("{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ sign({query}ᵢ − {key}ⱼ) / σ", remark=EQUAL_FEATURES)
def laplacian_key(grad: Array, query: Array, key: Array, *, sigma: float) -> Array:
    """The gradient of the keys: in each feature towards each query, by the gradient of its score."""
    return _signs(grad.mT, key, query) / sigma


@derivative_by_number("σ", "{d_argument} = −Σ {d_result}ᵢⱼ {result}ᵢⱼ / {argument}")
def laplacian_sigma(grad: Array, forward: Array, *, sigma: float) -> Array:
    """The gradient of the width: a wider bell lifts every score, the farther a key the more."""
    return -sum_products(grad, forward) / sigma


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
    derivatives={
        "query": laplacian_query,
        "key": laplacian_key,
        "sigma": laplacian_sigma,
    },
)
def laplacian(query: Array, key: Array, *, sigma: Positive = 1.0, tap: Tap = no_tap) -> Array:
    """The sum of the absolute differences, negative, in units of the width σ.

    >>> laplacian(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [4.0, 6.0]]), sigma=0.5)
    array([[ -4., -14.]])
    """
    distances = tap("distances", absolute_distances(query, key))
    return np.divide(distances, -sigma, out=reused(distances, tap))


def _by_distance(grad: Array, forward: Array) -> Array:
    """The gradient of each score by its distance, 0 where that is 0."""
    by_distance: Array = quotient(grad, -forward)
    return by_distance


EQUAL_VECTORS = "of equal vectors 0 is taken"


@derivative("{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ ({key}ⱼ − {query}ᵢ) / ‖{query}ᵢ − {key}ⱼ‖", remark=EQUAL_VECTORS)
def euclidean_query(grad: Array, query: Array, key: Array, forward: Array) -> Array:
    """The gradient of the queries: the direction to each key, times the gradient of its score."""
    return _towards(_by_distance(grad, forward), query, key)


@derivative("{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ ({query}ᵢ − {key}ⱼ) / ‖{query}ᵢ − {key}ⱼ‖", remark=EQUAL_VECTORS)
def euclidean_key(grad: Array, query: Array, key: Array, forward: Array) -> Array:
    """The gradient of the keys: the direction to each query, times the gradient of its score."""
    return _towards(_by_distance(grad, forward).mT, key, query)


@score(
    formula="Sᵢⱼ = −‖Qᵢ − Kⱼ‖",
    shapes="query[n d], key[m d] -> [n m]",
    source="Snell, Swersky & Zemel 2017, eq. 2, with the Euclidean distance",
    example={"query": [[1, 2]], "key": [[1, 4], [4, 6]], "gives": [[-2, -5]]},
    inner=(SQUARED_DISTANCES,),
    derivatives={"query": euclidean_query, "key": euclidean_key},
)
def euclidean(query: Array, key: Array, *, tap: Tap = no_tap) -> Array:
    """The distance between query and key, negative.

    >>> euclidean(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0], [4.0, 6.0]]))
    array([[-2., -5.]])
    """
    squared = tap("squared_distances", squared_distances(query, key))
    roots = np.sqrt(squared, out=reused(squared, tap))
    return np.negative(roots, out=roots)

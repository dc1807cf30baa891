"""The weights of entmax where α has no closed form: a root for each row, by Newton's method.

The last axis is the keys. Scores are at most 0, and 0 at least once in a row.
"""

from attncli.base.lazy_numpy import Array, np

SHARE = 8  # the root is first found for the largest scores, one of so many: mostly no others have a weight
SMALLEST = 2.0**-1022  # a normal number: powers of 0 take NumPy seven times as long


def weights_below_two(scores: Array, alpha: float) -> Array:
    """`[(α − 1) scores − τ]₊^p` that sum to 1, for scores [… n m], 1 < α < 2 and p = 1/(α − 1).

    With x = (α − 1) scores and u = 1 + τ, `x − τ` is written `1 + (x − u)`, for `log1p`: near α = 1 the power would
    multiply its error.
    """
    x = scores * (alpha - 1)
    count, u = -(-x.shape[-1] // SHARE), np.zeros_like(x[..., :1])
    while True:
        u = _threshold(_largest(x, count), u, alpha)
        excess = x - u
        has_weight = ~(excess <= -1)
        most = int(has_weight.sum(axis=-1).max(initial=1))
        if most <= count:
            break
        count = most  # a threshold of some of the keys is too low for all
    at = np.flatnonzero(has_weight)
    weights = np.zeros_like(x, order="C")
    weights.reshape(-1)[at] = np.exp(np.log1p(excess.reshape(-1)[at]) / (alpha - 1))
    return weights


def _threshold(x: Array, u: Array, alpha: float) -> Array:
    """The u [… n 1] for which `[1 + x − u]₊^p` sum to 1, from one that is too low.

    Newton's method for the p-norm of [1 + x − u]₊, which is convex and falls with u: no step goes too far.
    """
    while True:
        with np.errstate(divide="ignore"):  # the logarithm of 0
            logarithms = np.log1p(np.maximum(x - u, -1)) / (alpha - 1)
        total = np.maximum(np.exp(logarithms).sum(axis=-1, keepdims=True), 1)
        slope = np.maximum(np.exp(logarithms * (2 - alpha)).sum(axis=-1, keepdims=True), 1)  # of the sum, by −p
        step = -total * np.expm1((1 - alpha) * np.log(total)) / slope
        if not np.any(u + step / 4 > u):
            return u
        u = u + step


def weights_above_two(scores: Array, alpha: float) -> Array:
    """`[(α − 1) scores − τ]₊^p` that sum to 1, for scores [… n m], α > 2 and p = 1/(α − 1).

    The power is steep where a weight is nearly 0: not τ is found but the smallest weight above 0, that of the k-th
    largest score, from which the others follow.
    """
    scores = np.maximum(scores, -2 / (alpha - 1))  # in a row of −∞ all are equal
    most = int((~(scores * (alpha - 1) <= -1)).sum(axis=-1).max(initial=1))
    count = min(-(-scores.shape[-1] // SHARE), most)
    while True:
        ordered = -np.sort(-_largest(scores, count), axis=-1)
        size = _support_sizes(ordered, alpha)
        if count == most or np.all(size < count):
            break
        count = most
    kth = np.take_along_axis(ordered, size - 1, axis=-1)
    return _weights_from(kth, _smallest_weight(ordered, kth, size, alpha), scores, alpha)


def _support_sizes(ordered: Array, alpha: float) -> Array:
    """How many of the scores, which fall along each row, have weights above 0 [… n 1].

    The k-th has where the weights sum to less than 1 with τ at its own score, which is then above −1: found by halving
    the range of k.
    """
    low = np.ones((*ordered.shape[:-1], 1), np.int64)
    high = np.full_like(low, ordered.shape[-1])
    while np.any(low < high):
        middle = (low + high + 1) // 2
        kth = np.take_along_axis(ordered, middle - 1, axis=-1)
        total = _weights_from(kth, np.zeros_like(kth), ordered, alpha).sum(axis=-1, keepdims=True)
        has_weight = (total < 1) & (kth * (alpha - 1) > -1)
        low, high = np.where(has_weight, middle, low), np.where(has_weight, high, middle - 1)
    return low


def _smallest_weight(ordered: Array, kth: Array, size: Array, alpha: float) -> Array:
    """The weight t [… n 1] of the k-th score for which those of the k largest sum to 1; `size` is k.

    Their sum is convex in t and rises: from t = 1/k, where it is at least 1, no step of Newton's method goes too far.
    """
    weight = np.ones_like(kth) / size
    while True:
        weights = _weights_from(kth, weight, ordered, alpha)
        ratios = weight / np.maximum(weights, weight)
        slope = (ratios ** (alpha - 2) * (weights > 0)).sum(axis=-1, keepdims=True)
        step = np.maximum(weights.sum(axis=-1, keepdims=True) - 1, 0) / slope
        if not np.any(weight - step / 4 < weight):
            return weight
        weight = np.maximum(weight - step, weight / 2**30)  # rounding might take it to 0


def _weights_from(kth: Array, weight: Array, scores: Array, alpha: float) -> Array:
    """The weights [… n m] where the k-th largest score [… n 1] has this one: 0 of those below it.

    They are `((α − 1) (score − k-th score) + t^(α − 1))^p`, and at least t.
    """
    base = (scores - kth) * (alpha - 1)
    counts = base >= 0
    base = np.maximum(np.maximum(base, 0) + weight ** (alpha - 1), SMALLEST)
    return np.maximum(base ** (1 / (alpha - 1)) * (base > SMALLEST), weight) * counts


def _largest(scores: Array, count: int) -> Array:
    """So many largest scores of each row, in any order."""
    return scores if count == scores.shape[-1] else np.partition(scores, -count, axis=-1)[..., -count:]

"""How long the sums of a tile are: products of many terms are summed in parts, which rounds less than one long sum.

The error of a sum of n numbers, one after another, grows with n: partial sums grow, and each addition rounds one.
"""

import math

from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.ops.products import SHORT_SUM

SAMPLED_ROWS, MIN_ROWS_OF_HEAD = 256, 16  # of all heads, whose lengths say how large scores may be
SHORT_KEYS, LONG_KEYS, KEYS_OF_VECTOR = 64, 128, 512
MIN_FEATURES = 32  # sums of fewer are short
LONG_KEYS_FROM, SPLIT_SCORES_FROM, WIDE_SCORES_FROM = 5.0, 12.0, 200.0


@dataclass(frozen=True)
class Summation:
    """The most features and keys that are summed in one product, and the type in which scores are computed."""

    features: int
    keys: int
    score_dtype: str

    def is_for_large_scores(self, dtype: str) -> bool:
        """Whether scores are computed in more digits than the type of the numerators has."""
        return self.score_dtype != dtype


def choose_summation(score_limit: float | None, features: int, rows: int, keys: int, dtype: str) -> Summation:
    """How to sum in tiles of `rows` queries and `keys` keys, where scores are at most about `score_limit`, or unknown.

    The queries are those of all heads that share a key head, as these are multiplied together.

    Where scores are small, so are their errors, and weights are alike: the error is that of the sum over keys. Where
    they are large, it is that of scores: an error of 1e-5 there is one of 1e-5 of a weight. Then they have the wider
    type, which takes half as long again, or where there is none, shorter sums. Products of the widest type take so long that adding parts of half as many keys
    takes hardly any of it.
    """
    if rows == 1:  # a vector, whose products with a matrix are sums of several lanes: those over features are short
        return Summation(features, min(keys, KEYS_OF_VECTOR), dtype)
    limit = LONG_KEYS_FROM if score_limit is None else score_limit
    widened = Precision(dtype).widened_name
    terms = SHORT_KEYS if limit < LONG_KEYS_FROM else LONG_KEYS
    keys = _part_length(keys, terms if widened != dtype else terms // 2)
    wider = widened if limit > WIDE_SCORES_FROM else dtype
    if wider != dtype or limit < SPLIT_SCORES_FROM or features < MIN_FEATURES:
        return Summation(features, keys, wider)
    return Summation(-(-features // 2) if limit < WIDE_SCORES_FROM else SHORT_SUM, keys, dtype)


def _part_length(count: int, most: int) -> int:
    """The length of parts of so many terms, at most `most`: of as few as there can be, as long as each other."""
    return -(-count // -(-count // most))


def typical_score_limit(queries: Array, keys: Array, scale: float) -> float:
    """What scores of queries [… n d] and keys [… m d] don't exceed: the product of their lengths, times the scale.

    Lengths are root mean squares, over all heads and some of the rows.

    >>> typical_score_limit(np.array([[3.0, 4.0]]), np.array([[0.0, 2.0]]), scale=0.5)
    5.0
    """
    return abs(scale) * _typical_length(queries) * _typical_length(keys)


def _typical_length(x: Array) -> float:
    """The root mean square of the Euclidean lengths of rows of x [… n d]."""
    count = max(SAMPLED_ROWS // max(math.prod(x.shape[:-2]), 1), MIN_ROWS_OF_HEAD)
    rows = x[..., :: -(-x.shape[-2] // count), :]
    return math.sqrt(np.vecdot(rows, rows).sum() / (rows.size / rows.shape[-1])) if rows.size else 0.0

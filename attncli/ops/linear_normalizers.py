"""Linear normalizers: weights that are the scores themselves, divided by their sum or not. The last axis is the keys.

A score of −∞ marks a masked key: its weight is exactly 0. A row in which every key is masked becomes zeros.
"""

from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number, total
from attncli.ops.decorators import normalizer
from attncli.ops.normalizers import SHAPES, safe_divide
from attncli.ops.rules import OnlineNormalizer


def _visible_scores(scores: Array, _running_max: Array | None, *, out: Array | None = None) -> Array:
    """The scores themselves as numerators, 0 where a key is masked."""
    return none(scores)


def sum_by_hand(write: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    """The sum of a row [m], and one score divided by it."""
    visible = none(scores)
    if visible.sum() == 0:
        return ["the row sums to 0: the weight is 0"]
    row_sum = write.computed(f"Σⱼ {write.symbol('scores')}ᵢⱼ", total(visible))
    return [row_sum.line, write.equation(number(visible[write.column]) / row_sum, result)]


@normalizer(
    formula="Aᵢⱼ = Sᵢⱼ / Σⱼ Sᵢⱼ",
    shapes=SHAPES,
    source="Katharopoulos et al. 2020, eq. 3",
    example={"scores": [[1, 3, 4]], "gives": [[0.125, 0.375, 0.5]]},
    online=OnlineNormalizer(_visible_scores, uses_running_max=False, may_cancel=True),
    by_hand=sum_by_hand,
)
def sum_(scores: Array) -> Array:
    """Each score, divided by the sum of its row; a row that sums to 0 becomes zeros.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.

    Returns
    -------
    array [… n m]
        Rows sum to 1, and have negative weights where scores are negative; masked keys count as 0.

    Examples
    --------
    >>> sum_(np.array([[1.0, 3.0, 4.0], [1.0, -1.0, 0.0]]))
    array([[0.125, 0.375, 0.5  ],
           [0.   , 0.   , 0.   ]])
    """
    visible = none(scores)
    return safe_divide(visible, visible.sum(axis=-1, keepdims=True))


def none_by_hand(write: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    """The score itself."""
    is_masked = np.isneginf(scores[write.column])
    return ["the key is masked: the weight is 0" if is_masked else f"the weight is the score: {write(result)}"]


@normalizer(
    formula="Aᵢⱼ = Sᵢⱼ",
    shapes=SHAPES,
    source="Schlag, Irie & Schmidhuber 2021, attention without softmax",
    example={"scores": [[1, -3, 4]], "gives": [[1, -3, 4]]},
    online=OnlineNormalizer(_visible_scores, uses_running_max=False, is_divided=False, may_cancel=True),
    by_hand=none_by_hand,
)
def none(scores: Array) -> Array:
    """The scores themselves are the weights.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.

    Returns
    -------
    array [… n m]
        The scores, 0 where a key is masked.

    Examples
    --------
    >>> none(np.array([[1.0, -3.0, -np.inf]]))
    array([[ 1., -3.,  0.]])
    """
    return np.where(scores == -np.inf, 0, scores).astype(scores.dtype, copy=False)

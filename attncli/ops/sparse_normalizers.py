"""Sparse normalizers: the nearest distribution, in which low scores get exactly 0. The last axis is the keys.

A score of −∞ marks a masked key: its weight is exactly 0. A row in which every key is masked becomes zeros.
"""

from typing import Annotated, Any

from attncli.base.lazy_numpy import Array, all_finite, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import largest, number, sqrt, total
from attncli.ops.decorators import normalizer
from attncli.ops.entmax_roots import weights_above_two, weights_below_two
from attncli.ops.normalizers import SHAPES, SOFTMAX, finite_max, safe_divide, softmax, softmax_by_hand
from attncli.ops.records import Range

SPARSEMAX = "Aᵢⱼ = max(Sᵢⱼ − τᵢ, 0)"


def sparsemax_by_hand(write: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    """The threshold τ of one row of scores [m], then one score's excess over it."""
    support = scores[sparsemax(scores) > 0]
    threshold = write.computed("τ", (total(support) - 1) / len(support))
    return [threshold.line, write.equation(largest([number(scores[write.column]) - threshold, 0]), result)]


@normalizer(
    formula="Aᵢⱼ = max(Sᵢⱼ − τᵢ, 0), Σⱼ Aᵢⱼ = 1",
    shapes=SHAPES,
    source="Martins & Astudillo 2016, eq. 2 and Algorithm 1",
    example={"scores": [[1, 0.5, -1], [3, 1, 0]], "gives": [[0.75, 0.25, 0], [1, 0, 0]]},
    formula_in_force=lambda: SPARSEMAX,  # the p of the other would be that of positions
    by_hand=sparsemax_by_hand,
    is_distribution=True,
)
def sparsemax(scores: Array) -> Array:
    """Weights of at least 0 that add to 1, as near to the scores as such weights can be; low scores get exactly 0.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.

    Returns
    -------
    array [… n m]
        Rows are ≥ 0 and sum to 1; a row of −∞ becomes zeros.

    Examples
    --------
    >>> sparsemax(np.array([[1.0, 0.5, -1.0], [3.0, 1.0, 0.0]]))
    array([[0.75, 0.25, 0.  ],
           [1.  , 0.  , 0.  ]])
    """
    shifted = _clip_low_scores(scores - finite_max(scores))
    ordered = -np.sort(-shifted, axis=-1)
    rank = np.arange(1, scores.shape[-1] + 1, dtype=scores.dtype)
    support = ordered * rank > ordered.cumsum(axis=-1) - 1
    threshold = (np.where(support, ordered, 0).sum(axis=-1, keepdims=True) - 1) / support.sum(axis=-1, keepdims=True)
    return _zero_where_masked(scores, np.maximum(shifted - threshold.astype(scores.dtype), 0))


def entmax_by_hand(write: ArithmeticWriter, scores: Array, result: Any, *, alpha: float = 1.5) -> list[str]:
    """The threshold τ of one row of scores [m], then one weight; for α = 1 as softmax, for α = 2 as sparsemax."""
    if alpha == 1:
        return softmax_by_hand(write, scores, result, exponentials=np.exp(scores - finite_max(scores)))
    if alpha == 2:
        return sparsemax_by_hand(write, scores, result)
    weights = entmax(scores, alpha=alpha)
    factor = write.computed("α − 1", number(alpha) - 1)
    power = number(2) if alpha == 1.5 else 1 / factor
    support = [factor * score for score in scores[weights > 0]]
    if alpha == 1.5:
        mean = write.computed("μ", total(support) / len(support))
        spread = write.computed("δ", total((x - mean) ** 2 for x in support), is_added=True)
        threshold = write.computed("τ", mean - sqrt((1 - spread) / len(support)))
        lines = [mean.line, spread.line, threshold.line]
    else:
        top = int(weights.argmax())
        threshold = write.computed("τ", number((alpha - 1) * scores[top] - weights[top] ** (alpha - 1)))
        row_sum = write.computed(f"Σⱼ {write.symbol('weights')}ᵢⱼ", total((x - threshold) ** power for x in support))
        lines = [f"{threshold.line} by iteration until the weights add to 1", row_sum.line]
    excess = largest([factor * scores[write.column] - threshold, 0])
    return [factor.line, *lines, write.equation(excess**power, result)]


def _entmax_formula(*, alpha: float) -> str:
    """The weights in closed form, where α has one."""
    general = "Aᵢⱼ = max((α − 1) Sᵢⱼ − τᵢ, 0)^(1/(α − 1))"
    return {1: SOFTMAX, 1.5: "Aᵢⱼ = max(Sᵢⱼ/2 − τᵢ, 0)²", 2: SPARSEMAX}.get(alpha, general)


@normalizer(
    formula="Aᵢ = argmax_p p·Sᵢ + H_α(p), p ≥ 0, Σ p = 1 = [(α−1)Sᵢⱼ − τᵢ]₊^(1/(α−1))",
    shapes=SHAPES,
    source="Peters, Niculae & Martins 2019, Algorithms 1 and 2",
    example={"scores": [[0, 0], [4, 0]], "gives": [[0.5, 0.5], [1, 0]]},
    formula_in_force=_entmax_formula,
    by_hand=entmax_by_hand,
    is_distribution=True,
)
def entmax(scores: Array, *, alpha: Annotated[float, Range(least=1)] = 1.5) -> Array:
    """Between softmax (α = 1) and sparsemax (α = 2); the larger α, the more weights are exactly 0.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.
    alpha : float ≥ 1, optional
        The exponent α. Its weights are in closed form for 1, 1.5 and 2, by Newton's method elsewhere.

    Returns
    -------
    array [… n m]
        Rows are ≥ 0 and sum to 1; a row of −∞ becomes zeros.

    Examples
    --------
    >>> entmax(np.array([[1.0, 0.5, -1.0]])).round(4)
    array([[0.674, 0.326, 0.   ]])
    >>> entmax(np.array([[4.0, 0.0]]), alpha=1.5)
    array([[1., 0.]])
    """
    if alpha == 1:
        return softmax(scores)
    if alpha == 2:
        return sparsemax(scores)
    shifted = scores - finite_max(scores)
    if alpha == 1.5:
        return _zero_where_masked(scores, _entmax_closed_form(_clip_low_scores(shifted / 2)))
    weights = weights_below_two(shifted, alpha) if alpha < 2 else weights_above_two(shifted, alpha)
    return _zero_where_masked(scores, safe_divide(weights, weights.sum(axis=-1, keepdims=True)))


def _clip_low_scores(shifted: Array) -> Array:
    """Scores whose largest is 0, those up to −1 set far below: τ is never under −1, whatever the rounding."""
    clipped: Array = np.maximum(shifted - (shifted <= -1), -2)  # `where` takes four times as long
    return clipped


def _zero_where_masked(scores: Array, weights: Array) -> Array:
    """The weights, exactly 0 where the key is masked: so they are where the largest score is a number."""
    if all_finite(scores.max(axis=-1)):
        return weights.astype(scores.dtype, copy=False)
    return np.where(scores == -np.inf, 0, weights).astype(scores.dtype)


def _entmax_closed_form(x: Array) -> Array:
    """`[x − τ]₊²` that sums to 1, in closed form: for each size of the support τ is the root of a quadratic."""
    ordered = -np.sort(-x, axis=-1)
    rank = np.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    mean = ordered.cumsum(axis=-1) / rank
    spread = (ordered**2).cumsum(axis=-1) - rank * mean**2
    thresholds = mean - np.sqrt(np.maximum((1 - spread) / rank, 0))
    size = (thresholds <= ordered).sum(axis=-1, keepdims=True)
    return np.maximum(x - np.take_along_axis(thresholds, size - 1, axis=-1), 0) ** 2

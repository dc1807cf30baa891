"""Normalizers: from a row of scores to a row of weights. The last axis is the keys.

A score of −∞ marks a masked key: its weight is exactly 0. A row in which every key is masked becomes zeros.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any

from attncli.base.lazy_numpy import Array, all_finite, all_true, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, exp, largest, number, parameter, total
from attncli.ops.decorators import normalizer
from attncli.ops.largest import largest_cells
from attncli.ops.records import Quantity, Range, Tap, no_tap, reused
from attncli.ops.rules import OnlineNormalizer

Positive = Annotated[float, Range(above=0)]

EXPONENTIALS_PURPOSE = (
    "Every score that counts becomes a positive number, every other one 0; the largest of the row is subtracted first, "
    "which changes no weight and avoids overflow."
)
EXPONENTIALS = Quantity("exponentials", "E", "exp(Sᵢⱼ − maxᵢ)", ("n", "m"), EXPONENTIALS_PURPOSE)

SOFTMAX = "Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ)"
SHAPES = "scores[n m] -> [n m]"
MIN_KEYS_PER_BEST = 8  # where there are so many, only the exponentials of the best are computed


def _exponentials(
    scores: Array, running_max: Array | None, *, temperature: float = 1.0, out: Array | None = None
) -> Array:
    """`exp((scores − running_max) / T)`; without a running maximum `exp(scores / T)`."""
    shifted = scores if running_max is None else np.subtract(scores, running_max, out=out)
    if temperature != 1:
        shifted = np.divide(shifted, temperature, out=out)
    if shifted is not scores and shifted.dtype.kind == "f":
        out = shifted
    return np.exp(shifted, out=out)


def softmax_by_hand(
    write: ArithmeticWriter, scores: Array, result: Any, *, exponentials: Array, temperature: float = 1.0
) -> list[str]:
    """The exponential of one score, the sum over its row [m], and their quotient."""
    difference = number(scores[write.column]) - scores.max()
    power = difference if temperature == 1 else difference / parameter(temperature)
    return exponential_lines(write, exp(power), exponentials, exponentials, result)


def exponential_lines(
    write: ArithmeticWriter, exponential: Term, exponentials: Array, addends: Array | Sequence[Any], result: Any
) -> list[str]:
    """One of the exponentials of a row [m], the sum that divides them all, and the quotient."""
    own = exponentials[write.column]
    row_sum = write.computed("Σⱼ exp", total(addends))
    return [write.equation(exponential, own), row_sum.line, write.equation(number(own) / row_sum, result)]


@normalizer(
    formula="Aᵢⱼ = exp(Sᵢⱼ/T) / Σⱼ exp(Sᵢⱼ/T)",
    formula_in_force=lambda temperature: SOFTMAX if temperature == 1 else "Aᵢⱼ = exp(Sᵢⱼ/T) / Σⱼ exp(Sᵢⱼ/T)",
    shapes=SHAPES,
    source="Bridle 1990; the temperature T: Hinton, Vinyals & Dean 2015, eq. 1",
    example={"scores": [[0, 0], [math.log(3), 0]], "gives": [[0.5, 0.5], [0.75, 0.25]]},
    inner=(
        Quantity(
            "exponentials",
            "E",
            "exp((Sᵢⱼ − maxᵢ)/T)",
            ("n", "m"),
            EXPONENTIALS_PURPOSE,
            lambda temperature: EXPONENTIALS.formula if temperature == 1 else "exp((Sᵢⱼ − maxᵢ)/T)",
        ),
    ),
    online=OnlineNormalizer(_exponentials, exp_scale=lambda parameters: 1 / parameters["temperature"]),
    by_hand=softmax_by_hand,
    is_distribution=True,
)
def softmax(scores: Array, *, temperature: Positive = 1.0, tap: Tap = no_tap) -> Array:
    """Exponentials, divided by their sum: weights that add to 1; a temperature below 1 sharpens, one above 1 flattens.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.
    temperature : float > 0, optional
        The temperature T.
    tap : callable, optional
        Receives "exponentials" [… n m].

    Returns
    -------
    array [… n m]
        Rows are ≥ 0 and sum to 1; a row of −∞ becomes zeros.

    Examples
    --------
    >>> softmax(np.array([[0.0, 0.0], [np.log(3), -np.inf]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    >>> softmax(np.array([[np.log(3), 0.0]]), temperature=0.5).round(4)
    array([[0.9, 0.1]])
    """
    exponentials = tap("exponentials", _exponentials(scores, finite_max(scores), temperature=temperature))
    return safe_divide(exponentials, exponentials.sum(axis=-1, keepdims=True), out=reused(exponentials, tap))


def softmax1_by_hand(write: ArithmeticWriter, scores: Array, result: Any, *, exponentials: Array) -> list[str]:
    """The exponential of one score, the sum over its row [m] and of the key that scores 0, and their quotient."""
    top = max(float(scores.max()), 0.0)
    of_zero = write.computed("exp of the score 0", exp(number(0) - top))
    lines = exponential_lines(
        write, exp(number(scores[write.column]) - top), exponentials, [of_zero, *exponentials], result
    )
    return [of_zero.line, *lines]


@normalizer(
    formula="Aᵢⱼ = exp(Sᵢⱼ) / (1 + Σⱼ exp(Sᵢⱼ))",
    shapes=SHAPES,
    source="Miller 2023 (Attention Is Off By One)",
    example={"scores": [[0, 0, math.log(2)]], "gives": [[0.2, 0.2, 0.4]]},
    inner=(Quantity("exponentials", "E", "exp(Sᵢⱼ − max(0, maxᵢ))", ("n", "m"), EXPONENTIALS_PURPOSE),),
    online=OnlineNormalizer(
        _exponentials,
        min_running_max=0,
        extra_denominator=lambda largest: np.exp(-largest),
        exp_scale=lambda parameters: 1.0,
    ),
    by_hand=softmax1_by_hand,
)
def softmax1(scores: Array, *, tap: Tap = no_tap) -> Array:
    """Softmax with one more key that scores 0 and is dropped: a query may attend to nothing.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.
    tap : callable, optional
        Receives "exponentials" [… n m].

    Returns
    -------
    array [… n m]
        Rows are ≥ 0 and sum to less than 1.

    Examples
    --------
    >>> softmax1(np.array([[0.0, 0.0, np.log(2)]])).round(4)
    array([[0.2, 0.2, 0.4]])
    """
    largest = np.maximum(finite_max(scores), 0)
    exponentials = tap("exponentials", _exponentials(scores, largest))
    total: Array = np.exp(-largest) + exponentials.sum(axis=-1, keepdims=True)
    return exponentials / total


def _logistic(x: Array) -> Array:
    """1 / (1 + exp(−x)), without overflow."""
    return np.exp(-np.logaddexp(0, -x))


def sigmoid_by_hand(write: ArithmeticWriter, scores: Array, result: Any, *, shift: float = 0.0) -> list[str]:
    """The logistic function of one score."""
    score = number(scores[write.column])
    return [write.equation(1 / (1 + exp(-(score + parameter(shift) if shift else score))), result)]


@normalizer(
    formula="Aᵢⱼ = 1 / (1 + exp(−(Sᵢⱼ + shift)))",
    shapes=SHAPES,
    source="Ramapuram et al. 2024 (Sigmoid Self-Attention), where shift = −log m",
    example={"scores": [[0, math.log(3), -math.log(3)]], "gives": [[0.5, 0.75, 0.25]]},
    online=OnlineNormalizer(
        lambda scores, _running_max, *, shift, out: _logistic(scores + shift),
        uses_running_max=False,
        is_divided=False,
        multiplications=700,
    ),
    formula_in_force=lambda shift: f"Aᵢⱼ = 1 / (1 + exp(−{'(Sᵢⱼ + shift)' if shift else 'Sᵢⱼ'}))",
    by_hand=sigmoid_by_hand,
)
def sigmoid(scores: Array, *, shift: float = 0.0) -> Array:
    """Each key on its own: a weight between 0 and 1, whatever the other keys score.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.
    shift : float, optional
        Added to every score; −log m makes rows sum to about 1.

    Returns
    -------
    array [… n m]
        From 0 to 1.

    Examples
    --------
    >>> sigmoid(np.array([[0.0, np.log(3), -np.inf]])).round(4)
    array([[0.5 , 0.75, 0.  ]])
    """
    return _logistic(scores + shift)


def relu_by_hand(write: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    """The larger of one score and 0."""
    return [write.equation(largest([scores[write.column], 0]), result)]


@normalizer(
    formula="Aᵢⱼ = max(Sᵢⱼ, 0)",
    shapes=SHAPES,
    source="Zhang, Titov & Sennrich 2021 (Sparse Attention with Linear Units), without its layer norm",
    example={"scores": [[2, -1, 0]], "gives": [[2, 0, 0]]},
    online=OnlineNormalizer(
        lambda scores, _running_max, *, out: np.maximum(scores, 0, out=out), uses_running_max=False, is_divided=False
    ),
    by_hand=relu_by_hand,
)
def relu(scores: Array) -> Array:
    """The scores themselves where they are positive; 0 elsewhere.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.

    Returns
    -------
    array [… n m]
        ≥ 0.

    Examples
    --------
    >>> relu(np.array([[2.0, -1.0, 0.0]]))
    array([[2., 0., 0.]])
    """
    return np.maximum(scores, 0)


def topk_by_hand(write: ArithmeticWriter, scores: Array, result: Any, *, exponentials: Array, k: int) -> list[str]:
    """Whether one score is among the k largest of its row [m], and its softmax among those."""
    score, least = scores[write.column], np.sort(scores)[-min(k, len(scores))]
    if score < least:
        return [f"{write(score)} is not among the {k} largest scores: the weight is 0"]
    in_top = exponentials[scores >= least]
    return exponential_lines(write, exp(number(score) - scores.max()), exponentials, in_top, result)


@normalizer(
    formula="Aᵢ = softmax over the k largest Sᵢⱼ, 0 elsewhere",
    shapes=SHAPES,
    source="Gupta et al. 2021 (Memory-efficient Transformers via Top-k Attention)",
    example={"scores": [[0, math.log(3), -5, -6]], "k": 2, "gives": [[0.25, 0.75, 0, 0]]},
    formula_in_force=lambda k: f"Aᵢ = softmax over the {k} largest Sᵢⱼ, 0 elsewhere",  # Kⱼ is a key
    inner=(EXPONENTIALS,),
    by_hand=topk_by_hand,
    is_distribution=True,
)
def topk(scores: Array, *, k: Annotated[int, Range(least=1)], tap: Tap = no_tap) -> Array:
    """Softmax over the k best keys; keys that tie with the k-th stay, so that equal scores get equal weights.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.
    k : int ≥ 1
        How many keys; where there are fewer keys, all.
    tap : callable, optional
        Receives "exponentials" [… n m].

    Returns
    -------
    array [… n m]
        Rows are ≥ 0 and sum to 1; a row of −∞ becomes zeros.

    Examples
    --------
    >>> topk(np.array([[0.0, np.log(3), -5.0, -6.0]]), k=2).round(4)
    array([[0.25, 0.75, 0.  , 0.  ]])
    """
    largest = finite_max(scores)
    are_few, can_add = k * MIN_KEYS_PER_BEST <= scores.shape[-1], scores.dtype in (np.float32, np.float64)
    if tap is no_tap and are_few and can_add and all_finite(largest):
        return _softmax_among(scores, largest, largest_cells(scores, k))
    before = max(scores.shape[-1] - k, 0)
    is_best = scores >= np.partition(scores, before, axis=-1)[..., before, None]
    exponentials = tap("exponentials", _exponentials(scores, largest) * is_best)
    return safe_divide(exponentials, exponentials.sum(axis=-1, keepdims=True), out=reused(exponentials, tap))


def _softmax_among(scores: Array, largest: Array, cells: Array) -> Array:
    """Softmax of the scores [… n m] in some cells, by their flat numbers, from each row's largest [… n 1]; 0 elsewhere.

    The scores are of float32 or float64, and their exponentials are added in float64.
    """
    rows = cells // scores.shape[-1]
    exponentials = _exponentials(scores.take(cells), largest.take(rows))
    sums = np.bincount(rows, exponentials, minlength=largest.size)
    weights = np.zeros_like(scores)
    weights.put(cells, safe_divide(exponentials, sums.take(rows)))
    return weights


def _equal(scores: Array, running_max: Array, *, out: Array | None = None) -> Array:
    """1 where a score is the largest, which is never −∞; 0 elsewhere; NaN in a row that has one."""
    equal: Array = np.equal(scores, running_max, out=out).astype(scores.dtype, copy=False)
    is_nan = np.isnan(running_max)
    if is_nan.any():
        np.copyto(equal, np.nan, where=is_nan)
    return equal


def hardmax_by_hand(write: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    """Whether one score is the largest of its row [m], and how many are equal."""
    top, score = scores.max(), scores[write.column]
    if score < top or np.isneginf(top):
        return [f"{write(score)} is less than the largest score, {write(top)}: the weight is 0"]
    equal = int((scores == top).sum())
    if equal == 1:
        return [f"{write(score)} is the largest score: the weight is 1"]
    return [f"{write(score)} is one of the {equal} largest scores: {write.equation(number(1) / equal, result)}"]


@normalizer(
    formula="Aᵢⱼ = 1 where Sᵢⱼ is the largest of its row, shared by those that tie; 0 elsewhere",
    shapes=SHAPES,
    source="Pérez, Marinković & Barceló 2019, hardmax",
    example={"scores": [[3, 1, 3, 2], [0, 5, 1, 2]], "gives": [[0.5, 0, 0.5, 0], [0, 1, 0, 0]]},
    online=OnlineNormalizer(_equal),
    by_hand=hardmax_by_hand,
    is_distribution=True,
)
def hardmax(scores: Array) -> Array:
    """All weight on the largest score; keys that tie share it, as softmax does when the temperature goes to 0.

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
    >>> hardmax(np.array([[3.0, 1.0, 3.0, 2.0]]))
    array([[0.5, 0. , 0.5, 0. ]])
    """
    largest = _equal(scores, finite_max(scores))
    return safe_divide(largest, largest.sum(axis=-1, keepdims=True))


def finite_max(scores: Array) -> Array:
    """Each row's largest score, [… n m] to [… n 1]; 0 where every key is masked.

    Examples
    --------
    >>> finite_max(np.array([[1.0, 3.0], [-np.inf, -np.inf]]))
    array([[3.],
           [0.]])
    """
    largest: Array = scores.max(axis=-1, keepdims=True)
    if not all_finite(largest):
        np.copyto(largest, 0, where=largest == -np.inf)
    return largest


def safe_divide(numerator: Array, denominator: Array, *, out: Array | None = None) -> Array:
    """`numerator / denominator`, and 0 where the denominator is 0; the two broadcast. `out` may be the numerator.

    Examples
    --------
    >>> safe_divide(np.array([[1.0, 3.0], [0.0, 0.0]]), np.array([[4.0], [0.0]]))
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    if all_true(denominator):
        return np.divide(numerator, denominator, out=out).astype(numerator.dtype, copy=False)
    is_zero = denominator == 0
    quotient: Array = np.where(is_zero, 0, numerator / np.where(is_zero, 1, denominator))
    return quotient.astype(numerator.dtype)

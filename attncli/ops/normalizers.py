"""Normalizers: from a row of scores to a row of weights. The last axis is the keys.

A score of −∞ is a hidden key: its weight is exactly 0. A row in which every key is hidden becomes zeros.
"""

import math
from typing import Annotated, Any

from attncli.arrays import Array, np
from attncli.catalogue import Quantity, Range, Tap, normalizer, silent, written
from attncli.pen import Pen

Positive = Annotated[float, Range(above=0)]

EXPONENTIALS = Quantity("exponentials", "E", "exp(sᵢⱼ − maxᵢ)", ("n", "m"))
TABLE = "scores[n m] -> [n m]"


@normalizer(
    formula="aᵢⱼ = exp(sᵢⱼ/T) / Σⱼ exp(sᵢⱼ/T)",
    shapes=TABLE,
    source="Bridle 1990; the temperature T: Hinton, Vinyals & Dean 2015, eq. 1",
    example={"scores": [[0, 0], [math.log(3), 0]], "gives": [[0.5, 0.5], [0.75, 0.25]]},
    inner=(Quantity("exponentials", "E", "exp((sᵢⱼ − maxᵢ)/T)", ("n", "m")),),
    traits=("distribution",),
)
def softmax(scores: Array, *, temperature: Positive = 1.0, tap: Tap = silent) -> Array:
    """Exponentials, divided by their sum; a low temperature sharpens, a high one flattens."""
    exponentials = tap("exponentials", np.exp((scores - _largest(scores)) / temperature))
    return _divided(exponentials, exponentials.sum(axis=-1, keepdims=True))


@written(softmax)
def _write_softmax(pen: Pen, scores: Array, result: Any, *, temperature: float = 1.0) -> list[str]:
    largest = scores.max()
    difference = pen.minus(scores[pen.column], largest)
    power = difference if temperature == 1 else f"({difference})/{pen(temperature)}"
    exponentials = np.exp((scores - largest) / temperature)
    return [f"exp({power}) / ({pen.sum(exponentials)}) = {pen(result)}"]


@normalizer(
    formula="aᵢⱼ = exp(sᵢⱼ) / (1 + Σⱼ exp(sᵢⱼ))",
    shapes=TABLE,
    source="Miller 2023 (Attention Is Off By One)",
    example={"scores": [[0, 0, math.log(2)]], "gives": [[0.2, 0.2, 0.4]]},
    inner=(Quantity("exponentials", "E", "exp(sᵢⱼ − max(0, maxᵢ))", ("n", "m")),),
)
def softmax1(scores: Array, *, tap: Tap = silent) -> Array:
    """Softmax with one more, invisible key that scores 0: a query may attend to nothing."""
    largest = np.maximum(_largest(scores), 0)
    exponentials = tap("exponentials", np.exp(scores - largest))
    total: Array = np.exp(-largest) + exponentials.sum(axis=-1, keepdims=True)
    return exponentials / total


@written(softmax1)
def _(pen: Pen, scores: Array, result: Any) -> list[str]:
    largest = max(float(scores.max()), 0.0)
    terms = [np.exp(-largest), *np.exp(scores - largest)]
    return [f"exp({pen.minus(scores[pen.column], largest)}) / ({pen.sum(terms)}) = {pen(result)}"]


@normalizer(
    formula="aᵢ = argmin_p ‖p − sᵢ‖², p ≥ 0, Σ p = 1 = [sᵢⱼ − τᵢ]₊",
    shapes=TABLE,
    source="Martins & Astudillo 2016, eq. 2 and Algorithm 1",
    example={"scores": [[1, 0.5, -1], [3, 1, 0]], "gives": [[0.75, 0.25, 0], [1, 0, 0]]},
    traits=("distribution",),
)
def sparsemax(scores: Array) -> Array:
    """The nearest distribution to the scores themselves; low scores get exactly 0."""
    shifted = _clipped(scores - _largest(scores))
    ordered = -np.sort(-shifted, axis=-1)
    rank = np.arange(1, scores.shape[-1] + 1, dtype=scores.dtype)
    support = ordered * rank > ordered.cumsum(axis=-1) - 1
    threshold = (np.where(support, ordered, 0).sum(axis=-1, keepdims=True) - 1) / support.sum(axis=-1, keepdims=True)
    return _shown(scores, np.maximum(shifted - threshold.astype(scores.dtype), 0))


@written(sparsemax)
def _write_sparsemax(pen: Pen, scores: Array, result: Any) -> list[str]:
    chosen = scores[sparsemax(scores) > 0]
    threshold = (chosen.sum() - 1) / len(chosen)
    return [
        f"τ = ({pen.sum(chosen)} − 1)/{len(chosen)} = {pen(threshold)}",
        f"max({pen.minus(scores[pen.column], threshold)}, 0) = {pen(result)}",
    ]


@normalizer(
    formula="aᵢ = argmax_p p·sᵢ + H_α(p), p ≥ 0, Σ p = 1 = [(α−1)sᵢⱼ − τᵢ]₊^(1/(α−1))",
    shapes=TABLE,
    source="Peters, Niculae & Martins 2019, Algorithms 1 and 2",
    example={"scores": [[0, 0], [4, 0]], "gives": [[0.5, 0.5], [1, 0]]},
    traits=("distribution",),
)
def entmax(scores: Array, *, alpha: Annotated[float, Range(least=1)] = 1.5) -> Array:
    """Between softmax (α = 1) and sparsemax (α = 2); the larger α, the more weights are exactly 0."""
    if alpha == 1:
        return softmax(scores)
    if alpha == 2:
        return sparsemax(scores)
    shifted = _clipped((alpha - 1) * (scores - _largest(scores)))
    weights = _entmax_15(shifted) if alpha == 1.5 else _entmax_by_bisection(shifted, alpha)
    return _shown(scores, weights)


@written(entmax)
def _(pen: Pen, scores: Array, result: Any, *, alpha: float = 1.5) -> list[str]:
    if alpha == 1:
        return _write_softmax(pen, scores, result)
    if alpha == 2:
        return _write_sparsemax(pen, scores, result)
    weights = entmax(scores, alpha=alpha)
    top = int(weights.argmax())
    threshold = (alpha - 1) * scores[top] - weights[top] ** (alpha - 1)
    product = f"{pen(alpha - 1)}·{pen.factor(scores[pen.column])}"
    return [
        f"τ = {pen(threshold)}, so that the row sums to 1",
        f"max({product} − {pen.factor(threshold)}, 0)^(1/{pen(alpha - 1)}) = {pen(result)}",
    ]


@normalizer(
    formula="aᵢⱼ = 1 / (1 + exp(−(sᵢⱼ + shift)))",
    shapes=TABLE,
    source="Ramapuram et al. 2024 (Sigmoid Self-Attention), where shift = −log m",
    example={"scores": [[0, math.log(3), -math.log(3)]], "gives": [[0.5, 0.75, 0.25]]},
)
def sigmoid(scores: Array, *, shift: float = 0.0) -> Array:
    """Each key on its own: a weight between 0 and 1, whatever the other keys score."""
    return np.exp(-np.logaddexp(0, -(scores + shift)))


@written(sigmoid)
def _(pen: Pen, scores: Array, result: Any, *, shift: float = 0.0) -> list[str]:
    power = pen.sum([scores[pen.column], shift] if shift else [scores[pen.column]])
    return [f"1 / (1 + exp(−({power}))) = {pen(result)}"]


@normalizer(
    formula="aᵢⱼ = max(sᵢⱼ, 0)",
    shapes=TABLE,
    source="Zhang, Titov & Sennrich 2021 (Sparse Attention with Linear Units), without its layer norm",
    example={"scores": [[2, -1, 0]], "gives": [[2, 0, 0]]},
)
def relu(scores: Array) -> Array:
    """The scores themselves where they are positive; 0 elsewhere."""
    return np.maximum(scores, 0)


@written(relu)
def _(pen: Pen, scores: Array, result: Any) -> list[str]:
    return [f"max({pen(scores[pen.column])}, 0) = {pen(result)}"]


@normalizer(
    formula="aᵢ = softmax over the k largest sᵢⱼ, 0 elsewhere",
    shapes=TABLE,
    source="Gupta et al. 2021 (Memory-efficient Transformers via Top-k Attention)",
    example={"scores": [[0, math.log(3), -5, -6]], "k": 2, "gives": [[0.25, 0.75, 0, 0]]},
    inner=(EXPONENTIALS,),
    traits=("distribution",),
)
def topk(scores: Array, *, k: Annotated[int, Range(least=1)], tap: Tap = silent) -> Array:
    """Softmax over the k best keys; keys that tie with the k-th stay, so that equal scores get equal weights."""
    least = -np.sort(-scores, axis=-1)[..., min(k, scores.shape[-1]) - 1, None]
    return softmax(np.where(scores < least, -np.inf, scores).astype(scores.dtype), tap=tap)


@written(topk)
def _(pen: Pen, scores: Array, result: Any, *, k: int) -> list[str]:
    least = np.sort(scores)[-min(k, len(scores))]
    if scores[pen.column] < least:
        return [f"{pen(scores[pen.column])} is not among the {k} largest scores: 0 = {pen(result)}"]
    kept = scores[scores >= least]
    terms = pen.sum(np.exp(kept - kept.max()))
    return [f"exp({pen.minus(scores[pen.column], kept.max())}) / ({terms}) = {pen(result)}"]


@normalizer(
    formula="aᵢⱼ = 1/r where sᵢⱼ is one of the r largest equal scores, 0 elsewhere",
    shapes=TABLE,
    source="Pérez, Marinković & Barceló 2019, hardmax",
    example={"scores": [[3, 1, 3, 2], [0, 5, 1, 2]], "gives": [[0.5, 0, 0.5, 0], [0, 1, 0, 0]]},
    traits=("distribution",),
)
def hardmax(scores: Array) -> Array:
    """All weight on the largest score; keys that tie share it, as softmax does when the temperature goes to 0."""
    largest = (scores == scores.max(axis=-1, keepdims=True)) & (scores > -np.inf)
    return _divided(largest.astype(scores.dtype), largest.sum(axis=-1, keepdims=True, dtype=scores.dtype))


@written(hardmax)
def _(pen: Pen, scores: Array, result: Any) -> list[str]:
    largest, own = scores.max(), scores[pen.column]
    if own < largest:
        return [f"{pen(own)} is less than the largest score, {pen(largest)}: 0 = {pen(result)}"]
    return [f"{pen(own)} is the largest score: 1/{(scores == largest).sum()} = {pen(result)}"]


@normalizer(
    formula="aᵢⱼ = sᵢⱼ / Σⱼ sᵢⱼ",
    shapes=TABLE,
    source="Katharopoulos et al. 2020, eq. 3",
    example={"scores": [[1, 3, 4]], "gives": [[0.125, 0.375, 0.5]]},
)
def sum_(scores: Array) -> Array:
    """Each score, divided by the sum of its row; a row that sums to 0 becomes zeros."""
    visible = none(scores)
    return _divided(visible, visible.sum(axis=-1, keepdims=True))


@written(sum_)
def _(pen: Pen, scores: Array, result: Any) -> list[str]:
    visible = none(scores)
    if visible.sum() == 0:
        return [f"the row sums to 0: 0 = {pen(result)}"]
    return [f"{pen(visible[pen.column])} / ({pen.sum(visible)}) = {pen(result)}"]


@normalizer(
    formula="aᵢⱼ = sᵢⱼ",
    shapes=TABLE,
    source="Schlag, Irie & Schmidhuber 2021, attention without softmax",
    example={"scores": [[1, -3, 4]], "gives": [[1, -3, 4]]},
)
def none(scores: Array) -> Array:
    """The scores themselves are the weights."""
    return np.where(scores == -np.inf, 0, scores).astype(scores.dtype)


@written(none)
def _(pen: Pen, scores: Array, result: Any) -> list[str]:
    return [f"the score is the weight: {pen(scores[pen.column])} = {pen(result)}"]


def _largest(scores: Array) -> Array:
    """Each row's largest score; 0 where every key is hidden."""
    largest = scores.max(axis=-1, keepdims=True)
    finite: Array = np.where(largest == -np.inf, 0, largest)
    return finite.astype(scores.dtype)


def _divided(parts: Array, total: Array) -> Array:
    """`parts / total`, and zeros where the total is 0."""
    shares: Array = np.where(total == 0, 0, parts / np.where(total == 0, 1, total))
    return shares.astype(parts.dtype)


def _clipped(shifted: Array) -> Array:
    """Scores whose largest is 0, those up to −1 set far below: τ is never under −1, whatever the rounding."""
    return np.where(shifted <= -1, -2, shifted).astype(shifted.dtype)


def _shown(scores: Array, weights: Array) -> Array:
    """The weights, exactly 0 where the key is hidden."""
    return np.where(scores == -np.inf, 0, weights).astype(scores.dtype)


def _entmax_15(x: Array) -> Array:
    """`[x − τ]₊²` that sums to 1, in closed form: for each size of the support τ is the root of a quadratic."""
    ordered = -np.sort(-x, axis=-1)
    rank = np.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    mean = ordered.cumsum(axis=-1) / rank
    spread = (ordered**2).cumsum(axis=-1) - rank * mean**2
    thresholds = mean - np.sqrt(np.maximum((1 - spread) / rank, 0))
    size = (thresholds <= ordered).sum(axis=-1, keepdims=True)
    return np.maximum(x - np.take_along_axis(thresholds, size - 1, axis=-1), 0) ** 2


def _entmax_by_bisection(x: Array, alpha: float) -> Array:
    """`[x − τ]₊^(1/(α−1))` that sums to 1, by halving the interval of 1 + τ until it has no middle.

    `x − τ` is written `1 + (x − u)` with u = 1 + τ, for `log1p`: near α = 1 the power would multiply its error.
    """

    def powers(u: Array) -> Array:
        with np.errstate(divide="ignore"):
            logarithms: Array = np.log1p(np.maximum(x - u, -1)) / (alpha - 1)
            return np.exp(logarithms)

    low = np.zeros_like(x[..., :1])
    high = np.full_like(low, -math.expm1((1 - alpha) * math.log(x.shape[-1])))
    while True:
        middle = (low + high) / 2
        if not np.any((low < middle) & (middle < high)):
            break
        too_low = powers(middle).sum(axis=-1, keepdims=True) >= 1
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    weights = powers(low)
    return _divided(weights, weights.sum(axis=-1, keepdims=True))

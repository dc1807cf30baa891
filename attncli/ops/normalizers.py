"""Normalizers: from a row of scores to a row of weights. The last axis is the keys.

A score of −∞ is a hidden key: its weight is exactly 0. A row in which every key is hidden becomes zeros.
"""

import math
from typing import Annotated, Any

from attncli.base.arithmetic import ArithmeticWriter
from attncli.base.lazy_numpy import Array, np
from attncli.ops.registry import Quantity, Range, Tap, no_tap, normalizer, written
from attncli.ops.rules import OnlineNormalizer, merges

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
def softmax(scores: Array, *, temperature: Positive = 1.0, tap: Tap = no_tap) -> Array:
    """Exponentials, divided by their sum; a low temperature sharpens, a high one flattens."""
    exponentials = tap("exponentials", _exponentials(scores, largest_of(scores), temperature=temperature))
    return divided(exponentials, exponentials.sum(axis=-1, keepdims=True))


def _exponentials(scores: Array, largest: Array | None, *, temperature: float = 1.0, out: Array | None = None) -> Array:
    """`exp((scores − largest) / T)`; without a largest score `exp(scores / T)`."""
    shifted = scores if largest is None else np.subtract(scores, largest, out=out)
    if temperature != 1:
        shifted = np.divide(shifted, temperature, out=out)
    return np.exp(shifted, out=out)


merges(softmax, OnlineNormalizer(_exponentials, exponential=True))


@written(softmax)
def write_softmax(pen: ArithmeticWriter, scores: Array, result: Any, *, temperature: float = 1.0) -> list[str]:
    """The exponential of the cell's score, and the sum that divides it."""
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
def softmax1(scores: Array, *, tap: Tap = no_tap) -> Array:
    """Softmax with one more, invisible key that scores 0: a query may attend to nothing."""
    largest = np.maximum(largest_of(scores), 0)
    exponentials = tap("exponentials", _exponentials(scores, largest))
    total: Array = np.exp(-largest) + exponentials.sum(axis=-1, keepdims=True)
    return exponentials / total


merges(softmax1, OnlineNormalizer(_exponentials, floor=0, beside=lambda largest: np.exp(-largest), exponential=True))


@written(softmax1)
def _(pen: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    largest = max(float(scores.max()), 0.0)
    terms = [np.exp(-largest), *np.exp(scores - largest)]
    return [f"exp({pen.minus(scores[pen.column], largest)}) / ({pen.sum(terms)}) = {pen(result)}"]


@normalizer(
    formula="aᵢⱼ = 1 / (1 + exp(−(sᵢⱼ + shift)))",
    shapes=TABLE,
    source="Ramapuram et al. 2024 (Sigmoid Self-Attention), where shift = −log m",
    example={"scores": [[0, math.log(3), -math.log(3)]], "gives": [[0.5, 0.75, 0.25]]},
)
def sigmoid(scores: Array, *, shift: float = 0.0) -> Array:
    """Each key on its own: a weight between 0 and 1, whatever the other keys score."""
    return np.exp(-np.logaddexp(0, -(scores + shift)))


merges(
    sigmoid,
    OnlineNormalizer(lambda scores, _, *, shift=0.0, out: sigmoid(scores, shift=shift), measured=False, divided=False),
)


@written(sigmoid)
def _(pen: ArithmeticWriter, scores: Array, result: Any, *, shift: float = 0.0) -> list[str]:
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


merges(relu, OnlineNormalizer(lambda scores, _, *, out: np.maximum(scores, 0, out=out), measured=False, divided=False))


@written(relu)
def _(pen: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    return [f"max({pen(scores[pen.column])}, 0) = {pen(result)}"]


@normalizer(
    formula="aᵢ = softmax over the k largest sᵢⱼ, 0 elsewhere",
    shapes=TABLE,
    source="Gupta et al. 2021 (Memory-efficient Transformers via Top-k Attention)",
    example={"scores": [[0, math.log(3), -5, -6]], "k": 2, "gives": [[0.25, 0.75, 0, 0]]},
    inner=(EXPONENTIALS,),
    traits=("distribution",),
)
def topk(scores: Array, *, k: Annotated[int, Range(least=1)], tap: Tap = no_tap) -> Array:
    """Softmax over the k best keys; keys that tie with the k-th stay, so that equal scores get equal weights."""
    least = -np.sort(-scores, axis=-1)[..., min(k, scores.shape[-1]) - 1, None]
    return softmax(np.where(scores < least, -np.inf, scores).astype(scores.dtype), tap=tap)


@written(topk)
def _(pen: ArithmeticWriter, scores: Array, result: Any, *, k: int) -> list[str]:
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
    largest = _equal(scores, largest_of(scores))
    return divided(largest, largest.sum(axis=-1, keepdims=True))


def _equal(scores: Array, largest: Array, *, out: Array | None = None) -> Array:
    """1 where a score is the largest, which is never −∞; 0 elsewhere."""
    equal: Array = np.equal(scores, largest, out=out)
    return equal.astype(scores.dtype, copy=False)


merges(hardmax, OnlineNormalizer(_equal))


@written(hardmax)
def _(pen: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
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
    return divided(visible, visible.sum(axis=-1, keepdims=True))


def _themselves(scores: Array, _: Array | None, **_out: Array) -> Array:
    """Every key weighs what it scores."""
    return none(scores)


merges(sum_, OnlineNormalizer(_themselves, measured=False, signed=True))


@written(sum_)
def _(pen: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
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
    return np.where(scores == -np.inf, 0, scores).astype(scores.dtype, copy=False)


merges(none, OnlineNormalizer(_themselves, measured=False, divided=False, signed=True))


@written(none)
def _(pen: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    return [f"the score is the weight: {pen(scores[pen.column])} = {pen(result)}"]


def largest_of(scores: Array) -> Array:
    """Each row's largest score; 0 where every key is hidden."""
    largest = scores.max(axis=-1, keepdims=True)
    finite: Array = np.where(largest == -np.inf, 0, largest)
    return finite.astype(scores.dtype)


def divided(parts: Array, total: Array) -> Array:
    """`parts / total`, and zeros where the total is 0."""
    shares: Array = np.where(total == 0, 0, parts / np.where(total == 0, 1, total))
    return shares.astype(parts.dtype)

"""Contexts: from weights and values to one vector for each query.

A key of weight 0 is not attended: contexts that choose among keys choose among the others.
"""

from typing import Any

from attncli.base.arithmetic import ArithmeticWriter
from attncli.base.lazy_numpy import Array, np
from attncli.ops.registry import Quantity, Tap, context, no_tap, written


@context(
    formula="cᵢ = Σⱼ aᵢⱼ vⱼ",
    shapes="weights[n m], value[m e] -> [n e]",
    source="Bahdanau, Cho & Bengio 2015, eq. 5",
    example={"weights": [[0.25, 0.75]], "value": [[4, 0], [8, 4]], "gives": [[7, 3]]},
    traits=("linear",),
)
def weighted_sum(weights: Array, value: Array) -> Array:
    """The values, each as much as its weight says."""
    return mixed(weights, value)


@written(weighted_sum)
def _(pen: ArithmeticWriter, weights: Array, value: Array, result: Any) -> list[str]:
    return [pen.mixture(f"c({pen.query})", "e", weights, value, result)]


@context(
    formula="hᵢ = tanh([cᵢ; qᵢ] W), cᵢ = Σⱼ aᵢⱼ vⱼ",
    shapes="weights[n m], value[m e], query[n d], w[e+d a] -> [n a]",
    source="Luong, Pham & Manning 2015, eq. 5",
    example={
        "weights": [[0.5, 0.5]],
        "value": [[2], [4]],
        "query": [[-3]],
        "w": [[1], [1]],
        "gives": [[0]],
    },
    inner=(Quantity("context_vector", "C", "cᵢ = Σⱼ aᵢⱼ vⱼ", ("n", "e")),),
)
def attentional(weights: Array, value: Array, query: Array, *, w: Array, tap: Tap = no_tap) -> Array:
    """The weighted sum and the query together, through one more layer."""
    context_vector = tap("context_vector", mixed(weights, value))
    joined: Array = np.concatenate([context_vector, query], axis=-1)
    hidden: Array = np.tanh(joined @ w)
    return hidden


@written(attentional)
def _(pen: ArithmeticWriter, weights: Array, value: Array, query: Array, result: Any, *, w: Array) -> list[str]:
    context_vector = weights @ value
    joined = np.concatenate([context_vector, query])
    product = joined @ w
    return [
        pen.mixture(f"c({pen.query})", "e", weights, value, context_vector),
        pen.mixture("[c; q]·W", "a", joined, w, product),
        f"tanh({pen(product)}) = {pen(result)}",
    ]


@context(
    formula="cᵢ = vⱼ, j = argmaxⱼ aᵢⱼ",
    shapes="weights[n m], value[m e] -> [n e]",
    source="Xu et al. 2015, §4.1, at the likeliest place",
    example={"weights": [[0.25, 0.75]], "value": [[4, 0], [8, 4]], "gives": [[8, 4]]},
)
def argmax(weights: Array, value: Array) -> Array:
    """The value of the key with the largest weight; of equal ones the first."""
    attended = np.where(weights != 0, weights, -np.inf)
    return _taken(value, attended.argmax(axis=-1), weights)


@written(argmax)
def _(pen: ArithmeticWriter, weights: Array, value: Array, result: Any) -> list[str]:
    largest = np.where(weights != 0, weights, -np.inf).max()
    return [f"the largest weight is {pen(largest)}: c({pen.query}) = {pen(result)}"]


@context(
    formula="cᵢ = vⱼ, j drawn with probability aᵢⱼ",
    shapes="weights[n m], value[m e], draws[n] -> [n e]",
    source="Xu et al. 2015, eq. 8 and 9 (hard attention)",
    example={"weights": [[0, 1]], "value": [[4, 0], [8, 4]], "gives": [[8, 4]]},
    traits=("needs distribution",),
)
def sample(weights: Array, value: Array, draws: Array | None = None, *, seed: int = 0) -> Array:
    """The value of one key, drawn from the weights; the same seed draws the same keys.

    `draws` are numbers in [0, 1), one a query; without them they come from the seed.
    """
    total = weights.cumsum(axis=-1)
    uniform = drawn(seed=seed, shape=weights.shape[:-1]) if draws is None else draws
    drawn_at = uniform[..., None] * total[..., -1:]
    index = np.minimum((total <= drawn_at).sum(axis=-1), weights.shape[-1] - 1)
    return _taken(value, index, weights)


@written(sample)
def _(
    pen: ArithmeticWriter, weights: Array, value: Array, result: Any, draws: Any = None, *, seed: int = 0
) -> list[str]:
    return [f"one key drawn with seed {seed}: c({pen.query}) = {pen(result)}"]


@context(
    formula="cᵢₑ = maxⱼ aᵢⱼ vⱼₑ",
    shapes="weights[n m], value[m e] -> [n e]",
    source="Collobert et al. 2011, §3.2.2 (max over time), over weighted values",
    example={"weights": [[0.25, 0.75]], "value": [[4, 8], [-8, 4]], "gives": [[1, 3]]},
)
def max_(weights: Array, value: Array) -> Array:
    """For each feature the largest weighted value, instead of the sum of them."""
    attended = weights != 0
    columns = [
        np.where(attended, weights * value[..., None, :, feature], -np.inf).max(axis=-1)
        for feature in range(value.shape[-1])
    ]
    largest = np.stack(columns, axis=-1).astype(np.result_type(weights, value))
    return np.where(attended.any(axis=-1, keepdims=True), largest, 0).astype(largest.dtype)


@written(max_)
def _(pen: ArithmeticWriter, weights: Array, value: Array, result: Any) -> list[str]:
    products = [
        f"{pen(weight)}·{pen.factor(entry)}" for weight, entry in zip(weights, value[:, 0], strict=True) if weight
    ]
    return [f"c({pen.query})[e1] = max({', '.join(products) or '0'}) = {pen(result[0])}"]


def mixed(weights: Array, value: Array) -> Array:
    """`weights @ value`, where a weight of 0 takes nothing: not even NaN or infinity, which hidden values may hold."""
    finite: Array = np.asarray(np.isfinite(value).all(axis=-1))
    if finite.all():
        return weights @ value
    total = np.where(finite[..., None, :], weights, 0) @ np.where(finite[..., None], value, 0)
    attended = (weights != 0).any(axis=tuple(range(weights.ndim - 1)))
    unsound = ~finite.all(axis=tuple(range(finite.ndim - 1)))
    for key in np.flatnonzero(attended & unsound):
        weight, row = weights[..., :, key, None], value[..., None, key, :]
        taken = (weight != 0) & ~finite[..., key, None, None]
        total += np.where(taken, np.where(taken, weight, 1) * row, 0)
    return total


def drawn(*, seed: int, shape: tuple[int, ...]) -> Array:
    """A number in [0, 1) for each query, the same for the same seed."""
    return np.random.default_rng(seed).random(shape)


def _taken(value: Array, index: Array, weights: Array) -> Array:
    """The value at each query's index; zeros for a query that attends to nothing."""
    attends = (weights != 0).any(axis=-1)[..., None]
    return np.where(attends, np.take_along_axis(value, index[..., None], axis=-2), 0).astype(value.dtype)

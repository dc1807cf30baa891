"""Sparse normalizers: the nearest distribution, where low scores get exactly 0. The last axis is the keys.

A score of −∞ marks a masked key: its weight is exactly 0. A row in which every key is masked becomes zeros.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from attncli.base.lazy_numpy import Array, all_finite, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import largest, number, parameter, sqrt, total
from attncli.ops.code import Code, CodeCall
from attncli.ops.code_parts import FLOOR, TINY, has_empty_rows, largest_code, softmax_code
from attncli.ops.decorators import normalizer
from attncli.ops.derivatives import computed_products, derivative, derivative_by_number, sum_products
from attncli.ops.normalizers import SHAPES, SOFTMAX, finite_max, safe_divide, softmax, softmax_by_hand
from attncli.ops.records import Range

BISECTIONS = 60  # steps to the threshold, in code
SPARSEMAX = "Aᵢⱼ = max(Sᵢⱼ − τᵢ, 0)"


EDGE = "0 is taken where a score is exactly at the threshold"


def support_lines(write: ArithmeticWriter, grad: Array, forward: Array, result: Any, *, alpha: float) -> list[str]:
    """The weighted mean of a row's gradients [m] over its support, and one gradient's difference from it."""
    support, own = forward > 0, write.column
    if not support[own]:
        return [f"the weight is 0: {write(result)}"]
    power = 2 - alpha
    if power == 0:
        mean = write.computed("mean of dA", total(map(number, grad[support])) / int(support.sum()))
        return [mean.line, write.equation(number(grad[own]) - mean, result)]
    slopes = [number(weight) if power == 1 else number(weight) ** parameter(power) for weight in forward[support]]
    slope = slopes[int(support[:own].sum())]
    row_sum = write.computed("Σⱼ s", total(slopes))
    weighted = write.computed("Σⱼ s dA", total(s * number(g) for s, g in zip(slopes, grad[support], strict=True)))
    return [row_sum.line, weighted.line, write.equation(slope * (number(grad[own]) - weighted / row_sum), result)]


def _entmax_gradient_code(call: CodeCall, alpha: float) -> str:
    """The powers of the weights, and each gradient's difference from their mean."""
    powers = "({forward} > 0) * 1.0"
    if alpha != 2:
        powers = f"np.where({{forward}} > 0, np.where({{forward}} > 0, {{forward}}, 1) ** {2 - alpha!r}, 0)"
    total = f"powers.sum(axis=-1, keepdims=True).clip({TINY})"
    return f"powers = {powers}\npowers * ({{grad}} - (powers * {{grad}}).sum(axis=-1, keepdims=True) / {total})"


@derivative(
    "{d_scores}ᵢⱼ = {d_result}ᵢⱼ − mean of {d_result}ᵢ over the support, where {result}ᵢⱼ > 0, otherwise 0",
    sums_over=("m",),
    by_hand=lambda write, grad, forward, result: support_lines(write, grad, forward, result, alpha=2.0),
    remark=EDGE,
    code=lambda call: _entmax_gradient_code(call, 2.0),
)
def sparsemax_scores(grad: Array, forward: Array) -> Array:
    """The gradient of the scores of the support. Source: Martins & Astudillo 2016, eq. 14."""
    return entmax_scores(grad, forward, alpha=2.0)


def _entmax_gradient(_symbols: Mapping[str, str], options: Mapping[str, Any]) -> str:
    """The formula for this α."""
    slope = {1.0: "{result}ᵢⱼ", 1.5: "√{result}ᵢⱼ", 2.0: "1"}.get(float(options["alpha"]), "{result}ᵢⱼ^(2 − α)")
    mean = "Σⱼ sᵢⱼ {d_result}ᵢⱼ / Σⱼ sᵢⱼ"
    return f"{{d_scores}}ᵢⱼ = sᵢⱼ ({{d_result}}ᵢⱼ − {mean}), sᵢⱼ = {slope} where {{result}}ᵢⱼ > 0, otherwise 0"


@derivative(
    _entmax_gradient,
    sums_over=("m",),
    by_hand=support_lines,
    remark=EDGE,
    code=lambda call: _entmax_gradient_code(call, float(call.options["alpha"])),
)
def entmax_scores(grad: Array, forward: Array, *, alpha: float) -> Array:
    """The gradient of the scores of the support. Source: Peters, Niculae & Martins 2019, Proposition 2."""
    support = forward > 0
    slopes = np.where(support, np.where(support, forward, 1) ** (2 - alpha), 0)
    mean = safe_divide((slopes * grad).sum(axis=-1, keepdims=True), slopes.sum(axis=-1, keepdims=True))
    gradient: Array = slopes * (grad - mean)
    return gradient


def _alpha_slopes(weights: Array, alpha: float) -> Array:
    """How fast each weight [… n m] changes with α. Source: Correia, Niculae & Martins 2019, Proposition 1."""
    is_positive = weights > 0
    positive = np.where(is_positive, weights, 1)
    entropies: Array = -weights * np.log(positive)
    if alpha == 1:
        changes = entropies * np.log(positive)
        slopes: Array = (changes - weights * changes.sum(axis=-1, keepdims=True)) / 2
    else:
        powers = np.where(is_positive, positive ** (2 - alpha), 0)
        skewed = safe_divide(powers, powers.sum(axis=-1, keepdims=True))
        excess = entropies - skewed * entropies.sum(axis=-1, keepdims=True)
        slopes = (weights - skewed) / (alpha - 1) ** 2 + excess / (alpha - 1)
    return slopes


def _alpha_code(call: CodeCall) -> str:
    """How fast each weight changes with α, times its gradient."""
    less, lines = float(call.options["alpha"]) - 1, ["positive = np.where({forward} > 0, {forward}, 1)"]
    lines.append("entropies = -{forward} * np.log(positive)")
    if less == 0:
        lines.append("changes = entropies * np.log(positive) / 2")
        lines.append("changes = changes - {forward} * changes.sum(axis=-1, keepdims=True)")
    else:
        lines.append(f"powers = np.where({{forward}} > 0, positive ** {1 - less!r}, 0)")
        lines.append(f"shares = powers / powers.sum(axis=-1, keepdims=True).clip({TINY})")
        excess = "(entropies - shares * entropies.sum(axis=-1, keepdims=True))"
        lines.append(f"changes = ({{forward}} - shares) / {less**2!r} + {excess} / {less!r}")
    return "\n".join([*lines, "({grad} * changes).sum()"])


@derivative_by_number(
    "α",
    "{d_argument} = Σ {d_result}ᵢⱼ sᵢⱼ, "
    "sᵢⱼ = ({result}ᵢⱼ − pᵢⱼ)/({argument} − 1)² + (hᵢⱼ − pᵢⱼ Σⱼ hᵢⱼ)/({argument} − 1), "
    "hᵢⱼ = −{result}ᵢⱼ ln {result}ᵢⱼ, pᵢⱼ = {result}ᵢⱼ^(2 − {argument}) / Σⱼ {result}ᵢⱼ^(2 − {argument})",
    by_hand=lambda write, grad, forward, result, *, alpha: [
        computed_products(write, "Σ dA∘s", grad, _alpha_slopes(forward, alpha)).line
    ],
    remark="for α = 1 the limit",
    code=_alpha_code,
)
def entmax_alpha(grad: Array, forward: Array, *, alpha: float) -> Array:
    """The gradient of α: a larger one takes weight from the low scores."""
    return sum_products(grad, _alpha_slopes(forward, alpha))


def sparsemax_by_hand(write: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    """The threshold τ of one row of scores [m], then one score's excess over it."""
    support = scores[sparsemax(scores) > 0]
    threshold = write.computed("τ", (total(support) - 1) / len(support))
    return [threshold.line, write.equation(largest([number(scores[write.column]) - threshold, 0]), result)]


def _sparsemax_code(ordered: str) -> Callable[[CodeCall], str]:
    """The threshold is the maximum over the numbers of best keys; `ordered` sorts scores in descending order."""

    def code(call: CodeCall) -> str:
        keys = call.shapes["scores"][-1]
        scores = f"{{scores}}.clip({FLOOR})" if has_empty_rows(call) else "{scores}"
        thresholds = f"(ordered.cumsum(axis=-1) - 1) / np.arange(1, {keys + 1})"
        lines = [f"ordered = {ordered.format(scores)}", f"threshold = ({thresholds}).max(axis=-1, keepdims=True)"]
        return "\n".join([*lines, "({scores} - threshold).clip(0)"])

    return code


_NUMPY_SPARSEMAX = _sparsemax_code("-np.sort(-{}, axis=-1)")
_TORCH_SPARSEMAX = _sparsemax_code("{}.sort(descending=True).values")


def _entmax_code(of_sparsemax: Callable[[CodeCall], str]) -> Callable[[CodeCall], str]:
    """Like softmax or sparsemax, or the threshold by bisection."""

    def code(call: CodeCall) -> str:
        alpha = float(call.options["alpha"])
        if alpha == 1:
            return softmax_code(call)
        if alpha == 2:
            return of_sparsemax(call)
        power = f"{1 / (alpha - 1):g}" if 1 / (alpha - 1) == int(1 / (alpha - 1)) else f"(1 / {alpha - 1!r})"
        return "\n".join(
            [
                f"x = {alpha - 1!r} * ({{scores}} - {largest_code(call)})",
                f"threshold = np.full({(*call.shape[:-1], 1)}, -1.0)",
                f"for step in 0.5 ** np.arange(1, {BISECTIONS}):  # bisection",
                f"    total = ((x - threshold - step).clip(0) ** {power}).sum(axis=-1, keepdims=True)",
                "    threshold = threshold + step * (total >= 1)",
                f"(x - threshold).clip(0) ** {power}",
            ]
        )

    return code


@normalizer(
    formula="Aᵢⱼ = max(Sᵢⱼ − τᵢ, 0), Σⱼ Aᵢⱼ = 1",
    shapes=SHAPES,
    source="Martins & Astudillo 2016, eq. 2 and Algorithm 1",
    example={"scores": [[1, 0.5, -1], [3, 1, 0]], "gives": [[0.75, 0.25, 0], [1, 0, 0]]},
    formula_in_force=lambda: SPARSEMAX,  # the p of the other formula is a symbol of positions
    by_hand=sparsemax_by_hand,
    derivatives={"scores": sparsemax_scores},
    is_distribution=True,
    code=Code(numpy=_NUMPY_SPARSEMAX, torch=_TORCH_SPARSEMAX),
)
def sparsemax(scores: Array) -> Array:
    """Weights of at least 0 that add to 1, as near to the scores as such weights can be; low scores get exactly 0.

    A row of −∞ becomes zeros.

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


def entmax_by_hand(write: ArithmeticWriter, scores: Array, result: Any, *, alpha: float) -> list[str]:
    """The threshold τ of one row of scores [m], then one weight; like softmax for α = 1, sparsemax for α = 2."""
    if alpha == 1:
        return softmax_by_hand(write, scores, result, exponentials=np.exp(scores - finite_max(scores)), temperature=1.0)
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
    """The weights in closed form, if α has one."""
    general = "Aᵢⱼ = max((α − 1) Sᵢⱼ − τᵢ, 0)^(1/(α − 1))"
    return {1: SOFTMAX, 1.5: "Aᵢⱼ = max(Sᵢⱼ/2 − τᵢ, 0)²", 2: SPARSEMAX}.get(alpha, general)


@normalizer(
    formula="Aᵢ = argmax_p p·Sᵢ + H_α(p), p ≥ 0, Σ p = 1 = [(α−1)Sᵢⱼ − τᵢ]₊^(1/(α−1))",
    shapes=SHAPES,
    source="Peters, Niculae & Martins 2019, Algorithms 1 and 2",
    example={"scores": [[0, 0], [4, 0]], "gives": [[0.5, 0.5], [1, 0]]},
    formula_in_force=_entmax_formula,
    by_hand=entmax_by_hand,
    derivatives={"scores": entmax_scores, "alpha": entmax_alpha},
    is_distribution=True,
    code=Code(numpy=_entmax_code(_NUMPY_SPARSEMAX), torch=_entmax_code(_TORCH_SPARSEMAX)),
)
def entmax(scores: Array, *, alpha: Annotated[float, Range(least=1)] = 1.5) -> Array:
    """Between softmax (α = 1) and sparsemax (α = 2); the larger α, the more weights are exactly 0.

    The weights are in closed form for α = 1, 1.5 and 2; otherwise by Newton's method. A row of −∞ becomes zeros.

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
    """Scores with maximum 0; those up to −1 are set far below, because τ is at least −1, whatever the rounding."""
    clipped: Array = np.maximum(shifted - (shifted <= -1), -2)  # `where` takes four times as long
    return clipped


def _zero_where_masked(scores: Array, weights: Array) -> Array:
    """The weights, exactly 0 for masked keys; they already are if the largest score is a number."""
    if all_finite(scores.max(axis=-1)):
        return weights.astype(scores.dtype, copy=False)
    return np.where(scores == -np.inf, 0, weights).astype(scores.dtype)


def _entmax_closed_form(x: Array) -> Array:
    """`[x − τ]₊²` with sum 1, in closed form: for each size of the support τ is the root of a quadratic."""
    ordered = -np.sort(-x, axis=-1)
    rank = np.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    mean = ordered.cumsum(axis=-1) / rank
    spread = (ordered**2).cumsum(axis=-1) - rank * mean**2
    thresholds = mean - np.sqrt(np.maximum((1 - spread) / rank, 0))
    size = (thresholds <= ordered).sum(axis=-1, keepdims=True)
    return np.maximum(x - np.take_along_axis(thresholds, size - 1, axis=-1), 0) ** 2


SHARE = 8  # the root is first found for this fraction of the scores, the largest: mostly no others have a weight
SMALLEST = 2.0**-1022  # a normal number: NumPy's powers of 0 take seven times as long


def weights_below_two(scores: Array, alpha: float) -> Array:
    """`[(α − 1) scores − τ]₊^p` with sum 1, for scores [… n m], 1 < α < 2 and p = 1/(α − 1).

    With x = (α − 1) scores and u = 1 + τ, `x − τ` is computed as `1 + (x − u)`, for `log1p`: near α = 1 the power would
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
        count = most  # the threshold for some of the keys is too low for all
    at = np.flatnonzero(has_weight)
    weights = np.zeros_like(x, order="C")
    weights.reshape(-1)[at] = np.exp(np.log1p(excess.reshape(-1)[at]) / (alpha - 1))
    return weights


def _threshold(x: Array, u: Array, alpha: float) -> Array:
    """The u [… n 1] for which `[1 + x − u]₊^p` sums to 1, starting from a lower one.

    Newton's method for the p-norm of [1 + x − u]₊, which is convex and falls with u: no step goes too far.
    """
    while True:
        with np.errstate(divide="ignore"):  # the logarithm of 0
            logarithms = np.log1p(np.maximum(x - u, -1)) / (alpha - 1)
        total = np.maximum(np.exp(logarithms).sum(axis=-1, keepdims=True), 1)
        slope = np.maximum(np.exp(logarithms * (2 - alpha)).sum(axis=-1, keepdims=True), 1)  # the sum's, divided by −p
        step = -total * np.expm1((1 - alpha) * np.log(total)) / slope
        if not np.any(u + step / 4 > u):
            return u
        u = u + step


def weights_above_two(scores: Array, alpha: float) -> Array:
    """`[(α − 1) scores − τ]₊^p` with sum 1, for scores [… n m], α > 2 and p = 1/(α − 1).

    The power is steep near 0. So the unknown is not τ but the smallest weight above 0, the k-th largest score's; the
    others follow from it.
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
    """The number of scores, descending along each row, with weights above 0 [… n 1].

    The k-th has one if with τ at its own score the weights sum to less than 1; then τ is above −1. Bisection finds k.
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
    """The weight t [… n 1] of the k-th score for which the k largest scores' weights sum to 1; `size` is k.

    Their sum is convex and increasing in t: from t = 1/k, where it is at least 1, no step of Newton's method goes too
    far.
    """
    weight = np.ones_like(kth) / size
    while True:
        weights = _weights_from(kth, weight, ordered, alpha)
        ratios = weight / np.maximum(weights, weight)
        slope = (ratios ** (alpha - 2) * (weights > 0)).sum(axis=-1, keepdims=True)
        step = np.maximum(weights.sum(axis=-1, keepdims=True) - 1, 0) / slope
        if not np.any(weight - step / 4 < weight):
            return weight
        weight = np.maximum(weight - step, weight / 2**30)  # rounding might make it 0


def _weights_from(kth: Array, weight: Array, scores: Array, alpha: float) -> Array:
    """The weights [… n m], given the k-th largest score [… n 1] and its weight: 0 for lower scores.

    They are `((α − 1) (score − k-th score) + t^(α − 1))^p`, and at least t.
    """
    base = (scores - kth) * (alpha - 1)
    counts = base >= 0
    base = np.maximum(np.maximum(base, 0) + weight ** (alpha - 1), SMALLEST)
    return np.maximum(base ** (1 / (alpha - 1)) * (base > SMALLEST), weight) * counts


def _largest(scores: Array, count: int) -> Array:
    """The so many largest scores of each row, in any order."""
    return scores if count == scores.shape[-1] else np.partition(scores, -count, axis=-1)[..., -count:]

"""Normalizers: from a row of scores to a row of weights, by exponentials, one by one, or unchanged.

A score of −∞ marks a masked key: its weight is exactly 0. A row in which every key is masked becomes zeros.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, all_finite, all_true, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, exp, number, parameter, products, total
from attncli.ops.code import Code, CodeCall
from attncli.ops.code_parts import largest_code, quotient_code, softmax_code
from attncli.ops.decorators import normalizer
from attncli.ops.derivatives import NoDerivative, computed_products, derivative, derivative_by_number, sum_products
from attncli.ops.recording.stable import stable
from attncli.ops.records import OnlineNormalizer, Positive, Quantity, Range, Tap, no_tap, reused

EXPONENTIALS_PURPOSE = (
    "Scores that count become positive numbers, others 0; the row's largest is subtracted first, "
    "which changes no weight and avoids overflow."
)
EXPONENTIALS = Quantity("exponentials", "E", "exp(Sᵢⱼ − maxᵢ)", ("n", "m"), EXPONENTIALS_PURPOSE)

SOFTMAX = "Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ)"
SHAPES = "scores[n m] -> [n m]"
MIN_KEYS_PER_BEST = 8  # from here on only the exponentials of the best are computed
GROUPS_PER_NUMBER = 4  # groups in a row: with so many hardly more than the k cells reach the bound
MIN_SAVING = 4  # whole rows are sorted unless their groups, or the cells that reach the bound, are so many times fewer


def finite_max(scores: Array) -> Array:
    """Each row's largest score, [… n m] to [… n 1]; 0 if every key is masked.

    >>> finite_max(np.array([[1.0, 3.0], [-np.inf, -np.inf]]))
    array([[3.],
           [0.]])
    """
    largest: Array = scores.max(axis=-1, keepdims=True)
    if not all_finite(largest):
        np.copyto(largest, 0, where=largest == -np.inf)
    return largest


def safe_divide(numerator: Array, denominator: Array, *, out: Array | None = None) -> Array:
    """`numerator / denominator`, or 0 where the denominator is 0; both broadcast. `out` may be the numerator.

    >>> safe_divide(np.array([[1.0, 3.0], [0.0, 0.0]]), np.array([[4.0], [0.0]]))
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    if all_true(denominator):
        return np.divide(numerator, denominator, out=out).astype(numerator.dtype, copy=False)
    is_zero = denominator == 0
    quotient: Array = np.where(is_zero, 0, numerator / np.where(is_zero, 1, denominator))
    return quotient.astype(numerator.dtype)


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
    write: ArithmeticWriter, scores: Array, result: Any, *, exponentials: Array, temperature: float
) -> list[str]:
    """The exponential of one score, the sum over its row [m], and their quotient."""
    difference = number(scores[write.column]) - scores.max()
    power = difference if temperature == 1 else difference / parameter(temperature)
    return exponential_lines(write, exp(power), exponentials, exponentials, result)


def exponential_lines(
    write: ArithmeticWriter, exponential: Term, exponentials: Array, addends: Array | Sequence[Any], result: Any
) -> list[str]:
    """One exponential of a row [m], the sum of all, and the quotient."""
    own, before = exponentials[write.column], len(addends) - len(exponentials)
    row_sum = write.computed("Σⱼ exp", total(addends, before + write.column if before >= 0 else None))
    return [write.equation(exponential, own), row_sum.line, write.equation(number(own) / row_sum, result)]


def softmax_gradient_by_hand(
    write: ArithmeticWriter, grad: Array, forward: Array, result: Any, *, temperature: float = 1.0
) -> list[str]:
    """The sum of a row's gradients [m] times its weights, and one gradient's difference from it."""
    row = write.computed("Σⱼ dA∘A", products(grad, forward))
    own = number(forward[write.column]) * (number(grad[write.column]) - row)
    return [row.line, write.equation(own if temperature == 1 else own / parameter(temperature), result)]


def _softmax_gradient(_symbols: Mapping[str, str], options: Mapping[str, Any]) -> str:
    """The formula, with the temperature unless it is 1."""
    divided = " / T" if options.get("temperature", 1) != 1 else ""
    return f"{{d_scores}}ᵢⱼ = {{result}}ᵢⱼ ({{d_result}}ᵢⱼ − Σⱼ {{d_result}}ᵢⱼ {{result}}ᵢⱼ){divided}"


def _softmax_gradient_code(call: CodeCall) -> str:
    """The weights times each gradient's difference from their mean, divided by the temperature."""
    code = "{forward} * ({grad} - ({grad} * {forward}).sum(axis=-1, keepdims=True))"
    return code if call.option("temperature", 1.0) == 1 else f"{code} / {{temperature}}"


@derivative(_softmax_gradient, sums_over=("m",), by_hand=softmax_gradient_by_hand, code=_softmax_gradient_code)
def softmax_scores(grad: Array, forward: Array, *, temperature: float = 1.0) -> Array:
    """The gradient of the scores: A ∘ (dA − Σⱼ dA∘A), divided by the temperature."""
    return _gradient_of_exponentials(
        grad, forward, (grad * forward).sum(axis=-1, keepdims=True), temperature=temperature
    )


def _gradient_of_exponentials(grad: Array, weights: Array, row_sums: Array, *, temperature: float = 1.0) -> Array:
    """The gradient of some keys' scores, from the sums of dA∘A over all keys [… n 1]."""
    gradient: Array = weights * (grad - row_sums)
    return gradient if temperature == 1 else gradient / temperature


@derivative_by_number(
    "T",
    "{d_argument} = −Σ δᵢⱼ {scores}ᵢⱼ / {argument}², δᵢⱼ = {result}ᵢⱼ ({d_result}ᵢⱼ − Σⱼ {d_result}ᵢⱼ {result}ᵢⱼ)",
    by_hand=lambda write, grad, scores, forward, result, *, temperature: [
        (row := computed_products(write, "−Σ g∘S", -softmax_scores(grad, forward), scores)).line,
        *([] if temperature == 1 else [write.equation(row / parameter(temperature) ** 2, result)]),
    ],
    code="\n".join(
        [
            "changes = {forward} * ({grad} - ({grad} * {forward}).sum(axis=-1, keepdims=True))",
            "-(changes * np.where(changes != 0, {scores}, 0)).sum() / {temperature} ** 2",
        ]
    ),
)
def softmax_temperature(grad: Array, scores: Array, forward: Array, *, temperature: float) -> Array:
    """The gradient of the temperature: a higher one brings the scores nearer to each other."""
    return -sum_products(softmax_scores(grad, forward), scores) / temperature / temperature


def _softmax1_code(call: CodeCall) -> str:
    """The same with an exponential of 0 in the sum."""
    total = "np.exp(-largest) + {exponentials}.sum(axis=-1, keepdims=True)"
    lines = ["largest = {scores}.max(axis=-1, keepdims=True).clip(0)", "{exponentials} = np.exp({scores} - largest)"]
    return "\n".join([*lines, f"{{exponentials}} / ({total})"])


def _topk_code(kth: str) -> Callable[[CodeCall], str]:
    """Exponentials of the scores that reach the k-th; this code finds the k-th in a row."""

    def code(call: CodeCall) -> str:
        count = min(call.options["k"], call.shapes["scores"][-1])
        lines = [f"kth_largest = {kth.replace('{count}', str(count))}"]
        lines.append(f"{{exponentials}} = np.exp({{scores}} - {largest_code(call)}) * ({{scores}} >= kth_largest)")
        return "\n".join([*lines, quotient_code(call, "{exponentials}")])

    return code


def _hardmax_code(call: CodeCall) -> str:
    """The largest scores, and their shares."""
    return f"is_largest = {{scores}} == {largest_code(call)}\n{quotient_code(call, 'is_largest')}"


def _visible_code(call: CodeCall) -> str:
    """The scores, 0 for hidden keys."""
    scores = call.values.get("scores")
    is_whole = scores is not None and not (scores == -np.inf).any()
    return "{scores}" if is_whole else "np.where({scores} == -np.inf, 0, {scores})"


def _sum_code(call: CodeCall) -> str:
    """The scores over their sum; 0 if the sum is 0."""
    lines, scores = [f"visible_scores = {_visible_code(call)}"], call.values.get("scores")
    lines.append("total = visible_scores.sum(axis=-1, keepdims=True)")
    if scores is not None and _visible(scores).sum(axis=-1).all():
        return "\n".join([*lines, "visible_scores / total"])
    return "\n".join([*lines, "np.where(total == 0, 0, visible_scores / np.where(total == 0, 1, total))"])


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
    online=OnlineNormalizer(
        _exponentials,
        exp_scale=lambda parameters: 1 / parameters["temperature"],
        gradient=_gradient_of_exponentials,
    ),
    by_hand=softmax_by_hand,
    derivatives={"scores": softmax_scores, "temperature": softmax_temperature},
    is_distribution=True,
    code=softmax_code,
)
def softmax(scores: Array, *, temperature: Positive = 1.0, tap: Tap = no_tap) -> Array:
    """Exponentials, divided by their sum: weights that add to 1; a temperature below 1 sharpens, one above 1 flattens.

    A row of −∞ becomes zeros.

    >>> softmax(np.array([[0.0, 0.0], [np.log(3), -np.inf]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    >>> softmax(np.array([[np.log(3), 0.0]]), temperature=0.5).round(4)
    array([[0.9, 0.1]])
    """
    exponentials = tap("exponentials", _exponentials(scores, finite_max(scores), temperature=temperature))
    return safe_divide(exponentials, exponentials.sum(axis=-1, keepdims=True), out=reused(exponentials, tap))


def softmax1_by_hand(write: ArithmeticWriter, scores: Array, result: Any, *, exponentials: Array) -> list[str]:
    """The exponential of one score, the sum over its row [m] and the extra logit 0, and their quotient."""
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
        gradient=_gradient_of_exponentials,
    ),
    by_hand=softmax1_by_hand,
    derivatives={"scores": softmax_scores},
    code=_softmax1_code,
)
def softmax1(scores: Array, *, tap: Tap = no_tap) -> Array:
    """Softmax with one extra logit 0, which is then discarded: weights may sum to less than 1.

    Rows sum to less than 1.

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


@derivative(
    "{d_scores}ᵢⱼ = {d_result}ᵢⱼ {result}ᵢⱼ (1 − {result}ᵢⱼ)",
    by_hand=lambda write, grad, forward, result: [
        write.equation(number(grad) * number(forward) * (1 - number(forward)), result)
    ],
    code="{grad} * {forward} * (1 - {forward})",
)
def sigmoid_scores(grad: Array, forward: Array) -> Array:
    """The gradient of the scores, one by one."""
    gradient: Array = grad * forward * (1 - forward)
    return gradient


@derivative_by_number(
    "shift",
    "{d_argument} = Σ {d_result}ᵢⱼ {result}ᵢⱼ (1 − {result}ᵢⱼ)",
    by_hand=lambda write, grad, forward, result: [
        computed_products(write, "Σ dA∘A∘(1 − A)", grad, forward * (1 - forward)).line
    ],
    code="({grad} * {forward} * (1 - {forward})).sum()",
)
def sigmoid_shift(grad: Array, forward: Array) -> Array:
    """The gradient of the shift, which is added to every score."""
    return sum_products(grad, forward * (1 - forward))


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
    derivatives={"scores": sigmoid_scores, "shift": sigmoid_shift},
)
def sigmoid(scores: Array, *, shift: float = 0.0) -> Array:
    """Each key on its own: a weight between 0 and 1, whatever the other keys score.

    A shift of −log m makes rows sum to about 1.

    >>> sigmoid(np.array([[0.0, np.log(3), -np.inf]])).round(4)
    array([[0.5 , 0.75, 0.  ]])
    """
    weights: Array = stable(lambda x: 1 / (1 + np.exp(-x)), _logistic, scores + shift)
    return weights


@derivative(
    "{d_scores}ᵢⱼ = {d_result}ᵢⱼ where {scores}ᵢⱼ > 0, otherwise 0",
    by_hand=lambda write, grad, scores, result: [f"{write(scores)} {'> 0' if scores > 0 else '≤ 0'}: {write(result)}"],
    remark="0 is taken where a score is 0",
    code="np.where({scores} > 0, {grad}, 0)",
)
def relu_scores(grad: Array, scores: Array) -> Array:
    """The gradient of the scores that are positive."""
    return np.where(scores > 0, grad, 0)


@normalizer(
    formula="Aᵢⱼ = max(Sᵢⱼ, 0)",
    shapes=SHAPES,
    source="Zhang, Titov & Sennrich 2021 (Sparse Attention with Linear Units), without its layer norm",
    example={"scores": [[2, -1, 0]], "gives": [[2, 0, 0]]},
    online=OnlineNormalizer(
        lambda scores, _running_max, *, out: np.maximum(scores, 0, out=out), uses_running_max=False, is_divided=False
    ),
    derivatives={"scores": relu_scores},
)
def relu(scores: Array) -> Array:
    """The positive scores themselves; 0 for others.

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


@derivative(
    "{d_scores}ᵢⱼ = {result}ᵢⱼ ({d_result}ᵢⱼ − Σⱼ {d_result}ᵢⱼ {result}ᵢⱼ)",
    sums_over=("m",),
    by_hand=lambda write, grad, forward, result, **_: softmax_gradient_by_hand(write, grad, forward, result),
    remark="where a score ties with the k-th largest there is none",
    code=_softmax_gradient_code,
)
def topk_scores(grad: Array, scores: Array, forward: Array, *, k: int) -> Array:
    """The gradient of the k largest scores, as for softmax; raises AttnError if others equal the k-th."""
    before = max(scores.shape[-1] - k, 0)
    kth = np.partition(scores, before, axis=-1)[..., before, None]
    is_tie = ((scores >= kth).sum(axis=-1) > k) & np.isfinite(kth[..., 0])
    if is_tie.any():
        row = tuple(map(int, np.argwhere(is_tie)[0]))
        message = f"normalize topk has no derivative: in row {list(row)} the {k} largest scores tie with others"
        raise AttnError(message, where="grad_output", hint="give another k, or scores that differ")
    return softmax_scores(grad, forward)


@normalizer(
    formula="Aᵢ = softmax over the k largest Sᵢⱼ, 0 elsewhere",
    shapes=SHAPES,
    source="Gupta et al. 2021 (Memory-efficient Transformers via Top-k Attention)",
    example={"scores": [[0, math.log(3), -5, -6]], "k": 2, "gives": [[0.25, 0.75, 0, 0]]},
    formula_in_force=lambda k: f"Aᵢ = softmax over the {k} largest Sᵢⱼ, 0 elsewhere",  # Kⱼ is a key
    inner=(EXPONENTIALS,),
    by_hand=topk_by_hand,
    derivatives={"scores": topk_scores},
    is_distribution=True,
    code=Code(
        numpy=_topk_code("np.sort({scores}, axis=-1)[..., -{count}, None]"),
        torch=_topk_code("{scores}.topk({count}).values[..., -1:]"),
    ),
)
def topk(scores: Array, *, k: Annotated[int, Range(least=1)], tap: Tap = no_tap) -> Array:
    """Softmax over the k best keys; keys that tie with the k-th stay, so that equal scores get equal weights.

    If there are fewer than k keys, all count. A row of −∞ becomes zeros.

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
    """Softmax of the scores [… n m] in some cells, by flat index, given each row's largest [… n 1]; 0 elsewhere.

    The scores are float32 or float64; their exponentials are summed in float64.
    """
    rows = cells // scores.shape[-1]
    exponentials = _exponentials(scores.take(cells), largest.take(rows))
    sums = np.bincount(rows, exponentials, minlength=largest.size)
    weights = np.zeros_like(scores)
    weights.put(cells, safe_divide(exponentials, sums.take(rows)))
    return weights


def largest_cells(x: Array, k: int) -> Array:
    """The cells of each row's k largest numbers, and of all that equal the k-th; cells of −∞ are left out.

    The k-th largest of the maxima of groups of cells is a bound that at least k cells reach. Few others do, and only
    these few are sorted.

    `x` [… n m] has floating-point numbers without NaN, and k is from 1 to m. Cells are in order, as indices into
    `x.flat`.

    >>> largest_cells(np.array([[3.0, 1.0, 3.0, 2.0], [0.0, -np.inf, 1.0, -1.0]]), k=1).tolist()
    [0, 2, 6]
    """
    length = x.shape[-1]
    rows = x.reshape(-1, length)
    groups = max(GROUPS_PER_NUMBER * k, math.isqrt(length))
    if groups * MIN_SAVING > length:
        return _cells_from(rows, _kth_largest(rows, k))
    cells = _cells_from(rows, _kth_largest(_group_maxima(rows, groups), k))
    row = cells // length
    counts = np.bincount(row, minlength=len(rows))
    width = counts.max(initial=k)
    if width * MIN_SAVING > length:
        return _cells_from(rows, _kth_largest(rows, k))
    numbers = rows.take(cells)
    candidates = np.full((len(rows), width), -np.inf, x.dtype)
    candidates[row, np.arange(cells.size) - (counts.cumsum() - counts)[row]] = numbers
    largest: Array = cells[numbers >= _kth_largest(candidates, k).take(row)]
    return largest


def _cells_from(rows: Array, least: Array) -> Array:
    """The cells of rows [n m] that reach their row's bound [n 1] and are not −∞."""
    return np.flatnonzero(rows >= np.maximum(least, np.finfo(rows.dtype).min))


def _kth_largest(rows: Array, k: int) -> Array:
    """Each row's k-th largest number, [n m] to [n 1]."""
    before = rows.shape[-1] - k
    return np.partition(rows, before, axis=-1)[:, before, None]


def _group_maxima(rows: Array, groups: int) -> Array:
    """The maxima of so many groups of cells of each row, [n m] to [n groups]."""
    maxima = rows[:, :groups].copy()
    for start in range(groups, rows.shape[-1], groups):
        part = rows[:, start : start + groups]
        some = maxima[:, : part.shape[-1]]
        np.maximum(some, part, out=some)
    return maxima


def _equal(scores: Array, running_max: Array, *, out: Array | None = None) -> Array:
    """1 for the largest scores, unless they are −∞; 0 elsewhere; NaN in a row with NaN."""
    equal: Array = np.equal(scores, running_max, out=out).astype(scores.dtype, copy=False)
    is_nan = np.isnan(running_max)
    if is_nan.any():
        np.copyto(equal, np.nan, where=is_nan)
    return equal


def hardmax_by_hand(write: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    """Whether one score is the largest of its row [m], and how many equal it."""
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
    derivatives={"scores": NoDerivative("its weights jump when another score becomes the largest")},
    is_distribution=True,
    code=_hardmax_code,
)
def hardmax(scores: Array) -> Array:
    """All weight on the largest score; keys that tie share it, as softmax does when the temperature goes to 0.

    A row of −∞ becomes zeros.

    >>> hardmax(np.array([[3.0, 1.0, 3.0, 2.0]]))
    array([[0.5, 0. , 0.5, 0. ]])
    """
    largest = _equal(scores, finite_max(scores))
    return safe_divide(largest, largest.sum(axis=-1, keepdims=True))


def _visible(scores: Array) -> Array:
    """The scores, 0 where a key is masked."""
    return np.where(scores == -np.inf, 0, scores).astype(scores.dtype, copy=False)


def sum_by_hand(write: ArithmeticWriter, scores: Array, result: Any) -> list[str]:
    """The sum of a row [m], and one score over it."""
    visible = _visible(scores)
    if visible.sum() == 0:
        return ["the row sums to 0: the weight is 0"]
    row_sum = write.computed(f"Σⱼ {write.symbol('scores')}ᵢⱼ", total(visible, write.column))
    return [row_sum.line, write.equation(number(visible[write.column]) / row_sum, result)]


def sum_gradient_by_hand(write: ArithmeticWriter, grad: Array, scores: Array, forward: Array, result: Any) -> list[str]:
    """The row's sums [m] of gradients times weights and of scores, and one gradient's difference from the former."""
    visible = _visible(scores)
    if visible.sum() == 0 or np.isneginf(scores[write.column]):
        return [f"the weight is 0, whatever the score: {write(0.0)}"]
    row = write.computed("Σⱼ dA∘A", products(grad, forward))
    row_sum = write.computed(f"Σⱼ {write.symbol('scores')}ᵢⱼ", total(visible))
    return [row.line, row_sum.line, write.equation((number(grad[write.column]) - row) / row_sum, result)]


def _sum_gradient_code(call: CodeCall) -> str:
    """Each gradient's difference from the mean, over the sum; 0 if the sum is 0 or the key hidden."""
    lines = [f"total = {_visible_code(call)}.sum(axis=-1, keepdims=True)"]
    lines.append("change = {grad} - ({grad} * {forward}).sum(axis=-1, keepdims=True)")
    counts = "(total == 0) | ({scores} == -np.inf)"
    return "\n".join([*lines, f"np.where({counts}, 0, change / np.where(total == 0, 1, total))"])


@derivative(
    "{d_scores}ᵢⱼ = ({d_result}ᵢⱼ − Σⱼ {d_result}ᵢⱼ {result}ᵢⱼ) / Σⱼ {scores}ᵢⱼ",
    sums_over=("m",),
    by_hand=sum_gradient_by_hand,
    remark="0 is taken in a row that sums to 0",
    code=_sum_gradient_code,
)
def sum_scores(grad: Array, scores: Array, forward: Array) -> Array:
    """The gradient of the scores: a larger one takes weight from the others."""
    row_sum = _visible(scores).sum(axis=-1, keepdims=True)
    change = grad - (grad * forward).sum(axis=-1, keepdims=True)
    return np.where(scores == -np.inf, 0, safe_divide(change, row_sum))


@normalizer(
    formula="Aᵢⱼ = Sᵢⱼ / Σⱼ Sᵢⱼ",
    shapes=SHAPES,
    source="Katharopoulos et al. 2020, eq. 3",
    example={"scores": [[1, 3, 4]], "gives": [[0.125, 0.375, 0.5]]},
    online=OnlineNormalizer(
        lambda scores, _running_max, *, out=None: _visible(scores), uses_running_max=False, may_cancel=True
    ),
    by_hand=sum_by_hand,
    derivatives={"scores": sum_scores},
    code=_sum_code,
)
def sum_(scores: Array) -> Array:
    """Each score, divided by the sum of its row; a row that sums to 0 becomes zeros.

    Negative scores give negative weights. A masked key counts as 0.

    >>> sum_(np.array([[1.0, 3.0, 4.0], [1.0, -1.0, 0.0]]))
    array([[0.125, 0.375, 0.5  ],
           [0.   , 0.   , 0.   ]])
    """
    visible = _visible(scores)
    return safe_divide(visible, visible.sum(axis=-1, keepdims=True))


@normalizer(
    formula="Aᵢⱼ = Sᵢⱼ",
    shapes=SHAPES,
    source="Schlag, Irie & Schmidhuber 2021, attention without softmax",
    example={"scores": [[1, -3, 4]], "gives": [[1, -3, 4]]},
    online=OnlineNormalizer(
        lambda scores, _running_max, *, out=None: _visible(scores),
        uses_running_max=False,
        is_divided=False,
        may_cancel=True,
    ),
    by_hand=lambda write, scores, result: [
        "the key is masked: the weight is 0"
        if np.isneginf(scores[write.column])
        else f"the weight is the score: {write(result)}"
    ],
    derivatives={"scores": "{d_scores} = {d_result}, 0 where the key is masked"},
    code=_visible_code,
)
def none(scores: Array) -> Array:
    """The scores themselves are the weights.

    A masked key has the weight 0.

    >>> none(np.array([[1.0, -3.0, -np.inf]]))
    array([[ 1., -3.,  0.]])
    """
    return _visible(scores)

"""Contexts: from weights and values to one vector for each query.

A key of weight 0 is not attended: contexts that select a key select among the others. `max` is an exception: such a key
has the weighted value 0, unless a mask hides it. Otherwise weights rounded to 0 would change which keys count.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from attncli.base.lazy_numpy import Array, all_finite, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import largest, number, products, total
from attncli.ops.code import Code, CodeCall, NoCode
from attncli.ops.decorators import context, structural
from attncli.ops.derivatives import CONSTANT, NoDerivative, derivative
from attncli.ops.products import MatrixProduct, product
from attncli.ops.records import DerivedInput, Quantity, Range, Symbol, Tap, no_tap

JUMPS_TO_THE_LARGEST = NoDerivative("the context jumps where another weight becomes the largest")
JUMPS_TO_THE_DRAWN = NoDerivative("the context jumps where another key is drawn")
NOT_FINITE = NoCode("a value is NaN or infinite, and its weight of 0 leaves it out")
NOTHING_ATTENDED = "no weight differs from 0: the context is 0"


def _sum_gradient_code(call: CodeCall) -> str | NoCode:
    """The product with finite values."""
    value = call.values.get("value")
    return "{grad} @ {value}.mT" if value is None or all_finite(value) else NOT_FINITE


@derivative("{d_weights}ᵢⱼ = {d_result}ᵢ·{value}ⱼ", code=_sum_gradient_code)
def weighted_sum_weights(grad: Array, value: Array, weights: Array) -> Array:
    """The gradient of the weights: how well each value fits the gradient of the context.

    It is 0 if the weight is 0 and the value is NaN or infinite.
    """
    fits: Array = grad @ value.mT
    if all_finite(value):
        return fits
    is_finite: Array = np.asarray(np.isfinite(value).all(axis=-1))
    return np.where((weights == 0) & ~is_finite[..., None, :], 0, fits)


@derivative("{d_value}ⱼ = Σᵢ {weights}ᵢⱼ {d_result}ᵢ")
def weighted_sum_value(grad: Array, weights: Array) -> Array:
    """The gradient of the values: each query's gradient, times its weight."""
    total: Array = weights.mT @ grad
    return total


def _sum_code(call: CodeCall) -> str | NoCode:
    """The product with finite values: 0 times infinity would not be 0."""
    value = call.values.get("value")
    if value is None or all_finite(value):
        return "{weights} @ {value}"
    return NOT_FINITE


@context(
    formula="Cᵢ = Σⱼ Aᵢⱼ Vⱼ",
    shapes="weights[n m], value[m e] -> [n e]",
    source="Bahdanau, Cho & Bengio 2015, eq. 5",
    example={"weights": [[0.25, 0.75]], "value": [[4, 0], [8, 4]], "gives": [[7, 3]]},
    derivatives={"weights": weighted_sum_weights, "value": weighted_sum_value},
    is_weighted_sum=True,
    code=_sum_code,
)
def weighted_sum(weights: Array, value: Array, *, matmul: MatrixProduct = product) -> Array:
    """The sum of the values, each times its weight.

    A weight of 0 contributes 0, even where the value is NaN or infinite.

    >>> weighted_sum(np.array([[0.25, 0.75]]), np.array([[4.0, 0.0], [8.0, 4.0]]))
    array([[7., 3.]])
    >>> weighted_sum(np.array([[1.0, 0.0]]), np.array([[4.0], [np.nan]]))
    array([[4.]])
    """
    if all_finite(value):
        return matmul(weights, value)
    finite: Array = np.asarray(np.isfinite(value).all(axis=-1))
    total = matmul(np.where(finite[..., None, :], weights, 0), np.where(finite[..., None], value, 0))
    attended = (weights != 0).any(axis=tuple(range(weights.ndim - 1)))
    non_finite = ~finite.all(axis=tuple(range(finite.ndim - 1)))
    for key in np.flatnonzero(attended & non_finite):
        weight, row = weights[..., :, key, None], value[..., None, key, :]
        contributes = (weight != 0) & ~finite[..., key, None, None]
        total += np.where(contributes, np.where(contributes, weight, 1) * row, 0)
    return total


HIDDEN = "gᵢ = {d_result}ᵢ (1 − {result}ᵢ²)"


@context(
    formula="Cᵢ = tanh([Uᵢ; Qᵢ] W_C), Uᵢ = Σⱼ Aᵢⱼ Vⱼ",
    shapes="weights[n m], value[m e], query[n d], w[e+d a] -> [n a]",
    source="Luong, Pham & Manning 2015, eq. 5",
    example={"weights": [[0.5, 0.5]], "value": [[2], [4]], "query": [[-3]], "w": [[1], [1]], "gives": [[0]]},
    inner=(
        Quantity("context_vector", "U", "Uᵢ = Σⱼ Aᵢⱼ Vⱼ", ("n", "e"), "The sum of the values, each times its weight."),
    ),
    derivatives={
        "weights": f"{{d_weights}}ᵢⱼ = uᵢ·{{value}}ⱼ, uᵢ the first numbers of gᵢ {{w}}ᵀ, {HIDDEN}",
        "value": f"{{d_value}}ⱼ = Σᵢ {{weights}}ᵢⱼ uᵢ, uᵢ the first numbers of gᵢ {{w}}ᵀ, {HIDDEN}",
        "query": f"{{d_query}}ᵢ = the last numbers of gᵢ {{w}}ᵀ, {HIDDEN}",
        "w": f"{{d_w}} = Σᵢ [Uᵢ; {{query}}ᵢ]ᵀ gᵢ, {HIDDEN}",
    },
)
def attentional(
    weights: Array,
    value: Array,
    query: Array,
    *,
    w: Annotated[Array, Symbol("W_C")],
    tap: Tap = no_tap,
    matmul: MatrixProduct = product,
) -> Array:
    """The weighted sum and the query together, through one more layer.

    `w` multiplies the weighted sum [e] and the query [d], side by side.

    >>> weights, value = np.array([[0.5, 0.5]]), np.array([[2.0], [4.0]])
    >>> attentional(weights, value, query=np.array([[-3.0]]), w=np.array([[1.0], [1.0]]))
    array([[0.]])
    """
    context_vector = tap("context_vector", weighted_sum(weights, value, matmul=matmul))
    concatenated: Array = np.concatenate([context_vector, query], axis=-1)
    hidden: Array = np.tanh(matmul(concatenated, w))
    return hidden


def _value_at(value: Array, index: Array, weights: Array) -> Array:
    """The value at each query's index; zeros if the query sees no key, NaN if it has a weight of NaN."""
    attends = (weights != 0).any(axis=-1)[..., None]
    chosen: Array = np.where(attends, np.take_along_axis(value, index[..., None], axis=-2), 0).astype(value.dtype)
    is_nan = np.isnan(weights).any(axis=-1, keepdims=True)
    return np.where(is_nan, np.nan, chosen).astype(value.dtype) if is_nan.any() else chosen


def _value_line(write: ArithmeticWriter, index: int, result: Any) -> str:
    """The line `C(a) = V(b) = [1 0]`."""
    return f"C({write.query}) = {write.symbol('value')}({write.keys[index]}) = {write(result)}"


def _value_code(call: CodeCall, index: str) -> str:
    """The value at each query's index, in a column; zeros if the query sees no key."""
    weights, chosen = call.values.get("weights"), f"np.take_along_axis({{value}}, {index}, axis=-2)"
    if weights is not None and (weights != 0).any(axis=-1).all():
        return chosen
    return f"np.where(({{weights}} != 0).any(axis=-1, keepdims=True), {chosen}, 0)"


def _argmax_code(call: CodeCall) -> str:
    """The largest weight that is not 0."""
    weights = call.values.get("weights")
    is_positive = weights is not None and bool((weights >= 0).all())
    attended = "{weights}" if is_positive else "np.where({weights} != 0, {weights}, -np.inf)"
    return f"best = {attended}.argmax(axis=-1)[..., None]\n{_value_code(call, 'best')}"


def argmax_by_hand(write: ArithmeticWriter, weights: Array, value: Array, result: Any) -> list[str]:
    """The largest weight of one query [m], and the value of its key."""
    attended = np.where(weights != 0, weights, -np.inf)
    if not weights.any():
        return [NOTHING_ATTENDED]
    return [f"{write(attended.max())} is the largest weight: {_value_line(write, int(attended.argmax()), result)}"]


@context(
    formula="Cᵢ = Vⱼ, j = argmaxⱼ Aᵢⱼ",
    shapes="weights[n m], value[m e] -> [n e]",
    source="Xu et al. 2015, §4.1, at the likeliest place",
    example={"weights": [[0.25, 0.75]], "value": [[4, 0], [8, 4]], "gives": [[8, 4]]},
    by_hand=argmax_by_hand,
    derivatives={"weights": JUMPS_TO_THE_LARGEST, "value": JUMPS_TO_THE_LARGEST},
    code=_argmax_code,
)
def argmax(weights: Array, value: Array) -> Array:
    """The value of the key with the largest weight; the first of equal ones.

    A query that sees no key gets zeros.

    >>> argmax(np.array([[0.25, 0.75], [0.0, 0.0]]), np.array([[4, 0], [8, 4]]))
    array([[8, 4],
           [0, 0]])
    """
    attended = np.where(weights != 0, weights, -np.inf)
    return _value_at(value, attended.argmax(axis=-1), weights)


@structural(
    is_exact=True,
    code=Code(
        numpy="np.random.default_rng({seed}).random({shape})",
        torch=NoCode("PyTorch has no generator that draws as NumPy's"),
    ),
)
def uniform_draws(*, shape: tuple[int, ...], seed: int) -> Array:
    """One number in [0, 1) for each query; the same for the same seed.

    The shape is […, n]; the seed is for NumPy's default generator.

    >>> uniform_draws(shape=(3,), seed=0).round(4)
    array([0.637 , 0.2698, 0.041 ])
    """
    return np.random.default_rng(seed).random(shape)


def sample_by_hand(
    write: ArithmeticWriter, weights: Array, value: Array, result: Any, draws: Any, **_: int
) -> list[str]:
    """The weights up to the key drawn for one query, and its value."""
    if not weights.any():
        return [NOTHING_ATTENDED]
    index = min(int((weights.cumsum() <= draws * weights.sum()).sum()), len(weights) - 1)
    until = write.computed("", total(weights[: index + 1]))
    lines = [f"the weights up to {write.keys[index]}: {until.line}"]
    if index:
        lines.insert(0, f"the weights before {write.keys[index]}: {write.computed('', total(weights[:index])).line}")
    return [*lines, f"ω = {write(draws)} is reached there: {_value_line(write, index, result)}"]


def _sample_code(call: CodeCall) -> str:
    """The first key whose cumulative weight exceeds the draw."""
    keys = call.shapes["weights"][-1]
    drawn = f"drawn = (total <= {{draws}}[..., None] * total[..., -1:]).sum(axis=-1).clip(max={keys - 1})[..., None]"
    return f"total = {{weights}}.cumsum(axis=-1)\n{drawn}\n{_value_code(call, 'drawn')}"


@context(
    formula="Cᵢ = Vⱼ, j drawn with probability Aᵢⱼ",
    shapes="weights[n m], value[m e], draws[n] -> [n e]",
    source="Xu et al. 2015, eq. 8 and 9 (hard attention)",
    example={"weights": [[0, 1]], "value": [[4, 0], [8, 4]], "gives": [[8, 4]]},
    by_hand=sample_by_hand,
    derivatives={
        "weights": JUMPS_TO_THE_DRAWN,
        "value": JUMPS_TO_THE_DRAWN,
        "draws": CONSTANT,
    },
    derived={
        "draws": DerivedInput(
            uniform_draws,
            "ω",
            lambda shape, seed: "ω uniform in [0, 1)",
            ("…", "n"),
            ("seed",),
            purpose="One random number for each query, which decides the key.",
        )
    },
    needs_distribution=True,
    code=_sample_code,
)
def sample(
    weights: Array, value: Array, draws: Array | None = None, *, seed: Annotated[int, Range(least=0)] = 0
) -> Array:
    """The value of one key, drawn with the weights as probabilities; the same seed draws the same keys.

    A query that sees no key gets zeros. `draws` are numbers in [0, 1), by default `uniform_draws` of the seed.

    >>> value = np.array([[4, 0], [8, 4]])
    >>> sample(np.array([[0.0, 1.0], [0.5, 0.5]]), value, draws=np.array([0.3, 0.3]))
    array([[8, 4],
           [4, 0]])
    """
    total = weights.cumsum(axis=-1)
    uniform = uniform_draws(shape=weights.shape[:-1], seed=seed) if draws is None else draws
    drawn_at = uniform[..., None] * total[..., -1:]
    index = np.minimum((total <= drawn_at).sum(axis=-1), weights.shape[-1] - 1)
    return _value_at(value, index, weights)


def max_by_hand(
    write: ArithmeticWriter, weights: Array, value: Array, result: Any, *, visible: Any = None
) -> list[str]:
    """The largest weighted value [m e] of each feature."""
    if not weights.any():
        return [NOTHING_ATTENDED]
    counts = _counting_keys(weights, visible)
    finite = np.where((weights == 0)[:, None] & ~np.isfinite(value), 0, value)  # a weight of 0 contributes 0
    weighted = [number(weight) * row for weight, row, is_in in zip(weights, finite, counts, strict=True) if is_in]
    return [write.equation(largest(weighted), result, name=f"C({write.query})", letter="e")]


FIRST_OF_EQUALS = "of equal weighted values the first is taken"


def _choices(grad: Array, weights: Array, value: Array, visible: Array | None) -> Iterator[tuple[int, Array]]:
    """Each feature's gradient, in the cell [… n m] of its largest weighted value; 0 elsewhere."""
    counts = _counting_keys(weights, visible)
    for feature in range(value.shape[-1]):
        numbers = value[..., None, :, feature]
        products = np.where(counts, weights * np.where(weights != 0, numbers, 0), -np.inf)
        best = products.argmax(axis=-1)[..., None]
        is_best = (np.arange(products.shape[-1]) == best) & counts
        yield feature, np.where(is_best, grad[..., feature, None], 0)


def _best_code(call: CodeCall, then: str) -> str:
    """The cell of each feature's largest product, and a value computed from it."""
    keys = call.shapes["weights"][-1]
    counts = "{visible} | ({weights} != 0)" if call.has("visible") else "{weights} == {weights}"
    products = "np.where(counts[..., None], {weights}[..., None] * {value}[..., None, :, :], -np.inf)"
    is_best = f"(np.arange({keys})[:, None] == products.argmax(axis=-2)[..., None, :]) & counts[..., None]"
    return "\n".join([f"counts = {counts}", f"products = {products}", f"is_best = {is_best}", then])


def max_weights_by_hand(
    write: ArithmeticWriter, grad: Array, weights: Array, value: Array, result: Any, *, visible: Array | None = None
) -> list[str]:
    """The features whose largest weighted value is one key's, and its values there."""
    row = None if visible is None else visible[None]
    chosen = [feature for feature, cells in _choices(grad[None], weights[None], value, row) if cells[0, write.column]]
    if not chosen:
        return [f"no feature takes the value of {write.key}: {write(result)}"]
    return [write.equation(products(grad[chosen], value[write.column, chosen]), result)]


@derivative(
    "{d_weights}ᵢⱼ = Σₑ {d_result}ᵢₑ {value}ⱼₑ over the e whose largest is that of j",
    sums_over=("m",),
    by_hand=max_weights_by_hand,
    remark=FIRST_OF_EQUALS,
    code=lambda call: _best_code(call, "(is_best * {grad}[..., None, :] * {value}[..., None, :, :]).sum(axis=-1)"),
)
def max_weights(grad: Array, weights: Array, value: Array, visible: Array | None = None) -> Array:
    """The gradient of the weights: from the features whose maximum they make."""
    gradient = np.zeros(np.broadcast_shapes(weights.shape, (*grad.shape[:-1], 1)), grad.dtype)
    for feature, chosen in _choices(grad, weights, value, visible):
        gradient += np.where(chosen != 0, chosen * np.where(chosen != 0, value[..., None, :, feature], 0), 0)
    return gradient


def max_value_by_hand(
    write: ArithmeticWriter, grad: Array, weights: Array, value: Array, result: Any, *, visible: Array | None = None
) -> list[str]:
    """The gradients of the queries whose largest weighted value is one key's, times their weights of it."""
    taken = np.stack([cells[:, write.column] for _, cells in _choices(grad, weights, value, visible)], axis=-1)
    return [write.equation(products(weights[:, write.column], taken), result, letter="e")]


@derivative(
    "{d_value}ⱼₑ = Σᵢ {d_result}ᵢₑ {weights}ᵢⱼ over the i whose largest is that of j",
    sums_over=("n", "m"),
    by_hand=max_value_by_hand,
    remark=FIRST_OF_EQUALS,
    code=lambda call: _best_code(call, "(is_best * {grad}[..., None, :] * {weights}[..., None]).sum(axis=-3)"),
)
def max_value(grad: Array, weights: Array, value: Array, visible: Array | None = None) -> Array:
    """The gradient of the values: where a value is the largest, the context's gradient times its weight."""
    columns = [(chosen * weights).sum(axis=-2) for _, chosen in _choices(grad, weights, value, visible)]
    return np.stack(columns, axis=-1)


def _max_code(call: CodeCall) -> str:
    """The largest product of each feature, among keys that count."""
    products = "{weights}[..., None] * {value}[..., None, :, :]"
    if not call.has("visible"):
        return f"({products}).max(axis=-2)"
    counts = "counts = {visible} | ({weights} != 0)"
    largest = f"np.where(counts[..., None], {products}, -np.inf).max(axis=-2)"
    return f"{counts}\nnp.where(counts.any(axis=-1, keepdims=True), {largest}, 0)"


@context(
    formula="Cᵢₑ = maxⱼ Aᵢⱼ Vⱼₑ over visible j",
    shapes="weights[n m], value[m e], visible[n m] -> [n e]",
    source="Collobert et al. 2011, §3.2.2 (max over time), over weighted values",
    example={"weights": [[0.25, 0.75]], "value": [[4, 8], [-8, 4]], "gives": [[1, 3]]},
    by_hand=max_by_hand,
    derivatives={"weights": max_weights, "value": max_value, "visible": CONSTANT},
    code=_max_code,
)
def max_(weights: Array, value: Array, visible: Array | None = None) -> Array:
    """For each feature the largest weighted value, instead of their sum.

    Only keys that a mask hides are left out. A key of weight 0 contributes 0, even if its value is NaN or infinite. A
    query that sees no key gets zeros.

    >>> weights, value = np.array([[0.25, 0.75, 0.0]]), np.array([[-4.0, 8.0], [-8.0, 4.0], [9.0, 9.0]])
    >>> max_(weights, value)
    array([[0., 3.]])
    >>> max_(weights, value, visible=np.array([[True, True, False]]))
    array([[-1.,  3.]])
    """
    counts = _counting_keys(weights, visible)

    def largest_of(numbers: Array) -> Array:
        products = weights * np.where(weights != 0, numbers, 0)
        found: Array = np.where(counts, products, -np.inf).max(axis=-1)
        return found

    columns = [largest_of(value[..., None, :, feature]) for feature in range(value.shape[-1])]
    largest = np.stack(columns, axis=-1).astype(np.result_type(weights, value))
    return np.where(counts.any(axis=-1, keepdims=True), largest, 0).astype(largest.dtype)


def _counting_keys(weights: Array, visible: Array | None) -> Array:
    """The keys [… n m] that compete for the maximum: visible ones, and those that fill an empty row."""
    counts: Array = np.ones(weights.shape, bool) if visible is None else visible | (weights != 0)
    return counts

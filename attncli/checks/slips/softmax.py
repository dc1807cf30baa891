"""Slips of the softmax: over the wrong axis, with other sums, without its maximum, sink or temperature."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from math import inf, log
from typing import Any

from attncli.base.dtypes import HALF, Precision
from attncli.base.lazy_numpy import Array, np
from attncli.checks.slips.records import (
    Change,
    Computation,
    Function,
    Variant,
    add_slips,
    function_slip,
    of_stage,
    plan_slip,
    problem_slip,
    without,
)
from attncli.checks.slips.scale import own_scale
from attncli.ops import structural
from attncli.ops.normalizers import finite_max, safe_divide, softmax
from attncli.ops.norms import is_over_all
from attncli.ops.records import Operator, Tap, no_tap
from attncli.ops.registry import failures_named
from attncli.plan.graph import Node
from attncli.problem.fields import LSE
from attncli.problem.spec import ProblemSpec


def softmax_node(case: Computation) -> Node | None:
    """The node of the normalizer, if it is the softmax."""
    node = case.node_of_stage("normalize")
    return node if node is not None and node.function is softmax else None


@plan_slip("there are several queries or keys", needs_all="n")
def softmax_over_queries(case: Computation) -> Iterator[Variant]:
    """The softmax is over the queries instead of the keys: each column of the weights sums to 1, not each row."""
    yield from _over_other_axis(case, -2)


@plan_slip("there are several heads", of_stage("normalize"), needs_all="h")
def softmax_over_heads(case: Computation, node: Node) -> Iterator[Variant]:
    """The softmax is over the heads instead of the keys."""
    if len(node.axes) > 2 and node.axes[-3].letter == "h" and node.axes[-3].length > 1:
        yield from _over_other_axis(case, -3)
        if node.function is softmax:
            sentence = "The softmax is over the keys of all heads together instead of each head's."
            yield Variant(case.with_function(node.name, _softmax_over_heads_and_keys), sentence)


@plan_slip("weights are a softmax, of several keys", softmax_node)
def softmax_twice(case: Computation, node: Node) -> Iterator[Variant]:
    """The softmax is taken twice, the second time of the weights."""
    if node.shape[-1] > 1:
        yield Variant(case.with_changed_value(node.name, softmax))


def _softmax_of_several_queries(case: Computation) -> Node | None:
    node = softmax_node(case)
    return node if node is not None and node.axes[-2].length > 1 else None


@function_slip("there are several queries and weights are a softmax", _softmax_of_several_queries, needs_all="n")
def softmax_over_table(scores: Array, *, temperature: float = 1.0) -> Array:
    """The exponentials are divided by the sum of the whole table instead of their row's."""
    exponentials = np.exp((scores - finite_max(scores).max(axis=-2, keepdims=True)) / temperature)
    total: Array = exponentials / exponentials.sum(axis=(-2, -1), keepdims=True)
    return total


@plan_slip("there are as many queries as keys and weights are a softmax", softmax_node, needs_all="n")
def sum_without_keepdims(case: Computation, node: Node) -> Iterator[Variant]:
    """The sums of the rows are not kept as a column (keepdims): column j is divided by the sum of row j."""
    if node.axes[-2].length == node.axes[-1].length > 1:
        yield Variant(case.with_function(node.name, _softmax_of_other_rows, keeps_max=True))
        sentence = "The maxima and sums of the rows are not kept as columns (keepdims): column j has those of row j."
        yield Variant(case.with_function(node.name, _softmax_of_other_rows, keeps_max=False), sentence)


@plan_slip("there are as many queries as keys, and several", needs_all="n")
def weights_transposed(case: Computation) -> Iterator[Variant]:
    """The values are summed with the transposed weights: Aᵀ V instead of A V."""
    context, (*_, queries, keys) = case.node("context"), case.plan.pair_axes
    if context is not None and "weights" in context.inputs and queries.length == keys.length > 1:
        yield Variant(case.with_function("context", _with_transposed_weights(context)))


@plan_slip("weights are a softmax, and no softcap or norm keeps the scores small", softmax_node)
def no_maximum(case: Computation, node: Node) -> Iterator[Variant]:
    """The maximum of the row is not subtracted before the exponentials, which overflow or vanish in their type."""
    temperature = node.options.get("temperature", 1.0)
    for dtype in (case.dtype, "float32") if case.dtype in HALF else (case.dtype,):
        overflows_at = float(np.log(np.finfo(Precision(dtype).numpy_name).max)) * temperature
        if _largest_score(case.problem) < overflows_at:
            continue
        sentence = f"The maximum of the row is not subtracted, and exponentials overflow or vanish in {dtype}."
        yield Variant(case.with_function(node.name, _softmax_without_maximum, dtype=dtype), sentence)


@plan_slip("weights are a softmax", softmax_node)
def powers_of_two(case: Computation, node: Node) -> Iterator[Variant]:
    """The weights are powers of 2 instead of e: exp2 without the factor log₂ e."""
    temperature = node.options.get("temperature", 1.0) / log(2)
    yield Variant(case.with_function(node.name, softmax, temperature=temperature))


def _softmax_without_sink(case: Computation) -> Node | None:
    return softmax_node(case) if case.problem.sink is None else None


@function_slip("weights are a softmax, and there is no sink", _softmax_without_sink)
def no_softmax(scores: Array, *, temperature: float = 1.0) -> Array:
    """The softmax is forgotten: the weights are the scores themselves, and 0 where a key is hidden."""
    weights: Array = _visible_scores(scores) / temperature
    return weights


@plan_slip("weights are a softmax, and there is no sink", _softmax_without_sink)
def exponentials_not_divided(case: Computation, node: Node) -> Iterator[Variant]:
    """The exponentials are not divided by their sum."""
    sentence = "The exponentials of the scores, without their maximum, are not divided by their sum."
    for subtracts, text in ((True, ""), (False, sentence)):
        yield Variant(case.with_function(node.name, _exponentials, subtracts_maximum=subtracts), text)


@function_slip("weights are a softmax, and there is no sink", _softmax_without_sink)
def scores_divided_by_sum(scores: Array, *, temperature: float = 1.0) -> Array:
    """The scores are divided by their sum, instead of their exponentials by theirs."""
    visible = _visible_scores(scores)
    with np.errstate(all="ignore"):
        weights: Array = visible / visible.sum(axis=-1, keepdims=True)
    return weights


def _visible_scores(scores: Array) -> Array:
    """The scores, 0 where a key is hidden."""
    return np.where(np.isneginf(scores), 0, scores)


def _exponentials(scores: Array, *, subtracts_maximum: bool, temperature: float = 1.0) -> Array:
    """The numerators of the weights; NaN in rows in which all vanish, which is another mistake."""
    with np.errstate(over="ignore"):
        powers = np.exp((scores - (finite_max(scores) if subtracts_maximum else 0)) / temperature)
    return np.where(powers.any(axis=-1, keepdims=True) | np.isneginf(finite_max(scores)), powers, np.nan)


@problem_slip("the softmax has a temperature, and that is not 1")
def no_temperature(case: Computation) -> Iterator[Variant]:
    """The temperature is forgotten: the softmax has temperature 1."""
    normalize = case.problem.normalize
    if normalize.parameters.get("temperature", 1) != 1:
        others = {name: value for name, value in normalize.given.items() if name != "temperature"}
        yield Variant(replace(case.problem, normalize=Operator(normalize.record, others)))


@problem_slip("there is a sink")
def no_sink(case: Computation) -> Iterator[Variant]:
    """The sink is forgotten: the weights of the keys sum to 1."""
    return without(case, "sink")


@plan_slip("the log-sum-exp is checked, and there is a sink", is_paired=False)
def lse_without_sink(case: Computation) -> Iterator[Variant]:
    """The log-sum-exp is of the keys alone, though the weights have the sink."""
    if case.node(LSE) is not None and "scores_and_sink" in case.plan.by_name:
        yield Variant(case.with_inputs(LSE, scores=case.plan["masked_scores"].name))


@plan_slip("the log-sum-exp is checked, and the scores are scaled, not by 1", find=LSE, is_paired=False)
def lse_of_unscaled_scores(case: Computation, node: Node) -> Iterator[Variant]:
    """The log-sum-exp is that of the scores before they are scaled."""
    scale, sinks = own_scale(case.problem), int("scores_and_sink" in case.plan.by_name)
    if scale not in (None, 0, 1):
        options = {"scale": scale, "sinks": sinks}
        yield Variant(case.with_changed_value(LSE, _unscaled_lse, {"scores": node.inputs["scores"]}, options))


def _unscaled_lse(_: Array, *, scores: Array, scale: float, sinks: int) -> Array:
    """The log-sum-exp of scores that are divided by their scale, but for sinks; −∞ where no key is visible."""
    keys = scores.shape[-1] - sinks
    powers = np.concatenate([scores[..., :keys] / scale, scores[..., keys:]], axis=-1)
    return np.asarray(np.logaddexp.reduce(powers, axis=-1))


def _other_lse(function: Function) -> Change:
    """The change that makes another number of the log-sum-exp and of the maximum of the row."""

    def change(case: Computation, node: Node) -> Iterator[Variant]:
        inputs = {"scores": node.inputs["scores"]}
        yield Variant(
            case.with_changed_value(LSE, lambda lse, scores: function(lse, finite_max(scores)[..., 0]), inputs)
        )

    return change


_LSE_OF_OTHERS: dict[str, tuple[str, Function]] = {  # what each does, of lse and the maximum m of the row
    "lse_in_base_2": ("is the logarithm to base 2: lse / ln 2", lambda lse, _: lse / log(2)),
    "lse_without_maximum": ("lacks the maximum that was subtracted: it is log Σ exp(s − max)", lambda lse, m: lse - m),
    "lse_not_logarithm": ("lacks its logarithm: it is the sum of the exponentials", lambda lse, _: np.exp(lse)),
    "lse_not_logarithm_nor_maximum": ("lacks logarithm and maximum: Σ exp(s − max)", lambda lse, m: np.exp(lse - m)),
    "lse_negative": ("has the wrong sign", lambda lse, _: -lse),
    "lse_is_maximum": ("is the maximum of the row alone", lambda _, m: m),
    "lse_in_two_bases": ("adds max / ln 2 to a natural logarithm", lambda lse, m: lse + (1 / log(2) - 1) * m),
}
add_slips(
    plan_slip("the log-sum-exp is checked", find=LSE, is_paired=False),
    {name: (f"The log-sum-exp {does}.", _other_lse(function)) for name, (does, function) in _LSE_OF_OTHERS.items()},
)


@plan_slip("there is a sink, and weights are a softmax")
def sink_not_exponentiated(case: Computation) -> Iterator[Variant]:
    """The sink itself is added to the sum of exponentials, instead of its exponential."""
    yield from _with_sink(case, lambda sink, _: sink)
    sentence = "The sink itself is added to the sum of exponentials of which no maximum is subtracted."
    yield from _with_sink(case, lambda sink, largest: sink * np.exp(-largest), sentence)


@plan_slip("there is a sink, and weights are a softmax")
def sink_without_maximum(case: Computation) -> Iterator[Variant]:
    """The row's maximum is subtracted from the scores, but not from the sink."""
    yield from _with_sink(case, lambda sink, _: np.exp(sink))


@plan_slip("each of several heads has a sink", needs_all="nh")
def sinks_by_row(case: Computation) -> Iterator[Variant]:
    """The sink of a query belongs to the head with its row's number, modulo the number of heads."""
    node, sink = case.node("scores_and_sink"), case.problem.sink
    if node is not None and sink is not None and len(sink) > 1 and node.function is structural.with_column:
        yield Variant(case.with_function(node.name, _with_sinks_by_row))


def _with_sinks_by_row(scores: Array, sink: Array, *, heads: int | None) -> Array:
    """The scores [… n m] with a column in which row i has the sink of head i mod h."""
    rows = np.arange(scores.shape[-2]) % (heads or 1)
    column = np.broadcast_to(sink[rows][:, None], (*scores.shape[:-1], 1))
    return np.concatenate([scores, column], axis=-1)


def _with_sink(case: Computation, in_sum: Function, sentence: str = "") -> Iterator[Variant]:
    """The plan that adds another function of the sink and of the row's maximum to the exponentials."""
    node = softmax_node(case)
    if node is not None and case.problem.sink is not None and "sink" in case.plan.by_name:
        yield Variant(case.with_function(node.name, _softmax_and_sink, in_sum=in_sum), sentence)


def _softmax_and_sink(scores: Array, *, in_sum: Function, temperature: float = 1.0) -> Array:
    """The weights of the keys and of the sink, whose scores are the last column."""
    powers = scores / temperature
    largest = finite_max(powers[..., :-1])
    exponentials = np.exp(powers[..., :-1] - largest)
    sink = in_sum(powers[..., -1:], largest)
    with np.errstate(all="ignore"):
        weights: Array = np.concatenate([exponentials, sink], axis=-1) / (exponentials.sum(-1, keepdims=True) + sink)
    return weights


def _over_other_axis(case: Computation, axis: int) -> Iterator[Variant]:
    """The plan whose normalizer works along another axis than the keys."""
    node = case.node_of_stage("normalize")
    if node is None or node.record is None or node.shape[axis] == node.shape[-1] == 1:
        return
    record, function = node.record, node.record.function

    def exchanged(array: Array) -> Array:
        return array.swapaxes(axis, -1)

    def normalize(scores: Array, *, tap: Tap = no_tap, **options: Any) -> Array:
        taps = {} if tap is no_tap else {"tap": lambda name, value: exchanged(tap(name, exchanged(value)))}
        with failures_named(record, "function"):
            return exchanged(np.asarray(function(exchanged(scores), **options, **taps)))

    yield Variant(case.with_function(node.name, normalize))


def _with_transposed_weights(context: Node) -> Function:
    """A context's function on the transposed weights."""
    assert context.function is not None
    function: Callable[..., Array] = context.function
    record = context.record

    def attend(*, weights: Array, **others: Any) -> Array:
        with nullcontext() if record is None else failures_named(record, "function"):
            return function(weights=weights.swapaxes(-1, -2), **others)

    return attend


def _softmax_over_heads_and_keys(scores: Array, *, temperature: float = 1.0) -> Array:
    exponentials = np.exp((scores - finite_max(scores).max(axis=-3, keepdims=True)) / temperature)
    return safe_divide(exponentials, exponentials.sum(axis=(-3, -1), keepdims=True))


def _softmax_of_other_rows(scores: Array, *, keeps_max: bool, temperature: float = 1.0) -> Array:
    """Exponentials divided by a sum along the columns; the maximum is by row or also by column."""
    largest = finite_max(scores)
    exponentials = np.exp((scores - (largest if keeps_max else largest.swapaxes(-1, -2))) / temperature)
    quotients: Array = exponentials / exponentials.sum(axis=-1, keepdims=True).swapaxes(-1, -2)
    return quotients


def _largest_score(problem: ProblemSpec) -> float:
    """The bound of all scores, whatever the inputs: the softcap, or √d and the like after a norm; or infinity."""
    position, norm = problem.position, problem.qk_norm
    if problem.bias is not None or (position is not None and position.record.acts_on != "query_and_key"):
        return inf
    if problem.softcap is not None:
        return problem.softcap
    scale = own_scale(problem)
    if norm is None or not norm.record.is_built_in or norm.arrays:  # a gain may have any size
        return inf
    if problem.score.record.unscaled is None or scale is None:
        return inf
    together = problem.leading.heads if is_over_all(norm) else 1
    return together * problem.lengths.get("d", inf) * abs(scale)  # a normalized vector of d features is at most √d long


def _softmax_without_maximum(scores: Array, *, dtype: str, temperature: float = 1.0) -> Array:
    """Exponentials, rounded to a type, divided by their sum in that type; a row without visible keys stays 0.

    Rows without overflow or underflow stay right: rounding is another slip.
    """
    precision = Precision(dtype)
    exponentials = precision.round(np.exp(precision.widen(precision.round(scores)) / temperature))
    total = precision.round(exponentials.sum(axis=-1, keepdims=True))
    is_empty = (scores == -np.inf).all(axis=-1, keepdims=True)
    smallest = np.finfo(precision.numpy_name).tiny / precision.epsilon
    is_right = np.isfinite(total) & (exponentials.max(axis=-1, keepdims=True) >= smallest)
    wrong = precision.round(np.where(is_empty, 0, exponentials / total).astype(exponentials.dtype))
    return np.where(is_right, softmax(scores, temperature=temperature), wrong).astype(scores.dtype)

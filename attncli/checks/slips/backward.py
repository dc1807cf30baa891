"""Slips of the backward pass: they change only the nodes of gradients, and apply if a gradient is checked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import log
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, join_words
from attncli.checks.slips.numbers import LOGARITHMS, factors, known_factors, multiplied, times
from attncli.checks.slips.records import (
    SLIPS,
    Computation,
    FittedNumber,
    Function,
    Number,
    Slip,
    Variant,
    add_slips,
    backward_slip,
    text_of,
)
from attncli.checks.slips.rounding import half_types, to_type
from attncli.checks.slips.scale import own_scale
from attncli.checks.slips.softmax import softmax_node
from attncli.ops.contexts import weighted_sum
from attncli.ops.elementwise import softcap, softcap_scores
from attncli.ops.log_sum_exp import log_sum_exp
from attncli.ops.masks import apply_mask
from attncli.ops.normalizers import safe_divide, softmax
from attncli.ops.recording.derivatives import derivatives_of
from attncli.ops.rope import rope
from attncli.ops.structural import identity, repeat_kv, sum_over, with_column, without_column
from attncli.plan.build import build_plan
from attncli.plan.graph import GRADIENT, Node, Plan, gradient_name

SOFTMAX = "weights are a softmax"
SEVERAL_HEADS = "weights are a softmax, and there are several heads"
GROUPED = "query heads share key heads"
TURNED = "there is rope"
SCALED = "the scores are scaled, and not by 1"
SYMBOLS = {"query": "dQ", "key": "dK", "value": "dV"}
TILES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def _gradients(case: Computation, function: object, argument: str) -> list[Node]:
    """The nodes of the backward pass that compute a function's derivative by one of its arguments."""
    derivative = (derivatives_of(function) or {}).get(argument)
    return [node for node in case.plan.nodes if node.stage == GRADIENT and node.function == derivative]


def _nodes_of(case: Computation, function: object) -> list[Node]:
    """The nodes of the backward pass that a function computes."""
    return [node for node in case.plan.nodes if node.stage == GRADIENT and node.function is function]


def _scores_gradient(case: Computation) -> Node | None:
    """The gradient of the scores that a softmax reads."""
    return next(iter(_gradients(case, softmax, "scores")), None)


def _products(case: Computation) -> dict[str, Node]:
    """The products dQ, dK and dV: the gradients of the inputs of score and context, before the sum over heads."""
    score = case.node_of_stage("score")
    functions: dict[str, object] = {"value": weighted_sum}
    if score is not None and score.record is not None:
        functions = {"query": score.function, "key": score.function} | functions
    found = ((name, node) for name, function in functions.items() for node in _gradients(case, function, name))
    return dict(found)


def _choices(nodes: Mapping[str, Node]) -> Iterator[tuple[Sequence[str], str, str]]:
    """All of some nodes and each alone: their names, their subject in a sentence, and `are` or `is`."""
    choices = [list(nodes), *([name] for name in nodes)] if len(nodes) > 1 else [list(nodes)] if nodes else []
    for choice in choices:
        what, are = join_words([SYMBOLS[name] for name in choice]), "are" if len(choice) > 1 else "is"
        yield [nodes[name].name for name in choice], what, are


def _by_role(nodes: Sequence[Node]) -> dict[str, Node]:
    """Nodes by the input of their gradient: queries, keys or values."""
    return {role: node for role in SYMBOLS for node in nodes if role in node.name}


# Scales and factors


@backward_slip(SCALED)
def scale_left_out_backwards(case: Computation) -> Iterator[Variant]:
    """The scale of the scores is left out of dQ, of dK, or of both."""
    scale = own_scale(case.problem)
    if scale not in (None, 0, 1):
        yield from _scaled(case, 1 / scale, "The scale is left out of")


@backward_slip(SCALED)
def scaled_twice_backwards(case: Computation) -> Iterator[Variant]:
    """The scale of the scores is applied twice to dQ, to dK, or to both."""
    scale = own_scale(case.problem)
    if scale not in (None, 0, 1):
        yield from _scaled(case, scale, "The scale is applied twice to")


def _scaled(case: Computation, factor: float, sentence: str) -> Iterator[Variant]:
    """The plans in which dQ and dK, dK, or dQ have an extra factor."""
    products = _products(case)
    of_score = {name: node for name, node in products.items() if name != "value"}
    for names, what, are in _choices(of_score):
        changed = case.with_changed_values(names, multiplied, factor=factor)
        ones = "ones" if len(names) > 1 else "one"
        yield Variant(changed, f"{sentence} {what}, which {are} {text_of(factor)} times the correct {ones}.")


def _known(case: Computation) -> Mapping[str, float]:
    """Factors that gradients lack."""
    scale, layout = own_scale(case.problem), case.problem.leading
    known = {} if scale in (None, 0, 1) else {"1/scale": 1 / scale, "the scale": scale, "the scale squared": scale**2}
    of_group = layout.heads // layout.kv_heads
    known |= {"the query heads of a key head": float(of_group)} if of_group > 1 else {}
    return {**known, **known_factors(case), **LOGARITHMS}


FACTOR = FittedNumber("factor", factors, known=_known)


@backward_slip("a gradient is checked", number=FACTOR)
def gradient_factor(case: Computation, number: float) -> Iterator[Variant]:
    """One gradient is multiplied by a factor, or the gradient of the scores, and with it all later ones."""
    for name in (*case.plan.gradients_of_given, case.plan.find(gradient_name("scores"))):
        if name is not None and case.plan.by_name[name].stage == GRADIENT:
            changed = case.with_changed_value(name, multiplied, options={"factor": number})
            yield Variant(changed, f"{name} is {times(number)}.")


@backward_slip(
    "weights are a softmax of which the values are summed",
    _scores_gradient,
    number=FACTOR,
)
def weights_gradient_factor(case: Computation, of_scores: Node, number: float) -> Iterator[Variant]:
    """The gradient of the weights is multiplied by a factor, as a dropout does, and the row sums D are not."""
    if _gradients(case, weighted_sum, "weights"):
        changed = case.with_function(of_scores.name, _with_factors, of_weights=number)
        yield Variant(changed, f"The gradient of the weights, dP, is {times(number)}, and the row sums D are not.")


# The row sums D


@backward_slip(SOFTMAX, _scores_gradient)
def row_sums_left_out(case: Computation, node: Node) -> Iterator[Variant]:
    """The row sums D = Σ dO∘O are not subtracted: dS is P∘dP."""
    yield Variant(case.with_function(node.name, _with_factors, of_sums=0.0))


@backward_slip(SOFTMAX, _scores_gradient, number=FACTOR)
def row_sums_factor(case: Computation, node: Node, number: float) -> Iterator[Variant]:
    """The row sums D are multiplied by a factor, and the gradient of the weights is not."""
    changed = case.with_function(node.name, _with_factors, of_sums=number)
    yield Variant(changed, f"The row sums D are {times(number)}, and the gradient of the weights, dP, is not.")


@backward_slip(SEVERAL_HEADS, _scores_gradient, needs_all="h")
def row_sums_of_another_head(case: Computation, node: Node) -> Iterator[Variant]:
    """The row sums D come from another head."""
    yield from _with_sums_along(case, node, "h", "head")


@backward_slip(SOFTMAX, _scores_gradient)
def row_sums_of_another_query(case: Computation, node: Node) -> Iterator[Variant]:
    """The row sums D come from another query."""
    yield from _with_sums_along(case, node, "n", "query")


def _with_sums_along(case: Computation, node: Node, letter: str, noun: str) -> Iterator[Variant]:
    """The plans whose row sums D belong to the head or query before or after."""
    for options, what in _shifts(node, letter, noun):
        changed = case.with_function(node.name, _with_shifted_sums, **options)
        yield Variant(changed, f"The row sums D come from {what}.")


@backward_slip("weights are a softmax, of a wider type than float16 and bfloat16", is_paired=False)
def row_sums_of_rounded_output(case: Computation) -> Iterator[Variant]:
    """The row sums D are made of an output that was rounded to half precision."""
    node, of_weights = _scores_gradient(case), _gradients(case, weighted_sum, "weights")
    if node is None or not of_weights:
        return
    for dtype in half_types(case):
        inputs = {**node.inputs, "grad_context": of_weights[0].inputs["grad"], "context": case.plan.resolve("context")}
        changed = replace(node, function=_with_sums_of_output, inputs=inputs, options={**node.options, "dtype": dtype})
        yield Variant(case.with_nodes(changed), f"The row sums D are made of an output that is rounded to {dtype}.")


def _shifts(node: Node, letter: str, noun: str) -> Iterator[tuple[Mapping[str, int], str]]:
    """One forward and one back along an axis with several entries: options, and a phrase for a sentence."""
    axis = node.axis(letter)
    if axis is not None and axis.length > 1:
        at = node.letters.index(letter) - len(node.letters)
        yield {"axis": at, "shift": 1}, f"the {noun} before"
        if axis.length > 2:
            yield {"axis": at, "shift": -1}, f"the {noun} after"


def _sums(grad: Array, forward: Array) -> Array:
    """The row sums of gradients of weights times weights [… n 1]."""
    sums: Array = (grad * forward).sum(axis=-1, keepdims=True)
    return sums


def _with_factors(
    grad: Array, forward: Array, *, of_weights: float = 1.0, of_sums: float = 1.0, temperature: float = 1.0
) -> Array:
    return forward * (of_weights * grad - of_sums * _sums(grad, forward)) / temperature


def _with_shifted_sums(grad: Array, forward: Array, *, axis: int, shift: int, temperature: float = 1.0) -> Array:
    result: Array = forward * (grad - np.roll(_sums(grad, forward), shift, axis)) / temperature
    return result


def _with_sums_of_output(
    grad: Array, forward: Array, grad_context: Array, context: Array, *, dtype: str, temperature: float = 1.0
) -> Array:
    sums = (grad_context * to_type(context, dtype=dtype)).sum(axis=-1, keepdims=True)
    result: Array = forward * (grad - sums) / temperature
    return result


# The softcap


@backward_slip("there is a softcap")
def softcap_left_out_backwards(case: Computation) -> Iterator[Variant]:
    """The softcap has no backward pass: its factor 1 − tanh² is left out."""
    for node in _gradients(case, softcap, "scores"):
        yield Variant(case.with_identity(node.name, "grad"))


@backward_slip("there is a softcap")
def softcap_factor_of_other_scores(case: Computation) -> Iterator[Variant]:
    """The softcap's factor 1 − tanh² is taken of other scores than the capped ones."""
    softmax = softmax_node(case)
    for node in _gradients(case, softcap, "scores"):
        capped = node.inputs["forward"]
        changes: list[tuple[str, Function, str]] = [
            (capped, _capped_twice, "of the capped scores, which are capped twice")
        ]
        if softmax is not None and softmax.inputs["scores"] != capped and "masked_scores" in case.plan.by_name:
            changes += [("masked_scores", _not_finite_is_0, "of the scores after bias and mask")]
            changes += [("masked_scores", softcap_scores, "of the masked scores, −∞ where a key is hidden")]
        changes += [(case.plan.results["scores"], _not_finite_is_0, "of the scores without the tanh")]
        changes += [(capped, lambda grad, forward, cap: grad * (1 - forward / cap), "without its square, 1 − tanh")]
        for source, function, what in changes:
            changed = replace(node, function=function, inputs={**node.inputs, "forward": source})
            yield Variant(case.with_nodes(changed), f"The softcap's factor 1 − tanh² is taken {what}.")


def _capped_twice(grad: Array, forward: Array, *, cap: float) -> Array:
    result: Array = grad * (1 - np.tanh(forward / cap) ** 2)
    return result


def _not_finite_is_0(grad: Array, forward: Array, *, cap: float) -> Array:
    result: Array = grad * (1 - np.where(np.isfinite(forward), forward / cap, 0) ** 2)
    return result


# Sums over heads, batch items and queries


@backward_slip(GROUPED)
def groups_not_summed(case: Computation) -> Iterator[Variant]:
    """The gradients dK and dV come from one query head of each group, and are not summed over the group."""
    for at, which in ((0, "first"), (-1, "last")):
        end = f"taken from the {which} query head of each group, not summed over the group"
        yield from _of_groups(case, end, partial(np.take, indices=at, axis=-3))


@backward_slip(GROUPED)
def groups_averaged_backwards(case: Computation) -> Iterator[Variant]:
    """The average over the query heads of a group is taken for dK and dV, not the sum."""
    end = "averaged over the query heads of each group, not summed"
    yield from _of_groups(case, end, lambda of_groups: of_groups.mean(axis=-3))


@backward_slip("query heads share several key heads", needs_all="h")
def groups_tiled_backwards(case: Computation) -> Iterator[Variant]:
    """The sums dK and dV run over every g-th query head, as if key heads were repeated in turn."""
    end = "summed over every g-th query head, as if the g key heads were repeated in turn"
    yield from _of_groups(case, end, _tiled)


def _of_groups(case: Computation, end: str, reduce: Function) -> Iterator[Variant]:
    """The plans in which the query heads [… g r m c] of a group give dK and dV by another operation than a sum."""
    for names, what, are in _choices(_by_role(_gradients(case, repeat_kv, "x"))):
        changed = case
        for name in names:
            changed = changed.with_function(name, _reduced, reduce=reduce)
        yield Variant(changed, f"{what} {are} {end}.")


def _reduced(grad: Array, x: Array, *, reduce: Function) -> Array:
    *leading, groups, rows, features = x.shape
    return reduce(grad.reshape(*leading, groups, -1, rows, features))


def _tiled(of_groups: Array) -> Array:
    *leading, groups, count, rows, features = of_groups.shape
    total: Array = of_groups.reshape(*leading, count, groups, rows, features).sum(axis=-4)
    return total


@backward_slip("an array broadcasts, such as a bias over batch items or heads", needs_all="hb")
def broadcast_gradient_not_summed(case: Computation) -> Iterator[Variant]:
    """The gradient of an array that broadcasts, as a bias does, is not summed over the broadcast axes."""
    for node in _nodes_of(case, sum_over):
        letters = case.plan.by_name[node.inputs["x"]].letters
        over = ", ".join(letters[at] for at in node.options["axes"])
        for function, what in (
            (_averaged_over, f"is averaged over {over}, not summed"),
            (partial(_one_along, at=0), f"is taken from the first along {over}, not summed"),
            (partial(_one_along, at=-1), f"is taken from the last along {over}, not summed"),
        ):
            yield Variant(case.with_function(node.name, function), f"{node.name} {what}.")


def _averaged_over(x: Array, *, axes: tuple[int, ...], kept: tuple[int, ...]) -> Array:
    result: Array = sum_over(x, axes=axes, kept=kept) / np.prod([x.shape[axis] for axis in axes])
    return result


def _one_along(x: Array, *, axes: tuple[int, ...], kept: tuple[int, ...], at: int) -> Array:
    for axis in axes:
        x = x.take([at], axis)
    return sum_over(x, axes=axes, kept=kept)


# Weights that the backward pass recomputes from scores and log-sum-exps


def _with_weights(
    case: Computation, weights: Function, *, scores: str | None = None, own_sums: bool = False, **options: Any
) -> Computation | None:
    """The computation whose backward pass recomputes other weights P, from scores and the softmax's own input.

    dV and dS use them. The row sums D use the right weights, like the output, or with `own_sums` the other ones.
    """
    softmax, of_scores = softmax_node(case), _scores_gradient(case)
    if softmax is None or of_scores is None or of_scores.inputs["forward"] != softmax.name:
        return None
    inputs = {"scores": scores or softmax.inputs["scores"], "own": softmax.inputs["scores"]}
    given, name = {**softmax.options, **options}, case.new_name("weights_again")
    again = replace(softmax, name=name, function=weights, inputs=inputs, options=given, stage=GRADIENT, taps={})
    read = {"weights": again.name} | ({"forward": again.name} if own_sums else {})
    case = case.with_nodes(
        again,
        replace(of_scores, function=_with_other_weights, inputs={**of_scores.inputs, **read}),
        *(_identity_of(node, "grad") for node in _gradients(case, apply_mask, "scores")),
    )
    return _with_weights_of_values(case, again)


def _with_weights_of_values(case: Computation, weights: Node) -> Computation:
    """The computation in which dV uses other weights, without the column of a sink."""
    softmax, of_values = softmax_node(case), _gradients(case, weighted_sum, "value")
    assert softmax is not None
    readers = {
        node.name
        for node in case.plan.nodes
        if node.function is without_column and softmax.name in node.inputs.values()
    }
    for node in of_values:
        read = case.plan.by_name[node.inputs["weights"]]
        source = weights
        if read.name in readers:
            source = replace(
                read, name=case.new_name("weights_again_without_sink"), stage=GRADIENT, inputs={"weights": weights.name}
            )
            case = case.with_nodes(source)
        case = case.with_nodes(replace(node, inputs={**node.inputs, "weights": source.name}))
    return case


def _identity_of(node: Node, argument: str) -> Node:
    return replace(node, function=identity, inputs={"x": node.inputs[argument]}, options={})


def _with_other_weights(grad: Array, forward: Array, weights: Array, *, temperature: float = 1.0) -> Array:
    result: Array = weights * (grad - _sums(grad, forward)) / temperature
    return result


def _made_again(
    scores: Array, own: Array, *, temperature: float = 1.0, power: float = 1.0, lse_factor: float = 1.0
) -> Array:
    """Weights exp(power (scores − lse_factor lse)), with the log-sum-exp of the softmax's own scores."""
    lse = _lse(own, temperature)
    with np.errstate(all="ignore"):
        return np.exp(power * (scores / temperature - lse_factor * lse))


def _normalized_again(scores: Array, own: Array, *, temperature: float = 1.0) -> Array:
    """The weights of the scores by their own log-sum-exp."""
    return _made_again(scores, scores, temperature=temperature)


def _lse(scores: Array, temperature: float) -> Array:
    """The log-sum-exps [… n 1], 0 if no key is visible."""
    lse = log_sum_exp(scores, temperature=temperature)[..., None]
    return np.where(np.isfinite(lse), lse, 0)


def _again(case: Computation, weights: Function, sentence: str, **options: Any) -> Iterator[Variant]:
    changed = _with_weights(case, weights, **options)
    if changed is not None:
        yield Variant(changed, sentence)


@backward_slip(SOFTMAX)
def lse_in_base_2_backwards(case: Computation) -> Iterator[Variant]:
    """The backward pass makes the weights from a log-sum-exp in another base than its exponentials."""
    made = "The backward pass makes the weights as"
    for power, factor, formula in (
        (1.0, 1 / log(2), "exp(S − lse) with a log-sum-exp in base 2, not the natural one"),
        (1.0, log(2), "2^(S log₂ e − lse) with the natural log-sum-exp, not one in base 2"),
        (log(2), 1.0, "2^(S − lse), not exp(S − lse)"),
    ):
        yield from _again(case, _made_again, f"{made} {formula}.", power=power, lse_factor=factor)


@backward_slip(SEVERAL_HEADS, softmax_node, needs_all="h")
def lse_of_another_head(case: Computation, softmax: Node) -> Iterator[Variant]:
    """The backward pass makes the weights from the log-sum-exp of another head."""
    for options, what in _shifts(softmax, "h", "head"):
        sentence = f"The backward pass makes the weights from the log-sum-exp of {what}."
        yield from _again(case, _of_shifted_lse, sentence, **options)


def _of_shifted_lse(scores: Array, own: Array, *, axis: int, shift: int, temperature: float = 1.0) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(scores / temperature - np.roll(_lse(own, temperature), shift, axis))


@backward_slip("there is a sink, and weights are a softmax", _scores_gradient)
def sink_left_out_backwards(case: Computation, node: Node) -> Iterator[Variant]:
    """The sink's term is left out of the backward pass: of the log-sum-exp for the weights, or of D."""
    if case.problem.sink is None or not _gradients(case, with_column, "sink"):
        return
    made = "The backward pass makes the weights from a log-sum-exp without the sink's term"
    yield from _again(case, _without_sink, f"{made}.", keeps_sink=True)
    yield from _again(case, _without_sink, f"{made}, and grad_sink is 0.", keeps_sink=False)
    sentence = "The row sums D are made of an output without the sink's term in its denominator."
    yield Variant(case.with_function(node.name, _with_sums_without_sink), sentence)


def _without_sink(scores: Array, own: Array, *, keeps_sink: bool, temperature: float = 1.0) -> Array:
    lse = _lse(scores[..., :-1], temperature)
    weights = np.exp(scores / temperature - lse)
    weights[..., -1] = np.exp(own[..., -1] / temperature - _lse(own, temperature)[..., 0]) if keeps_sink else 0
    return weights


def _with_sums_without_sink(grad: Array, forward: Array, *, temperature: float = 1.0) -> Array:
    result: Array = forward * (grad - safe_divide(_sums(grad, forward), 1 - forward[..., -1:])) / temperature
    return result


@backward_slip("there is a sink")
def sink_gradient_sign(case: Computation) -> Iterator[Variant]:
    """The gradient of the sink has the wrong sign."""
    for node in _gradients(case, with_column, "sink"):
        yield Variant(case.with_changed_value(node.name, np.negative))


def _only_backwards(case: Computation, *numbers: Number, slip: Slip) -> Iterator[Variant]:
    """The plans in which the scores have a slip in the backward pass alone, with the right log-sum-exp."""
    for variant in slip.change(case, *numbers):
        changed = variant.changed
        computation = (
            changed if isinstance(changed, Computation) else replace(case, problem=changed, plan=build_plan(changed))
        )
        sentence = variant.sentence or slip.sentence
        for own_sums, where in (
            (False, "In the backward pass alone"),
            (True, "In the forward pass that the backward pass recomputes"),
        ):
            merged = _with_scores_of(case, computation, own_sums=own_sums)
            if merged is not None:
                yield Variant(merged, f"{where}: {sentence[0].lower()}{sentence[1:]}")


def _with_scores_of(case: Computation, other: Computation, *, own_sums: bool) -> Computation | None:
    """The computation whose backward pass recomputes its weights from another one's scores; None without scores.

    Both have the same arrays. The log-sum-exp and the row sums D are right, or from the other scores.
    """
    softmax = softmax_node(other)
    if softmax is None or other.plan.has_gradients != case.plan.has_gradients:
        return None
    masked = softmax.inputs["scores"]
    nodes = _renamed(case.plan, other.plan, masked)
    merged = case.with_nodes(*nodes.values())
    scores = nodes[masked].name if masked in nodes else masked
    return _with_weights(merged, _normalized_again if own_sums else _made_again, scores=scores, own_sums=own_sums)


def _renamed(plan: Plan, other: Plan, name: str) -> dict[str, Node]:
    """The nodes that another plan's node needs and that differ from this plan's, under new names."""
    renamed: dict[str, Node] = {}
    needed = other.needed_for([name])
    for node in other.nodes:
        if node.name not in needed or node.tapped_from is not None:
            continue
        own = plan.by_name.get(node.name)
        is_same = own is not None and (own.function, own.inputs, repr(own.options)) == (
            node.function,
            node.inputs,
            repr(node.options),
        )
        if is_same and not any(source in renamed for source in node.inputs.values()):
            continue
        inputs = {
            argument: renamed[source].name if source in renamed else source for argument, source in node.inputs.items()
        }
        renamed[node.name] = replace(node, name=f"{node.name}_backwards", inputs=inputs, taps={}, stage=GRADIENT)
    return renamed


# For the slips of the forward pass that change the visible keys: their effect in the backward pass alone.
for _name, _sentence in {
    "no_mask": "The mask is not applied in the backward pass.",
    "no_causal": "The causal mask is not applied in the backward pass.",
    "causal_added": "The backward pass is causal, and the forward pass is not.",
    "causal_top_left": "In the backward pass alone the causal mask is aligned to the top left.",
    "causal_bottom_right": "In the backward pass alone the causal mask is aligned to the bottom right.",
    "causal_off_by_one": "In the backward pass alone the causal mask is off by one key, or by more.",
    "no_window": "The window is not applied in the backward pass.",
    "window_too_wide": "In the backward pass alone the window is too wide.",
    "window_too_narrow": "In the backward pass alone the window is too narrow.",
}.items():
    _slip = SLIPS[_name]
    add_slips(
        backward_slip(f"{_slip.applies_where}, and weights are a softmax", number=_slip.number),
        {f"{_name}_backwards": (_sentence, partial(_only_backwards, slip=_slip))},
    )


@backward_slip("weights are a softmax of which the values are summed")
def value_gradient_of_unnormalized_weights(case: Computation) -> Iterator[Variant]:
    """The gradient dV is made of exponentials that are not divided by their sum."""
    for of_maximum, formula in ((True, "exp(S − max)"), (False, "exp(S)")):
        sentence = f"dV is made of weights that are not divided by their sum: {formula}."
        yield from _with_values_of(case, sentence, _unnormalized, subtracts_maximum=of_maximum)


@backward_slip("weights are a softmax, of a wider type than float16 and bfloat16", is_paired=False)
def value_gradient_of_rounded_weights(case: Computation) -> Iterator[Variant]:
    """The gradient dV is made of weights that are rounded to half precision."""
    for dtype in half_types(case):
        sentence = f"dV is made of weights that are rounded to {dtype}."
        yield from _with_values_of(case, sentence, _rounded_weights, dtype=dtype)


def _with_values_of(case: Computation, sentence: str, weights: Function, **options: Any) -> Iterator[Variant]:
    """The plan in which only dV uses other weights."""
    softmax = softmax_node(case)
    if softmax is not None and _gradients(case, weighted_sum, "value"):
        name, given = case.new_name("weights_of_values"), {**softmax.options, **options}
        again = replace(softmax, name=name, function=weights, stage=GRADIENT, taps={}, options=given)
        yield Variant(_with_weights_of_values(case.with_nodes(again), again), sentence)


def _unnormalized(scores: Array, *, subtracts_maximum: bool, temperature: float = 1.0) -> Array:
    largest = scores.max(axis=-1, keepdims=True)
    with np.errstate(over="ignore"):
        return np.exp((scores - np.where(subtracts_maximum & np.isfinite(largest), largest, 0)) / temperature)


def _rounded_weights(scores: Array, *, dtype: str, temperature: float = 1.0) -> Array:
    return to_type(_made_again(scores, scores, temperature=temperature), dtype=dtype)


# Rope


@backward_slip(TURNED)
def rope_turned_again(case: Computation) -> Iterator[Variant]:
    """Rope turns dQ, dK or both the same way as queries and keys, not back."""
    for names, what, are in _choices(_by_role(_gradients(case, rope, "x"))):
        nodes = [case.plan.by_name[name] for name in names]
        turned = (replace(node, options={**node.options, "reverse": not node.options.get("reverse")}) for node in nodes)
        yield Variant(case.with_nodes(*turned), f"{what} {are} turned by rope the same way again, not back.")


@backward_slip(TURNED)
def rope_not_turned_back(case: Computation) -> Iterator[Variant]:
    """Rope does not turn dQ, dK or both back."""
    for names, what, are in _choices(_by_role(_gradients(case, rope, "x"))):
        nodes = (_identity_of(case.plan.by_name[name], "grad") for name in names)
        yield Variant(case.with_nodes(*nodes), f"{what} {are} not turned back by rope.")


@backward_slip(TURNED)
def gradient_of_unturned_vectors(case: Computation) -> Iterator[Variant]:
    """The gradient dK is made of queries, or dQ of keys, before rope turned them."""
    products = _products(case)
    for of, read, words in (("key", "query", "queries"), ("query", "key", "keys")):
        node = products.get(of)
        found = None if node is None or read not in node.inputs else _before_rope(case, node.inputs[read])
        if node is not None and found is not None:
            changed, name = found
            changed = changed.with_inputs(node.name, **{read: name})
            yield Variant(changed, f"{SYMBOLS[of]} is made of {words} before rope turns them.")


def _before_rope(case: Computation, name: str) -> tuple[Computation, str] | None:
    """The computation with a vector from before rope, and its name; heads are repeated as before."""
    node = case.plan.by_name[name]
    if node.function is rope:
        return case, node.inputs["x"]
    if node.function is not repeat_kv:
        return None
    turned = case.plan.by_name[node.inputs["x"]]
    if turned.function is not rope:
        return None
    repeated = replace(node, name=case.new_name(f"unturned_{name}"), inputs={"x": turned.inputs["x"]}, stage=GRADIENT)
    return case.with_nodes(repeated), repeated.name


# Products


@backward_slip("there are as many queries as keys")
def product_not_transposed(case: Computation) -> Iterator[Variant]:
    """The gradient dK is made of dS, and not of its transpose, or dV of P."""
    products = _products(case)
    for name, argument, symbol in (("key", "grad", "dS"), ("value", "weights", "P")):
        node = products.get(name)
        read = None if node is None or argument not in node.inputs else case.plan.by_name[node.inputs[argument]]
        if node is not None and read is not None and read.is_pair_table and read.shape[-1] == read.shape[-2] > 1:
            changed = case.with_function(node.name, _with_transposed, product=node.function, transposed=argument)
            yield Variant(changed, f"{SYMBOLS[name]} is made of {symbol}, not of its transpose.")


def _with_transposed(*, product: Function, transposed: str, **arrays: Any) -> Array:
    """A product with one table transposed."""
    return product(**{**arrays, transposed: arrays[transposed].mT})


def _tile_sizes(case: Computation) -> Sequence[float]:
    """The sizes of tiles that split the queries or the keys into two or more."""
    most = max(case.plan["weights"].shape[-2:]) if _products(case) else 0
    return [tile for tile in TILES if tile < most]


@backward_slip("there are several queries or keys", number=FittedNumber("tile", _tile_sizes, is_whole=True))
def tile_overwritten(case: Computation, number: int) -> Iterator[Variant]:
    """A gradient is not accumulated over tiles: each tile overwrites it, or one tile is left out."""
    for function, what in (
        (lambda parts: parts[-1], "has the last tile of {} alone: it is overwritten, not accumulated"),
        (lambda parts: parts[0], "has the first tile of {} alone"),
        (lambda parts: np.sum(parts[:-1], axis=0), "lacks the last tile of {}"),
        (lambda parts: np.sum(parts[1:], axis=0), "lacks the first tile of {}"),
    ):
        yield from _in_tiles(case, number, function, what)


@backward_slip(
    "the numbers are of a wider type than float16 and bfloat16",
    is_paired=False,
    number=FittedNumber("tile", _tile_sizes, is_whole=True),
)
def accumulated_in_half(case: Computation, number: int) -> Iterator[Variant]:
    """A gradient is accumulated over tiles in half precision."""
    for dtype in half_types(case):
        what = f"is accumulated in {dtype}, tile by tile of {{}}"
        yield from _in_tiles(case, number, _accumulated, what, dtype=dtype)


def _in_tiles(case: Computation, tile: int, reduce: Function, what: str, **options: Any) -> Iterator[Variant]:
    """The plans that combine the tiles' contributions to dQ, dK or dV by another operation than a sum."""
    for name, node in _products(case).items():
        count, noun = (_count(case, -1), "key") if name == "query" else (_count(case, -2), "query")
        if tile < count:
            options |= {"product": node.function, "reduce": reduce, "is_over_keys": name == "query", "tile": tile}
            changed = case.with_function(node.name, _tile_by_tile, **options)
            yield Variant(changed, f"{SYMBOLS[name]} {what.format(count_of(tile, noun))}.")


def _count(case: Computation, axis: int) -> int:
    """How many queries or keys there are."""
    return case.plan["weights"].shape[axis]


def _tile_by_tile(
    *, product: Function, reduce: Function, is_over_keys: bool, tile: int, dtype: str | None = None, **arrays: Any
) -> Array:
    """A product whose contributions, from a tile of keys or queries each, another function than the sum combines."""

    def part(rows: slice) -> Array:
        cut = {name: x[..., rows] if is_over_keys and name == "grad" else x[..., rows, :] for name, x in arrays.items()}
        return product(**cut)

    count = arrays["grad"].shape[-1 if is_over_keys else -2]
    parts = [part(slice(first, first + tile)) for first in range(0, count, tile)]
    return reduce(parts) if dtype is None else reduce(parts, dtype)


def _accumulated(parts: Sequence[Array], dtype: str) -> Array:
    total = np.zeros_like(parts[0])
    for part in parts:
        total = to_type(total + part, dtype=dtype)
    return total

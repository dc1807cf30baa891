"""Slips of the scores: their queries and keys, their limit, and what is added to them."""

from collections.abc import Iterator
from dataclasses import replace

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.checks.slips.masks import rules_of
from attncli.checks.slips.records import Computation, FittedNumber, Variant, of_stage, plan_slip, problem_slip, without
from attncli.checks.slips.scale import own_scale
from attncli.ops import elementwise, structural
from attncli.plan.graph import Node


@plan_slip("there are as many queries as keys, of the same width", of_stage("score"), needs_all="n")
def query_key_swapped(case: Computation, score: Node) -> Iterator[Variant]:
    """Queries and keys are swapped: the table of scores is K Qᵀ, with a row for each key."""
    if not {"query", "key"} <= set(score.inputs):
        return
    query, key = score.inputs["query"], score.inputs["key"]
    if query != key and case.plan[query].shape == case.plan[key].shape:
        yield Variant(case.with_inputs(score.name, query=key, key=query))


@plan_slip("the queries and the keys are projected, by matrices of one shape")
def query_key_weights_swapped(case: Computation) -> Iterator[Variant]:
    """The projections of queries and keys are swapped: queries are made with W_K, keys with W_Q."""
    query, key = map(case.node, ("query", "key"))
    if query is None or key is None or query.function is not structural.project or key.function is not query.function:
        return
    own = [{name: node.inputs[name] for name in "wb" if name in node.inputs} for node in (query, key)]
    shapes = [{name: case.plan[source].shape for name, source in inputs.items()} for inputs in own]
    if shapes[0] == shapes[1]:
        swapped = [
            replace(node, inputs={"x": node.inputs["x"], **inputs})
            for node, inputs in zip((query, key), reversed(own), strict=True)
        ]
        yield Variant(case.with_nodes(*swapped))


@problem_slip("there is a softcap")
def no_softcap(case: Computation) -> Iterator[Variant]:
    """The softcap is forgotten: the scores are not limited."""
    return without(case, "softcap")


@plan_slip("there is a softcap and a mask")
def softcap_after_mask(case: Computation) -> Iterator[Variant]:
    """The softcap is applied after the mask: a masked score becomes −softcap instead of −∞, and takes part."""
    capped, masked = map(case.node, ("capped_scores", "masked_scores"))
    if capped is not None and masked is not None and rules_of(case):
        uncapped = case.with_identity(capped.name, "scores")
        yield Variant(uncapped.with_changed_value(masked.name, elementwise.softcap, options=capped.options))


@plan_slip("there is a softcap, and that is not 1", find="capped_scores")
def softcap_incomplete(case: Computation, capped: Node) -> Iterator[Variant]:
    """The softcap lacks one of its two factors: tanh(s / softcap) is not multiplied by it, or s is not divided."""
    if capped.options.get("cap", 1) != 1:
        sentence = "The softcap is not multiplied by: the scores are tanh(s / softcap), and none exceeds 1."
        yield Variant(case.with_function(capped.name, lambda scores, cap: np.tanh(scores / cap)), sentence)
        sentence = "Scores are not divided by the softcap before the hyperbolic tangent: softcap · tanh(s)."
        yield Variant(case.with_function(capped.name, lambda scores, cap: cap * np.tanh(scores)), sentence)


@plan_slip("there is a softcap and a bias, of positions or the user's own")
def softcap_after_bias(case: Computation) -> Iterator[Variant]:
    """The softcap is applied after the bias is added, which it should not limit."""
    capped, biased = case.node("capped_scores"), case.node(case.plan.results.get("biased_scores", ""))
    if capped is not None and biased is not None and biased.name != capped.name and "cap" in capped.options:
        uncapped = case.with_identity(capped.name, "scores")
        yield Variant(uncapped.with_changed_value(biased.name, elementwise.softcap, options=capped.options))


@problem_slip("there is a bias")
def no_bias(case: Computation) -> Iterator[Variant]:
    """The bias is forgotten: nothing is added to the scores."""
    return without(case, "bias")


@plan_slip("there is a bias, of positions or the user's own, and the scores are scaled, not by 1")
def bias_scaled(case: Computation) -> Iterator[Variant]:
    """The bias is added before the scores are scaled, and so it is scaled with them."""
    scale, biases = own_scale(case.problem), biases_of(case)
    if scale in (None, 1) or not biases or case.node_of_stage("score") is None:
        return
    yield Variant(case.with_changed_values(biases, elementwise.scale, scale=scale))


@plan_slip("there is a bias, of positions or the user's own")
def bias_twice(case: Computation) -> Iterator[Variant]:
    """The bias is added twice, as when it is in the mask that is handed to a kernel, too."""
    for name in biases_of(case):
        sentence = f"The {'bias of positions' if name == 'position_bias' else name} is added twice."
        yield Variant(case.with_changed_value(name, elementwise.scale, options={"scale": 2.0}), sentence)


@plan_slip(
    "queries and keys have several features",
    of_stage("score"),
    number=FittedNumber(
        "features", lambda case: range(1, case.problem.lengths.get("d", 1)), is_whole=True, is_size=True
    ),
)
def features_left_out(case: Computation, score: Node, number: int) -> Iterator[Variant]:
    """Scores are products of some of the features alone, as where the last block of them is skipped."""
    if "query" not in score.inputs:
        return
    changed = case.with_changed_value(score.inputs["query"], _first_features, options={"count": number})
    yield Variant(changed, f"Only the first {count_of(number, 'feature')} of queries and keys are multiplied.")


def _first_features(x: Array, *, count: int) -> Array:
    """Rows whose features after the first ones are 0."""
    return np.where(np.arange(x.shape[-1]) < count, x, 0)


def biases_of(case: Computation) -> list[str]:
    """The nodes of added terms of the scores; a bias of only 0 and −∞ is a mask, and adds nothing."""
    bias = case.problem.bias
    adds = bias is not None and bool((np.isfinite(bias) & (bias != 0)).any())
    return [name for name in ("position_bias", *(["bias"] if adds else [])) if name in case.plan.by_name]

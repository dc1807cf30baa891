"""Slips of differences of maps: λ, its sign, the factor after the norm, and which heads are a pair."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.checks.slips.records import Computation, FittedNumber, Variant, plan_slip, problem_slip
from attncli.ops.records import Operator
from attncli.plan.graph import Node
from attncli.problem.fields import DIFFERENCE
from attncli.problem.spec import FIELDS

MAPS = "one map is subtracted from another"
MAX_LAYERS = 64


def _has_difference(case: Computation) -> bool:
    """Whether one map is subtracted from another."""
    return DIFFERENCE in case.plan.by_name


@plan_slip(MAPS, _has_difference, needs_all="h")
def no_lambda(case: Computation) -> Iterator[Variant]:
    """The whole second map is subtracted, without λ."""
    yield Variant(case.with_changed_value("lambda", np.ones_like))


@plan_slip(MAPS, _has_difference, needs_all="h")
def maps_added(case: Computation) -> Iterator[Variant]:
    """The second map, λ times, is added to the first instead of subtracted."""
    yield Variant(case.with_changed_value("lambda", np.negative))


@plan_slip(MAPS, _has_difference, needs_all="h")
def second_map_left_out(case: Computation) -> Iterator[Variant]:
    """Nothing is subtracted: the output comes from the first map alone."""
    yield Variant(case.with_changed_value("lambda", np.zeros_like))


@plan_slip("λ is made of vectors and λ_init", find="lambda", needs_all="h")
def no_lambda_init(case: Computation, node: Node) -> Iterator[Variant]:
    """Where λ begins, λ_init, is not added: λ is the difference of the two exponentials alone."""
    if "lambda_q1" in node.inputs and _begins(node.options):
        yield Variant(case.with_nodes(replace(node, options={**node.options, "lambda_init": 0.0, "layer": None})))


def _begins(options: Any) -> bool:
    """Whether λ_init is given, or its layer."""
    return options.get("lambda_init") is not None or options.get("layer") is not None


@plan_slip("the context is multiplied by 1 − λ_init", find="scaled_context", needs_all="h")
def no_lambda_factor(case: Computation, node: Node) -> Iterator[Variant]:
    """The context is not multiplied by 1 − λ_init."""
    yield Variant(case.with_identity(node.name))


@plan_slip("the context is multiplied by 1 − λ_init", find="scaled_context", needs_all="h")
def lambda_factor_twice(case: Computation, node: Node) -> Iterator[Variant]:
    """The context is multiplied by 1 − λ_init twice."""
    if node.function is not None:
        yield Variant(case.with_changed_value(node.name, node.function, options=node.options))


@problem_slip("there are several pairs of heads, of which one map is subtracted from the other", needs_all="h")
def head_pairs_misread(case: Computation) -> Iterator[Variant]:
    """Heads are paired wrongly: neighbours instead of one of each half, or the reverse."""
    problem = case.problem
    if problem.difference is not None and problem.leading.heads > 2:
        other = next(word for word in FIELDS["head_pairs"].words if word != problem.head_pairs)
        words = {"neighbours": "neighbours, 0 and 1, 2 and 3 …", "halves": "one of each half of all heads"}
        sentence = f"The heads of a pair are {words[other]}, instead of {words[problem.head_pairs]}."
        yield Variant(replace(problem, head_pairs=other), sentence)


def _layers(case: Computation) -> Sequence[float]:
    """The layers whose λ_init the user may have taken, except the right one."""
    difference = case.problem.difference
    if difference is None or not difference.record.is_built_in or not _begins(difference.parameters):
        return ()
    return [layer for layer in range(MAX_LAYERS) if layer != difference.parameters.get("layer")]


@problem_slip("λ_init follows from a layer", needs_all="h", number=FittedNumber("layer", _layers, is_whole=True))
def lambda_of_another_layer(case: Computation, number: int) -> Iterator[Variant]:
    """The number λ_init belongs to another layer."""
    difference = case.problem.difference
    if difference is not None:
        given = {name: value for name, value in difference.given.items() if name != "lambda_init"}
        own = difference.parameters.get("layer")
        instead = "" if own is None else f" instead of {own}"
        sentence = f"The number λ_init belongs to layer {int(number)}{instead}, counted from 0."
        changed: dict[str, Any] = {"difference": Operator(difference.record, {**given, "layer": int(number)})}
        yield Variant(replace(case.problem, **changed), sentence)

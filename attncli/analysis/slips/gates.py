"""Slips of gates and limits: forgotten, or another function of the gate."""

from collections.abc import Iterator
from dataclasses import replace

from attncli.analysis.slips.plan_edit import with_nodes
from attncli.analysis.slips.records import Computation, Variant, plan_slip, problem_slip
from attncli.ops import structural
from attncli.problem.spec import FIELDS
from attncli.problem.weights import has_projection


@plan_slip("the output has a gate")
def no_gate(case: Computation) -> Iterator[Variant]:
    """The gate is forgotten: the merged heads are projected as they are."""
    gated = case.plan.by_name.get("gated")
    if gated is not None:
        opened = replace(gated, function=structural.identity, inputs={"x": gated.inputs["x"]}, options={})
        yield Variant(with_nodes(case.plan, opened))


@plan_slip("the output has a gate")
def gate_not_activated(case: Computation) -> Iterator[Variant]:
    """The projected gate itself is multiplied, without its function."""
    gate = case.plan.by_name.get("gate")
    if gate is not None:
        yield Variant(with_nodes(case.plan, replace(gate, function=structural.identity)))


@problem_slip("the output has a gate")
def gate_function(case: Computation) -> Iterator[Variant]:
    """The gate has another function."""
    if has_projection(vars(case.problem), "g"):
        for word in FIELDS["gate"].words:
            if word != case.problem.gate:
                sentence = f"The function of the gate is {word} instead of {case.problem.gate}."
                yield Variant(replace(case.problem, gate=word), sentence)


@problem_slip("queries, keys and values are limited")
def no_clip(case: Computation) -> Iterator[Variant]:
    """Queries, keys and values are not limited by clip_qkv."""
    if case.problem.clip_qkv is not None:
        yield Variant(replace(case.problem, clip_qkv=None))


@problem_slip("values are multiplied by a number")
def no_value_scale(case: Computation) -> Iterator[Variant]:
    """The values are not multiplied by value_scale."""
    if case.problem.value_scale is not None:
        yield Variant(replace(case.problem, value_scale=None))

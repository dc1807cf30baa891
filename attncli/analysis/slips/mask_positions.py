"""Slips of causal masks and windows: where the queries stand among the keys, and how far the masks reach."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from attncli.analysis.slips.masks import base_name, hides_later_keys, rules_of, visible_keys
from attncli.analysis.slips.plan_edit import new_name, with_nodes
from attncli.analysis.slips.records import Computation, Variant, plan_slip, problem_slip
from attncli.ops import indices
from attncli.plan.build import build_plan
from attncli.plan.graph import Node

POSITIONS = "query_positions"


@plan_slip("a mask depends on where the queries stand, and the last one stands at the last key, or keys are cached")
def causal_top_left(case: Computation) -> Iterator[Variant]:
    """The causal mask is aligned top left: the first query stands at the first key."""
    yield from _aligned(case, _positions_by(case, "top_left"), "")
    if case.problem.past_count:
        sentence = "The causal mask is aligned top left: the first query stands at the first key of the cache."
        yield from _aligned(case, _positions_from(case, 0), sentence)


@plan_slip("a mask depends on where the queries stand, and the first one stands at the first key, or keys are padding")
def causal_bottom_right(case: Computation) -> Iterator[Variant]:
    """The causal mask is aligned bottom right: the last query stands at the last key."""
    yield from _aligned(case, _positions_by(case, "bottom_right"), "")
    if case.problem.key_lengths is not None or case.problem.key_mask is not None:
        sentence = "The causal mask is aligned bottom right, with the last key of all, also where that is padding."
        first = case.problem.past_count + case.problem.new_key_count - len(case.problem.query_labels)
        yield from _aligned(case, _positions_from(case, first), sentence)


@problem_slip("the attention is not causal, and a causal mask would hide keys")
def causal_added(case: Computation) -> Iterator[Variant]:
    """A causal mask is applied, although the problem has none: queries do not see the keys after them."""
    problem = case.problem
    if "causal" in rules_of(case) or "masked_scores" not in case.plan.results:
        return
    yield from _made_causal(case, problem.align, "")
    for align, what in (("top_left", "top left"), ("bottom_right", "bottom right")):
        if align != problem.align and problem.position is None:  # which depends on where the queries stand, too
            sentence = f"A causal mask is applied, aligned {what}, although the problem has none."
            yield from _made_causal(case, align, sentence)


def _made_causal(case: Computation, align: str, sentence: str) -> Iterator[Variant]:
    """The problem with a causal mask, if that hides keys that are visible."""
    causal = replace(case.problem, causal=True, align=align)
    if (visible_keys(causal, build_plan(causal)) != visible_keys(case.problem, case.plan)).any():
        yield Variant(causal, sentence)


@plan_slip("the attention is causal")
def causal_off_by_one(case: Computation) -> Iterator[Variant]:
    """The causal mask is off by one."""
    rules = rules_of(case)
    causal = rules.get("causal")
    if causal is None:
        return
    for shift, what in ((-1, "it hides a query's own key"), (1, "it shows a query the key after its own")):
        if shift > 0 and hides_later_keys(rules.get("window")):
            continue
        shifted = replace(
            case.plan.by_name[causal.inputs[POSITIONS]],
            name=new_name(case.plan, "causal_query_positions"),
            function=indices.query_positions,
            inputs={"rows": causal.inputs[POSITIONS]},
            options={"first": shift},
        )
        changed = replace(causal, inputs={**causal.inputs, POSITIONS: shifted.name})
        yield Variant(with_nodes(case.plan, shifted, changed), f"The causal mask is off by one: {what}.")


@plan_slip("there is a window")
def window_too_wide(case: Computation) -> Iterator[Variant]:
    """The window is one key too wide."""
    yield from _with_other_sides(case, 1, "wide")


@plan_slip("there is a window of more than the query's own key")
def window_too_narrow(case: Computation) -> Iterator[Variant]:
    """The window is one key too narrow."""
    yield from _with_other_sides(case, -1, "narrow")


def _with_other_sides(case: Computation, change: int, what: str) -> Iterator[Variant]:
    """The plan with a window that is larger or smaller on the left, on the right, and on both sides."""
    rules = rules_of(case)
    window = rules.get("window")
    if window is None:
        return
    sides = {side: window.options[side] for side in ("left", "right")}
    if "causal" in rules:
        del sides["right"]  # of which the causal mask hides every key
    sides = {side: length + change for side, length in sides.items() if math.isfinite(length) and length + change >= 0}
    for names in [[side] for side in sides] + ([list(sides)] if len(sides) > 1 else []):
        changed = replace(window, options={**window.options, **{side: sides[side] for side in names}})
        sentence = f"The window is one key too {what}: {' and '.join(f'{side} is {sides[side]:g}' for side in names)}."
        yield Variant(with_nodes(case.plan, changed), sentence)


def _positions_by(case: Computation, align: str) -> Mapping[str, Node]:
    """The nodes of the positions of queries under an alignment, as the plan of such a problem has them."""
    other = build_plan(replace(case.problem, align=align)).by_name
    return {name: other[name] for name in ("real_key_ends", POSITIONS) if name in other}


def _positions_from(case: Computation, first: int) -> Mapping[str, Node]:
    """The node of positions that are counted from a key on."""
    rows = case.plan.by_name.get("query_rows")
    if rows is None:
        return {}
    inputs = {"rows": rows.name}
    return {POSITIONS: Node(POSITIONS, "p", "", rows.axes, "align", indices.query_positions, inputs, {"first": first})}


def _aligned(case: Computation, nodes: Mapping[str, Node], sentence: str) -> Iterator[Variant]:
    """The plan in which causal masks and windows read other positions of the queries, if they are others."""
    rules = [rule for name, rule in rules_of(case).items() if base_name(name) in ("causal", "window")]
    own = case.plan.by_name.get(POSITIONS)
    positions = nodes.get(POSITIONS)
    if not rules or own is None or positions is None or _computes_same(own, positions):
        return
    aligned = replace(positions, name=new_name(case.plan, "mask_query_positions"))
    changed = [replace(rule, inputs={**rule.inputs, POSITIONS: aligned.name}) for rule in rules]
    others = [node for name, node in nodes.items() if name != POSITIONS]
    yield Variant(with_nodes(case.plan, *others, aligned, *changed), sentence)


def _computes_same(node: Node, other: Node) -> bool:
    """Whether two nodes are the same function of the same inputs."""
    return (node.function, node.inputs, node.options) == (other.function, other.inputs, other.options)

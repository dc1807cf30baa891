"""Slips of the cache: not updated, or forgotten."""

from collections.abc import Iterator
from dataclasses import replace

from attncli.analysis.slips.plan_edit import new_name, with_nodes
from attncli.analysis.slips.records import Computation, Variant, plan_slip
from attncli.base.lazy_numpy import Array, np
from attncli.plan.graph import Node


@plan_slip("there is a cache")
def stale_cache(case: Computation) -> Iterator[Variant]:
    """The cache is stale: the new keys and values are not in it, and the queries attend to the old ones alone."""
    past = case.problem.past_count
    if past:
        yield from _with_keys(case, 0, past)


@plan_slip("there is a cache")
def no_cache(case: Computation) -> Iterator[Variant]:
    """The cache is forgotten: the queries attend to the new keys alone."""
    past = case.problem.past_count
    if past:
        yield from _with_keys(case, past, past + case.problem.new_key_count)


def _with_keys(case: Computation, first: int, end: int) -> Iterator[Variant]:
    """The plan in which no keys but those from `first` to `end` are visible."""
    scores = case.plan.by_name.get(case.plan.results.get("masked_scores", ""))
    if scores is None:
        return
    readers = [
        node
        for node in case.plan.nodes
        if node.stage in ("normalize", "sink") and node.inputs.get("scores") == scores.name
    ]
    if readers:
        inputs, options = {"scores": scores.name}, {"first": first, "end": end}
        name = new_name(case.plan, "scores_of_cache")
        visible = Node(name, scores.symbol, "", scores.axes, "mask", _hide_other_keys, inputs, options)
        changed = [replace(node, inputs={**node.inputs, "scores": visible.name}) for node in readers]
        yield Variant(with_nodes(case.plan, visible, *changed))


def _hide_other_keys(scores: Array, *, first: int, end: int) -> Array:
    """The scores, −∞ for all keys but those from `first` to `end`."""
    keys = np.arange(scores.shape[-1])
    return np.where((first <= keys) & (keys < end), scores, -np.inf)

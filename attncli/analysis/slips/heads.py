"""Slips of heads: which features belong to a head, which key head a query head reads, how heads are merged."""

from collections.abc import Iterator

from attncli.analysis.slips.plan_edit import Function, with_function
from attncli.analysis.slips.records import Computation, Variant, plan_slip
from attncli.base.lazy_numpy import Array, np
from attncli.ops import structural
from attncli.plan.graph import Plan


@plan_slip("there are several key heads, and fewer than query heads", needs_all_heads=True)
def kv_heads_tiled(case: Computation) -> Iterator[Variant]:
    """The key heads are tiled (0 1 0 1) instead of repeated (0 0 1 1): query head h reads key head h mod g."""
    repeated = [node for node in case.plan.nodes if node.function is structural.repeat_kv]
    if any(case.plan[node.inputs["x"]].axes[-3].length > 1 for node in repeated):
        yield Variant(_with_functions(case.plan, structural.repeat_kv, _tile))


@plan_slip(
    "heads are side by side in the features, and there are several queries",
    needs_all_queries=True,
    needs_all_heads=True,
)
def heads_not_transposed(case: Computation) -> Iterator[Variant]:
    """The heads are merged in the wrong order: [heads, queries, features] is reshaped, with no transpose."""
    merged = case.plan.by_name.get("merged")
    if merged is not None and merged.axes[-2].length > 1:
        yield Variant(with_function(case.plan, "merged", _merge_without_transpose))


@plan_slip("heads are split off the features, and there are several rows", needs_all_queries=True)
def heads_split_not_transposed(case: Computation) -> Iterator[Variant]:
    """The heads are split in the wrong order: the array is reshaped to [heads, rows, features], with no transpose."""
    if _splits_heads(case.plan):
        yield Variant(_with_functions(case.plan, structural.split_heads, _split_without_transpose))


@plan_slip("heads are split off the features, and have several features")
def heads_interleaved(case: Computation) -> Iterator[Variant]:
    """The features are dealt to the heads in turn: head h has the features h, h + heads, h + 2 heads and so on."""
    if _splits_heads(case.plan):
        yield Variant(_with_functions(case.plan, structural.split_heads, _split_interleaved))


def _splits_heads(plan: Plan) -> bool:
    """Whether several heads are split off the features."""
    return any(node.function is structural.split_heads and node.axes[-3].length > 1 for node in plan.nodes)


def _with_functions(plan: Plan, function: Function, other: Function) -> Plan:
    """The plan in which every node of one function is computed by another."""
    for node in plan.nodes:
        if node.function is function:
            plan = with_function(plan, node.name, other)
    return plan


def _tile(x: Array, *, heads: int) -> Array:
    """Query head h reads key head h mod g: [… g m c] to [… h m c]."""
    repeats = [1] * x.ndim
    repeats[-3] = heads // x.shape[-3]
    return np.tile(x, repeats)


def _merge_without_transpose(x: Array) -> Array:
    """[… h n e] reshaped to [… n h·e], with no axes exchanged."""
    *leading, heads, rows, features = x.shape
    return x.reshape(*leading, rows, heads * features)


def _split_without_transpose(x: Array, *, heads: int) -> Array:
    """[… n h·d] reshaped to [… h n d], with no axes exchanged."""
    *leading, rows, features = x.shape
    return x.reshape(*leading, heads, rows, features // heads)


def _split_interleaved(x: Array, *, heads: int) -> Array:
    """[… n d·h] to [… h n d], where neighbouring features belong to different heads."""
    *leading, rows, features = x.shape
    return np.moveaxis(x.reshape(*leading, rows, features // heads, heads), -1, -3)

"""Slips of position schemes: forgotten, counted from another number, and those of alibi."""

from collections.abc import Iterator
from dataclasses import replace

from attncli.analysis.slips.plan_edit import with_changed_value, with_nodes
from attncli.analysis.slips.records import Computation, Variant, plan_slip, problem_slip
from attncli.base.lazy_numpy import Array
from attncli.ops import indices
from attncli.ops.position_biases import alibi
from attncli.ops.positions import learned, sinusoidal
from attncli.ops.records import Operator
from attncli.plan.graph import Node
from attncli.problem.spec import position_axes


@problem_slip("there is a position scheme")
def no_position(case: Computation) -> Iterator[Variant]:
    """The positions are forgotten."""
    position = case.problem.position
    if position is not None:
        changed = replace(case.problem, position=None)
        if position_axes(case.problem) is not None:  # which nothing else reads
            changed = replace(changed, positions=None, positions_of_queries=None)
        yield Variant(changed, f"The positions are forgotten: there is no {position.record.name}.")


@problem_slip("positions are given, and rows that are counted could be meant")
def positions_not_read(case: Computation) -> Iterator[Variant]:
    """The positions that are given are not read: rows are counted from 0."""
    position = case.problem.position
    axes_in_force = None if position is None else position.record.position_axes
    axes = None if position is None or axes_in_force is None else axes_in_force(position.parameters)
    if axes is not None and axes.are_needed:
        return
    if case.problem.positions is not None or case.problem.positions_of_queries is not None:
        yield Variant(replace(case.problem, positions=None, positions_of_queries=None))


@problem_slip("positions are added to the embeddings")
def position_offset(case: Computation) -> Iterator[Variant]:
    """The positions are counted from another number."""
    position, past = case.problem.position, case.problem.past_count
    if position is None or position.record.function not in (sinusoidal, learned):
        return
    offset = position.parameters["offset"]
    rows = len(position.arrays.get("table", ()))
    count = past + max(case.problem.new_key_count, len(case.problem.query_labels))
    for shift, sentence in (
        (1, "The positions are counted from 1 instead of 0."),
        (-past, "The positions are counted without the cache."),
    ):
        if shift and (not rows or count + offset + shift <= rows):
            changed = Operator(position.record, {**position.given, "offset": offset + shift})
            yield Variant(replace(case.problem, position=changed), sentence)


@plan_slip("there is alibi")
def alibi_sign(case: Computation) -> Iterator[Variant]:
    """Alibi has the wrong sign: the farther a key, the higher its score."""
    node = _alibi_node(case)
    if node is not None:
        yield Variant(with_changed_value(case.plan, node.name, _negative))


@plan_slip("there is alibi, of a number of heads that is no power of two")
def alibi_slopes(case: Computation) -> Iterator[Variant]:
    """Alibi's slopes are 2^(−8/h), 2^(−16/h) and so on, also where the number of heads h is no power of two."""
    node, slopes = _alibi_node(case), case.plan.by_name.get("slopes")
    if node is not None and slopes is not None and slopes.shape[0] & (slopes.shape[0] - 1):
        yield Variant(with_nodes(case.plan, replace(slopes, function=_geometric_slopes)))


def _alibi_node(case: Computation) -> Node | None:
    """The node of alibi's bias."""
    node = case.plan.by_name.get("position_bias")
    position = case.problem.position
    return node if position is not None and position.record.function is alibi else None


def _negative(x: Array) -> Array:
    """The numbers with the other sign."""
    return -x


def _geometric_slopes(*, shape: tuple[int]) -> Array:
    """2^(−8/h), 2^(−16/h), … for any number h of heads."""
    (heads,) = shape
    slopes: Array = 2.0 ** (-8 / heads * (1 + indices.count(first=0, length=heads)))
    return slopes

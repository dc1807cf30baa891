"""Slips of position schemes: forgotten, of other parameters, or applied at the wrong place."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from attncli.analysis.slips.plan_edit import new_name, with_changed_value, with_inputs, with_nodes
from attncli.analysis.slips.records import Computation, Variant, plan_slip, problem_slip
from attncli.base.lazy_numpy import Array
from attncli.ops import indices, structural
from attncli.ops.position_biases import alibi
from attncli.ops.positions import learned, rope, sinusoidal
from attncli.ops.records import Operator, format_value
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import ProblemSpec

BASES = (10_000.0, 500_000.0, 1_000_000.0)
ROPE = "there is rope"


@problem_slip("there is a position scheme")
def no_position(case: Computation) -> Iterator[Variant]:
    """The positions are forgotten."""
    position = case.problem.position
    if position is not None:
        yield Variant(
            replace(case.problem, position=None), f"The positions are forgotten: there is no {position.record.name}."
        )


@problem_slip("rope turns pairs of features in each half, and several")
def rope_interleaved(case: Computation) -> Iterator[Variant]:
    """Rope turns pairs of neighbouring features instead of one in each half."""
    if _rotated_count(case.problem) > 2 and not _rope(case.problem)["interleaved"]:
        yield Variant(_with_rope(case.problem, interleaved=True))


@problem_slip("rope turns pairs of neighbouring features, and several")
def rope_half_split(case: Computation) -> Iterator[Variant]:
    """Rope turns pairs of one feature in each half instead of neighbours."""
    if _rotated_count(case.problem) > 2 and _rope(case.problem)["interleaved"]:
        yield Variant(_with_rope(case.problem, interleaved=False))


@problem_slip("rope turns several pairs, by a base")
def rope_base(case: Computation) -> Iterator[Variant]:
    """Rope has another base."""
    parameters = _rope(case.problem)
    if _rotated_count(case.problem) <= 2 or parameters.get("frequencies") is not None:
        return
    for base in BASES:
        if base != parameters["base"]:
            sentence = f"Rope's base is {base:,.0f} instead of {format_value(parameters['base'])}."
            yield Variant(_with_rope(case.problem, base=base), sentence)


@problem_slip("rope has a scaling, and that is not 1")
def no_rope_scaling(case: Computation) -> Iterator[Variant]:
    """Rope's scaling is forgotten: positions are not divided by it."""
    if _rope(case.problem).get("scaling", 1) != 1:
        yield Variant(_with_rope(case.problem, scaling=1.0))


@problem_slip(ROPE)
def rope_reversed(case: Computation) -> Iterator[Variant]:
    """Rope turns the other way: the signs of the sines are exchanged."""
    if _rope(case.problem):
        yield Variant(_with_rope(case.problem, scaling=-_rope(case.problem)["scaling"]))


@plan_slip(ROPE)
def rope_offset(case: Computation) -> Iterator[Variant]:
    """Rope counts the positions of the queries from another number than those of the keys."""
    rotated = case.plan.by_name.get("rotated_query")
    if not _rope(case.problem) or rotated is None:
        return
    for shift, what in ((1, "after"), (-1, "before")):
        plan = _with_shifted_positions(case, "rotated_query", shift)
        yield Variant(plan, f"Rope puts each query one position {what} its own.")
    if case.problem.align == "bottom_right":
        plan = with_inputs(case.plan, "rotated_query", positions="query_rows")
        yield Variant(plan, "Rope puts the first query at position 0, not where it stands among the keys.")


@plan_slip("rope turns the queries and keys after a cache")
def rope_without_cache(case: Computation) -> Iterator[Variant]:
    """Rope counts positions without the cache: the first new token is at position 0."""
    past = case.problem.past_count
    if not past or not _rope(case.problem) or "rotated_query" not in case.plan.by_name:
        return
    for names, what in (
        (("rotated_query", "rotated_key"), ""),
        (("rotated_query",), "Rope counts the positions of the queries without the cache."),
        (("rotated_key",), "Rope counts the positions of the new keys without the cache."),
    ):
        changed = case
        for name in names:
            changed = replace(changed, plan=_with_shifted_positions(changed, name, -past))
        yield Variant(changed.plan, what)


@plan_slip("there is rope, and values have features that it can turn")
def rope_on_value(case: Computation) -> Iterator[Variant]:
    """Rope turns the values too, not only queries and keys."""
    rotated = case.plan.by_name.get("rotated_key")
    value = case.plan.by_name.get("value_heads", case.plan.by_name.get("value"))
    if not _rope(case.problem) or rotated is None or value is None:
        return
    count = _rotated_count(case.problem) if _is_partial(case.problem) else value.shape[-1]
    if count % 2 == 0 and count <= value.shape[-1]:
        inputs = {argument: source for argument, source in rotated.inputs.items() if argument != "x"}
        yield Variant(with_changed_value(case.plan, value.name, rope, inputs, rotated.options))


@plan_slip(ROPE)
def rope_on_query_only(case: Computation) -> Iterator[Variant]:
    """Rope turns the queries, but not the keys."""
    rotated = case.plan.by_name.get("rotated_key")
    if _rope(case.problem) and rotated is not None:
        unchanged = replace(rotated, function=structural.identity, inputs={"x": rotated.inputs["x"]}, options={})
        yield Variant(with_nodes(case.plan, unchanged))


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


def _rope(problem: ProblemSpec) -> dict[str, Any]:
    """The parameters of rope; none where the position scheme is another one."""
    position = problem.position
    return dict(position.parameters) if position is not None and position.record.function is rope else {}


def _is_partial(problem: ProblemSpec) -> bool:
    """Whether rope says how many features it turns."""
    parameters = _rope(problem)
    return parameters.get("dims") is not None or parameters.get("frequencies") is not None


def _rotated_count(problem: ProblemSpec) -> int:
    """How many features of a head are turned; 0 without rope."""
    parameters = _rope(problem)
    if not parameters:
        return 0
    frequencies = parameters.get("frequencies")
    if frequencies is not None:
        return 2 * len(frequencies)
    return int(parameters.get("dims") or problem.lengths.get("d", 0))


def _with_rope(problem: ProblemSpec, **parameters: Any) -> ProblemSpec:
    """The problem with other parameters of rope."""
    assert problem.position is not None
    return replace(problem, position=Operator(problem.position.record, {**problem.position.given, **parameters}))


def _with_shifted_positions(case: Computation, name: str, shift: int) -> Plan:
    """The plan in which one of the rotations reads positions that are so many more."""
    rotated = case.plan.by_name[name]
    positions = case.plan.by_name[rotated.inputs["positions"]]
    shifted = replace(
        positions,
        name=new_name(case.plan, f"{name}_positions"),
        function=indices.query_positions,
        inputs={"rows": positions.name},
        options={"first": shift},
    )
    return with_inputs(with_nodes(case.plan, shifted), name, positions=shifted.name)


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

"""Slips of rope: other pairs, angles or positions, and what it turns."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from attncli.analysis.slips.plan_edit import new_name, with_changed_value, with_function, with_inputs, with_nodes
from attncli.analysis.slips.records import Computation, Variant, plan_slip, problem_slip
from attncli.base.lazy_numpy import Array, np
from attncli.ops import indices, structural
from attncli.ops.records import Operator, format_value
from attncli.ops.rope import angles, position_axes, rope, rope_frequencies, rotated_count
from attncli.ops.rope_scaling import RopeScaling
from attncli.plan.graph import Plan
from attncli.problem.spec import ProblemSpec

BASES = (10_000.0, 500_000.0, 1_000_000.0)
ROPE = "there is rope"


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


@plan_slip("rope turns pairs of features in each half, and several")
def rope_mixed_pairs(case: Computation) -> Iterator[Variant]:
    """Rope turns pairs of one feature in each half, by the angles of neighbours: both of a pair turn differently."""
    parameters, plan = _rope(case.problem), case.plan
    nodes = [name for name in ("rotated_query", "rotated_key") if name in plan.by_name]
    if _rotated_count(case.problem) > 2 and not _is_partial(case.problem) and not parameters["interleaved"]:
        for name in nodes:
            plan = with_function(plan, name, _rope_of_mixed_pairs)
        if nodes:
            yield Variant(plan)


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
    scaling = _rope(case.problem).get("scaling", 1)
    if isinstance(scaling, RopeScaling):
        if scaling.stretches:
            sentence = f"Rope's scaling of the type {scaling.type} is forgotten."
            yield Variant(_with_rope(case.problem, scaling=scaling.unstretched), sentence)
    elif scaling != 1:
        yield Variant(_with_rope(case.problem, scaling=1.0))


@problem_slip("rope turns a part of a head's features")
def rope_dims(case: Computation) -> Iterator[Variant]:
    """Rope turns all features of a head instead of the first so many."""
    parameters, features = _rope(case.problem), case.problem.lengths.get("d", 0)
    count = _rotated_count(case.problem)
    if not 0 < count < features or features % 2 or parameters.get("frequencies") is not None:
        return
    scaling = parameters["scaling"]
    whole = scaling.without_share if isinstance(scaling, RopeScaling) else scaling
    sentence = f"Rope turns all {features} features of a head instead of the first {count}."
    yield Variant(_with_rope(case.problem, dims=None, scaling=whole), sentence)


@problem_slip("rope has an attention factor, and that is not 1")
def no_attention_factor(case: Computation) -> Iterator[Variant]:
    """Rope's attention factor is forgotten: cosines and sines are not multiplied by it."""
    if "attention_factor" in case.plan.by_name or _rope(case.problem).get("attention_factor", 1) != 1:
        yield Variant(_with_rope(case.problem, attention_factor=1.0))


@problem_slip(ROPE)
def rope_reversed(case: Computation) -> Iterator[Variant]:
    """Rope turns the other way: the signs of the sines are exchanged."""
    if _rope(case.problem):
        yield Variant(_with_rope(case.problem, reverse=not _rope(case.problem).get("reverse")))


@plan_slip(ROPE)
def rope_offset(case: Computation) -> Iterator[Variant]:
    """Rope counts the positions of the queries from another number than those of the keys."""
    rotated = case.plan.by_name.get("rotated_query")
    if not _rope(case.problem) or rotated is None:
        return
    for shift, what in ((1, "after"), (-1, "before")):
        plan = _with_shifted_positions(case, "rotated_query", shift)
        yield Variant(plan, f"Rope puts each query one position {what} its own.")
    if case.problem.align == "bottom_right" and rotated.inputs["positions"] == "query_positions":
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


@plan_slip(ROPE)
def rope_twice(case: Computation) -> Iterator[Variant]:
    """Rope turns queries and keys twice, as when a kernel rotates what is rotated already."""
    plan = case.plan
    if not _rope(case.problem):
        return
    turned = [plan.by_name[name] for name in ("rotated_query", "rotated_key") if name in plan.by_name]
    for rotated in turned:
        if "positions" in rotated.inputs:  # it is turned at all
            inputs = {argument: source for argument, source in rotated.inputs.items() if argument != "x"}
            plan = with_changed_value(plan, rotated.name, rope, inputs, rotated.options)
    if turned:
        yield Variant(plan)
    past = next((name for name in ("past_key_heads", "past_key") if name in case.plan.by_name), None)
    if turned and past is not None and case.problem.past_count > 1:  # position 0 is not turned
        position = case.problem.position
        assert position is not None
        options = {**position.options, **position.arrays}
        sentence = "Rope turns the cached keys once more, which are rotated already."
        yield Variant(with_changed_value(case.plan, past, _rope_from_0, options=options), sentence)


def _rope_from_0(x: Array, **options: Any) -> Array:
    """Rows turned as those of positions 0, 1, 2 and so on."""
    positions, axes = np.arange(x.shape[-2]), position_axes(options)
    rotated: Array = rope(x, positions if axes is None else indices.on_axes(positions, count=axes.count), **options)
    return rotated


def _rope(problem: ProblemSpec) -> dict[str, Any]:
    """The parameters of rope; none where the position scheme is another one."""
    position = problem.position
    return dict(position.parameters) if position is not None and position.record.function is rope else {}


def _is_partial(problem: ProblemSpec) -> bool:
    """Whether rope says how many features it turns, or has frequencies for so many."""
    parameters = _rope(problem)
    names = ("dims", "frequencies")
    return any(parameters.get(name) is not None for name in names) or isinstance(parameters.get("scaling"), RopeScaling)


def _rotated_count(problem: ProblemSpec) -> int:
    """How many features of a head are turned; 0 without rope."""
    parameters = _rope(problem)
    return rotated_count(problem.lengths.get("d", 0), parameters) if parameters else 0


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
        source=(),
    )
    return with_inputs(with_nodes(case.plan, shifted), name, positions=shifted.name)


def _rope_of_mixed_pairs(
    x: Array, positions: Array, *, base: float, attention_factor: float = 1.0, reverse: bool | None = None, **shift: Any
) -> Array:
    """Feature f of one half and of the other, each turned by the angle of the pair that it has a neighbour in."""
    half = x.shape[-1] // 2
    frequencies = np.repeat(rope_frequencies(2 * half, base), 2)
    angle = angles(positions, frequencies, scaling=shift["scaling"], offset=shift["offset"])
    partners = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    rotated: Array = x * np.cos(angle) + partners * np.sin(-angle if reverse else angle)
    return attention_factor * rotated

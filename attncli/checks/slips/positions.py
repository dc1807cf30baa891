"""Slips of positions: of their schemes, of rope, and of a cache before the new tokens."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.checks.slips.fit import nearest_solutions
from attncli.checks.slips.records import (
    Computation,
    FittedNumber,
    Function,
    Variant,
    instead_of,
    plan_slip,
    problem_slip,
    text_of,
)
from attncli.ops import indices
from attncli.ops.grid_positions import decomposed
from attncli.ops.position_biases import alibi, published_slopes
from attncli.ops.positions import learned, sinusoidal
from attncli.ops.records import Operator, format_value
from attncli.ops.rope import angles, position_axes, rope, rope_frequencies, rotated_count
from attncli.ops.rope_scaling import RopeScaling
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import ProblemSpec, rotated_lengths
from attncli.problem.spec import position_axes as axes_of_positions

BASES = (10_000.0, 500_000.0, 1_000_000.0)
MANY_BASES = [10.0 ** (quarter / 4) for quarter in range(4, 33)]
SCALINGS = [2.0 ** (quarter / 4) for quarter in range(-24, 25)]  # of positions
HEADS = FittedNumber("heads", lambda case: range(case.problem.leading.heads, 257), is_whole=True)  # of slopes
SHIFTS = [shift for size in range(1, 129) for shift in (size, -size)]
ROPE = "there is rope"


@problem_slip("there is a position scheme")
def no_position(case: Computation) -> Iterator[Variant]:
    """The positions are forgotten."""
    position = case.problem.position
    if position is not None:
        changed = replace(case.problem, position=None)
        if axes_of_positions(case.problem) is not None:  # nothing else reads it
            changed = replace(changed, positions=None, positions_of_queries=None)
        yield Variant(changed, f"The positions are forgotten: there is no {position.record.name}.")


@problem_slip("positions are given, and rows that are counted could be meant")
def positions_not_read(case: Computation) -> Iterator[Variant]:
    """The given positions are not read: rows are counted from 0."""
    position = case.problem.position
    axes_in_force = None if position is None else position.record.position_axes
    axes = None if position is None or axes_in_force is None else axes_in_force(position.parameters)
    if axes is not None and axes.are_needed:
        return
    if case.problem.positions is not None or case.problem.positions_of_queries is not None:
        yield Variant(replace(case.problem, positions=None, positions_of_queries=None))


def _offsets(case: Computation) -> Sequence[float]:
    """Numbers that positions may be counted from, the cache's first, by their distance from the right one."""
    past = case.problem.past_count
    return [*([-past] if past else []), *SHIFTS] if _is_added(case.problem) else []


def _is_added(problem: ProblemSpec) -> bool:
    """Whether positions are added to the embeddings."""
    return problem.position is not None and problem.position.record.function in (sinusoidal, learned)


@problem_slip(
    "positions are added to the embeddings",
    number=FittedNumber("positions", _offsets, is_whole=True, usual=(1,)),
)
def position_offset(case: Computation, number: int) -> Iterator[Variant]:
    """The positions are counted from another number."""
    position, past = case.problem.position, case.problem.past_count
    if position is None or not _is_added(case.problem):
        return
    offset, rows = position.parameters["offset"], len(position.arrays.get("table", ()))
    count = past + max(case.problem.new_key_count, len(case.problem.query_labels))
    if not rows or 0 <= offset + number <= rows - count:
        changed = Operator(position.record, {**position.given, "offset": offset + number})
        what = "without the cache" if number == -past else f"from {instead_of(offset + number, offset)}"
        yield Variant(replace(case.problem, position=changed), f"The positions are counted {what}.")


def _alibi_node(case: Computation) -> Node | None:
    position = case.problem.position
    is_alibi = position is not None and position.record.function is alibi
    return case.node("position_bias") if is_alibi else None


@plan_slip("there is alibi", _alibi_node)
def alibi_sign(case: Computation, node: Node) -> Iterator[Variant]:
    """Alibi has the wrong sign: the farther a key, the higher its score."""
    yield Variant(case.with_changed_value(node.name, np.negative))


@plan_slip("there are decomposed positions, with as many differences of rows as of columns", find="position_bias")
def grid_axes_swapped(case: Computation, node: Node) -> Iterator[Variant]:
    """The vectors for differences of rows and of columns are exchanged."""
    if node.function is not decomposed:
        return
    tables = {name: node.inputs[name] for name in ("rel_pos_h", "rel_pos_w")}
    shapes = {case.plan[name].shape for name in tables.values()}
    if len(shapes) == 1:
        swapped = {"rel_pos_h": tables["rel_pos_w"], "rel_pos_w": tables["rel_pos_h"]}
        yield Variant(case.with_inputs(node.name, **swapped))


def _slopes(case: Computation) -> Node | None:
    """The node of alibi's slopes."""
    return case.node("slopes") if _alibi_node(case) is not None else None


@plan_slip("there is alibi", _slopes, number=HEADS)
def alibi_heads(case: Computation, slopes: Node, number: int) -> Iterator[Variant]:
    """Alibi's slopes are the first ones for another number of heads."""
    if number >= slopes.shape[0]:
        changed = case.with_changed_value("slopes", _slopes_among, options={"heads": number})
        yield Variant(changed, f"Alibi's slopes are the first {slopes.shape[0]} for {number} heads.")


def _slopes_among(x: Array, *, heads: int, first: int = 0) -> Array:
    """The slopes of so many heads, from one of them on."""
    slopes: Array = published_slopes(shape=(heads,))[first : first + len(x)]
    return slopes


def _shards(case: Computation, expected: Mapping[str, Array]) -> Iterator[tuple[int, ...]]:
    """The first head and the number of heads, if heads are split over 2, 4, 8 or 16 devices."""
    slopes = _slopes(case)
    if slopes is None:
        return
    heads = slopes.shape[0]
    shards = [(heads * rank, heads * world) for world in (2, 4, 8, 16) for rank in range(1, world)]
    yield from nearest_solutions(case, expected, lambda shard: alibi_shard(case, slopes, shard), shards)


@plan_slip("there is alibi", _slopes, needs_all="h", number=FittedNumber("first_and_heads", solve=_shards))
def alibi_shard(case: Computation, slopes: Node, number: Sequence[int]) -> Iterator[Variant]:
    """Alibi's slopes belong to later heads, of a larger number of heads that is split over several devices."""
    first, heads = number
    if first + slopes.shape[0] <= heads:
        changed = case.with_changed_value("slopes", _slopes_among, options={"heads": heads, "first": first})
        last = first + slopes.shape[0] - 1
        yield Variant(changed, f"Alibi's slopes belong to the heads {first} to {last} of {heads}.")


def _rank_counts(case: Computation) -> Sequence[float]:
    """Numbers of devices over which heads may be split."""
    heads = case.problem.leading.heads
    return [ranks for ranks in range(2, heads + 1) if heads % ranks == 0]


@plan_slip(
    "there is alibi, of several heads",
    _slopes,
    needs_all="h",
    number=FittedNumber("ranks", _rank_counts, is_whole=True),
)
def alibi_ranks(case: Computation, slopes: Node, number: int) -> Iterator[Variant]:
    """Heads are split over several devices, each of which starts alibi's slopes from the first."""
    if slopes.shape[0] % number == 0:
        of_device = slopes.shape[0] // number
        for heads, which in ((slopes.shape[0], f"the first {of_device}"), (of_device, f"{of_device}")):
            options = {"ranks": number, "heads": heads}
            sentence = f"Alibi's slopes are for {which} heads on each of {number} devices."
            yield Variant(case.with_changed_value("slopes", _repeated_slopes, options=options), sentence)


def _repeated_slopes(x: Array, *, ranks: int, heads: int) -> Array:
    """The first slopes of so many heads, repeated on each device."""
    return np.tile(_slopes_among(x[: len(x) // ranks], heads=heads), ranks)


@plan_slip("there is alibi, of a number of heads that is not a power of two", _slopes)
def alibi_slopes(case: Computation, slopes: Node) -> Iterator[Variant]:
    """Alibi's slopes are 2^(−8/h), 2^(−16/h) and so on, also where the number of heads h is not a power of two."""
    if slopes.shape[0].bit_count() > 1:
        yield Variant(case.with_nodes(replace(slopes, function=_geometric_slopes)))


def _geometric_slopes(*, shape: tuple[int]) -> Array:
    """2^(−8/h), 2^(−16/h), … for any number h of heads."""
    (heads,) = shape
    slopes: Array = 2.0 ** (-8 / heads * (1 + indices.count(first=0, length=heads)))
    return slopes


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
    names = _rotated_names(case.plan)
    if _rotated_count(case.problem) > 2 and not _is_partial(case.problem) and not _rope(case.problem)["interleaved"]:
        for name in names:
            case = case.with_function(name, _rope_of_mixed_pairs)
        if names:
            yield Variant(case)


@plan_slip("rope turns queries and keys, and several pairs of features", is_general=True)
def rope_pairs_of_one(case: Computation) -> Iterator[Variant]:
    """Rope turns pairs in each half of the queries and pairs of neighbours of the keys, or the other way."""
    names, pairs = _rotated_names(case.plan), ("one feature in each half", "neighbours")
    if _rotated_count(case.problem) <= 2 or len(names) < 2:
        return
    for name, whose, others in zip(names, ("queries", "keys"), ("keys", "queries"), strict=True):
        node = case.plan.by_name[name]
        is_interleaved = not node.options["interleaved"]
        turned = replace(node, options={**node.options, "interleaved": is_interleaved})
        also = f"and of {pairs[not is_interleaved]} of the {others}"
        yield Variant(case.with_nodes(turned), f"Rope turns pairs of {pairs[is_interleaved]} of the {whose}, {also}.")


def _has_base(case: Computation) -> bool:
    """Whether rope turns several pairs by a base."""
    return _rotated_count(case.problem) > 2 and _rope(case.problem).get("frequencies") is None


@problem_slip(
    "rope turns several pairs, by a base", _has_base, number=FittedNumber("base", lambda _: MANY_BASES, usual=BASES)
)
def rope_base(case: Computation, number: float) -> Iterator[Variant]:
    """Rope has another base."""
    if number != _rope(case.problem)["base"]:
        sentence = f"Rope's base is {number:,.8g} instead of {_rope(case.problem)['base']:,.8g}."
        yield Variant(_with_rope(case.problem, base=number), sentence)


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
    parameters, features = _rope(case.problem), rotated_lengths(case.problem).get("d", 0)
    count = _rotated_count(case.problem)
    if not 0 < count < features or features % 2 or parameters.get("frequencies") is not None:
        return
    scaling = parameters["scaling"]
    whole = scaling.without_share if isinstance(scaling, RopeScaling) else scaling
    sentence = f"Rope turns all {features} features of a head instead of the first {count}."
    yield Variant(_with_rope(case.problem, dims=None, scaling=whole), sentence)


def _dims(case: Computation) -> Sequence[float]:
    """Even numbers of features, except the right one and all, which another slip covers."""
    own, features = _rotated_count(case.problem), rotated_lengths(case.problem).get("d", 0)
    return [dims for dims in range(2, features, 2) if dims != own]


def _has_plain_rope(case: Computation) -> bool:
    """Whether rope turns features by a base alone."""
    parameters = _rope(case.problem)
    is_plain = parameters.get("frequencies") is None and not isinstance(parameters.get("scaling"), RopeScaling)
    return bool(parameters) and is_plain


@problem_slip("there is rope, of several pairs", _has_plain_rope, number=FittedNumber("dims", _dims, is_whole=True))
def rope_dims_value(case: Computation, number: int) -> Iterator[Variant]:
    """Rope turns another number of a head's features."""
    own = _rotated_count(case.problem)
    if number != own:
        sentence = f"Rope turns the first {number} features of a head instead of {own}."
        yield Variant(_with_rope(case.problem, dims=number), sentence)


@problem_slip(ROPE, _has_plain_rope, number=FittedNumber("scaling", lambda _: SCALINGS))
def rope_scaling_value(case: Computation, number: float) -> Iterator[Variant]:
    """Rope divides positions by another scaling."""
    own = format_value(_rope(case.problem)["scaling"])
    sentence = f"Rope divides positions by {text_of(number)} instead of {own}."
    yield Variant(_with_rope(case.problem, scaling=number), sentence)


@problem_slip("rope turns a part of a head's features, by a base", _has_plain_rope)
def rope_of_head_width(case: Computation) -> Iterator[Variant]:
    """Rope that turns a part of a head's features has the frequencies of the whole head."""
    count, features = _rotated_count(case.problem), rotated_lengths(case.problem).get("d", 0)
    if not 0 < count < features or features % 2:
        return
    of_head = rope_frequencies(features, _rope(case.problem)["base"])
    yield Variant(_with_rope(case.problem, dims=None, frequencies=of_head[: count // 2]))
    turning = np.where(np.arange(features // 2) < count // 2, of_head, 0)
    sentence = "Rope that turns a part of a head's features has the pairs and frequencies of the whole head."
    if 2 * len(turning) <= case.problem.lengths.get("η", features):  # an indexer turns as many
        yield Variant(_with_rope(case.problem, dims=None, frequencies=turning), sentence)


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


@plan_slip(ROPE, number=FittedNumber("positions", lambda _: SHIFTS, is_whole=True, usual=(1, -1)))
def rope_offset(case: Computation, number: int) -> Iterator[Variant]:
    """Rope counts the positions of queries and keys from different numbers."""
    if _rope(case.problem) and "rotated_query" in case.plan.by_name:
        shifted = with_own_positions(case, "rotated_query", "positions", indices.query_positions, first=number)
        positions = "one position" if abs(number) == 1 else f"{abs(number)} positions"
        yield Variant(shifted, f"Rope puts each query {positions} {'after' if number > 0 else 'before'} its own.")


def _new_token_shifts(case: Computation) -> Sequence[float]:
    past = case.problem.past_count
    return [past, *(shift for shift in SHIFTS if abs(shift) != past)] if past and _rope(case.problem) else []


@plan_slip(
    "rope turns the queries and keys after a cache",
    number=FittedNumber("positions", _new_token_shifts, is_whole=True),
)
def rope_cache_offset(case: Computation, number: int) -> Iterator[Variant]:
    """Rope puts queries and new keys at other positions, as if the cache counted twice."""
    past = case.problem.past_count
    if past and _rope(case.problem) and {"rotated_query", "rotated_key"} <= case.plan.by_name.keys():
        shifted = case
        for name in ("rotated_query", "rotated_key"):
            shifted = with_own_positions(shifted, name, "positions", indices.query_positions, first=number)
        where = "after" if number > 0 else "before"
        counted = ": the cache is counted twice" if number == past else ""
        sentence = f"Rope puts the new tokens {abs(number)} positions {where} their own{counted}."
        yield Variant(shifted, sentence)


@plan_slip("there is rope, and the last query is at the last key")
def rope_from_0(case: Computation) -> Iterator[Variant]:
    """Rope puts the first query at position 0, not at its position among the keys."""
    rotated = case.node("rotated_query")
    if not _rope(case.problem) or rotated is None:
        return
    if case.problem.align == "bottom_right" and rotated.inputs["positions"] == "query_positions":
        yield Variant(case.with_inputs("rotated_query", positions="query_rows"))


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
        shifted = case
        for name in names:
            shifted = with_own_positions(shifted, name, "positions", indices.query_positions, first=-past)
        yield Variant(shifted, what)


@plan_slip("there is rope, and values have features that it can turn")
def rope_on_value(case: Computation) -> Iterator[Variant]:
    """Rope turns the values too, not only queries and keys."""
    rotated = case.node("rotated_key")
    value = case.node("value_heads") or case.node("value")
    if not _rope(case.problem) or rotated is None or value is None:
        return
    count = _rotated_count(case.problem) if _is_partial(case.problem) else value.shape[-1]
    if count % 2 == 0 and count <= value.shape[-1]:
        yield Variant(_turned(case, value.name, rotated))


@plan_slip(ROPE)
def rope_on_query_only(case: Computation) -> Iterator[Variant]:
    """Rope turns the queries, but not the keys."""
    if _rope(case.problem) and "rotated_key" in case.plan.by_name:
        yield Variant(case.with_identity("rotated_key"))


@plan_slip("rope turns the last features of queries and keys, which heads share")
def rope_on_wrong_part(case: Computation) -> Iterator[Variant]:
    """Rope turns other features of queries and keys than the last, which heads share."""
    problem, position, shared = case.problem, case.problem.position, _rotated_count(case.problem)
    if position is None or not {"joined_query", "joined_key", "rotated_query"} <= case.plan.by_name.keys():
        return
    own, width = (case.plan.by_name[name].shape[-1] for name in ("nope_query", "rope_query"))
    exchanged = [
        replace(case.plan.by_name[name], options={"blocks": 1, "first": first, "count": count})
        for name, first, count in (("rope_query", 0, width), ("nope_query", width, own))
    ]
    sentence = f"The first {width} features of each query are taken for those that are rotated, in place of the last."
    yield Variant(case.with_nodes(*exchanged), sentence)
    options = {**position.options, **position.arrays}
    first = f"Rope turns the first {shared} features of queries and keys in place of the last, which heads share."
    yield Variant(_turned_when_joined(case, {**options, "dims": shared}), first)
    if problem.lengths["d"] % 2 == 0 and _rope(problem).get("frequencies") is None:
        sentence = "Rope turns all features of queries and keys, not only the last, which heads share."
        yield Variant(_turned_when_joined(case, {**options, "dims": None}), sentence)


def _turned_when_joined(case: Computation, options: Mapping[str, Any]) -> Computation:
    """The computation that turns queries and keys as a whole, in place of their last features before."""
    for role in ("query", "key"):
        positions = case.plan.by_name[f"rotated_{role}"].inputs["positions"]
        case = case.with_identity(f"rotated_{role}")
        case = case.with_changed_value(f"joined_{role}", rope, {"positions": positions}, options)
    return case


@plan_slip(ROPE)
def rope_twice(case: Computation) -> Iterator[Variant]:
    """Rope turns queries and keys twice, as if a kernel rotated rotated vectors."""
    turned, names, position = case, _rotated_names(case.plan), case.problem.position
    if not _rope(case.problem) or not names or position is None:
        return
    for name in names:
        if "positions" in case.plan.by_name[name].inputs:  # it is turned at all
            turned = _turned(turned, name, case.plan.by_name[name])
    yield Variant(turned)
    past = next((name for name in ("past_key_heads", "past_key") if name in case.plan.by_name), None)
    if past is not None and case.problem.past_count > 1:  # position 0 is not turned
        options = {**position.options, **position.arrays, "width": rotated_lengths(case.problem)["d"]}
        sentence = "Rope turns the cached keys once more, which are rotated already."
        yield Variant(case.with_changed_value(past, _rope_from_0, options=options), sentence)


def _rope(problem: ProblemSpec) -> dict[str, Any]:
    """The parameters of rope; none for another position scheme."""
    position = problem.position
    return dict(position.parameters) if position is not None and position.record.function is rope else {}


def _is_partial(problem: ProblemSpec) -> bool:
    """Whether rope says how many features it turns, or has frequencies for that many."""
    parameters = _rope(problem)
    names = ("dims", "frequencies")
    return any(parameters.get(name) is not None for name in names) or isinstance(parameters.get("scaling"), RopeScaling)


def _rotated_count(problem: ProblemSpec) -> int:
    """How many features of a head are turned; 0 without rope."""
    parameters = _rope(problem)
    return rotated_count(rotated_lengths(problem).get("d", 0), parameters) if parameters else 0


def _rotated_names(plan: Plan) -> list[str]:
    return [name for name in ("rotated_query", "rotated_key") if name in plan.by_name]


def _with_rope(problem: ProblemSpec, **parameters: Any) -> ProblemSpec:
    assert problem.position is not None
    return replace(problem, position=Operator(problem.position.record, {**problem.position.given, **parameters}))


def with_own_positions(case: Computation, name: str, argument: str, function: Function, **options: Any) -> Computation:
    """The computation in which one node reads `function(rows=…, **options)` of its positions."""
    before = case.plan.by_name[case.plan.by_name[name].inputs[argument]]
    own_name, inputs = case.new_name(f"{name}_{argument}"), {"rows": before.name}
    own = replace(before, name=own_name, function=function, inputs=inputs, options=options, source=())
    return case.with_nodes(own).with_inputs(name, **{argument: own.name})


def _turned(case: Computation, name: str, rotated: Node) -> Computation:
    """The computation that turns a node's value as another value is turned."""
    inputs = {argument: source for argument, source in rotated.inputs.items() if argument != "x"}
    return case.with_changed_value(name, rope, inputs, rotated.options)


def _rope_from_0(x: Array, *, width: int, **options: Any) -> Array:
    """Rows whose last features are turned as at positions 0, 1, 2 and so on."""
    rows, axes = np.arange(x.shape[-2]), position_axes(options)
    positions = rows if axes is None else indices.on_axes(rows, count=axes.count)
    return np.concatenate([x[..., :-width], rope(x[..., -width:], positions, **options)], axis=-1)


def _rope_of_mixed_pairs(
    x: Array, positions: Array, *, base: float, attention_factor: float = 1.0, reverse: bool | None = None, **shift: Any
) -> Array:
    """Feature f of each half, turned by the angle of the pair in which it has a neighbour."""
    half = x.shape[-1] // 2
    frequencies = np.repeat(rope_frequencies(2 * half, base), 2)
    angle = angles(positions, frequencies, scaling=shift["scaling"], offset=shift["offset"])
    partners = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    rotated: Array = x * np.cos(angle) + partners * np.sin(-angle if reverse else angle)
    return attention_factor * rotated


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
    """The plan in which only the keys from `first` to `end` are visible."""
    scores = case.node(case.plan.results.get("masked_scores", ""))
    if scores is None:
        return
    readers = [
        node
        for node in case.plan.nodes
        if node.stage in ("normalize", "sink") and node.inputs.get("scores") == scores.name
    ]
    if readers:
        inputs, options = {"scores": scores.name}, {"first": first, "end": end}
        name = case.new_name("scores_of_cache")
        visible = Node(name, scores.symbol, "", scores.axes, "mask", _hide_other_keys, inputs, options)
        changed = [replace(node, inputs={**node.inputs, "scores": visible.name}) for node in readers]
        yield Variant(case.with_nodes(visible, *changed))


def _hide_other_keys(scores: Array, *, first: int, end: int) -> Array:
    """The scores, −∞ for all keys except those from `first` to `end`."""
    keys = np.arange(scores.shape[-1])
    return np.where((first <= keys) & (keys < end), scores, -np.inf)

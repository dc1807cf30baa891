"""Slips of one unit: a head, an item, a tile or a row has another's input, is read twice, or is not written."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import log
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.checks.slips.maps import with_changed_rows
from attncli.checks.slips.masks import rules_of
from attncli.checks.slips.positions import with_own_positions
from attncli.checks.slips.records import Computation, FittedNumber, Variant, plan_slip, usual_tile_sizes
from attncli.checks.slips.rows import BOTH, range_of_rows
from attncli.checks.slips.scores import biases_of
from attncli.checks.slips.softmax import softmax_node
from attncli.checks.slips.tiles import USUAL_TILE, added
from attncli.plan.graph import Node

UNITS = {"h": "head", "b": "batch item"}
GIVEN = ("mask", "key_mask", "key_lengths")  # rules that are arrays
WHAT = {"position_bias": "position bias", "beta": "update rate", "past_state": "past state"}
ARE = ("queries", "keys", "values", "keys and values", "key_lengths")


def _has(node: Node | None, letter: str) -> bool:
    """Whether a node has several entries along an axis."""
    return node is not None and any(axis.letter == letter and axis.length > 1 for axis in node.axes)


def _biases(case: Computation) -> Mapping[str, Node]:
    return {WHAT.get(name, name): case.plan.by_name[name] for name in biases_of(case)}


def _arrays(case: Computation) -> Mapping[str, Node]:
    """The arrays but keys and values that the scores or a recurrence read, by what a sentence calls them."""
    reader = case.node_of_stage("score") or case.node_of_stage("recurrence")
    names = {WHAT.get(name, name): name for name in ("sink", "decay", "beta", "past_state")}
    names |= {} if reader is None else {"queries": reader.inputs.get("query", "")}
    nodes = {what: case.plan.by_name[name] for what, name in names.items() if name in case.plan.by_name}
    return {**_biases(case), **nodes} | {name: rule for name, rule in rules_of(case).items() if name in GIVEN}


def _orders(what: str, letter: str, count: int, per_group: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Which head or batch item each one reads by mistake, after the sentence that says so; the plainest first."""
    own, unit, are = np.arange(count), UNITS[letter], "are" if what in ARE else "is"
    orders = {
        f"{unit.capitalize()} 0's {what} {are} used for all {unit}s.": 0 * own,
        f"Each {unit} has the {what} of the one after it.": np.roll(own, -1),
        f"Each {unit} has the {what} of the one before it.": np.roll(own, 1),
        f"The {what} of the {unit}s {are} in reverse order.": own[::-1],
        f"Head h has the {what} of head h // {per_group}, which is the number of its key head.": own // per_group,
        f"The heads of a group all have the {what} of its first one.": own // per_group * per_group,
    }
    met = {tuple(own.tolist())}
    for sentence, order in orders.items():
        read = tuple(order.tolist())
        if read not in met:
            met.add(read)
            yield sentence, read


def _of_others(case: Computation, letter: str, arrays: Mapping[str, Node]) -> Iterator[Variant]:
    """The computations in which heads or batch items read another's entries of one of some arrays."""
    layout = case.problem.leading
    per_group = layout.heads // layout.kv_heads if letter == "h" else 1
    for what, node in arrays.items():
        if _has(node, letter):
            axis = node.letters.index(letter)
            for sentence, order in _orders(what, letter, node.shape[axis], per_group):
                changed = case.with_changed_value(node.name, _taken, options={"order": order, "axis": axis})
                yield Variant(changed, sentence)


def _taken(x: Array, *, order: Sequence[int], axis: int) -> Array:
    """The entries in another order along an axis."""
    return x.take(order, axis)


@plan_slip("a bias, of positions or the user's own, has several heads", needs_all="h")
def bias_of_other_head(case: Computation) -> Iterator[Variant]:
    """Each head has the bias of another, such as that of head 0 or of the one after it."""
    return _of_others(case, "h", _biases(case))


@plan_slip(
    "queries, masks, sinks, decays or update rates have several heads", needs_all="h", is_paired=False, is_general=True
)
def input_of_other_head(case: Computation) -> Iterator[Variant]:
    """Each head has the queries, mask, sink, decay or update rate of another, such as those of head 0."""
    biases = _biases(case)
    return _of_others(case, "h", {what: node for what, node in _arrays(case).items() if what not in biases})


@plan_slip("there are several batch items", needs_all="b", is_paired=False, is_general=True)
def input_of_other_item(case: Computation) -> Iterator[Variant]:
    """Each batch item has the queries, bias, mask, lengths or decay of another, such as those of item 0."""
    return _of_others(case, "b", _arrays(case))


def _moved(what: str, units: str, tile: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """How rows of tiles are mistaken, after the sentence that says so."""
    are, one = "are" if what in ARE else "is", "row" if tile == 1 else f"tile of {tile}"
    yield f"Each {one if tile == 1 else f'{one} {units}'} has the {what} of the first one.", {"by": None}
    yield f"The {what} {are} one {one} late: each has that of the one before it.", {"by": -tile}
    yield f"The {what} {are} one {one} late, and zeros for the first one.", {"by": -tile, "is_filled": True}
    yield f"The {what} {are} one {one} early, and the last one is read twice.", {"by": tile}


def _in_tiles(x: Array, *, axis: int, tile: int, by: int | None, is_filled: bool = False) -> Array:
    """Rows of which each tile has those of the first, or of a tile before or after it; the one at the end its own."""
    rows = np.arange(x.shape[axis])
    read = rows % tile if by is None else rows + by
    read = np.where((read < 0) | (read >= len(rows)), rows, read)
    moved = x.take(read, axis)
    if is_filled:
        moved[(slice(None),) * (axis % x.ndim) + (slice(tile),)] = 0
    return moved


@plan_slip("there are several keys and values", number=USUAL_TILE)
def keys_of_other_tile(case: Computation, number: int) -> Iterator[Variant]:
    """The keys, the values, or a bias or mask of keys are those of another tile: the first, or one late or early."""
    for words in (["value"], ["key"], BOTH):
        for sentence, moved in _moved(" and ".join(f"{word}s" for word in words), "keys", number):
            for changed, _ in with_changed_rows(case, (words,), _in_tiles, axis=-2, tile=number, **moved):
                yield Variant(changed, sentence)
    yield from _arrays_in_tiles(case, "m", "keys", number)


def _arrays_in_tiles(case: Computation, letter: str, units: str, tile: int) -> Iterator[Variant]:
    """The computations in which an array has other entries along queries or keys."""
    for what, node in _arrays(case).items():
        own = _moved(what, units, tile) if _has(node, letter) and what not in ("position bias", "key_lengths") else ()
        for sentence, moved in own:
            options = {"axis": node.letters.index(letter), "tile": tile, **moved}
            if "is_filled" not in moved:
                yield Variant(case.with_changed_value(node.name, _in_tiles, options=options), sentence)


@plan_slip(
    "there are several queries",
    needs_all="n",
    is_paired=False,
    number=FittedNumber("tile", lambda case: usual_tile_sizes(case.plan.axis_length("n")), is_whole=True),
)
def queries_of_other_tile(case: Computation, number: int) -> Iterator[Variant]:
    """The queries, or a bias, a mask or decays are those of another tile: the first, or one late or early."""
    return _arrays_in_tiles(case, "n", "queries", number)


@plan_slip("sequences are packed", needs_all="n", is_paired=False, is_general=True)
def later_sequences_late(case: Computation) -> Iterator[Variant]:
    """Sequences after the first are one row late: they read keys or values, or write their output, one row off."""
    problem = case.problem
    bounds = problem.cu_seqlens if problem.cu_seqlens_k is None else problem.cu_seqlens_k
    if bounds is None or problem.cu_seqlens is None:
        return
    for by, when in ((-1, "late"), (1, "early")):
        for changed, what in with_changed_rows(case, (BOTH, ["value"], ["key"]), _moved_from, first=bounds[1], by=by):
            yield Variant(changed, f"The {what} of the packed sequences after the first are read one row {when}.")
        options = {"first": problem.cu_seqlens[1], "by": by}
        sentence = f"The outputs of the packed sequences after the first are written one row {when}."
        yield Variant(case.with_changed_value("context", _moved_from, options=options), sentence)


def _moved_from(x: Array, *, first: int, by: int) -> Array:
    """Rows of which those from one on are others, so many after or before them, as far as there are any."""
    rows = np.arange(x.shape[-2])
    return x.take(np.where(rows < first, rows, np.clip(rows + by, 0, len(rows) - 1)), axis=-2)


@plan_slip("positions are counted", number=USUAL_TILE)
def positions_by_tile(case: Computation, number: int) -> Iterator[Variant]:
    """Rope or a bias counts positions from the beginning of a tile or chunk, or counts what is before that twice."""
    readers = [(f"rotated_{word}", "positions", word) for word in ("query", "key")]
    readers += [("position_bias", f"{word}_positions", word) for word in ("query", "key")]
    found = [one for one in readers if one[1] in getattr(case.node(one[0]), "inputs", {})]
    for some in [found[:1], found[1:2], found[:2]] if len(found) > 1 else [found] if found else []:
        whose = " and ".join("queries" if word == "query" else "keys" for *_, word in some)
        for is_twice in (False, True) if not case.problem.past_count else (False,):  # rope_cache_offset
            changed = case
            for name, argument, _ in some:
                changed = with_own_positions(changed, name, argument, _within, tile=number, is_twice=is_twice)
            count = f"The positions of {whose} are counted from the beginning of their tile of {number}."
            twice = f"The beginning of a chunk of {number} is counted twice in the positions of its {whose}."
            yield Variant(changed, twice if is_twice else count)


def _within(rows: Array, *, tile: int, is_twice: bool) -> Array:
    """Positions from the beginning of their tile, or with that added once more."""
    within = rows % tile
    return np.asarray(2 * rows - within if is_twice else within)


@plan_slip(
    "weights are a softmax, of several keys",
    softmax_node,
    number=FittedNumber("first_and_count", solve=partial(range_of_rows, kinds=("twice",))),
)
def keys_read_twice(case: Computation, weights: Node, number: Sequence[int]) -> Iterator[Variant]:
    """Some keys are read twice, as a tile at a bound that both sides of it read."""
    first, count = number
    options = {"first": first, "count": count, "by": log(2)}
    which, are = (f"Key {first}", "is") if count == 1 else (f"Keys {first} to {first + count - 1}", "are")
    changed = case.with_changed_value(weights.inputs["scores"], added, options=options)
    yield Variant(changed, f"{which} {are} read twice: each takes part in the softmax as two.")

"""Slips of masks: forgotten, inverted, transposed, misplaced, or with queries at other positions among the keys."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.checks.slips.records import (
    Computation,
    Find,
    FittedNumber,
    Function,
    Variant,
    evaluate_names,
    plan_slip,
    problem_slip,
    tile_sizes,
)
from attncli.ops import indices
from attncli.ops.masks import chunked, or_masks
from attncli.plan.build import build_plan
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import ProblemSpec

FINITE_FILL = -1e9  # a number that often replaces −∞
POSITIONS = "query_positions"
MAX_BOUNDS = 8  # between packed sequences, each of which may be off


def rules_of(case: Computation) -> dict[str, Node]:
    """The rules that hide keys, by their names in the plan; a bias counts if it has −∞."""
    visible, bias = case.node("visible"), case.problem.bias
    if visible is None:
        return {}
    hides_by_bias = bias is not None and bool(np.isneginf(bias).any())
    inputs = visible.inputs.items()
    return {name: case.before_changes(source) for name, source in inputs if name != "bias" or hides_by_bias}


def _rule(name: str) -> Find:
    """The rule of a name, if it hides keys."""
    return lambda case: rules_of(case).get(name)


def _causal_that_hides(case: Computation) -> Node | None:
    """The causal mask, unless a window hides the later keys too."""
    rules = rules_of(case)
    return None if _hides_later_keys(rules.get("window")) else rules.get("causal")


def _without_rules(case: Computation, *names: str) -> Computation:
    """The computation without some of its mask rules; without any, every key is visible."""
    candidates = case.node("candidates")  # candidates for the choice of keys
    if candidates is not None:
        others = {name: source for name, source in candidates.inputs.items() if name not in names}
        case = case.with_nodes(replace(candidates, inputs=others) if others else _showing_every_key(candidates))
    visible = case.plan.by_name["visible"]
    inputs = {name: source for name, source in visible.inputs.items() if name not in names}
    if inputs:
        return case.with_nodes(replace(visible, inputs=inputs))
    return case.with_nodes(_showing_every_key(visible))


def _showing_every_key(visible: Node) -> Node:
    """The node of visible keys, if no rule hides one."""
    options = {"shape": (1,) * (len(visible.axes) - 1) + visible.shape[-1:]}
    return replace(visible, function=_every_key, inputs={}, options=options)


def _base_name(rule: str) -> str:
    """The base name of a rule's mask, of which a plan may have several."""
    return re.sub(r"_\d+$", "", rule)


def _title(name: str, rule: Node) -> str:
    """The name of a rule in a sentence, or its expression."""
    return name if rule.record is not None else rule.formula


def _the_mask(name: str, rule: Node) -> str:
    """A rule as the subject of a sentence: the key `mask` is simply "the mask"."""
    return "The mask" if name == "mask" and rule.record is not None else f"The mask {_title(name, rule)}"


def _hides_later_keys(window: Node | None) -> bool:
    return window is not None and bool(window.options["right"] <= 0)


def _is_masked(case: Computation) -> bool:
    return bool(rules_of(case))


def _has_empty_rows(case: Computation) -> bool:
    """Whether the masks hide all keys from some query."""
    return _is_masked(case) and not bool(_visible_keys(case.problem, case.plan).any(axis=-1).all())


@plan_slip("there is a mask, or padding")
def no_mask(case: Computation) -> Iterator[Variant]:
    """The mask is forgotten: every key is visible."""
    rules = rules_of(case)
    for name, rule in rules.items():
        if _base_name(name) not in ("causal", "window", "bias", "cu_seqlens"):  # have their own slips
            yield Variant(_without_rules(case, name), f"The mask is forgotten: {_title(name, rule)} hides no key.")
        for part in rule.inputs if rule.function is or_masks else ():
            inputs = {other: source for other, source in rule.inputs.items() if other != part}
            sentence = f"A part of the mask is forgotten: {part} of {rule.formula} leaves no key visible."
            yield Variant(case.with_nodes(replace(rule, inputs=inputs)), sentence)
    if len(rules) > 1:
        yield Variant(_without_rules(case, *rules), "All masks are forgotten: every key is visible.")


@plan_slip("the attention is causal", _causal_that_hides)
def no_causal(case: Computation, _: Node) -> Iterator[Variant]:
    """The causal mask is forgotten: queries see the keys after them."""
    yield Variant(_without_rules(case, "causal"))


@plan_slip("there is a window", _rule("window"))
def no_window(case: Computation, _: Node) -> Iterator[Variant]:
    """The window is forgotten: queries see keys outside it."""
    yield Variant(_without_rules(case, "window"))


@plan_slip("there is a mask")
def mask_inverted(case: Computation) -> Iterator[Variant]:
    """The mask is inverted: the keys that it should hide are visible, and the others are hidden."""
    for name, rule in rules_of(case).items():
        if _base_name(name) == "window":
            continue
        inverted = "mask" if name == "mask" and "mask" in case.plan.by_name else rule.name
        what = "the keys that it should hide are visible, and the others are hidden"
        sentence = f"{_the_mask(name, rule)} is inverted: {what}."
        yield Variant(case.with_changed_value(inverted, np.logical_not), sentence)


@plan_slip("there is a mask, and there are as many queries as keys", needs_all="n")
def mask_transposed(case: Computation) -> Iterator[Variant]:
    """The mask is transposed: it hides queries where it should hide keys."""
    queries, keys = (axis.length for axis in case.plan.pair_axes[-2:])
    for name, rule in rules_of(case).items():
        if queries == keys > 1 and rule.shape[-1] == keys and _base_name(name) != "window":
            sentence = f"{_the_mask(name, rule)} is transposed: it hides queries where it should hide keys."
            yield Variant(case.with_changed_value(rule.name, lambda rule: rule.mT), sentence)


@plan_slip("there is a mask", _is_masked)
def mask_after_softmax(case: Computation) -> Iterator[Variant]:
    """The mask is applied after the softmax: weights become 0, and the others of their row no longer sum to 1."""
    unmasked, inputs = with_masked_scores(case, _leave), {"visible": "visible"}
    hidden = unmasked.with_changed_value("weights", lambda weights, visible: np.where(visible, weights, 0), inputs)
    yield Variant(hidden)


@plan_slip("there is a mask", _is_masked)
def masked_with_zero(case: Computation) -> Iterator[Variant]:
    """Masked scores are set to 0 instead of −∞, and take part in the softmax with exp(0) = 1."""
    yield Variant(with_masked_scores(case, _fill, fill=0.0))


@plan_slip("there is a mask", _is_masked)
def mask_added(case: Computation) -> Iterator[Variant]:
    """The mask is added to the scores as a number: visible keys get 1 more, and no key is hidden."""
    yield Variant(with_masked_scores(case, lambda scores, visible: scores + visible))


@plan_slip("the masks hide all keys from a query", _has_empty_rows)
def masked_with_finite(case: Computation) -> Iterator[Variant]:
    """Rows that see no key get the mean of the values: masked scores are a large negative number instead of −∞."""
    yield Variant(with_masked_scores(case, _fill, fill=FINITE_FILL))
    sentence = "Rows that see no key see all of them: a large negative number is added to masked scores."
    yield Variant(with_masked_scores(case, add_fill, fill=FINITE_FILL), sentence)


@plan_slip("the masks hide all keys from a query", _has_empty_rows)
def empty_rows_nan(case: Computation) -> Iterator[Variant]:
    """Where no key is visible the weights are NaN, from 0 divided by 0, instead of 0."""
    if case.plan.empty_rows_fill != "nan":
        yield Variant(case.with_changed_value("weights", _nan_where_empty, {"visible": "visible"}))


@plan_slip("empty_rows is nan or uniform, and the masks hide all keys from a query", _has_empty_rows)
def empty_rows_zero(case: Computation) -> Iterator[Variant]:
    """Where no key is visible the weights are 0, instead of NaN or uniform."""
    if case.plan.empty_rows_fill is not None:
        weights = case.before_changes("weights")
        yield Variant(case.with_nodes(replace(weights, function=lambda weights: weights, options={})))


@plan_slip("a mask depends on the positions of the queries, and the last one is at the last key, or keys are cached")
def causal_top_left(case: Computation) -> Iterator[Variant]:
    """The causal mask is aligned top left: the first query is at the first key."""
    yield from _aligned(case, _positions_by(case, "top_left"), "")
    if case.problem.past_count:
        sentence = "The causal mask is aligned top left: the first query is at the first key of the cache."
        yield from _aligned(case, _positions_from(case, 0), sentence)


@plan_slip("a mask depends on the positions of the queries, and the first one is at the first key, or keys are padding")
def causal_bottom_right(case: Computation) -> Iterator[Variant]:
    """The causal mask is aligned bottom right: the last query is at the last key."""
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
        if align != problem.align and problem.position is None:  # also depends on the positions of queries
            sentence = f"A causal mask is applied, aligned {what}, although the problem has none."
            yield from _made_causal(case, align, sentence)


def _sizes_both_ways(case: Computation) -> Sequence[float]:
    """Numbers of keys more or less, the nearest first."""
    return [shift for size in range(1, min(case.key_count, 129)) for shift in (size, -size)]


@plan_slip(
    "the attention is causal",
    _rule("causal"),
    number=FittedNumber("keys", _sizes_both_ways, is_whole=True, is_size=True, usual=(-1, 1)),
)
def causal_off_by_one(case: Computation, causal: Node, number: int) -> Iterator[Variant]:
    """The causal mask is off by one key, or by more."""
    if number > 0 and _hides_later_keys(rules_of(case).get("window")):
        return
    shifted = replace(
        case.plan.by_name[causal.inputs[POSITIONS]],
        name=case.new_name("causal_query_positions"),
        function=indices.query_positions,
        inputs={"rows": causal.inputs[POSITIONS]},
        options={"first": number},
    )
    changed = replace(causal, inputs={**causal.inputs, POSITIONS: shifted.name})
    size = abs(number)
    if number > 0:
        what = "shows a query the key after its own" if size == 1 else f"shows a query {size} keys after its own"
    else:
        what = "hides a query's own key" if size == 1 else f"hides a query's own key and {size - 1} before it"
    sentence = f"The causal mask is off by {'one' if size == 1 else size}: it {what}."
    yield Variant(case.with_nodes(shifted, changed), sentence)


def _tiles(case: Computation) -> Sequence[float]:
    return [size for size in tile_sizes(case.key_count) if size > 1]


@plan_slip("the attention is causal", _causal_that_hides, number=FittedNumber("tile", _tiles, is_whole=True))
def causal_by_tiles(case: Computation, node: Node, number: int) -> Iterator[Variant]:
    """The causal mask hides only whole tiles: queries see all keys of their own key's tile."""
    options = {**node.options, "tile": number}
    sentence = f"The causal mask hides whole tiles of {number} keys: queries see all keys of their own key's tile."
    yield Variant(case.with_nodes(replace(node, function=_causal_by_tiles, options=options)), sentence)


def _causal_by_tiles(query_positions: Array, key_positions: Array, *, tile: int) -> Array:
    """True if a key's tile is not after the query's."""
    visible: Array = key_positions // tile <= query_positions[..., :, None] // tile
    return visible


@plan_slip("the attention is causal", _causal_that_hides, number=FittedNumber("tile", _tiles, is_whole=True))
def causal_within_tiles(case: Computation, node: Node, number: int) -> Iterator[Variant]:
    """The causal mask counts the queries from the beginning of their tile, or both queries and keys from theirs."""
    tile = f"tile of {number}"
    for of_keys, sentence in (
        (False, f"The causal mask counts queries from the beginning of their {tile}, and keys from the first."),
        (True, f"Each {tile} keys has the causal mask of the first, also where all its keys are before the query."),
    ):
        options = {**node.options, "tile": number, "of_keys": of_keys}
        yield Variant(case.with_nodes(replace(node, function=_causal_within_tiles, options=options)), sentence)


def _causal_within_tiles(query_positions: Array, key_positions: Array, *, tile: int, of_keys: bool) -> Array:
    """True if a key is not after the query, whose position counts from its tile; the key's too, or not."""
    queries, keys = query_positions[..., :, None], key_positions
    if not of_keys:
        return np.asarray(keys <= queries % tile)
    return np.asarray((keys % tile <= queries % tile) & (keys // tile <= queries // tile))


PAGES = (2, 4, 8, 16, 32, 64, 128, 256)
PAGE = FittedNumber("block", lambda case: [size for size in PAGES if size <= case.key_count], is_whole=True)
LEFT = FittedNumber("left", lambda case: range(min(case.key_count - 1, 257)), is_whole=True, is_size=True)
KEYS_OF_WINDOW = FittedNumber(
    "keys", lambda case: range(1, min(case.key_count, 257)), is_whole=True, is_size=True, usual=(1,)
)


@plan_slip("there is a window", _rule("window"), number=KEYS_OF_WINDOW)
def window_too_wide(case: Computation, window: Node, number: int) -> Iterator[Variant]:
    """The window is one key too wide, or more."""
    yield from _with_other_sides(case, window, number, f"{count_of(number, 'key')} too wide")


@plan_slip("there is a window of more than the query's own key", _rule("window"), number=KEYS_OF_WINDOW)
def window_too_narrow(case: Computation, window: Node, number: int) -> Iterator[Variant]:
    """The window is one key too narrow, or more."""
    yield from _with_other_sides(case, window, -number, f"{count_of(number, 'key')} too narrow")


@plan_slip("there is a window", _rule("window"), number=FittedNumber("tile", _tiles, is_whole=True))
def window_by_tiles(case: Computation, node: Node, number: int) -> Iterator[Variant]:
    """The window begins or ends at the bound of a tile: queries see all keys of the tile in which its side is."""
    options = {**node.options, "tile": number}
    is_shown = {
        "begins": math.isfinite(options["left"]),
        "ends": math.isfinite(options["right"]) and "causal" not in rules_of(case),
    }
    if any(is_shown.values()):
        does = " and ".join(word for word, has_side in is_shown.items() if has_side)
        sentence = f"The window {does} at the bounds of tiles of {number} keys: queries see all keys of such a tile."
        yield Variant(case.with_nodes(replace(node, function=_window_by_tiles, options=options)), sentence)


def _window_by_tiles(query_positions: Array, key_positions: Array, *, left: float, right: float, tile: int) -> Array:
    """True if a key is in the tiles that the window overlaps."""
    position, tiles = query_positions[..., :, None], key_positions // tile
    first, last = (np.floor(side / tile) for side in (position - left, position + right))
    visible: Array = (tiles >= first) & (tiles <= last)
    return visible


@plan_slip("there is a window", _rule("window"), is_general=True)
def window_side_misread(case: Computation, window: Node) -> Iterator[Variant]:
    """A side of the window is left out, or has the length of the other."""
    left, right = (float(window.options[side]) for side in ("left", "right"))
    is_causal = "causal" in rules_of(case)
    sides = {f"The window has {left:g} keys after a query too, as many as before it.": (left, left)}
    if not is_causal:
        sides |= {
            f"The window has {right:g} keys before a query, as many as after it.": (right, right),
            "The sides of the window are exchanged: left is right.": (right, left),
            "The window has no right side: a query sees all keys after it.": (left, math.inf),
            "The window has no left side: a query sees all keys before it.": (math.inf, right),
        }
    is_known = {(left, 0.0 if is_causal else right), (math.inf, math.inf)}
    for sentence, (before, after) in sides.items():
        if (before, after) not in is_known:
            is_known.add((before, after))
            changed = case.with_nodes(replace(window, options={**window.options, "left": before, "right": after}))
            without = ", and the causal mask is left out." if is_causal else "."
            yield Variant(_without_rules(changed, "causal") if is_causal else changed, sentence[:-1] + without)


def _has_no_window(case: Computation) -> bool:
    return "window" not in rules_of(case) and "masked_scores" in case.plan.results


@problem_slip("there is no window", _has_no_window, number=LEFT)
def window_added(case: Computation, number: int) -> Iterator[Variant]:
    """A window is applied, although the problem has none: queries do not see keys farther away."""
    keys = count_of(number, "key")
    for right, where in ((math.inf, "before"), (float(number), "before and after")):
        sentence = f"A window of {keys} {where} each query is applied, although the problem has none."
        yield Variant(replace(case.problem, window=(float(number), right)), sentence)


def _has_sequences(case: Computation) -> bool:
    return case.problem.cu_seqlens is not None


@problem_slip(
    "sequences are packed",
    _has_sequences,
    number=FittedNumber("rows", lambda _: (1, -1, 2, -2), is_whole=True, usual=(1, -1)),
)
def sequence_bounds_off(case: Computation, number: int) -> Iterator[Variant]:
    """The bounds between packed sequences are off by one row, or by more."""
    problem = case.problem
    given = {name: getattr(problem, name) for name in ("cu_seqlens", "cu_seqlens_k")}
    moved = {name: _moved(bounds, number) for name, bounds in given.items() if bounds is not None}
    if any((np.diff(bounds) < 0).any() for bounds in moved.values()):
        return
    rows, changes = f"{count_of(abs(number), 'row')} too {'late' if number > 0 else 'early'}", dict[str, Any](moved)
    yield Variant(replace(problem, **changes), f"The bounds between packed sequences are {rows}.")
    inner = range(1, len(moved["cu_seqlens"]) - 1)
    for at in inner if 1 < len(inner) <= MAX_BOUNDS else ():
        changes = {name: np.where(np.arange(len(bounds)) == at, bounds, given[name]) for name, bounds in moved.items()}
        yield Variant(
            replace(problem, **changes), f"The bound between the packed sequences {at - 1} and {at} is {rows}."
        )


def _moved(bounds: Array, by: int) -> Array:
    """Bounds of sequences, moved except the first and the last."""
    return np.concatenate([bounds[:1], bounds[1:-1] + by, bounds[-1:]])


@problem_slip("sequences are packed", _has_sequences)
def sequences_not_separated(case: Computation) -> Iterator[Variant]:
    """Packed sequences are taken for one: they see one another, and positions run on from one to the next."""
    yield Variant(replace(case.problem, cu_seqlens=None, cu_seqlens_k=None))


def _chunks(case: Computation) -> Node | None:
    """The rule by which queries see the keys of their chunk."""
    return next((rule for rule in rules_of(case).values() if rule.function is chunked), None)


def _chunk_sizes(case: Computation) -> Sequence[float]:
    """Every power of two, every number up to 64, and the chunk size's neighbours."""
    chunks = _chunks(case)
    own = 1 if chunks is None else int(chunks.options["size"])
    sizes = {*range(1, 65), *(2**power for power in range(7, 20)), own - 1, own + 1, own // 2, own * 2}
    return sorted(size for size in sizes - {own} if 1 <= size < case.key_count)


@plan_slip("queries see the keys of their chunk", _chunks, number=FittedNumber("size", _chunk_sizes, is_whole=True))
def chunk_size(case: Computation, chunks: Node, number: int) -> Iterator[Variant]:
    """The chunks in which queries see keys have another size."""
    changed = replace(chunks, options={**chunks.options, "size": number})
    yield Variant(case.with_nodes(changed), f"Chunks have {number} tokens instead of {chunks.options['size']}.")


@plan_slip("queries see the keys of their chunk, and the first keys are padding", _chunks)
def chunk_offset(case: Computation, chunks: Node) -> Iterator[Variant]:
    """The chunks are counted from the first key, which is padding, instead of from the first real one."""
    if "real_key_starts" in chunks.inputs:
        inputs = {name: source for name, source in chunks.inputs.items() if name != "real_key_starts"}
        yield Variant(case.with_nodes(replace(chunks, inputs=inputs)))


@plan_slip("several batch items have masks, for several heads", needs_all="hb")
def masks_tiled(case: Computation) -> Iterator[Variant]:
    """The masks of batch items are tiled for the heads instead of repeated: a head reads another item's."""
    for name, rule in rules_of(case).items():
        heads = case.problem.leading.heads
        if rule.letters[:1] == ("b",) and rule.shape[0] > 1 and heads > 1 and "h" not in _long_letters(rule):
            sentence = (
                f"The masks {name} of batch items are tiled for the heads instead of repeated: a head reads another."
            )
            yield Variant(case.with_changed_value(rule.name, _tiled, options={"heads": heads}), sentence)


def _long_letters(node: Node) -> list[str]:
    """The letters of the axes along which a node has several entries."""
    return [axis.letter for axis in node.axes if axis.length > 1]


def _tiled(rule: Array, *, heads: int) -> Array:
    """Masks [b … n m]; head h of item i has the mask of item (i · heads + h) mod b."""
    items = len(rule)
    of_item = rule.reshape(items, *rule.shape[-2:])
    return of_item[np.arange(items * heads).reshape(items, heads) % items]


@plan_slip(
    "keys have lengths",
    _rule("key_lengths"),
    number=FittedNumber("keys", _sizes_both_ways, is_whole=True, is_size=True, usual=(1, -1)),
)
def key_lengths_off(case: Computation, _: Node, number: int) -> Iterator[Variant]:
    """The lengths of the keys are off by one, or by more: padding takes part, or the last real keys do not."""
    changed = case.with_changed_value("key_lengths", _longer, options={"by": number, "most": case.key_count})
    size, what = abs(number), "padding takes part" if number > 0 else "the last real keys do not take part"
    direction = "large" if number > 0 else "small"
    yield Variant(changed, f"The lengths of the keys are {size} too {direction}: {what}.")


@plan_slip("batch items have padding, on the left or on the right", is_general=True)
def padding_on_other_side(case: Computation) -> Iterator[Variant]:
    """Left padding is read as right padding, or right padding as left."""
    for name, rule in rules_of(case).items():
        if _base_name(name) not in ("key_mask", "key_lengths") or rule.shape[-2] != 1:
            continue
        shown = evaluate_names(case.plan, case.problem, [rule.name], case.problem.precision)[rule.name]
        steps = np.diff(shown.astype(int), axis=-1)
        for side, other, step in (("left", "right", 1), ("right", "left", -1)):
            if (steps == step).any() and (steps != -step).all() and (abs(steps).sum(axis=-1) <= 1).all():
                changed = case.with_changed_value(rule.name, lambda x: x[..., ::-1])
                yield Variant(changed, f"Padding on the {side} is read as padding on the {other}.")


def _rows_of_keys(case: Computation) -> Node | None:
    """The rule of lengths of keys, or else of a mask of keys, or of packed sequences."""
    rules = rules_of(case)
    return next((rules[name] for name in ("key_lengths", "key_mask", "cu_seqlens") if name in rules), None)


@plan_slip("keys have lengths or a mask, or sequences are packed", _rows_of_keys, number=PAGE)
def last_block_read_whole(case: Computation, rule: Node, number: int) -> Iterator[Variant]:
    """The lengths of the keys are rounded up to whole blocks or pages: the padding in the last one takes part."""
    what = "padding" if "n" not in rule.letters or rule.shape[-2] == 1 else "next sequence"
    sentence = f"The last block of {number} keys is read whole: the {what} in it takes part."
    yield Variant(case.with_changed_value(rule.name, _whole_blocks, options={"size": number}), sentence)


def _whole_blocks(shown: Array, *, size: int) -> Array:
    """A mask that shows as many keys, from the first that it shows on, as make whole blocks."""
    keys, first = np.arange(shown.shape[-1]), shown.argmax(axis=-1, keepdims=True)
    count = -(-shown.sum(axis=-1, keepdims=True) // size) * size
    return np.asarray((first <= keys) & (keys < first + count))


def _longer(x: Array, *, by: int, most: int) -> Array:
    """Lengths with so many keys more or less."""
    lengths: Array = np.clip(x + by, 0, most)
    return lengths


def _visible_keys(problem: ProblemSpec, plan: Plan) -> Array:
    """The keys that the masks of a plan leave visible; one True if it has none."""
    if "visible" not in plan.by_name:
        return np.ones((1, 1), dtype=bool)
    return evaluate_names(plan, problem, ["visible"], problem.precision)["visible"]


def _made_causal(case: Computation, align: str, sentence: str) -> Iterator[Variant]:
    """The problem with a causal mask, if that hides visible keys."""
    causal = replace(case.problem, causal=True, align=align)
    if (_visible_keys(causal, build_plan(causal)) != _visible_keys(case.problem, case.plan)).any():
        yield Variant(causal, sentence)


def _with_other_sides(case: Computation, window: Node, change: int, what: str) -> Iterator[Variant]:
    """The plan with a window that is larger or smaller on the left, on the right, and on both sides."""
    names = (
        ("left",) if "causal" in rules_of(case) else ("left", "right")
    )  # the causal mask hides every key to the right
    sides = {side: window.options[side] + change for side in names if math.isfinite(window.options[side])}
    sides = {side: length for side, length in sides.items() if length >= 0}
    for some in [[side] for side in sides] + ([list(sides)] if len(sides) > 1 else []):
        changed = replace(window, options={**window.options, **{side: sides[side] for side in some}})
        sentence = f"The window is {what}: {' and '.join(f'{side} is {sides[side]:g}' for side in some)}."
        yield Variant(case.with_nodes(changed), sentence)


def _positions_by(case: Computation, align: str) -> Mapping[str, Node]:
    """The nodes of queries' positions under an alignment, as the plan of such a problem has them."""
    other = build_plan(replace(case.problem, align=align)).by_name
    return {name: other[name] for name in ("longest_key_lengths", "real_key_ends", POSITIONS) if name in other}


def _positions_from(case: Computation, first: int) -> Mapping[str, Node]:
    """The node of positions counted from a given key."""
    rows = case.node("query_rows")
    if rows is None:
        return {}
    inputs = {"rows": rows.name}
    return {POSITIONS: Node(POSITIONS, "p", "", rows.axes, "align", indices.query_positions, inputs, {"first": first})}


def _aligned(case: Computation, nodes: Mapping[str, Node], sentence: str) -> Iterator[Variant]:
    """The plan in which causal masks and windows read other positions of the queries, if they differ."""
    rules = [rule for name, rule in rules_of(case).items() if _base_name(name) in ("causal", "window")]
    own, positions = case.node(POSITIONS), nodes.get(POSITIONS)
    if not rules or own is None or positions is None:
        return
    if (own.function, own.inputs, own.options) == (positions.function, positions.inputs, positions.options):
        return
    aligned = replace(positions, name=case.new_name("mask_query_positions"))
    changed = [replace(rule, inputs={**rule.inputs, POSITIONS: aligned.name}) for rule in rules]
    others = [node for name, node in nodes.items() if name != POSITIONS]
    yield Variant(case.with_nodes(*others, aligned, *changed), sentence)


def with_masked_scores(case: Computation, function: Function, **options: Any) -> Computation:
    """The computation in which another function of scores and visibility makes the masked scores."""
    masked = case.before_changes("masked_scores")
    return case.with_nodes(replace(masked, function=function, options=options))


def _every_key(*, shape: Sequence[int]) -> Array:
    return np.ones(shape, dtype=bool)


def _leave(scores: Array, visible: Array) -> Array:
    return np.broadcast_to(scores, np.broadcast_shapes(scores.shape, visible.shape))


def _fill(scores: Array, visible: Array, *, fill: float) -> Array:
    return np.where(visible, scores, fill)


def add_fill(scores: Array, visible: Array, *, fill: float) -> Array:
    """The scores, with a number added to hidden ones."""
    return scores + np.where(visible, 0, fill)


def _nan_where_empty(weights: Array, visible: Array) -> Array:
    return np.where(visible.any(axis=-1, keepdims=True), weights, np.nan)

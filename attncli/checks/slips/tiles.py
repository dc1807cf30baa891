"""Slips of kernels that process keys in tiles or splits: sums without rescaling, too many or too few keys."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from math import e, exp, log
from typing import Any

from attncli.base.dtypes import HALF, Precision
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.checks.slips.records import (
    Change,
    Computation,
    FittedNumber,
    Variant,
    add_slips,
    evaluate_names,
    plan_slip,
    text_of,
    tile_sizes,
    usual_tile_sizes,
)
from attncli.checks.slips.scale import own_scale
from attncli.checks.slips.softmax import softmax_node
from attncli.ops.contexts import weighted_sum
from attncli.ops.normalizers import finite_max, safe_divide
from attncli.plan.graph import Node

MAX_TAIL, MAX_ZERO_KEYS = 511, 127  # keys that are left out, and that fill the last tile
STARTS = (-5e4, 0.0)  # usual initial values of a running maximum
SPLITS = (*range(2, 17), 20, 24, 32, 48, 64, 128)
LOW = "weights are a softmax, and all scores of a query are low"
WHERE = "weights are a softmax, of several keys, and the output their weighted sum"

Attend = Callable[..., Array]


TILE = FittedNumber("tile", lambda case: tile_sizes(case.key_count), is_whole=True)
USUAL_TILE = FittedNumber("tile", lambda case: usual_tile_sizes(case.key_count), is_whole=True)
TAIL = FittedNumber("keys", lambda case: range(1, min(case.key_count, MAX_TAIL + 1)), is_whole=True, is_size=True)
ZERO_KEYS = FittedNumber("keys", lambda _: range(1, MAX_ZERO_KEYS + 1), is_whole=True, is_size=True)
POINT = FittedNumber("keys", lambda case: range(1, case.key_count), is_whole=True, is_size=True)
SPLIT = FittedNumber("splits", lambda case: [n for n in SPLITS if n <= case.key_count], is_whole=True)
START = FittedNumber(
    "value", lambda _: [-start for start in (0.0, 1e2, 1e3, 1e4, 5e4, 1e5)], is_whole=True, usual=STARTS
)


def reads_of_context(case: Computation) -> Node | None:
    """The node of the context, if it is the weighted sum of a softmax; otherwise None."""
    context, weights = case.node("context"), softmax_node(case)
    if context is None or weights is None or context.function is not weighted_sum:
        return None
    return context if context.inputs.get("weights") == weights.name else None


def _sums_values(case: Computation) -> bool:
    return reads_of_context(case) is not None


def _summed_weights(case: Computation) -> Node | None:
    """The node of the softmax, if the context is the weighted sum by it."""
    return softmax_node(case) if _sums_values(case) else None


def _with_context(case: Computation, attend: Attend, sentence: str, **options: Any) -> Iterator[Variant]:
    """The plan in which another function makes the context directly from scores and values, as a kernel does."""
    context, weights = reads_of_context(case), softmax_node(case)
    if context is None or weights is None:
        return
    inputs = {"scores": weights.inputs["scores"], "value": context.inputs["value"]}
    options = {"temperature": weights.options.get("temperature", 1.0), **options}
    changed = replace(context, function=attend, inputs=inputs, options=options, taps={}, notes=())
    yield Variant(case.with_nodes(changed), sentence)


def _in_online_softmax(what: str, **options: bool) -> tuple[str, Change]:
    """The sentence and the change of an online-softmax slip, from its mistake in each tile."""

    def change(case: Computation, number: int) -> Iterator[Variant]:
        sentence = f"{what[0].upper()}{what[1:]}".replace(" tile", f" tile of {count_of(number, 'key')}")
        return _with_context(case, _online, sentence, tile=number, **options)

    return f"In the online softmax {what}", change


add_slips(
    plan_slip(WHERE, _sums_values, number=TILE),
    {
        "accumulator_not_rescaled": _in_online_softmax(
            "the sum of values is not rescaled when a later tile has a larger maximum.", rescales_values=False
        ),
        "denominator_not_rescaled": _in_online_softmax(
            "the sum of exponentials is not rescaled when a later tile has a larger maximum.", rescales_sum=False
        ),
        "nothing_rescaled": _in_online_softmax(
            "neither sum is rescaled when a later tile has a larger maximum.", rescales_values=False, rescales_sum=False
        ),
        "denominator_of_last_tile": _in_online_softmax(
            "the sum of exponentials covers the last tile alone.", keeps_sum=False
        ),
        "new_tile_rescaled": _in_online_softmax(
            "what a new tile adds to the sum of values is rescaled too, as what was before it.", rescales_new=True
        ),
    },
)


@plan_slip(WHERE, _sums_values, number=USUAL_TILE)
def divided_in_each_tile(case: Computation, number: int) -> Iterator[Variant]:
    """The sum of values is divided by the sum of exponentials in each tile, not once after the last."""
    tile = f"tile of {count_of(number, 'key')}"
    divided = f"The output is divided by the sum of exponentials in each {tile}, and not multiplied back."
    alone = f"Each {tile} has a softmax of its own, and what these give is added up."
    for how, sentence in (("skipping hidden tiles", divided), ("in all tiles", divided), ("alone", alone)):
        yield from _with_context(case, _divided_in_tiles, sentence, tile=number, how=how)


def _divided_in_tiles(scores: Array, value: Array, *, temperature: float, tile: int, how: str) -> Array:
    """A weighted sum that is divided after each tile by the sum so far, or the sum of those of the tiles."""
    output, total = np.zeros(1), np.full(scores.shape[:-1], -np.inf)
    largest = total
    for first in range(0, scores.shape[-1], tile):
        part = slice(first, first + tile)
        own, logarithm, own_largest = _attended(scores[..., part] / temperature, value[..., part, :])
        new = logarithm + own_largest
        total = np.logaddexp(total, new)
        finite = np.where(np.isfinite(total), total, 0)
        kept, share = np.exp(largest - finite), np.exp(new - finite)
        if how == "alone":
            kept, share = np.ones(1), np.ones(1)
        elif how == "skipping hidden tiles":
            kept = np.where(np.isneginf(new), 1, kept)
        output = kept[..., None] * output + share[..., None] * own
        largest = np.maximum(largest, np.where(np.isneginf(new), -np.inf, own_largest))
    return output


@plan_slip(WHERE, _summed_weights, number=TILE)
def tail_stale(case: Computation, weights: Node, number: int) -> Iterator[Variant]:
    """What a tail does not fill of its tile still has the keys and values of the tile before, which take part."""
    missing, keys = -case.key_count % number, case.key_count
    if missing and keys > number:
        options = {"first": keys - number, "count": missing, "by": log(2)}
        stale = f"The last tile of {number} keys still has {count_of(missing, 'key')} of the one before"
        changed = case.with_changed_value(weights.inputs["scores"], added, options=options)
        yield Variant(changed, f"{stale}, which take part.")


@plan_slip(WHERE, _sums_values, number=TILE)
def rescaled_in_another_base(case: Computation, number: int) -> Iterator[Variant]:
    """In the online softmax sums are rescaled by powers of another base than the exponentials'."""
    for factor, wrong in ((1 / log(2), "exp((m − m′)/ln 2)"), (log(2), "2^(m − m′)")):
        sentence = (
            f"Both sums are rescaled by {wrong} instead of exp(m − m′) after each tile of {count_of(number, 'key')}."
        )
        yield from _with_context(case, _online, sentence, tile=number, power=factor)


@plan_slip(WHERE, _sums_values, number=ZERO_KEYS)
def zero_keys_take_part(case: Computation, number: int) -> Iterator[Variant]:
    """Keys and values of zeros that fill the last tile take part in the softmax, each with exp(0)."""
    sentence = (
        "One more logit of 0 takes part in the softmax, with no value: a key of zeros, or the sink of softmax1."
        if number == 1
        else f"Zeros take part in the softmax as {count_of(number, 'key')}, as where they fill the last tile."
    )
    yield from _with_context(case, _with_zero_keys, sentence, count=number)


@plan_slip(WHERE, _sums_values, number=TAIL)
def tail_dropped(case: Computation, number: int) -> Iterator[Variant]:
    """The last keys, which do not fill a tile, are left out."""
    which = "The last key is" if number == 1 else f"The last {number} keys are"
    sentence = f"{which} left out, as a tail that does not fill a tile."
    yield from _with_context(case, _without_tail, sentence, count=number)


# Of each slip of splits, its sentence and what is done wrong, with the options of `_merged_splits`.
MERGED: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "splits_averaged": (
        "The results of splits of the keys are averaged without the weights that their sums give them.",
        {"averaged, each with the same weight": {"base": 1.0}},
    ),
    "splits_merged_in_base_2": (
        "The results of splits are merged by powers of 2 of a natural log-sum-exp, or by powers of e of one in base 2.",
        {
            "merged by powers of 2 of natural log-sum-exps, instead of powers of e": {"base": 2.0},
            "merged by powers of e of log-sum-exps in base 2, instead of powers of 2": {"base": exp(1 / log(2))},
        },
    ),
    "splits_merged_without_maxima": (
        "The results of splits are merged by their sums of exponentials, without the maxima that were subtracted.",
        {"merged by their sums of exponentials, without their maxima": {"base": e, "keeps_maxima": False}},
    ),
}


def _in_equal_splits(wrong: Mapping[str, Mapping[str, Any]]) -> Change:
    def change(case: Computation, number: int) -> Iterator[Variant]:
        for how, options in wrong.items() if number <= case.key_count else ():
            sentence = f"{number} splits of the keys are {how}."
            for spreads in (False, True):
                yield from _with_context(case, _merged_splits, sentence, splits=number, spreads=spreads, **options)

    return change


for _name, (_sentence, _wrong) in MERGED.items():
    _number = replace(SPLIT, usual=(2,)) if _name == "splits_averaged" else SPLIT  # halves, in pairs of slips too
    add_slips(plan_slip(WHERE, _sums_values, number=_number), {_name: (_sentence, _in_equal_splits(_wrong))})


@plan_slip(WHERE, _sums_values, number=POINT)
def two_splits_merged(case: Computation, number: int) -> Iterator[Variant]:
    """Two splits of the keys, not halves, are averaged, merged in another base, or without their maxima."""
    keys = case.key_count
    for _, wrong in MERGED.values() if number not in (keys // 2, -(-keys // 2)) else ():
        for how, options in wrong.items():
            sentence = f"Two splits, of {number} and {keys - number} keys, are {how}."
            yield from _with_context(case, _merged_splits, sentence, splits=2, first=number, **options)


@plan_slip(LOW, softmax_node, is_paired=False, number=START)
def maximum_not_below(case: Computation, node: Node, number: float) -> Iterator[Variant]:
    """The running maximum begins at a finite number instead of −∞: exponentials of lower scores vanish."""
    scale, dtype = own_scale(case.problem), _type_of_exponentials(case)
    starts = {number: ""} if scale is None or number == 0 else {number * scale: " of the unscaled scores", number: ""}
    begins = text_of(number) if number >= 0 else f"−{text_of(-number)}"
    for start, what in starts.items() if _vanish_below(case, node, max(starts)) else ():
        sentence = f"The running maximum{what} begins at {begins} instead of −∞: exponentials vanish in {dtype}."
        options = {"start": start, "dtype": dtype}
        yield Variant(case.with_function(node.name, _softmax_from_maximum, **options), sentence)


@plan_slip(LOW, _summed_weights, is_paired=False, number=TILE)
def maximum_0_after_hidden_tile(case: Computation, node: Node, number: int) -> Iterator[Variant]:
    """The running maximum is 0 after a tile whose keys are all hidden: exponentials of low scores vanish."""
    if "visible" in case.plan.by_name and _vanish_below(case, node, 0.0):
        dtype = _type_of_exponentials(case)
        sentence = f"The running maximum is 0 after a tile of {number} hidden keys: exponentials vanish in {dtype}."
        options = {"start": 0.0, "dtype": dtype, "tile": number}
        yield Variant(case.with_function(node.name, _softmax_from_maximum, **options), sentence)


def _vanish_below(case: Computation, node: Node, start: float) -> bool:
    """Whether all exponentials of a row with visible keys vanish in their type after subtracting a number."""
    name, dtype = node.inputs["scores"], _type_of_exponentials(case)
    largest = evaluate_names(case.plan, case.problem, [name], case.problem.precision)[name].max(axis=-1)
    lowest = float(np.min(largest, initial=np.inf, where=~np.isneginf(largest))) / node.options.get("temperature", 1.0)
    return bool(lowest - start < np.log(np.finfo(Precision(dtype).numpy_name).tiny))


def _type_of_exponentials(case: Computation) -> str:
    """The type in which kernels compute exponentials."""
    return "float32" if case.dtype in HALF else case.dtype


def _softmax_from_maximum(
    scores: Array, *, start: float, dtype: str, tile: int | None = None, temperature: float = 1.0
) -> Array:
    """The weights of exponentials, rounded to a type, after subtracting at least a number.

    With a tile, that applies only to rows in which all keys of some tile of this size are hidden.
    """
    powers, precision = scores / temperature, Precision(dtype)
    largest = finite_max(powers)
    subtracted = np.maximum(largest, start)
    if tile is not None:
        hidden = np.isneginf(powers)
        tiles = [hidden[..., first : first + tile].all(-1, keepdims=True) for first in range(0, hidden.shape[-1], tile)]
        subtracted = np.where(np.any(tiles, axis=0), subtracted, largest)
    with np.errstate(under="ignore"):
        exponentials = precision.widen(precision.round(np.exp(powers - subtracted)))
    return safe_divide(exponentials, exponentials.sum(axis=-1, keepdims=True))


def _online(
    scores: Array,
    value: Array,
    *,
    temperature: float,
    tile: int,
    rescales_values: bool = True,
    rescales_sum: bool = True,
    keeps_sum: bool = True,
    rescales_new: bool = False,
    power: float = 1.0,
) -> Array:
    """A weighted sum, tile by tile, with or without rescaling by a new maximum, or without earlier sums.

    The product of the factors between consecutive maxima is the factor from a tile's maximum to the last.
    """
    missing = -scores.shape[-1] % tile  # in the last tile
    hidden = np.full((*scores.shape[:-1], missing), -np.inf)
    parts = np.concatenate([scores / temperature, hidden], axis=-1).reshape(*scores.shape[:-1], -1, tile)
    with np.errstate(all="ignore"):
        largest = np.maximum.accumulate(parts.max(axis=-1), axis=-1)
        finite = np.where(np.isfinite(largest), largest, 0)
        exponentials = np.exp(parts - finite[..., None])
        factors = np.where(np.isneginf(largest), 0, np.exp(power * (largest - finite[..., -1:])))
        steps = np.exp(-np.diff(largest, axis=-1, prepend=-np.inf)) if rescales_new else 1  # from the maximum before
        of_values = np.where(np.isneginf(largest), 0, steps * factors)
    rescaled = exponentials * of_values[..., None] if rescales_values else exponentials
    values = rescaled.reshape(*scores.shape[:-1], -1)[..., : scores.shape[-1]] @ value
    sums = exponentials.sum(axis=-1)
    total = (sums * factors if rescales_sum else sums).sum(axis=-1) if keeps_sum else sums[..., -1]
    return _quotient(values, total)


def _quotient(values: Array, total: Array) -> Array:
    """Sums of values divided by sums of exponentials; 0 if no key is visible."""
    quotient: Array = values / np.where(total > 0, total, 1)[..., None]
    return quotient


def _with_zero_keys(scores: Array, value: Array, *, temperature: float, count: int) -> Array:
    """A weighted sum with so many extra keys whose scores and values are 0."""
    largest = np.maximum(scores.max(axis=-1, keepdims=True), 0)
    exponentials = np.exp((scores - largest) / temperature)
    total = exponentials.sum(axis=-1) + count * np.exp(-largest[..., 0] / temperature)
    return _quotient(exponentials @ value, total)


def _without_tail(scores: Array, value: Array, *, temperature: float, count: int) -> Array:
    return _attended(scores[..., :-count] / temperature, value[..., :-count, :])[0]


def added(x: Array, *, first: int, count: int, by: float) -> Array:
    """Scores [… m] of which those of some keys are larger, by log 2 as where they are read twice, or −∞."""
    keys = np.arange(x.shape[-1])
    return np.asarray(x + np.where((first <= keys) & (keys < first + count), by, 0).astype(x.dtype))


def _attended(scores: Array, value: Array) -> tuple[Array, Array, Array]:
    """The weighted sum, the logarithm of the sum and the maximum of each row; 0, −∞ and 0 if no key is visible."""
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)  # there may be no key
    largest = np.where(np.isfinite(largest), largest, 0)
    exponentials = np.exp(scores - largest)
    total = exponentials.sum(axis=-1)
    with np.errstate(divide="ignore"):
        return _quotient(exponentials @ value, total), np.log(total), largest[..., 0]


def _merged_splits(
    scores: Array,
    value: Array,
    *,
    temperature: float,
    splits: int,
    base: float,
    keeps_maxima: bool = True,
    spreads: bool = False,
    first: int | None = None,
) -> Array:
    """Weighted sums of nearly equal splits, merged with the weights base^lse, with or without maxima.

    With `first` there are two splits, and the first has that many keys.
    """
    keys = scores.shape[-1]
    size = -(-keys // splits)
    bounds = [*range(0, keys, size), keys] if first is None else [0, first, keys]
    if spreads:  # the first ones have one more
        bounds = [at * (keys // splits) + min(at, keys % splits) for at in range(splits + 1)]
    parts = [
        _attended(scores[..., first:end] / temperature, value[..., first:end, :]) for first, end in pairwise(bounds)
    ]
    outputs, sums, maxima = map(np.stack, zip(*parts, strict=True))
    sums = sums + maxima if keeps_maxima else sums
    largest = sums.max(axis=0)
    exponents = np.where(np.isneginf(sums), -np.inf, sums - np.where(np.isfinite(largest), largest, 0))
    shares = np.where(np.isneginf(exponents), 0, np.exp(np.maximum(exponents, -700) * log(base)))
    return _quotient((outputs * shares[..., None]).sum(axis=0), shares.sum(axis=0))

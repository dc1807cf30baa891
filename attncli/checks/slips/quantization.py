"""Slips of quantization: forgotten scales of keys and values per head, and rounding to 8-bit integers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from attncli.base.dtypes import FLOAT8, HALF, to_float8
from attncli.base.lazy_numpy import Array, np
from attncli.checks.slips.maps import computed_by_head, expected_by_head, read_rows, readers_by_head, with_changed_rows
from attncli.checks.slips.records import Computation, FittedNumber, Variant, evaluate_names, plan_slip, text_of
from attncli.checks.slips.softmax import softmax_node
from attncli.ops.normalizers import finite_max, safe_divide
from attncli.plan.graph import Node

FEW = 8  # factors to name one by one
SAME = 1e-4  # relative distance below which factors of heads with a shared key head count as equal
MUCH_FARTHER = 4  # one factor's error, in multiples of several factors', from which several are named
COARSE = [2.0**power for power in range(-7, 8)]  # factors from which the search continues
MAX_STEPS, MAX_STEP, STEP, PRECISE = 24, 0.5, 1e-4, 1e-13  # the steps are of logarithms
LARGEST_INTEGER, LARGEST_FLOAT8 = 127.0, 448.0  # in 8 bits
FLOAT8_FACTORS = [*(2.0**power for power in range(13)), 240.0, 448.0]
BLOCKS = (1, 16, 32, 64, 128)

Factors = Iterator[tuple[float, ...]]
Round = Callable[[Array], Array]


def _value_scales(case: Computation, expected: Mapping[str, Array]) -> Factors:
    """The factor of each head's context, by least squares, if they are not all the same."""
    found, own = expected_by_head(case, expected), computed_by_head(case)
    if found is None or own is None or found.shape != own.shape or "value" not in readers_by_head(case):
        return
    is_given = np.isfinite(found) & np.isfinite(own)
    x, y = (np.where(is_given, array, 0).astype(np.float64).reshape(len(own), -1) for array in (own, found))
    square = (x * x).sum(axis=1)
    factors = (x * y).sum(axis=1) / np.where(square > 0, square, 1)
    yield from _if_several(case, factors, lambda factors: x * factors[:, None] - y)


def _key_scales(case: Computation, expected: Mapping[str, Array]) -> Factors:
    """The factor of each head's scores, if they are not all the same."""
    found, own = expected_by_head(case, expected), computed_by_head(case)
    if found is None or own is None or found.shape != own.shape or "key" not in readers_by_head(case):
        return

    def errors(factors: Array) -> Array:
        """Computed minus expected numbers [h …] with a factor for each head; 0 where nothing is expected."""
        computed = computed_by_head(_with_factors(case, "key", factors.tolist()))
        with np.errstate(invalid="ignore"):
            difference: Array = np.nan_to_num(computed - found).reshape(len(found), -1)
        return difference

    sizes = [(errors(np.full(len(found), factor)) ** 2).sum(axis=1) for factor in COARSE]
    if np.min(sizes, axis=0).sum() < sizes[len(COARSE) // 2].sum():
        logarithms = np.log(COARSE)[np.argmin(sizes, axis=0)]
        factors = np.exp(_improved(lambda x: errors(np.exp(x)), logarithms))
        yield from _if_several(case, factors, errors)


def _improved(errors: Callable[[Array], Array], logarithms: Array) -> Array:
    """The logarithms of factors after Gauss-Newton steps, which shrink for a head that they do not improve."""
    error, most = errors(logarithms), np.full(len(logarithms), MAX_STEP)
    for _ in range(MAX_STEPS):
        slope = (errors(logarithms + STEP) - errors(logarithms - STEP)) / (2 * STEP)
        square = (slope**2).sum(axis=1)
        step = np.clip(-(slope * error).sum(axis=1) / np.where(square > 0, square, np.inf), -most, most)
        moved = errors(logarithms + step)
        is_nearer = (moved**2).sum(axis=1) < (error**2).sum(axis=1)
        logarithms = np.where(is_nearer, logarithms + step, logarithms)
        error = np.where(is_nearer[:, None], moved, error)
        most = np.where(is_nearer, most, abs(step) / 4)
        if (abs(step) < PRECISE).all():
            break
    return logarithms


def _if_several(case: Computation, factors: Array, errors: Callable[[Array], Array]) -> Factors:
    """The factors, by key head if heads that share one have the same.

    None if one factor for all is nearly as near to the expected numbers, so that they differ by rounding.
    """
    if factors.min() <= 0:
        return
    common = np.full(len(factors), np.exp(np.log(factors).mean()))
    if (errors(common) ** 2).sum() < MUCH_FARTHER**2 * (errors(factors) ** 2).sum():
        return
    by_group = factors.reshape(case.problem.leading.kv_heads, -1)
    is_by_group = bool((by_group.max(axis=1) <= by_group.min(axis=1) * (1 + SAME)).all())
    yield tuple((by_group.mean(axis=1) if is_by_group else factors).tolist())


def _with_factors(case: Computation, word: str, factors: Sequence[float]) -> Computation:
    """The computation that multiplies the keys or values of each head, or of each key head."""
    name = readers_by_head(case)[word]
    node = case.plan.by_name[name]
    axis = node.letters.index("h")
    by_head = np.repeat(factors, node.shape[axis] // len(factors))
    shape = (-1, *(1,) * (len(node.shape) - axis - 1))
    return case.with_changed_value(name, _times, options={"factors": tuple(by_head.tolist()), "shape": shape})


def _times(x: Array, *, factors: Sequence[float], shape: Sequence[int]) -> Array:
    """An array with a factor for each head."""
    product: Array = x * np.reshape(factors, shape)
    return product


def _scaled(case: Computation, word: str, factors: Sequence[float]) -> Iterator[Variant]:
    """The plan that multiplies keys or values by the factors of heads or key heads."""
    layout = case.problem.leading
    if len(factors) not in (layout.heads, layout.kv_heads) or word not in readers_by_head(case):
        return
    noun = "head" if len(factors) == layout.heads else "key head"
    runs = groupby(_numbered(factors), key=lambda pair: pair[0])
    spans = [(text, [head for _, head in same]) for text, same in runs if text != "1"]
    if len(spans) > FEW:
        shown = f"from {text_of(min(factors))} to {text_of(max(factors))} in {len(factors)} {noun}s"
    else:
        shown = ", ".join(f"{text} in {_span(noun, heads)}" for text, heads in spans)
    sentence = f"The {word}s have a factor too much, as of a scale that is forgotten: {shown}."
    yield Variant(_with_factors(case, word, factors), sentence)


def _numbered(factors: Sequence[float]) -> list[tuple[str, int]]:
    """Each factor as a sentence has it, and the number of its head."""
    return [(text_of(factor), head) for head, factor in enumerate(factors)]


def _span(noun: str, heads: Sequence[int]) -> str:
    """Heads that follow one another."""
    return f"{noun} {heads[0]}" if len(heads) == 1 else f"{noun}s {heads[0]} to {heads[-1]}"


@plan_slip("there are several heads", needs_all="h", number=FittedNumber("factors", solve=_key_scales))
def key_scale_per_head(case: Computation, number: Sequence[float]) -> Iterator[Variant]:
    """The keys have a factor too much in each head, as of a dequantization scale that is forgotten."""
    yield from _scaled(case, "key", number)


@plan_slip("there are several heads", needs_all="h", number=FittedNumber("factors", solve=_value_scales))
def value_scale_per_head(case: Computation, number: Sequence[float]) -> Iterator[Variant]:
    """The values have a factor too much in each head, as of a dequantization scale that is forgotten."""
    yield from _scaled(case, "value", number)


def _blocks(case: Computation) -> Sequence[float]:
    """The numbers of rows in a block, finally all of them."""
    keys = case.key_count
    is_finer = case.dtype not in HALF  # 8-bit integers are coarser than these by more than half types are
    return [*(size for size in BLOCKS if size < keys), keys] if read_rows(case) and is_finer else []


ROWS = FittedNumber("rows", _blocks, is_whole=True)


@plan_slip(
    "weights are a softmax",
    softmax_node,
    is_rounding=True,
    number=FittedNumber("factor", lambda _: FLOAT8_FACTORS, is_whole=True),
)
def exponentials_in_float8(case: Computation, node: Node, number: float) -> Iterator[Variant]:
    """The exponentials are rounded to float8 (e4m3) for their product with the values, and not in their sum."""
    times = f", times {text_of(number)}," if number != 1 else ""
    sentence = f"The exponentials{times} are rounded to float8_e4m3 for their product with the values alone."
    yield Variant(case.with_function(node.name, _softmax_in_float8, factor=number), sentence)


def _softmax_in_float8(scores: Array, *, factor: float, temperature: float = 1.0) -> Array:
    """Rounded exponentials divided by the sum of the exact ones."""
    powers = scores / temperature
    exponentials = np.exp(powers - finite_max(powers))
    return safe_divide(_to_float8(exponentials * factor) / factor, exponentials.sum(axis=-1, keepdims=True))


def _to_float8(x: Array) -> Array:
    return to_float8(x, FLOAT8[0]).astype(x.dtype)


@plan_slip("there are keys and values, of no half type", is_rounding=True, number=ROWS)
def float8_blocks(case: Computation, number: int) -> Iterator[Variant]:
    """Keys or values are rounded to float8 (e4m3), in blocks of rows that share a scale."""
    yield from _in_blocks(case, number, "float8_e4m3", LARGEST_FLOAT8, _to_float8)


@plan_slip("there are keys and values, of no half type", is_rounding=True, number=ROWS)
def int8_blocks(case: Computation, number: int) -> Iterator[Variant]:
    """Keys or values are rounded to 8-bit integers, in blocks of rows that share a scale."""
    yield from _in_blocks(case, number, "8-bit integers", LARGEST_INTEGER, np.round)


def _in_blocks(case: Computation, rows: int, what: str, largest: float, rounds: Round) -> Iterator[Variant]:
    """The plans that round keys, values, or both in blocks of rows to a type, scaled to its largest number."""
    names = read_rows(case)
    block = "row" if rows == 1 else f"block of {rows} rows" if rows < case.key_count else "head"
    options = {"rows": rows, "largest": largest, "rounds": rounds}
    rounded = {word for word, name in names.items() if _is_rounded(case, name, options)}
    choices = [words for words in (("key",), ("value",), ("key", "value")) if rounded & {*words}]
    for changed, of in with_changed_rows(case, choices, _round_blocks, **options):
        yield Variant(changed, f"The {of} are rounded to {what}, with a scale for each {block}.")


def _is_rounded(case: Computation, name: str, options: Mapping[str, Any]) -> bool:
    """Whether the type does not hold a node's numbers exactly."""
    x = evaluate_names(case.plan, case.problem, [name], case.problem.precision)[name]
    return not np.allclose(_round_blocks(x, **options), x, rtol=SAME)


def _round_blocks(x: Array, *, rows: int, largest: float, rounds: Round) -> Array:
    """Numbers [… m d], rounded in blocks of rows, each scaled so that its largest is the largest of a type."""
    count, features = x.shape[-2:]
    filled = np.concatenate([x, np.zeros_like(x[..., : -count % rows, :])], axis=-2) if count % rows else x
    blocks = filled.reshape(*x.shape[:-2], -1, rows * features)
    scale = abs(blocks).max(axis=-1, keepdims=True) / largest
    scale = np.where(scale > 0, scale, 1)
    rounded: Array = (rounds(blocks / scale) * scale).reshape(filled.shape)[..., :count, :]
    return rounded

"""Parts of attention merged to the whole: outputs of parts of the keys, weighted by their log-sum-exps."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from attncli.base.dtypes import HALF, Precision, as_floats, coarsest, common_dtype
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.checks.expected import typed_digits
from attncli.checks.tolerance import UNITS, Tolerance
from attncli.numbers.parsing import TypedNumber
from attncli.problem.arrays import GivenArray, to_array
from attncli.problem.fields import LSE, OUTPUT

BASES: Mapping[str, float] = {"e": 1.0, "2": math.log(2)}  # the factor that makes a logarithm a natural one
AXES = ("same", "swapped")  # the order of tokens and heads in an lse: that of the output, or the other one
WRONG_BASE = "splits_merged_in_base_2"


@dataclass(frozen=True, eq=False)
class MergePart:
    """The attention of some keys: its output [… e], and the log-sum-exp [… ] in the base that was given, in float64.

    Where a query sees no key of the part the log-sum-exp is −∞. Numbers were typed to within `output_error` and
    `lse_error`; both are 0 of arrays.
    """

    name: str
    output: Array
    lse: Array
    dtype: str = "float64"
    lse_dtype: str = "float64"
    output_error: float = 0.0
    lse_error: float = 0.0
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of one attention, [parts … e] and [parts …], with natural logarithms."""

    outputs: Array
    lses: Array

    @cached_property
    def largest(self) -> Array:
        """The largest log-sum-exp of each query; 0 where all parts are empty."""
        largest = self.lses.max(axis=0)
        return np.where(np.isneginf(largest), 0.0, largest)

    @cached_property
    def terms(self) -> Array:
        """The sum of exponentials of each part, over that of the largest."""
        terms: Array = np.exp(self.lses - self.largest)
        return terms

    @cached_property
    def weights(self) -> Array:
        """The weight of each part [parts …]; 0 of all where all are empty."""
        total = self.terms.sum(axis=0)
        weights: Array = self.terms / np.where(total == 0, 1.0, total)
        return weights

    def weighted(self, weights: Array) -> Array:
        """The sum of the outputs by weights; what an empty part has as its output, such as NaN, does not count."""
        outputs = np.where(np.isneginf(self.lses)[..., None], 0.0, self.outputs)
        total: Array = (weights[..., None] * outputs).sum(axis=0)
        return total

    @property
    def output(self) -> Array:
        """The output of all keys; 0 where all parts are empty."""
        return self.weighted(self.weights)

    @property
    def lse(self) -> Array:
        """The log-sum-exp of all keys; −∞ where all parts are empty."""
        with np.errstate(divide="ignore"):
            lse: Array = self.largest + np.log(self.terms.sum(axis=0))
        return lse

    def without(self, number: int) -> "Parts":
        """The parts but one."""
        return Parts(np.delete(self.outputs, number, axis=0), np.delete(self.lses, number, axis=0))


@dataclass(frozen=True, eq=False)
class Merged:
    """Parts merged: their names, what they have, the base of their logarithms, and the types that results have."""

    names: tuple[str, ...]
    parts: Parts
    base: str
    dtype: str
    lse_dtype: str
    error: float = 0.0  # of the numbers typed, in the output

    @property
    def output(self) -> Array:
        """The output of all keys, rounded to the type of the parts."""
        return Precision(self.dtype).round(self.parts.output)

    @property
    def lse(self) -> Array:
        """The log-sum-exp of all keys, in the base of the parts."""
        return Precision(self.lse_dtype).round(self.parts.lse / BASES[self.base])

    def in_base(self, base: str) -> Parts:
        """The parts, had their logarithms another base."""
        return Parts(self.parts.outputs, self.parts.lses * (BASES[base] / BASES[self.base]))


@dataclass(frozen=True)
class Finding:
    """What explains merged numbers: the name of a mistake, and a sentence."""

    name: str
    sentence: str


@dataclass(frozen=True)
class MergeVerdict:
    """Whether numbers are those of the merge: how many differ, the worst of them, and what explains all of them.

    `base` is the one with which they agree, empty where there is none; `is_undecided` says that both do.
    """

    name: str
    count: int
    differ: int
    max_abs: float
    allowed: float
    base: str
    is_undecided: bool
    position: tuple[int, ...] = ()
    given: float = math.nan
    correct: float = math.nan
    explanations: tuple[Finding, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether no number differs."""
        return not self.differ


def read_part(name: str, output: Any, lse: Any, axes: str | None = None) -> MergePart:
    """A part from its arrays, tensors or lists; the axes of an lse may be those of the output, or swapped.

    An lse of +∞ is read as that of an empty part, as FlashAttention writes it. Raises AttnError where shapes don't fit.
    """
    given, logs = to_array(output, (name, OUTPUT)), to_array(lse, (name, LSE))
    found, own = (as_floats(each.array).astype(np.float64) for each in (given, logs))
    if found.ndim < 2 or not found.size:
        raise AttnError(f"has the shape {found.shape}", where=(name, OUTPUT), hint="expected [… queries, features]")
    shape, remarks = found.shape[:-1], []
    own = own[..., 0] if own.shape == (*shape, 1) else own
    swapped = (*shape[:-2], *shape[:-3:-1])
    if axes == "swapped" or (own.shape != shape and own.shape == swapped and axes is None):
        if len(shape) < 2 or own.shape != swapped:
            raise AttnError(f"has the shape {own.shape}", where=(name, LSE), hint=f"expected {swapped}")
        remarks.append(f"lse {own.shape} is read with its last two axes swapped")
        own = own.swapaxes(-1, -2)
    elif own.shape != shape:
        hint = (
            f"expected {shape}{f' or {swapped}' if swapped != shape else ''}, one for each row of output {found.shape}"
        )
        raise AttnError(f"has the shape {own.shape}", where=(name, LSE), hint=hint)
    elif axes is None and swapped == shape and len(shape) > 1 and shape[-1] > 1:
        remarks.append("lse is read in the order of output: --lse-axes swapped says otherwise")
    if np.isposinf(own).any():
        count = count_of(int(np.isposinf(own).sum()), "query")
        remarks.append(f"lse is +∞ for {count}, read as an empty part: FlashAttention writes it so")
        own = np.where(np.isposinf(own), -np.inf, own)
    types, errors = (_type_of(given), _type_of(logs)), (_typed_error(output), _typed_error(lse))
    return MergePart(name, found, own, *types, *errors, tuple(remarks))


def _type_of(given: GivenArray) -> str:
    return "float64" if given.array.dtype.kind != "f" else given.dtype or given.array.dtype.name


def _typed_error(value: Any) -> float:
    """Half a unit of the last digit typed, the largest; 0 of numbers that have every digit."""
    if not isinstance(value, list):
        return 0.0
    return float(np.nanmax(np.append(typed_digits(list(_leaves(value))).half_units, 0.0)))


def _leaves(value: Any) -> Iterator[float]:
    if isinstance(value, list):
        for row in value:
            yield from _leaves(row)
    else:
        yield value if isinstance(value, TypedNumber) else float(value)


def merge_parts(parts: Sequence[MergePart], base: str = "e") -> Merged:
    """Merge parts; raises AttnError where there are none, or of different shapes.

    >>> one = read_part("one", [[1.0, 0.0]], [0.0])
    >>> two = read_part("two", [[0.0, 1.0]], [math.log(3)])
    >>> merge_parts([one, two]).output.round(4).tolist(), merge_parts([one, two]).lse.round(4).tolist()
    ([[0.25, 0.75]], [1.3863])
    """
    if not parts:
        raise AttnError("no parts to merge", hint="give the files of two parts or more")
    for part in parts[1:]:
        if part.output.shape != parts[0].output.shape:
            hint = f"expected {parts[0].output.shape}, that of {parts[0].name}"
            raise AttnError(f"has the shape {part.output.shape}", where=(part.name, OUTPUT), hint=hint)
    outputs, lses = (np.stack(arrays) for arrays in ([p.output for p in parts], [p.lse * BASES[base] for p in parts]))
    size = _largest(outputs)
    error = max(part.output_error + 2 * part.lse_error * BASES[base] * size for part in parts)
    dtypes = (common_dtype(part.dtype for part in parts), common_dtype(part.lse_dtype for part in parts))
    return Merged(tuple(part.name for part in parts), Parts(outputs, lses), base, *dtypes, error)


def _largest(x: Array) -> float:
    return float(np.max(abs(x), initial=0.0, where=np.isfinite(x)))


Outputs = Callable[[Merged], Array]


def _lse_as_weights(merged: Merged) -> Array:
    lses = merged.parts.lses / BASES[merged.base]
    return merged.parts.weighted(lses / lses.sum(axis=0))


def _nan_of_empty_parts(merged: Merged) -> Array:
    """The output where −∞ − (−∞) is not taken care of, or the NaN of an empty part is multiplied by 0."""
    parts = merged.parts
    weights = np.exp(parts.lses - parts.lses.max(axis=0))
    output: Array = ((weights / weights.sum(axis=0))[..., None] * parts.outputs).sum(axis=0)
    return output


def _without_maximum(merged: Merged) -> Array:
    with np.errstate(over="ignore"):
        terms = np.exp(merged.parts.lses.astype(np.float32)).astype(np.float64)
    return merged.parts.weighted(terms / terms.sum(axis=0))


MISTAKES: Mapping[str, tuple[str, Outputs]] = {
    "splits_averaged": (
        "The outputs of the parts are averaged: each has the same weight.",
        lambda m: m.parts.outputs.mean(axis=0),
    ),
    "splits_added": ("The outputs of the parts are added, without weights.", lambda m: m.parts.outputs.sum(axis=0)),
    "weights_not_normalized": (
        "The weights exp(lse − max) of the parts are not divided by their sum.",
        lambda m: m.parts.weighted(m.parts.terms),
    ),
    "lse_as_weights": ("The weights of the parts are lse / Σ lse, without exponentials.", _lse_as_weights),
    "weights_exchanged": (
        "The parts have each other's weights, in the reverse order.",
        lambda m: m.parts.weighted(m.parts.weights[::-1]),
    ),
    "empty_part_nan": ("An empty part (lse −∞) makes the output NaN: its weight is to be 0.", _nan_of_empty_parts),
    "maximum_not_subtracted": (
        "The exponentials of lse overflow: in float32 the largest lse is to be subtracted first.",
        _without_maximum,
    ),
}


def _outputs_with_mistakes(merged: Merged) -> Iterator[tuple[Finding, Array]]:
    """The mistakes that are tried, in this order, and the output with each."""
    other = next(base for base in BASES if base != merged.base)
    sentence = f"The lse of the parts is read as a logarithm to base {other}, not {merged.base}."
    yield Finding(WRONG_BASE, sentence), merged.in_base(other).output
    for name, (sentence, output) in MISTAKES.items():
        yield Finding(name, sentence), output(merged)
    for number, part in enumerate(merged.names if len(merged.names) > 1 else ()):
        yield Finding("part_left_out", f"Part {number + 1}, {part}, is left out."), merged.parts.without(number).output


def judge_output(merged: Merged, value: Any) -> MergeVerdict:
    """Compare an output with the merge; where it differs, with the other base and with the usual mistakes."""
    given, tolerance, half_units = _given(merged, OUTPUT, value)
    candidates = {base: merged.in_base(base).output for base in BASES}
    verdict = _compare(OUTPUT, given, candidates, merged.base, tolerance, half_units)
    if verdict.agrees:
        return verdict
    with np.errstate(all="ignore"):
        found = [
            finding
            for finding, output in _outputs_with_mistakes(merged)
            if not _differing(given, output, tolerance, half_units).any()
        ]
    return replace(verdict, explanations=tuple(found))


def judge_lse(merged: Merged, value: Any) -> MergeVerdict:
    """Compare a log-sum-exp with that of the merge, in the base of the parts; where it differs, in the other base."""
    given, tolerance, half_units = _given(merged, LSE, value)
    right, other = merged.parts.lse / BASES[merged.base], next(base for base in BASES if base != merged.base)
    verdict = _compare(LSE, given, {merged.base: right}, merged.base, tolerance, half_units)
    if verdict.agrees:
        return verdict
    own, factor = merged.parts, BASES[merged.base]
    misread = merged.in_base(other).lse / BASES[other]
    tried = (
        (f"lse_in_base_{other}", f"The lse is right, but to base {other}.", own.lse / BASES[other]),
        (WRONG_BASE, f"The lse of the parts is read as a logarithm to base {other}.", misread),
        (
            "lse_of_largest",
            "The lse is the largest of the parts: ln Σ exp(lse − max) is not added.",
            own.largest / factor,
        ),
        ("lse_without_maximum", "The lse lacks the maximum that was subtracted.", (own.lse - own.largest) / factor),
        ("lse_added", "The lses of the parts are added.", own.lses.sum(axis=0) / factor),
    )
    found = [
        Finding(name, sentence)
        for name, sentence, wrong in tried
        if not _differing(given, wrong, tolerance, half_units).any()
    ]
    return replace(verdict, explanations=tuple(found))


def _given(merged: Merged, name: str, value: Any) -> tuple[Array, Tolerance, Array | None]:
    """Numbers to compare, on the axes of the merge, how far they may differ, and by how much their digits leave open.

    A program computes in the type of any part, and rounds lse in it: the larger lse is, the more. Raises AttnError where the
    shape is another.
    """
    array = to_array(value, (name,))
    found = as_floats(array.array).astype(np.float64)
    shape = merged.parts.output.shape if name == OUTPUT else merged.parts.lse.shape
    at = -2 if name == OUTPUT else -1  # of tokens or heads, with the other before it
    if found.shape != shape and found.ndim > 1 - at and found.swapaxes(at, at - 1).shape == shape:
        found = found.swapaxes(at, at - 1)
    if found.shape != shape:
        raise AttnError(f"has the shape {found.shape}", where=name, hint=f"expected {shape}")
    dtype = coarsest([_type_of(array), merged.dtype, merged.lse_dtype])
    computed_in = Precision(Precision(dtype).accumulation_dtype)
    lse = _largest(merged.parts.lses)
    size = _largest(merged.parts.outputs) if name == OUTPUT else 1.0
    rounded_to = Precision(_type_of(array)) if _type_of(array) in HALF else None
    error = merged.error + UNITS * computed_in.epsilon * (1 + lse) * size
    half_units = np.full(shape, _typed_error(value))
    if rounded_to is not None:
        half_units = np.fmax(half_units, np.nan_to_num(rounded_to.units(found)) / 2)
    return found, Tolerance(computed_in, "", error=error, rounded_to=rounded_to), half_units


def _differing(given: Array, right: Array, tolerance: Tolerance, half_units: Array | None) -> Array:
    """Where given numbers differ from others."""
    return ~tolerance.agrees(given, right, _allowed(given, right, tolerance, half_units))


def _allowed(given: Array, right: Array, tolerance: Tolerance, half_units: Array | None) -> Array:
    return tolerance.allowed(given, right, half_units) if given.ndim else np.zeros(())


def _compare(
    name: str,
    given: Array,
    candidates: Mapping[str, Array],
    base: str,
    tolerance: Tolerance,
    half_units: Array | None,
) -> MergeVerdict:
    """The verdict without explanations: how numbers differ from those of the asked base, and which base agrees."""
    differs = {own: _differing(given, right, tolerance, half_units) for own, right in candidates.items()}
    agreeing = [own for own, cells in differs.items() if not cells.any()]
    right, wrong = candidates[base], differs[base]
    allowed = _allowed(given, right, tolerance, half_units)
    with np.errstate(invalid="ignore"):
        errors = np.where(wrong | np.isfinite(given - right), abs(given - right), 0.0)
    errors = np.nan_to_num(errors, nan=np.inf, posinf=np.inf)
    at = np.unravel_index(int(np.where(wrong, errors / np.maximum(allowed, 1e-300), -1).argmax()), given.shape)
    worst: dict[str, Any] = {}
    if wrong.any():
        worst = {"position": tuple(map(int, at)), "given": float(given[at]), "correct": float(right[at])}
    return MergeVerdict(
        name,
        given.size,
        int(wrong.sum()),
        float(errors.max(initial=0.0)),
        float(allowed.max(initial=0.0)),
        base if base in agreeing else next(iter(agreeing), ""),
        len(agreeing) > 1,
        **worst,
    )

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
MISREAD = "The lse of the parts is read as a logarithm to base {other}, not {base}."


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
    notes: tuple[str, ...] = ()  # how it was read
    warnings: tuple[str, ...] = ()


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
        """The output of all keys, in the type of the parts; bfloat16 is held as float32."""
        return _in_type(self.parts.output, self.dtype)

    @property
    def lse(self) -> Array:
        """The log-sum-exp of all keys, in the base of the parts."""
        return _in_type(self.parts.lse / BASES[self.base], self.lse_dtype)

    @property
    def lses(self) -> Array:
        """The log-sum-exps of the parts as they were given."""
        return self.parts.lses / BASES[self.base]

    @property
    def other_base(self) -> str:
        """The base that was not said."""
        return next(base for base in BASES if base != self.base)

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
    shape, notes, warnings = found.shape[:-1], list[str](), list[str]()
    own = own[..., 0] if own.shape == (*shape, 1) else own
    swapped = (*shape[:-2], *shape[:-3:-1])
    if axes == "swapped" or (own.shape != shape and own.shape == swapped and axes is None):
        if len(shape) < 2 or own.shape != swapped:
            raise AttnError(f"has the shape {own.shape}", where=(name, LSE), hint=f"expected {swapped}")
        notes.append(f"lse {own.shape} is read with its last two axes swapped")
        own = own.swapaxes(-1, -2)
    elif own.shape != shape:
        expected = " or ".join(map(str, dict.fromkeys((shape, swapped))))
        hint = f"expected {expected}, one for each row of output {found.shape}"
        raise AttnError(f"has the shape {own.shape}", where=(name, LSE), hint=hint)
    elif axes is None and swapped == shape and len(shape) > 1 and shape[-1] > 1:
        warnings.append("lse is read in the order of output: --lse-axes swapped says otherwise")
    if np.isposinf(own).any():
        count = count_of(int(np.isposinf(own).sum()), "query")
        warnings.append(f"lse is +∞ for {count}, read as an empty part: FlashAttention writes it so")
        own = np.where(np.isposinf(own), -np.inf, own)
    types, errors = (_type_of(given), _type_of(logs)), (_typed_error(output), _typed_error(lse))
    return MergePart(name, found, own, *types, *errors, tuple(notes), tuple(warnings))


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


def _in_type(x: Array, dtype: str) -> Array:
    held: Array = Precision(dtype).round(x).astype(Precision(dtype).numpy_name)
    return held


def _largest(x: Array) -> float:
    return float(np.max(abs(x), initial=0.0, where=np.isfinite(x)))


def _lse_as_weights(merged: Merged) -> Array:
    return merged.parts.weighted(merged.lses / merged.lses.sum(axis=0))


def _nan_of_empty_parts(merged: Merged) -> Array:
    """The output where −∞ − (−∞) is not taken care of, or the NaN of an empty part is multiplied by 0."""
    weights = np.exp(merged.parts.lses - merged.parts.lses.max(axis=0))
    output: Array = ((weights / weights.sum(axis=0))[..., None] * merged.parts.outputs).sum(axis=0)
    return output


def _without_maximum(merged: Merged) -> Array:
    terms = np.exp(merged.parts.lses.astype(np.float32)).astype(np.float64)
    return merged.parts.weighted(terms / terms.sum(axis=0))


# Of each result the mistakes that are tried: a name, a sentence, and what they give. `{base}` is that which was said.
MISTAKES: Mapping[str, Sequence[tuple[str, str, Callable[[Merged], Array]]]] = {
    OUTPUT: (
        (WRONG_BASE, MISREAD, lambda m: m.in_base(m.other_base).output),
        ("splits_averaged", "The outputs of the parts are averaged.", lambda m: m.parts.outputs.mean(axis=0)),
        ("splits_added", "The outputs of the parts are added.", lambda m: m.parts.outputs.sum(axis=0)),
        (
            "weights_not_normalized",
            "The weights exp(lse − max) are not divided by their sum.",
            lambda m: m.parts.weighted(m.parts.terms),
        ),
        ("lse_as_weights", "The weights are lse / Σ lse, without exponentials.", _lse_as_weights),
        (
            "weights_exchanged",
            "The parts have each other's weights, in the reverse order.",
            lambda m: m.parts.weighted(m.parts.weights[::-1]),
        ),
        ("empty_part_nan", "An empty part (lse −∞) makes the output NaN: its weight is to be 0.", _nan_of_empty_parts),
        (
            "maximum_not_subtracted",
            "exp(lse) overflows in float32: the largest lse is not subtracted.",
            _without_maximum,
        ),
    ),
    LSE: (
        ("lse_in_base_{other}", "The lse is right, but to base {other}.", lambda m: m.parts.lse / BASES[m.other_base]),
        (WRONG_BASE, MISREAD, lambda m: m.in_base(m.other_base).lse / BASES[m.other_base]),
        (
            "lse_of_largest",
            "The lse is the largest one: ln Σ exp(lse − max) is not added.",
            lambda m: m.lses.max(axis=0),
        ),
        (
            "lse_without_maximum",
            "The lse lacks the maximum that was subtracted.",
            lambda m: (m.parts.lse - m.parts.largest) / BASES[m.base],
        ),
        ("lse_added", "The lses of the parts are added.", lambda m: m.lses.sum(axis=0)),
    ),
}


def _with_mistakes(merged: Merged, name: str) -> Iterator[tuple[Finding, Array]]:
    """The mistakes that are tried, and the result with each."""
    bases = {"base": merged.base, "other": merged.other_base}
    for mistake, sentence, result in MISTAKES[name]:
        yield Finding(mistake.format_map(bases), sentence.format_map(bases)), result(merged)
    for number, part in enumerate(merged.names if name == OUTPUT and len(merged.names) > 1 else ()):
        yield Finding("part_left_out", f"Part {number + 1}, {part}, is left out."), merged.parts.without(number).output


@dataclass(frozen=True, eq=False)
class _Given:
    """Numbers to compare: on the axes of the merge, with what they may differ by, and what their digits leave open."""

    array: Array
    tolerance: Tolerance
    half_units: Array

    def allowed(self, right: Array) -> Array:
        """By how much each may differ."""
        return self.tolerance.allowed(self.array, right, self.half_units)

    def differ(self, right: Array) -> Array:
        """Which of them differ."""
        return ~self.tolerance.agrees(self.array, right, self.allowed(right))


def judge(merged: Merged, name: str, value: Any) -> MergeVerdict:
    """Compare a result with that of the merge; where it differs, with the other base and with the usual mistakes."""
    given = _given(merged, name, value)
    results = {base: merged.in_base(base).output for base in BASES} if name == OUTPUT else {}
    results |= {merged.base: merged.parts.lse / BASES[merged.base]} if name == LSE else {}
    agreeing = [base for base, right in results.items() if not given.differ(right).any()]
    right = results[merged.base]
    wrong, allowed = given.differ(right), given.allowed(right)
    with np.errstate(invalid="ignore"):
        errors = np.nan_to_num(abs(given.array - right), nan=np.inf, posinf=np.inf)
    errors[~wrong & np.isinf(errors)] = 0.0  # infinities and NaN that are right
    verdict = MergeVerdict(
        name=name,
        count=wrong.size,
        differ=int(wrong.sum()),
        max_abs=float(errors.max()),
        allowed=float(allowed.max()),
        base=merged.base if merged.base in agreeing else next(iter(agreeing), ""),
        is_undecided=len(agreeing) > 1,
    )
    if verdict.agrees:
        return verdict
    with np.errstate(all="ignore"):
        tried = list(_with_mistakes(merged, name))
        at = np.unravel_index(int(np.where(wrong, errors / allowed, -1).argmax()), wrong.shape)
    return replace(
        verdict,
        position=tuple(map(int, at)),
        given=float(given.array[at]),
        correct=float(right[at]),
        explanations=tuple(finding for finding, result in tried if not given.differ(result).any()),
    )


def _given(merged: Merged, name: str, value: Any) -> _Given:
    """Numbers to compare; raises AttnError where the shape is another.

    A program computes in the coarsest type of the parts, and rounds lse in it: the larger lse is, the more.
    """
    array = to_array(value, (name,))
    found, dtype = as_floats(array.array).astype(np.float64), _type_of(array)
    shape, at = (merged.parts.output.shape, -2) if name == OUTPUT else (merged.parts.lse.shape, -1)
    if found.shape != shape and found.ndim > 1 - at and found.swapaxes(at, at - 1).shape == shape:
        found = found.swapaxes(at, at - 1)  # tokens and heads
    if [length for length in found.shape if length > 1] == [length for length in shape if length > 1]:
        found = found.reshape(shape)
    if found.shape != shape:
        raise AttnError(f"has the shape {found.shape}", where=name, hint=f"expected {shape}")
    precision = Precision(Precision(coarsest([dtype, merged.dtype, merged.lse_dtype])).accumulation_dtype)
    size = _largest(merged.parts.outputs) if name == OUTPUT else 1.0
    error = merged.error + UNITS * precision.epsilon * (1 + _largest(merged.parts.lses)) * size
    half_units = np.full(shape, _typed_error(value))
    if dtype not in HALF:
        return _Given(found, Tolerance(precision, "", error), half_units)
    half_units = np.fmax(half_units, np.nan_to_num(Precision(dtype).units(found)) / 2)
    return _Given(found, Tolerance(precision, "", error, rounded_to=Precision(dtype)), half_units)

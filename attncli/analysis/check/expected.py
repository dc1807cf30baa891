"""Expected numbers of every form and equivalent shape, as an array with the axes of the step that they are of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0, Letters, count_entries, format_lengths
from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import HALF, Precision, as_floats, coarsest
from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.typed_numbers import TypedNumber
from attncli.plan.graph import Axes, Axis, Plan
from attncli.problem.convert.arrays import LabelledArray, to_array
from attncli.problem.convert.nested_lists import MAX_AXES, is_array_with_axes, nested_lists_to_array, to_lists
from attncli.problem.labels import find_label
from attncli.problem.layout import Layout
from attncli.problem.spec import ProblemSpec
from attncli.trace.steps import Step, Trace

EVERY_DIGIT = 15  # so many significant digits, or more, are all that a float64 has
LONG_FRACTION = 9  # decimals of a number that nobody rounds to by hand
NARROW_TYPES = (*reversed(HALF), "float32")


@dataclass(frozen=True)
class TypedDigits:
    """Half a unit of the last digit of each number, and the type of numbers that have every digit.

    `half_units` is NaN where a number has every digit, and is held to the rounding of `dtype`; None is no type of
    their own.
    """

    half_units: Array
    dtype: str | None = None


@dataclass(frozen=True)
class _Digits:
    """What the text of one number says: its last decimal, how many digits are significant, and how it was typed."""

    decimals: int
    significant: int
    is_whole: bool  # neither a decimal point nor an exponent
    has_exponent: bool
    is_text: bool  # as it was typed; trailing zeros of a float of Python are lost

    @property
    def has_own_unit(self) -> bool:
        """Whether its last digit says how exact it is."""
        return self.has_exponent or (self.is_text and not self.is_whole)


def typed_digits(numbers: Sequence[float]) -> TypedDigits:
    """The digits of the numbers of one quantity: TypedNumbers, which know their text, and floats of Python.

    A number typed with a decimal point or an exponent has the unit of its last digit. Whole numbers, and floats whose
    trailing zeros were lost, have the unit of the last decimal of any number. All numbers have every digit where all
    are whole, where one of them has EVERY_DIGIT significant digits, or where all are numbers of a narrow type with
    their long binary fractions: `0.0999755859375` is 0.1 in float16.

    >>> typed_digits([TypedNumber("0.50"), TypedNumber("1")]).half_units.tolist()
    [0.005, 0.005]
    >>> typed_digits([0.5, 0.1234]).half_units.tolist()
    [5e-05, 5e-05]
    >>> typed_digits([0.0999755859375, 0.5])
    TypedDigits(half_units=array([nan, nan]), dtype='float16')
    """
    all_digits = list(map(_digits, numbers))
    known = [digits for digits in all_digits if digits is not None]
    unknown = np.full(len(numbers), np.nan)
    if all(digits.is_whole for digits in known):
        return TypedDigits(unknown)
    narrow = _narrow_type(numbers)
    if narrow is not None and max(digits.decimals for digits in known) >= LONG_FRACTION:
        return TypedDigits(unknown, narrow)
    if max(digits.significant for digits in known) >= EVERY_DIGIT:
        return TypedDigits(unknown, narrow or "float64")
    shared = max((digits.decimals for digits in known if not digits.has_exponent), default=0)
    half_units = [np.nan if d is None else _half_unit(d.decimals if d.has_own_unit else shared) for d in all_digits]
    return TypedDigits(np.array(half_units))


def _half_unit(decimals: int) -> float:
    """Half a unit of the last of so many decimals."""
    return float(Decimal(5).scaleb(-decimals - 1))


def _digits(number: float) -> _Digits | None:
    """What the text of a number says; None where it has no digits to go by, such as `1/2`, NaN and the infinities."""
    is_text = isinstance(number, TypedNumber)
    text = number.text if isinstance(number, TypedNumber) else repr(float(number))
    try:
        _, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return None
    if not isinstance(exponent, int):
        return None
    has_exponent = "e" in text.lower()
    if not is_text and number.is_integer():  # `8.0` is how Python writes 8
        return _Digits(0, 0, is_whole=True, has_exponent=False, is_text=False)
    significant = len("".join(map(str, digits)).lstrip("0"))
    return _Digits(-exponent, significant, not has_exponent and "." not in text, has_exponent, is_text)


def _narrow_type(numbers: Sequence[float]) -> str | None:
    """The narrowest type that holds all these numbers exactly; None where none does."""
    array = np.array(numbers, dtype=np.float64)
    finite = array[np.isfinite(array)]
    with np.errstate(over="ignore"):
        return next((name for name in NARROW_TYPES if np.array_equal(Precision(name).round(finite), finite)), None)


ROWS, FEATURES = ("n", "q", "m", "k", "p"), ("d", "c", "e")

Part = Mapping[str, int]  # the one head and the one batch item that are checked, by the letters of their axes


@dataclass(frozen=True)
class Reading:
    """Axes that an array may have in place of a step's, by which operation it gets those of the step.

    `step_axes` are those that it has afterwards: they are shorter than the step's where a part is given alone, longer
    where queries are given that are not computed.
    """

    axes: Axes
    step_axes: Axes
    operation: str = "none"  # or "split", "merge", "swap", "swap and merge"

    def to_step(self, x: Array) -> Array:
        """An array of this reading with the axes of the step."""
        x = x.reshape([axis.length for axis in self.axes])
        if self.operation == "split":
            heads = self.step_axes[-3].length
            x = x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)
        if self.operation in ("split", "swap", "swap and merge"):
            x = x.swapaxes(-2, -3)
        return x.reshape([axis.length for axis in self.step_axes])

    def remark(self, shape: tuple[int, ...]) -> str:
        """How an array of a shape was read, in a sentence; empty where it has the axes of the step."""
        if shape == tuple(axis.length for axis in self.step_axes):
            return ""
        lengths, letters = format_lengths(shape), " ".join(axis.letter for axis in self.step_axes)
        if self.operation == "none":
            return f"{lengths} numbers are read as {format_lengths(axis.length for axis in self.step_axes)} [{letters}]"
        return f"{lengths} numbers are read as [{' '.join(axis.letter for axis in self.axes)}] of [{letters}]"


def find_reading(shape: tuple[int, ...], readings: Iterator[Reading]) -> Reading | None:
    """The first reading of the same lengths, axes of length 1 apart."""
    lengths = [size for size in shape if size != 1]
    return next((r for r in readings if lengths == [a.length for a in r.axes if a.length != 1]), None)


def readings_of(axes: Axes, layout: Layout, part: Part, query_count: int) -> Iterator[Reading]:
    """The readings of a step, the likeliest first: all of it, every query, the part that is checked alone.

    `query_count` is how many queries there are, with those that are not computed.
    """
    alone = [
        tuple(axis._replace(length=1) if axis.letter in letters and axis.letter in part else axis for axis in axes)
        for letters in ((), ("b",), ("h", "g"), ("b", "h", "g"))
    ]
    for some in dict.fromkeys(alone):
        every = tuple(axis._replace(length=query_count) if axis.letter == "n" else axis for axis in some)
        for step_axes in dict.fromkeys((some, every)):
            yield Reading(step_axes, step_axes)
            yield from _with_other_heads(step_axes, layout)


def _with_other_heads(axes: Axes, layout: Layout) -> Iterator[Reading]:
    """The readings in which the heads have another place: on an axis of their own, or side by side."""
    letters: Letters = tuple(axis.letter for axis in axes)
    if not layout.has_heads or len(axes) < 2 or letters[-2] not in ROWS or letters[-1] not in FEATURES:
        return
    *before, rows, features = axes
    if before and before[-1].letter in ("h", "g"):
        heads = before.pop()
        joined = Axis(f"{heads.letter}·{features.letter}", heads.length * features.length)
        yield Reading((*before, rows, joined), axes, "split")
        yield Reading((*before, rows, heads, features), axes, "swap")
        return
    count = layout.heads if rows.letter in ("n", "q") else layout.kv_heads
    if features.length % count == 0:
        heads = Axis("h" if count == layout.heads else "g", count)
        one = features._replace(length=features.length // count)
        yield Reading((*before, heads, rows, one), axes, "swap and merge")
        yield Reading((*before, rows, heads, one), axes, "merge")


def place(x: Array, reading: Reading, axes: Axes, part: Part, selected: list[int] | None, fill: float | bool) -> Array:
    """An array with the axes of a reading's step in one with those of the step: its part, of the computed queries."""
    lengths = tuple(axis.length for axis in axes)
    index = [slice(None)] * len(axes)
    for at, (axis, own) in enumerate(zip(axes, reading.step_axes, strict=True)):
        if axis.letter == "n" and own.length != axis.length and selected is not None:
            x = x.take(selected, axis=at)
        elif own.length != axis.length:
            index[at] = slice(part[axis.letter], part[axis.letter] + 1)
    if x.shape == lengths:
        return x
    whole = np.full(lengths, fill, dtype=x.dtype)
    whole[tuple(index)] = x
    return whole


@dataclass(frozen=True)
class Target:
    """The step that numbers are expected of: its problem and plan, and the one head and batch item that are checked."""

    problem: ProblemSpec
    plan: Plan
    name: str
    part: Part

    @cached_property
    def axes(self) -> Axes:
        """The axes of the step."""
        return self.plan[self.name].axes

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.plan[self.name].shape

    @cached_property
    def _trace(self) -> Trace:
        """A trace without steps, which knows the labels of axes."""
        return Trace(self.problem, self.plan, {}, {})

    def labels(self, axis: int) -> tuple[str, ...]:
        """The labels along an axis of the step, equal ones with their number."""
        step = Step(self.plan[self.name], np.broadcast_to(np.float64(0), self.shape))
        return self._trace.numbered_labels_of(step, axis - len(self.axes))

    @cached_property
    def every_query(self) -> tuple[str, ...]:
        """The labels of all queries, also of those that are not computed."""
        return self._trace.numbered_labels["q"]

    def position(self, key: Any, axis: int, path: ErrorPath) -> int | None:
        """The position that a label has along an axis of the step; None of a query that is not computed.

        Raises AttnError where the axis has no such label, or several.
        """
        letter, text = self.axes[axis].letter, str(key)
        selected = self.problem.selected_queries if letter == "n" else None
        known = self.labels(axis) if selected is None else self.every_query
        noun = AXIS_NOUNS.get(letter, "feature")
        try:
            found = find_label(text, known, where=path)
        except UnknownNameError:
            same = [label for label in known if label.rpartition("#")[0] == text]
            if same:
                raise AttnError(
                    f"{text!r} stands {len(same)} times", where=path, hint=f"say {' or '.join(same)}"
                ) from None
            raise UnknownNameError(noun, text, known, where=path) from None
        if selected is None:
            return found[0]
        return selected.index(found[0]) if found[0] in selected else None


Index = tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """Numbers for a part of a step: all that follows the positions in `index`."""

    index: Index
    array: Array
    reading: Reading
    typed: list[Any] | None = None  # the numbers as they were typed, row by row; None of an array of a library
    dtype: str | None = None


@dataclass(frozen=True)
class Collector:
    """Collects the blocks of one quantity."""

    target: Target
    blocks: list[Block] = field(default_factory=list)
    remarks: dict[str, None] = field(default_factory=dict)  # in order, each once

    def add(self, value: Any, index: Index, path: ErrorPath) -> None:
        """Add what is expected behind some positions: a mapping by labels, an array, lists, a number, None."""
        if value is None:
            return
        if hasattr(value, "to_numpy"):
            value = to_array(value, path)  # a data frame has labels
        if isinstance(value, LabelledArray):
            value = self._by_label(value, index)
        if isinstance(value, Mapping):
            self._add_mapping(value, index, path)
        else:
            self._add_block(value, index, path)

    def _by_label(self, value: LabelledArray, index: Index) -> Any:
        """The numbers of a table, by the labels of rows and columns where they are not those of the step in order."""
        at = [axis for axis in range(len(index), len(self.target.axes)) if not self._is_counted(axis)]
        is_typed = value.array.dtype == object  # of TypedNumbers
        if len(at) != 2 or value.array.ndim != 2:
            labels = columns = None
        else:
            labels, columns = map(self._other_labels, value.axis_labels, at)
        if columns is not None and not {*columns} & {*self.target.labels(at[1])}:
            columns = None  # a header of other words
        if labels is None and columns is None:
            return value.array.tolist() if is_typed else LabelledArray(value.array, dtype=value.dtype)

        def part(x: Any) -> Any:
            return (x.tolist() if isinstance(x, np.ndarray) else x) if is_typed else LabelledArray(x, dtype=value.dtype)

        known = self.target.labels(at[0])
        rows = labels or (known if len(known) == len(value.array) else range(len(value.array)))
        return {
            label: part(row) if columns is None else dict(zip(columns, map(part, row), strict=True))
            for label, row in zip(rows, value.array, strict=True)
        }

    def _is_counted(self, axis: int) -> bool:
        """Whether an axis of the step is that of batch items or heads."""
        return self.target.axes[axis].letter in COUNTED_FROM_0

    def _other_labels(self, labels: tuple[str, ...] | None, axis: int) -> tuple[str, ...] | None:
        """Labels that are not those of an axis of the step in their order; None where they are, or there are none."""
        known = self.target.labels(axis)
        return None if labels in (None, known, tuple(label.partition("#")[0] for label in known)) else labels

    def _add_mapping(self, value: Mapping[Any, Any], index: Index, path: ErrorPath) -> None:
        """Add what is expected of each label along the next axis, which an axis of one head need not be."""
        axes, at = self.target.axes, len(index)
        if not value:
            raise AttnError("is empty", where=path, hint="give numbers by labels, or a table of them", subject=value)
        if at == len(axes):
            letters = " ".join(axis.letter for axis in axes)
            raise AttnError("is nested deeper than its axes", where=path, hint=f"expected [{letters}]", subject=value)
        letter, length = axes[at]
        known = self.target.labels(at)
        may_be_left_out = letter in COUNTED_FROM_0 and (length == 1 or letter in self.target.part)
        if may_be_left_out and _depth(value) < len(axes) - at and not {str(key) for key in value} <= set(known):
            self._add_mapping(value, (*index, self.target.part.get(letter, 0)), path)
            return
        for key, child in value.items():
            position = self.target.position(key, at, path)
            if position is None:
                self.remarks[f"what is expected of {key} is not compared: it is not computed"] = None
            else:
                self.add(child, (*index, position), (*path, str(key)))

    def _add_block(self, value: Any, index: Index, path: ErrorPath) -> None:
        """Add an array, lists or a number."""
        typed: list[Any] | None = None
        dtype = None
        if isinstance(value, LabelledArray) or hasattr(value, "to_numpy") or is_array_with_axes(value):
            found = to_array(value, path)
            array, dtype = found.array, found.dtype
        else:
            array, typed = _typed_array(value, path)
        axes = self.target.axes[len(index) :]
        problem = self.target.problem
        count = len(self.target.every_query)
        reading = find_reading(array.shape, readings_of(axes, problem.layout, self.target.part, count))
        if reading is None:
            raise self._shape_error(array.shape, axes, path, value)
        remark = reading.remark(array.shape)
        if remark and not index:
            self.remarks[remark] = None
        self.blocks.append(Block(index, array, reading, typed, dtype))

    def _shape_error(self, shape: tuple[int, ...], axes: Axes, path: ErrorPath, value: Any) -> AttnError:
        """The error that an array has other lengths than what is computed."""
        lengths, letters = [axis.length for axis in axes], [axis.letter for axis in axes]
        hint = f"expected {count_entries(letters, lengths) or 'one number'}"
        without_heads = [length for letter, length in zip(letters, lengths, strict=True) if letter != "h"]
        if "h" in letters and [n for n in shape if n != 1] == [n for n in without_heads if n != 1]:
            hint = "give those of every head, not of their average, or check one head"
        expected, computed = format_lengths(shape) or "1", format_lengths(lengths) or "1"
        message = f"{expected} {'number is' if expected == '1' else 'numbers are'} expected and {computed} computed"
        return AttnError(message, where=path, hint=hint, subject=value)


def _depth(value: Any, axes: int = MAX_AXES) -> int:
    """How many axes mappings, lists and arrays in one another have, up to a number: as many as the deepest."""
    if axes == 0:
        return 0
    if isinstance(value, Mapping):
        return 1 + max((_depth(child, axes - 1) for child in value.values()), default=0)
    if isinstance(value, (list, tuple)):
        return 1 + (_depth(value[0], axes - 1) if value else 0)
    return np.ndim(value.array if isinstance(value, LabelledArray) else value)


def _typed_array(value: Any, path: ErrorPath) -> tuple[Array, list[Any]]:
    """A number or nested lists as an array, and the numbers as they were typed; NaN and None where there is none."""
    typed: list[Any] = []
    is_number = not isinstance(value, (list, tuple))
    plain = _plain_cells([value] if is_number else value, typed)
    array = nested_lists_to_array(plain, path)
    if array.dtype.kind == "b":
        array = array.astype(np.float64)
    numbers = [
        number
        if isinstance(number, (TypedNumber, type(None)))
        else TypedNumber(number, float(cell))
        if isinstance(number, str)
        else float(cell)
        for number, cell in zip(typed, array.flat, strict=True)
    ]
    return (array.reshape(()) if is_number else array), numbers


def _plain_cells(value: Any, typed: list[Any], axes: int = MAX_AXES) -> Any:
    """Nested lists with NaN in place of None; the cells themselves are appended to `typed`.

    A list without None stays the same object, by which errors find its line; so do lists nested too deep.
    """
    if is_array_with_axes(value):
        value = to_lists(value)
    if isinstance(value, (list, tuple)):
        if axes == 0:
            return value
        cells = [_plain_cells(cell, typed, axes - 1) for cell in value]
        return value if all(cell is old for cell, old in zip(cells, value, strict=True)) else cells
    typed.append(value)
    return np.nan if value is None else value


@dataclass(frozen=True)
class ExpectedNumbers:
    """The numbers that are expected of a step, on its axes: NaN where none is.

    `half_units` are those of the last digit typed, NaN where a number has every digit; None where all have. `dtype` is
    the type of numbers that have one of their own.
    """

    array: Array
    is_given: Array
    half_units: Array | None = None
    dtype: str | None = None
    remarks: tuple[str, ...] = ()

    @cached_property
    def is_whole(self) -> bool:
        """Whether every number of the step is expected."""
        return bool(self.is_given.all())

    @property
    def has_every_digit(self) -> bool:
        """Whether any number that is expected has every digit, and is held to rounding."""
        return self.half_units is None or bool(np.isnan(self.half_units[self.is_given]).any())

    def take(self, positions: Sequence[int], axis: int) -> "ExpectedNumbers":
        """Those at some positions along an axis."""
        taken = (None if x is None else x.take(positions, axis) for x in (self.array, self.is_given, self.half_units))
        array, is_given, half_units = taken
        assert array is not None
        assert is_given is not None
        return ExpectedNumbers(array, is_given, half_units, self.dtype, self.remarks)


def expected_numbers(value: Any, target: Target, path: ErrorPath) -> ExpectedNumbers:
    """The numbers that are expected of a step, from an array, nested lists, or mappings from labels to them.

    Along each axis a mapping names tokens, `head 0`, features as tables show them (`e1`), or positions from 0; axes of
    one batch item or head may be left out. None in a list is no number. Raises AttnError where a label is unknown or
    an array has another shape than the step.
    """
    collector = Collector(target)
    collector.add(value, (), path)
    blocks = collector.blocks
    typed = [number for block in blocks if block.typed is not None for number in block.typed if number is not None]
    digits = typed_digits(typed) if typed else None
    own = [block.dtype for block in blocks if block.dtype is not None]
    own += [digits.dtype] if digits is not None and digits.dtype is not None else []
    numbers = _Placed(target, np.nan)
    half_units = _Placed(target, np.nan)
    is_given = _Placed(target, False)
    rest = iter(digits.half_units if digits is not None else ())
    for block in blocks:
        array = as_floats(block.array)
        numbers.put(block, array)
        if block.typed is None:
            is_given.put(block, np.broadcast_to(True, array.shape))
            continue
        given = np.array([number is not None for number in block.typed]).reshape(array.shape)
        is_given.put(block, given)
        half_units.put(block, np.array(list(_half_units(block.typed, rest))).reshape(array.shape))
    given = is_given.array
    for axis, (letter, _) in enumerate(target.axes):
        if letter in target.part:
            other = np.arange(given.shape[axis]) != target.part[letter]
            given = given & ~other.reshape([-1 if at == axis else 1 for at in range(given.ndim)])
    return ExpectedNumbers(
        array=numbers.array,
        is_given=given,
        half_units=None if digits is None or np.isnan(digits.half_units).all() else half_units.array,
        dtype=coarsest(own) if own else None,
        remarks=tuple(collector.remarks),
    )


def _half_units(typed: list[Any], rest: Iterator[float]) -> Iterator[float]:
    """The half unit of each number of a block, NaN where there is no number."""
    for number in typed:
        yield np.nan if number is None else next(rest)


class _Placed:
    """An array on the axes of a step, made of those of blocks."""

    def __init__(self, target: Target, fill: float | bool) -> None:
        self.target = target
        self.fill = fill
        self._array: Array | None = None

    @property
    def array(self) -> Array:
        """The array."""
        if self._array is None:
            self._array = np.full(self.target.shape, self.fill)
        return self._array

    def put(self, block: Block, x: Array) -> None:
        """Put the numbers of a block in their place."""
        axes, target = self.target.axes[len(block.index) :], self.target
        x = block.reading.to_step(x)
        placed = place(x, block.reading, axes, target.part, target.problem.selected_queries, self.fill)
        if not block.index:
            self._array = placed
            return
        if self._array is None:
            dtype = bool if isinstance(self.fill, bool) else np.result_type(placed.dtype, np.float64)
            self._array = np.full(target.shape, self.fill, dtype=dtype)
        self._array[block.index] = placed

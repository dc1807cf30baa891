"""Expected numbers of every form, as an array with the axes of the step that they are expected of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from attncli.analysis.check.digits import typed_digits
from attncli.analysis.check.readings import Part, Reading, find_reading, place, readings_of
from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0, count_entries, format_lengths
from attncli.base.dtypes import coarsest
from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.typed_numbers import TypedNumber
from attncli.engine.run import labels
from attncli.plan.graph import Axes, Plan
from attncli.problem.convert.arrays import LabelledArray, to_array
from attncli.problem.convert.nested_lists import MAX_AXES, is_array_with_axes, nested_lists_to_array, to_lists
from attncli.problem.labels import find_label
from attncli.problem.spec import ProblemSpec
from attncli.trace.steps import Step, Trace

Index = tuple[int, ...]


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
        return Trace(self.problem, self.plan, labels(self.problem), ())

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


@dataclass
class _Block:
    """Numbers for a part of a step: all that follows the positions in `index`."""

    index: Index
    array: Array
    reading: Reading
    typed: list[Any] | None = None  # the numbers as they were typed, row by row; None of an array of a library
    dtype: str | None = None


@dataclass
class _Collector:
    """Collects the blocks of one quantity."""

    target: Target
    blocks: list[_Block] = field(default_factory=list)
    remarks: dict[str, None] = field(default_factory=dict)  # in order, each once

    def add(self, value: Any, index: Index, path: ErrorPath) -> None:
        """Add what is expected behind some positions: a mapping by labels, an array, lists, a number, None."""
        if value is None:
            return
        if isinstance(value, LabelledArray) and value.labels is not None:
            value = self._by_label(value, index)
        if isinstance(value, Mapping):
            self._add_mapping(value, index, path)
        else:
            self._add_block(value, index, path)

    def _by_label(self, value: LabelledArray, index: Index) -> Any:
        """The rows of an array by their labels; the array itself where it has the rows of the step in their order."""
        rows = [
            at for at, axis in enumerate(self.target.axes) if axis.letter not in COUNTED_FROM_0 and at >= len(index)
        ]
        assert value.labels is not None
        plain = LabelledArray(value.array, dtype=value.dtype)
        if not rows or value.array.ndim != 2 or self.target.labels(rows[0]) == value.labels:
            return plain
        own = [label.partition("#")[0] for label in self.target.labels(rows[0])]
        if own == list(value.labels):
            return plain
        return {
            label: LabelledArray(row, dtype=value.dtype) for label, row in zip(value.labels, value.array, strict=True)
        }

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
        self.blocks.append(_Block(index, array, reading, typed, dtype))

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


def _depth(value: Any) -> int:
    """How many axes mappings, lists and arrays in one another have: as many as the deepest."""
    if isinstance(value, Mapping):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, (list, tuple)):
        return 1 + (_depth(value[0]) if value else 0)
    return np.ndim(value.array if isinstance(value, LabelledArray) else value)


def expected_numbers(value: Any, target: Target, path: ErrorPath) -> ExpectedNumbers:
    """The numbers that are expected of a step, from an array, nested lists, or mappings from labels to them.

    Along each axis a mapping names tokens, `head 0`, features as tables show them (`e1`), or positions from 0; axes of
    one batch item or head may be left out. None in a list is no number. Raises AttnError where a label is unknown or
    an array has another shape than the step.
    """
    collector = _Collector(target)
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
        array = block.array if block.array.dtype.kind == "f" else block.array.astype(np.float64)
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

    def put(self, block: _Block, x: Array) -> None:
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

"""The blocks of numbers that are expected of a step: behind labels, or of all of it, from arrays, lists or a number."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attncli.analysis.check.readings import Reading, find_reading, readings_of
from attncli.analysis.check.target import Target
from attncli.base.axes import COUNTED_FROM_0, count_entries, format_lengths
from attncli.base.errors import AttnError, ErrorPath
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.parsing import TypedNumber
from attncli.plan.graph import Axes
from attncli.problem.convert.arrays import LabelledArray, to_array
from attncli.problem.convert.nested_lists import MAX_AXES, is_array_with_axes, nested_lists_to_array, to_lists

Index = tuple[int, ...]


@dataclass
class Block:
    """Numbers for a part of a step: all that follows the positions in `index`."""

    index: Index
    array: Array
    reading: Reading
    typed: list[Any] | None = None  # the numbers as they were typed, row by row; None of an array of a library
    dtype: str | None = None


@dataclass
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

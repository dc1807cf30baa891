"""Expected numbers of every form and equivalent shape, as an array with the axes of their step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0, count_entries, format_lengths
from attncli.base.dtypes import HALF, Precision, as_floats, coarsest
from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.labels import find_label
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.parsing import TypedNumber
from attncli.plan.diagnostics import remark_on_values
from attncli.plan.graph import Axes, Axis, Plan
from attncli.plan.trace import Trace
from attncli.problem.arrays import (
    MAX_AXES,
    GivenArray,
    is_array_with_axes,
    nested_lists_to_array,
    to_array,
    to_lists,
)
from attncli.problem.layout import OWN_LAYOUTS, Layout
from attncli.problem.spec import ProblemSpec

EVERY_DIGIT = 15  # so many significant digits, or more, are a float64's full precision
LONG_FRACTION = 9  # nobody rounds to so many decimals by hand
NARROW_TYPES = (*reversed(HALF), "float32")
ROWS, FEATURES = ("n", "q", "m", "k", "p"), ("d", "c", "e")
# A layout's letter for each axis of a sequence.
_LAYOUT_LETTERS = {
    "b": "b",
    **dict.fromkeys(("h", "g"), "h"),
    **dict.fromkeys(ROWS, "n"),
    **dict.fromkeys((*FEATURES, "o"), "d"),
}

CheckedPart = Mapping[str, int]  # the one head and the one batch item to check, by the letters of their axes
Index = tuple[int, ...]


@dataclass(frozen=True)
class TypedDigits:
    """Half a unit of the last digit of each number, and the type of numbers with every digit.

    `half_units` is NaN if a number has every digit; then its error is the rounding of `dtype`.
    """

    half_units: Array
    dtype: str | None = None  # None if the numbers have no type of their own


class _Digits(NamedTuple):
    """The digits in the text of one number."""

    decimals: int
    significant: int
    is_whole: bool  # neither a decimal point nor an exponent
    has_exponent: bool
    has_own_unit: bool  # its last digit shows its precision


def typed_digits(numbers: Sequence[float]) -> TypedDigits:
    """The digits of the numbers of one quantity: TypedNumbers, which know their text, and Python floats.

    A number typed with a decimal point or an exponent has the unit of its last digit. Integers, and floats that lost
    trailing zeros, have the unit of the last decimal of any number. All numbers have every digit if all are integers,
    if one has EVERY_DIGIT significant digits, or if all are numbers of a narrow type with their long binary fractions:
    `0.0999755859375` is 0.1 in float16.

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
    decimals = [None if d is None else d.decimals if d.has_own_unit else shared for d in all_digits]
    return TypedDigits(np.array([np.nan if n is None else float(Decimal(5).scaleb(-n - 1)) for n in decimals]))


def _digits(number: float) -> _Digits | None:
    """The digits in a number's text; None if it has none to go by, such as `1/2`, NaN and the infinities."""
    typed = number if isinstance(number, TypedNumber) else TypedNumber(repr(float(number)))
    if typed.decimal is None or not typed.decimal.is_finite():
        return None
    if typed is not number and typed.is_integer():  # Python writes 8 as `8.0`
        return _Digits(0, 0, is_whole=True, has_exponent=False, has_own_unit=False)
    _, digits, exponent = typed.decimal.as_tuple()
    has_exponent = "e" in typed.text.lower()
    is_whole = not has_exponent and "." not in typed.text
    significant = len("".join(map(str, digits)).lstrip("0"))
    has_own_unit = has_exponent or (typed is number and not is_whole)
    return _Digits(-int(exponent), significant, is_whole, has_exponent, has_own_unit)


def _narrow_type(numbers: Sequence[float]) -> str | None:
    """The narrowest type that holds all these numbers exactly; None if none does."""
    array = np.array(numbers, dtype=np.float64)
    finite = array[np.isfinite(array)]
    with np.errstate(over="ignore"):
        return next((name for name in NARROW_TYPES if np.array_equal(Precision(name).round(finite), finite)), None)


@dataclass(frozen=True)
class EquivalentShape:
    """Axes that an array may have instead of a step's, and the operation that converts them to the step's.

    `step_axes` are the resulting axes: shorter than the step's if only a part is given, longer if queries that are not
    computed are given too.
    """

    axes: Axes
    step_axes: Axes
    operation: str = "none"  # or "split", "merge", "swap", "swap and merge", "transpose"
    order: Index = ()  # for axes in the problem's layout: the index of each before the operation

    def in_layout(self, layout: str) -> "EquivalentShape | None":
        """The same with the axes in a layout; None if they do not belong to a sequence."""
        letters = [_LAYOUT_LETTERS.get(axis.letter.rpartition("·")[2], "") for axis in self.axes]
        layout = layout if "b" in layout else f"b{layout}"
        if sorted(letters) != sorted(layout) or "".join(letters) not in OWN_LAYOUTS:
            return None
        at = [letters.index(letter) for letter in layout]
        return replace(self, axes=tuple(self.axes[axis] for axis in at), order=tuple(map(at.index, range(len(at)))))

    def to_step(self, x: Array) -> Array:
        """An array of this shape with the axes of the step."""
        x = x.reshape([axis.length for axis in self.axes])
        x = x.transpose(self.order) if self.order else x
        if self.operation == "split":
            heads = self.step_axes[-3].length
            x = x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)
        if self.operation in ("split", "swap", "swap and merge"):
            x = x.swapaxes(-2, -3)
        if self.operation == "transpose":
            x = x.swapaxes(-1, -2)
        return x.reshape([axis.length for axis in self.step_axes])

    def remark(self, shape: Index) -> str:
        """The reading of an array's shape, in a sentence; empty if it has the axes of the step."""
        lengths, letters = [axis.length for axis in self.step_axes], " ".join(axis.letter for axis in self.step_axes)
        if self.operation == "none" and not self.order and shape == tuple(lengths):
            return ""
        own = f"{format_lengths(lengths)} [{letters}]"
        if self.operation != "none" or self.order:
            own = f"[{' '.join(axis.letter for axis in self.axes)}] of [{letters}]"
        return f"{format_lengths(shape)} numbers are read as {own}"


def equivalent_shapes(axes: Axes, layout: Layout, part: CheckedPart, query_count: int) -> Iterator[EquivalentShape]:
    """The shapes equivalent to a step's, the likeliest first: all of it, every query, the checked part alone.

    `query_count` counts all queries, including those that are not computed.
    """
    alone = [
        tuple(axis._replace(length=1) if axis.letter in letters and axis.letter in part else axis for axis in axes)
        for letters in ((), ("b",), ("h", "g"), ("b", "h", "g"))
    ]
    for some in dict.fromkeys(alone):
        every = tuple(axis._replace(length=query_count) if axis.letter == "n" else axis for axis in some)
        for step_axes in dict.fromkeys((some, every)):
            yield EquivalentShape(step_axes, step_axes)
            yield from _shapes_with_moved_heads(step_axes, layout)


def _shapes_with_moved_heads(axes: Axes, layout: Layout) -> Iterator[EquivalentShape]:
    """The shapes with heads elsewhere: on their own axis, or side by side in the features."""
    letters = [axis.letter for axis in axes]
    if letters[-2:] == ["h", "n"]:  # a number for each query, such as the log-sum-exp
        order = (*range(len(axes) - 2), len(axes) - 1, len(axes) - 2)
        yield EquivalentShape(tuple(axes[at] for at in order), axes, order=order)
    if not layout.has_heads or len(axes) < 2 or letters[-2] not in ROWS or letters[-1] not in FEATURES:
        return
    *before, rows, features = axes
    if before and before[-1].letter in ("h", "g"):
        heads = before.pop()
        joined = Axis(f"{heads.letter}·{features.letter}", heads.length * features.length)
        yield EquivalentShape((*before, rows, joined), axes, "split")
        yield EquivalentShape((*before, rows, heads, features), axes, "swap")
        return
    count = layout.heads if rows.letter in ("n", "q") else layout.kv_heads
    if features.length % count == 0:
        heads = Axis("h" if count == layout.heads else "g", count)
        one = features._replace(length=features.length // count)
        yield EquivalentShape((*before, heads, rows, one), axes, "swap and merge")
        yield EquivalentShape((*before, rows, heads, one), axes, "merge")


@dataclass(frozen=True)
class ExpectedStep:
    """The step of expected numbers: its problem and plan, and the one head and batch item to check."""

    problem: ProblemSpec
    plan: Plan
    name: str
    part: CheckedPart

    @cached_property
    def axes(self) -> Axes:
        """The axes of the step."""
        return self.plan[self.name].axes

    @property
    def shape(self) -> Index:
        """The lengths of the axes."""
        return self.plan[self.name].shape

    @cached_property
    def _trace(self) -> Trace:
        """A trace without steps, which knows the labels of axes."""
        return Trace(self.problem, self.plan, {}, {})

    def labels(self, axis: int) -> tuple[str, ...]:
        """The labels along an axis of the step, numbered if they repeat."""
        return self._trace.labelled_axes(self.axes[axis : axis + 1])[0].labels

    @cached_property
    def every_query(self) -> tuple[str, ...]:
        """The labels of all queries, including those that are not computed."""
        return self._trace.numbered_labels["q"]

    def position(self, key: Any, axis: int, path: ErrorPath) -> int | None:
        """The position of a label along an axis of the step; None for a query that is not computed.

        Raises AttnError if the axis has no such label, or several.
        """
        letter, text = self.axes[axis].letter, str(key)
        selected = self.problem.selected_queries if letter == "n" else None
        known = self.labels(axis) if selected is None else self.every_query
        try:
            found = find_label(text, known, where=path)[0]
        except UnknownNameError:
            same = [label for label in known if label.rpartition("#")[0] == text]
            if same:
                message = f"{text!r} appears {len(same)} times"
                raise AttnError(message, where=path, hint=f"say {' or '.join(same)}") from None
            raise UnknownNameError(AXIS_NOUNS.get(letter, "feature"), text, known, where=path) from None
        if selected is None:
            return found
        return selected.index(found) if found in selected else None

    def match(self, shape: Index, index: Index) -> EquivalentShape | None:
        """The first equivalent shape with these lengths, except axes of length 1, after an index."""
        layout, axes = self.problem.layout, self.axes[len(index) :]
        shapes = list(equivalent_shapes(axes, self.problem.leading, self.part, len(self.every_query)))
        if layout not in (None, *OWN_LAYOUTS):  # a query axis, before axes of the same length
            shapes = [*filter(None, (found.in_layout(str(layout)) for found in shapes)), *shapes]
        lengths = [size for size in shape if size != 1]
        return next((found for found in shapes if lengths == [a.length for a in found.axes if a.length != 1]), None)

    def match_transposed(self, shape: Index) -> EquivalentShape | None:
        """The shape with exchanged rows and columns, if an array has it; otherwise None."""
        axes = self.axes
        turned = (*axes[:-2], *axes[:-3:-1])
        lengths = [size for size in shape if size != 1]
        is_turned = len(axes) > 1 and lengths == [axis.length for axis in turned if axis.length != 1]
        return EquivalentShape(turned, axes, "transpose") if is_turned else None

    def place(self, x: Array, shape: EquivalentShape, index: Index, fill: float | bool) -> Array:
        """An array of an equivalent shape after an index in the step, with `fill` for missing numbers."""
        axes, selected = self.axes[len(index) :], self.problem.selected_queries
        x = shape.to_step(x)
        slices = [slice(None)] * len(axes)
        for at, (axis, own) in enumerate(zip(axes, shape.step_axes, strict=True)):
            if axis.letter == "n" and own.length != axis.length and selected is not None:
                x = x.take(selected, axis=at)
            elif own.length != axis.length:
                slices[at] = slice(self.part[axis.letter], self.part[axis.letter] + 1)
        if x.shape == (lengths := tuple(axis.length for axis in axes)):
            return x
        whole = np.full(lengths, fill, dtype=x.dtype)
        whole[tuple(slices)] = x
        return whole


class _Block(NamedTuple):
    """Numbers for everything in a step after some positions."""

    behind: Index
    array: Array
    shape: EquivalentShape
    typed: list[Any] | None = None  # the numbers as typed, row by row; None for an array of a library
    dtype: str | None = None


class _Collector:
    """Collects the blocks of expected numbers of one step: after labels, or for all of it."""

    def __init__(self, step: ExpectedStep) -> None:
        self.step = step
        self.blocks: list[_Block] = []
        self.remarks: dict[str, None] = {}  # in order, each once
        self.transposed: AttnError | None = None

    def add(self, value: Any, index: Index, path: ErrorPath) -> None:
        """Add expected numbers after an index: a mapping by labels, an array, lists, a number, None."""
        if value is None:
            return
        if hasattr(value, "to_numpy"):
            value = to_array(value, path)  # a data frame has labels
        if isinstance(value, GivenArray):
            value = self._by_label(value, index)
        if isinstance(value, Mapping):
            self._add_mapping(value, index, path)
        else:
            self._add_block(value, index, path)

    def _by_label(self, value: GivenArray, index: Index) -> Any:
        """The numbers of a table, by the labels of rows and columns unless these are the step's in order."""
        step = self.step
        at = [axis for axis in range(len(index), len(step.axes)) if step.axes[axis].letter not in COUNTED_FROM_0]
        is_typed = value.array.dtype == object  # of TypedNumbers
        labels = columns = None
        if len(at) == value.array.ndim == 2:
            labels, columns = map(self._other_labels, value.axis_labels, at)
        if columns is not None and not {*columns} & {*step.labels(at[1])}:
            columns = None  # a header of something else
        if labels is None and columns is None:
            return value.array.tolist() if is_typed else GivenArray(value.array, dtype=value.dtype)

        def part(x: Any) -> Any:
            return (x.tolist() if isinstance(x, np.ndarray) else x) if is_typed else GivenArray(x, dtype=value.dtype)

        known = step.labels(at[0])
        rows = labels or (known if len(known) == len(value.array) else range(len(value.array)))
        return {
            label: part(row) if columns is None else dict(zip(columns, map(part, row), strict=True))
            for label, row in zip(rows, value.array, strict=True)
        }

    def _other_labels(self, labels: tuple[str, ...] | None, axis: int) -> tuple[str, ...] | None:
        """Labels that are not an axis's in their order; None if they are, or there are none."""
        known = self.step.labels(axis)
        return None if labels in (None, known, tuple(label.partition("#")[0] for label in known)) else labels

    def _add_mapping(self, value: Mapping[Any, Any], index: Index, path: ErrorPath) -> None:
        """Add expected numbers for each label along the next axis; an axis of one head may be absent."""
        axes, part, at = self.step.axes, self.step.part, len(index)
        if not value:
            raise AttnError("is empty", where=path, hint="give numbers by labels, or a table of them", subject=value)
        if at == len(axes):
            letters = " ".join(axis.letter for axis in axes)
            raise AttnError("is nested deeper than its axes", where=path, hint=f"expected [{letters}]", subject=value)
        letter, length = axes[at]
        may_be_left_out = letter in COUNTED_FROM_0 and (length == 1 or letter in part)
        known = self.step.labels(at)
        if may_be_left_out and _depth(value) < len(axes) - at and not {str(key) for key in value} <= set(known):
            self._add_mapping(value, (*index, part.get(letter, 0)), path)
            return
        for key, child in value.items():
            position = self.step.position(key, at, path)
            if position is None:
                self.remarks[f"the expected values of {key} are not compared: the problem does not compute them"] = None
            else:
                self.add(child, (*index, position), (*path, str(key)))

    def _add_block(self, value: Any, index: Index, path: ErrorPath) -> None:
        """Add an array, lists or a number."""
        typed = dtype = None
        if isinstance(value, GivenArray) or hasattr(value, "to_numpy") or is_array_with_axes(value):
            found = to_array(value, path)
            array, dtype = found.array, found.dtype
        else:
            array, typed = _typed_array(value, path)
        shape = self.step.match(array.shape, index)
        if shape is None:
            error = _shape_error(array.shape, self.step.axes[len(index) :], path, value)
            error.hint = "; ".join(filter(None, (error.hint, remark_on_values(self.step.plan, self.step.name))))
            shape = None if index else self.step.match_transposed(array.shape)
            if shape is None:
                raise error
            self.transposed = error
        remark = shape.remark(array.shape)
        if remark and not index:
            self.remarks[remark] = None
        self.blocks.append(_Block(index, array, shape, typed, dtype))


def _shape_error(shape: Index, axes: Axes, path: ErrorPath, value: Any) -> AttnError:
    """The error that an array has other lengths than the computed one."""
    lengths, letters = [axis.length for axis in axes], [axis.letter for axis in axes]
    hint = f"expected {count_entries(letters, lengths) or 'one number'}"
    without_heads = [axis.length for axis in axes if axis.letter != "h"]
    if "h" in letters and [n for n in shape if n != 1] == [n for n in without_heads if n != 1]:
        hint = "give numbers for every head, not their average, or check one head"
    size = format_lengths(shape) or "1"
    return AttnError(f"has {size} {'number' if size == '1' else 'numbers'}", where=path, hint=hint, subject=value)


def _depth(value: Any, axes: int = MAX_AXES) -> int:
    """The axes of nested mappings, lists and arrays, up to a limit: of the deepest."""
    if axes == 0:
        return 0
    if isinstance(value, Mapping):
        return 1 + max((_depth(child, axes - 1) for child in value.values()), default=0)
    if isinstance(value, (list, tuple)):
        return 1 + (_depth(value[0], axes - 1) if value else 0)
    return np.ndim(value.array if isinstance(value, GivenArray) else value)


def _typed_array(value: Any, path: ErrorPath) -> tuple[Array, list[Any]]:
    """A number or nested lists as an array, and the numbers as typed; NaN and None for missing ones."""
    typed: list[Any] = []
    is_number = not isinstance(value, (list, tuple))
    array = nested_lists_to_array(_plain_cells([value] if is_number else value, typed), path)
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
    """Nested lists with NaN in place of None; it appends the cells to `typed`.

    A list without None stays the same object, so that errors find its line; so do lists nested too deep.
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
    """The expected numbers of a step, on its axes; NaN for missing ones.

    `half_units` applies to the last typed digit, NaN if a number has every digit; None if all have. `dtype` is the
    numbers' own type, if any. If the shape shows exchanged rows and columns, `transposed` is the error to raise unless
    the numbers are otherwise right.
    """

    array: Array
    is_given: Array
    half_units: Array | None = None
    dtype: str | None = None
    remarks: tuple[str, ...] = ()
    transposed: AttnError | None = None

    @cached_property
    def is_whole(self) -> bool:
        """Whether every number of the step is expected."""
        return bool(self.is_given.all())

    @property
    def has_every_digit(self) -> bool:
        """Whether any expected number has every digit, so that its error is rounding."""
        return self.half_units is None or bool(np.isnan(self.half_units[self.is_given]).any())

    def take(self, positions: Sequence[int], axis: int) -> "ExpectedNumbers":
        """The numbers at some positions along an axis."""
        half_units = None if self.half_units is None else self.half_units.take(positions, axis)
        array, is_given = self.array.take(positions, axis), self.is_given.take(positions, axis)
        return ExpectedNumbers(array, is_given, half_units, self.dtype, self.remarks)


def expected_numbers(value: Any, step: ExpectedStep, path: ErrorPath) -> ExpectedNumbers:
    """The expected numbers of a step, from an array, nested lists, or mappings from labels to them.

    Along each axis a mapping names tokens, `head 0`, features as tables show them (`e1`), or positions from 0; axes of
    one batch item or head may be absent. None in a list is not a number. Raises AttnError if a label is unknown or an
    array has another shape than the step.
    """
    collector = _Collector(step)
    collector.add(value, (), path)
    blocks = collector.blocks
    typed = [number for block in blocks for number in block.typed or () if number is not None]
    digits = typed_digits(typed) if typed else None
    own = [block.dtype for block in blocks if block.dtype is not None]
    own += [digits.dtype] if digits is not None and digits.dtype is not None else []
    units = iter(() if digits is None else digits.half_units)
    half_units, given = [], []
    for block in blocks:
        if block.typed is None:
            given.append((block, np.broadcast_to(True, block.array.shape)))
            continue
        given.append((block, np.reshape([number is not None for number in block.typed], block.array.shape)))
        own_units = [np.nan if number is None else next(units) for number in block.typed]
        half_units.append((block, np.reshape(own_units, block.array.shape)))
    is_given = _on_axes(step, given, False)
    if step.part:
        inside = np.zeros_like(is_given)
        inside[tuple(step.part.get(letter, slice(None)) for letter, _ in step.axes)] = True
        is_given = is_given & inside
    return ExpectedNumbers(
        array=_on_axes(step, [(block, as_floats(block.array)) for block in blocks], np.nan),
        is_given=is_given,
        half_units=None if digits is None or np.isnan(digits.half_units).all() else _on_axes(step, half_units, np.nan),
        dtype=coarsest(own) if own else None,
        remarks=tuple(collector.remarks),
        transposed=collector.transposed,
    )


def _on_axes(step: ExpectedStep, arrays: Sequence[tuple[_Block, Array]], fill: float | bool) -> Array:
    """An array on the axes of a step, made from blocks: one for all of it, or several after labels."""
    whole: Array | None = None
    for block, x in arrays:
        placed = step.place(x, block.shape, block.behind, fill)
        if not block.behind:
            return placed
        if whole is None:
            whole = np.full(step.shape, fill, bool if fill is False else np.result_type(placed.dtype, np.float64))
        whole[block.behind] = placed
    return np.full(step.shape, fill) if whole is None else whole

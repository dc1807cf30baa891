"""Programs for records: lists of a few kinds of instructions, in JSON, which the page runs and shows.

An instruction is a list: its name and its operands, mostly numbers of earlier instructions. Functions that move numbers
keep their options, so that a program holds for arrays of other lengths.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.ops.recording.arrays import ELEMENTWISE, REDUCTIONS, STEPWISE, NotRecordedError
from attncli.ops.recording.expression import (
    ARGUMENT,
    GET_ITEM,
    MOVES,
    RUNNING_MAX,
    SCATTER,
    SET_ITEM,
    Expression,
    Moved,
    ordered,
)
from attncli.ops.recording.lengths import Length
from attncli.ops.recording.record import Recording

MAX_CONSTANTS = 2_000  # numbers of an array that is written out
Register = int
# The logical functions, by the bitwise ones.
_OF_TRUTHS = {
    "invert": "logical_not", "bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor",
}  # fmt: skip
_NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1, "power": 1}  # neutral numbers
_WHOLE = slice(None)


def program_of(made: Recording, options: Sequence[str] = (), *, is_gradient: bool = False) -> dict[str, Any]:
    """The program for a record: `steps` are the instructions, and `result` is the number of the one with the value.

    `taps` has the instructions of inner quantities, `names` the function's names of instructions, by number. Arguments
    among the `options` are read from these. In a gradient, products with 0 are 0, even 0 times ∞. If it `is_truth`, 1
    is true and 0 is false. Raises NotRecordedError.

    >>> from attncli.ops.recording.record import record
    >>> program_of(record(lambda x: 2 * x, {"x": np.array([1.0, 2.0])}, {}))["steps"]
    [['number', 2], ['argument', 'x'], ['multiply', 0, 1]]
    """
    writer = _Writer(options)
    result = writer.register(made.result)
    taps = {name: writer.register(step) for name, step in made.taps.items()}
    names = {writer.known[step]: name for step, name in made.names.items() if step in writer.known}
    return {
        "steps": writer.steps,
        "result": result,
        "taps": taps,
        "names": {str(register): name for register, name in names.items() if name not in taps},
        "is_gradient": is_gradient,
        "is_truth": np.asarray(made.result.value).dtype.kind == "b",
    }


def nothing_program(of: str) -> dict[str, Any]:
    """The program for a gradient that is 0 everywhere."""
    steps = [["argument", of], ["number", 0], ["multiply", 0, 1]]
    return {"steps": steps, "result": 2, "taps": {}, "names": {}, "is_gradient": True, "is_truth": False}


class _Writer:
    """Writes the instructions for expressions, equal ones once."""

    def __init__(self, options: Sequence[str]) -> None:
        self.steps: list[list[Any]] = []
        self.known: dict[Expression, Register] = {}
        self._options = options
        self._written: dict[str, Register] = {}

    def emit(self, *step: Any) -> Register:
        """The number of an instruction; a new one is added only if none is equal, and if it has an effect."""
        for at in (2, 1) if step[0] in ("add", "multiply") else (2,) if step[0] in _NEUTRAL else ():
            if self.steps[step[at]] == ["number", _NEUTRAL[step[0]]]:
                return int(step[3 - at])
        text = repr(step)
        if text not in self._written:
            self._written[text] = len(self.steps)
            self.steps.append(list(step))
        return self._written[text]

    def register(self, result: Expression) -> Register:
        """The number of an expression's instruction."""
        for step in ordered(result):
            if step not in self.known:
                self.known[step] = self._written_step(step)
        return self.known[result]

    def number(self, x: Any) -> Register:
        """The instruction for a number, a length or a recorded number."""
        if isinstance(x, Expression):
            return self.register(x)
        if isinstance(x, Length):
            kind, *parts = x.made
            if kind == "option":
                return self.emit("option", parts[0])
            if kind == "length":
                return self.emit("length", self.register(parts[0]), parts[1])
            return self.emit(kind, *map(self.number, parts))
        return self.emit("number", float(x) if np.asarray(x).dtype.kind == "f" else int(x))

    def shape(self, shape: Any) -> list[Register]:
        """The instructions for a shape's lengths."""
        return [self.number(size) for size in (shape if isinstance(shape, (tuple, list)) else (shape,))]

    def _written_step(self, step: Expression) -> Register:
        """The instruction of an expression whose sources are already written."""
        name = step.function
        if name == ARGUMENT:
            return self.emit("option" if step.name in self._options else "argument", step.name)
        if step.is_constant:
            return self._constant(step)
        if name in MOVES:
            return self._moved(step, self.known.__getitem__)
        if name == SCATTER:
            return self._scattered(step)
        write = _WRITERS.get(name)
        if write is None:
            raise _no_program(step, f"np.{name}")
        return write(self, step)

    def _constant(self, step: Expression) -> Register:
        """A number, an array of equal numbers as long as another, or an array that is written out."""
        if step.operands and isinstance(step.operands[0], Length):
            return self.number(step.operands[0])
        if step.operands:
            return self.emit("broadcast_to", self.number(np.ravel(step.value)[0]), self.shape(step.operands[0]))
        if not np.ndim(step.value):
            return self.number(step.value)
        if np.size(step.value) > MAX_CONSTANTS:
            raise _no_program(step, "a large array that depends on no argument")
        value = np.asarray(step.value)
        value = value.astype(int) if value.dtype.kind == "b" else value
        return self.emit("constant", list(value.shape), value.ravel().tolist())

    def _moved(self, step: Expression, register: Callable[[Expression], Register]) -> Register:
        """The instructions of a function that moves numbers, with its operands' registers."""
        operands = step.operands
        if step.function in ("concatenate", "stack"):
            axis = step.options.get("axis", operands[1] if len(operands) > 1 else 0) % len(step.shape)
            parts = [register(part) for part in operands[0]]
            if step.function == "stack":
                kept: list[Any] = list(range(len(step.shape) - 1))
                parts = [self.emit("arrange", part, [*kept[:axis], None, *kept[axis:]]) for part in parts]
            return self.emit("concatenate", axis - len(step.shape), parts)
        write = _MOVERS.get(step.function)
        if write is None:
            raise _no_program(step, f"np.{step.function}")
        return write(self, step, register(operands[0]))

    def _scattered(self, step: Expression) -> Register:
        """Numbers moved back to their origin, by moving the positions likewise."""
        grad, *_, moved = step.operands
        if not isinstance(moved, Moved):
            raise _no_program(step, "a gradient of numbers that were moved by their order")
        source = self.register(moved.source)
        for other in moved.step.sources:
            self.register(other)
        places = self.emit("places", source)
        nowhere = self.emit("number", -1)

        def register(moving: Expression) -> Register:
            if moving is moved.source:
                return places
            return self.emit("broadcast_to", nowhere, self.shape(Length.of(moving)))

        return self.emit("scatter", self.known[grad], self._moved(moved.step, register), source)

    def index(self, step: Expression, x: Register, count: int, index: Any) -> Register:
        """The selection of an index from an array with so many axes."""
        parts = list(index) if isinstance(index, tuple) else [index]
        parts = [part.value if isinstance(part, Expression) and _is_plain(part) else part for part in parts]
        if any(_is_boolean(part) for part in parts):
            raise _no_program(step, "an index of truths")
        at = next((place for place, part in enumerate(parts) if part is Ellipsis), len(parts))
        used = sum(part is not None and part is not Ellipsis for part in parts)
        parts[at : at + 1] = [_WHOLE] * (count - used)
        arrays = [place for place, part in enumerate(parts) if isinstance(part, (Expression, np.ndarray, list))]
        if arrays and arrays[-1] - arrays[0] >= len(arrays):
            raise _no_program(step, "an index of arrays apart from each other")
        if arrays and any(isinstance(part, int) for part in parts):
            raise _no_program(step, "an index of an array and of a number")
        axes, axis = list[int | None](), 0
        for part in parts:
            if part is None:
                axes.append(None)
                continue
            if isinstance(part, slice) and part != _WHOLE:
                ends = [None if end is None else self.number(end) for end in (part.start, part.stop)]
                x = self.emit("slice", x, axis - count, *ends, 1 if part.step is None else int(part.step))
            elif isinstance(part, int):
                last = None if part == -1 else self.number(part + 1)
                x = self.emit("slice", x, axis - count, self.number(part), last, 1)
            if not isinstance(part, int):
                axes.append(axis)
            axis += 1
        if arrays:
            x = self._taken(
                x, count, [parts[place] for place in arrays], sum(p is not None for p in parts[: arrays[0]])
            )
            if any(part is None for part in parts):
                raise _no_program(step, "an index of arrays and of new axes")
            return x
        return x if axes == list(range(count)) else self.emit("arrange", x, axes)

    def _taken(self, x: Register, count: int, arrays: list[Any], axis: int) -> Register:
        """The selection of index arrays from the axes from one on; several axes count as one."""
        registers = [self.array(part) for part in arrays]
        if len(arrays) == 1:
            return self.emit("take", x, registers[0], axis - count)
        lengths = [self.emit("length", x, at - count) for at in range(count)]
        total = self.emit("remainder", registers[0], lengths[axis])
        for at, own in enumerate(registers[1:], axis + 1):
            wrapped = self.emit("remainder", own, lengths[at])
            total = self.emit("add", self.emit("multiply", total, lengths[at]), wrapped)
        merged = self.emit("number", -1)
        end = axis + len(arrays)
        x = self.emit("reshape", x, [*lengths[:axis], merged, *lengths[end:]])
        return self.emit("take", x, total, axis - (count - len(arrays) + 1))

    def array(self, x: Any) -> Register:
        """The register of an array of indices."""
        if isinstance(x, Expression):
            return self.register(x)
        x = np.asarray(x)
        return self.number(x) if not x.ndim else self.emit("constant", list(x.shape), x.ravel().tolist())


def _is_plain(part: Expression) -> bool:
    """Whether it is a number or an array that depends on no argument and no length."""
    return part.is_constant and not part.operands


def _is_boolean(part: Any) -> bool:
    value = part.value if isinstance(part, Expression) else part
    return isinstance(value, (bool, np.bool_)) or (hasattr(value, "dtype") and value.dtype.kind == "b")


def _no_program(step: Expression, what: str) -> NotRecordedError:
    """The error for an operation without an instruction."""
    return NotRecordedError(f"{what} can't be computed in the page", where=step.line or None)


def _axis_of(step: Expression, at: int, default: Any = None) -> Any:
    """The option `axis` of a function, or its operand at an index."""
    return step.options.get("axis", step.operands[at] if len(step.operands) > at else default)


def _along(writer: _Writer, step: Expression, default: Any) -> tuple[Register, int]:
    """The array of a function along one axis, and the axis from the last; without an axis all numbers in a row."""
    source, axis = step.operands[0], _axis_of(step, 1, default)
    x, count = writer.known[source], len(source.shape)
    if axis is None:
        return writer.emit("reshape", x, [writer.emit("number", -1)]), -1
    return x, int(axis) % count - count


def _write_along(name: str, default: Any) -> Callable[[_Writer, Expression], Register]:
    """The writer of a function along one axis."""
    return lambda writer, step: writer.emit(name, *_along(writer, step, default))


def _write_product(writer: _Writer, step: Expression) -> Register:
    """A matrix product; vectors are rows or columns."""
    left, right = step.operands
    of_left, of_right = writer.known[left], writer.known[right]
    if len(left.shape) == 1:
        of_left = writer.emit("arrange", of_left, [None, 0])
    if len(right.shape) == 1:
        of_right = writer.emit("arrange", of_right, [0, None])
    made = writer.emit("matmul", of_left, of_right)
    count = max(len(left.shape), len(right.shape), 2)
    dropped = {count - 2} if len(left.shape) == 1 else set()
    dropped |= {count - 1} if len(right.shape) == 1 else set()
    return made if not dropped else writer.emit("arrange", made, [at for at in range(count) if at not in dropped])


def _write_einsum(writer: _Writer, step: Expression) -> Register:
    """Products over the letters of all axes, summed over letters that the result lacks."""
    subscripts, *factors = step.operands
    inputs, result = subscripts.split("->")
    summed = "".join(sorted({*inputs} - {*result, ","}))
    letters, made = result + summed, None
    for term, factor in zip(inputs.split(","), factors, strict=True):
        if len(set(term)) < len(term):
            raise _no_program(step, "np.einsum of a diagonal")
        axes = [term.index(letter) if letter in term else None for letter in letters]
        own = writer.emit("arrange", writer.known[factor], axes)
        made = own if made is None else writer.emit("multiply", made, own)
    assert made is not None
    return made if not summed else writer.emit("sum", made, list(range(-len(summed), 0)), 0)


def _write_cast(writer: _Writer, step: Expression) -> Register:
    """A number as another type: as a boolean, as a whole number, or unchanged."""
    source, kind = step.operands
    x, zero = writer.known[source], writer.emit("number", 0)
    if kind.kind == "b":
        return writer.emit("not_equal", x, zero)
    is_cut = kind.kind in "iu" and np.asarray(source.value).dtype.kind == "f"
    return writer.emit("trunc", x) if is_cut else x


def _write_rounded(writer: _Writer, step: Expression) -> Register:
    decimals = step.options.get("decimals", step.operands[1] if len(step.operands) > 1 else 0)
    if decimals:
        raise _no_program(step, "rounding to decimals")
    return writer.emit("rint", writer.known[step.operands[0]])


def _write_by_number(writer: _Writer, step: Expression) -> Register:
    """An elementwise function; bitwise ones only for booleans."""
    name = _OF_TRUTHS.get(step.function, step.function)
    if name != step.function and np.asarray(step.value).dtype.kind != "b":
        raise _no_program(step, "bits of whole numbers")
    return writer.emit(name, *(writer.known[operand] for operand in step.operands))


def _write_reduced(writer: _Writer, step: Expression) -> Register:
    axes = sorted(step.options["axis"])
    return writer.emit(step.function, writer.known[step.operands[0]], axes, int(step.options["keepdims"]))


def _write_counted(writer: _Writer, step: Expression) -> Register:
    """The count of sorted numbers before each of others."""
    bounds, numbers = step.operands
    if step.options.get("sorter") is not None or len(bounds.shape) != 1:
        raise _no_program(step, "np.searchsorted with a sorter")
    own = writer.emit("arrange", writer.known[numbers], [*range(len(numbers.shape)), None])
    comparison = "less_equal" if step.options.get("side") == "right" else "less"
    return writer.emit("sum", writer.emit(comparison, writer.known[bounds], own), [-1], 0)


_WRITERS: Mapping[str, Callable[[_Writer, Expression], Register]] = {
    **dict.fromkeys((*ELEMENTWISE, *STEPWISE), _write_by_number),
    **dict.fromkeys(REDUCTIONS, _write_reduced),
    "matmul": _write_product,
    "einsum": _write_einsum,
    "astype": _write_cast,
    "searchsorted": _write_counted,
    "round": _write_rounded,
    "argmax": _write_along("argmax", None),
    "argmin": _write_along("argmin", None),
    "argsort": _write_along("argsort", -1),
    "cumsum": _write_along("cumsum", None),
    RUNNING_MAX: _write_along(RUNNING_MAX, 0),
}


def _arranged(axes_of: Callable[..., Sequence[int | None]]) -> Callable[[_Writer, Expression, Register], Register]:
    """The writer of a function that only reorders, adds or removes axes."""

    def write(writer: _Writer, step: Expression, x: Register) -> Register:
        axes = list(axes_of(step, len(step.operands[0].shape), *step.operands[1:], **step.options))
        return writer.emit("arrange", x, axes)

    return write


def _exchanged(_step: Expression, count: int, one: int = -2, other: int = -1, **_: Any) -> list[int]:
    axes = list(range(count))
    axes[one], axes[other] = axes[other], axes[one]
    return axes


def _moved_axes(_step: Expression, count: int, source: Any, destination: Any) -> list[int]:
    """The order of axes after `np.moveaxis`, by moving the axes' numbers."""
    shape = np.moveaxis(np.empty(tuple(range(2, 2 + count))), source, destination).shape
    return [size - 2 for size in shape]


def _without(step: Expression, count: int, axis: Any = None) -> list[int]:
    """The axes that `np.squeeze` keeps."""
    own = step.operands[0].shape
    if axis is None:
        return [at for at in range(count) if own[at] != 1]
    dropped = {at % count for at in (axis if isinstance(axis, tuple) else (axis,))}
    return [at for at in range(count) if at not in dropped]


def _with_new(step: Expression, _count: int, axis: Any = None) -> list[int | None]:
    """The axes that `np.expand_dims` adds."""
    total = len(step.shape)
    added = {at % total for at in (axis if isinstance(axis, (tuple, list)) else (axis,))}
    places = iter(range(total))
    return [None if at in added else next(places) for at in range(total)]


def _write_shape(name: str) -> Callable[[_Writer, Expression, Register], Register]:
    """The writer of a function that gives an array a shape."""

    def write(writer: _Writer, step: Expression, x: Register) -> Register:
        shape = step.operands[1] if len(step.operands) > 1 else step.options["shape"]
        return writer.emit(name, x, writer.shape(shape))

    return write


def _write_index(writer: _Writer, step: Expression, x: Register) -> Register:
    return writer.index(step, x, len(step.operands[0].shape), step.operands[1])


def _write_assigned(writer: _Writer, step: Expression, x: Register) -> Register:
    """Numbers written into an array, at an index or where a condition holds."""
    array, index, value = step.operands
    of_value = writer.known[value]
    if _is_boolean(index) and not isinstance(index, bool):
        if np.shape(getattr(index, "value", index)) != array.shape or value.shape:
            raise _no_program(step, "writing several numbers where a condition holds")
        condition = writer.register(index) if isinstance(index, Expression) else writer.array(index.astype(int))
        return writer.emit("where", condition, of_value, x)
    places = writer.index(step, writer.emit("places", x), len(array.shape), index)
    return writer.emit("write", x, places, of_value)


def _write_taken(writer: _Writer, step: Expression, x: Register) -> Register:
    axis, count = _axis_of(step, 2), len(step.operands[0].shape)
    if axis is None:
        x, axis, count = writer.emit("reshape", x, [writer.emit("number", -1)]), 0, 1
    return writer.emit("take", x, writer.array(step.operands[1]), axis % count - count)


def _write_taken_along(writer: _Writer, step: Expression, x: Register) -> Register:
    axis, count = _axis_of(step, 2, -1), len(step.shape)
    return writer.emit("take_along_axis", x, writer.array(step.operands[1]), axis % count - count)


def _write_flipped(writer: _Writer, step: Expression, x: Register) -> Register:
    axis, count = _axis_of(step, 1), len(step.shape)
    for at in range(count) if axis is None else axis if isinstance(axis, tuple) else (axis,):
        x = writer.emit("slice", x, at % count - count, None, None, -1)
    return x


def _write_repeated(writer: _Writer, step: Expression, x: Register) -> Register:
    times, axis = step.options.get("repeats", step.operands[1:2]), _axis_of(step, 2)
    times = times[0] if isinstance(times, tuple) else times
    if axis is None or not isinstance(times, int):
        raise _no_program(step, "np.repeat without an axis, or unevenly")
    count = len(step.shape)
    return writer.emit("repeat", x, writer.number(times), axis % count - count)


def _write_triangle(comparison: str) -> Callable[[_Writer, Expression, Register], Register]:
    """The writer of `np.tril` or `np.triu`, which zero one side of a diagonal."""

    def write(writer: _Writer, step: Expression, x: Register) -> Register:
        k = step.options.get("k", step.operands[1] if len(step.operands) > 1 else 0)
        rows = writer.emit("arrange", writer.emit("count", writer.emit("length", x, -2)), [0, None])
        columns = writer.emit("count", writer.emit("length", x, -1))
        kept = writer.emit(comparison, columns, writer.emit("add", rows, writer.number(k)))
        return writer.emit("where", kept, x, writer.emit("number", 0))

    return write


_MOVERS: Mapping[str, Callable[[_Writer, Expression, Register], Register]] = {
    GET_ITEM: _write_index,
    SET_ITEM: _write_assigned,
    "reshape": _write_shape("reshape"),
    "broadcast_to": _write_shape("broadcast_to"),
    "swapaxes": _arranged(_exchanged),
    "matrix_transpose": _arranged(_exchanged),
    "transpose": _arranged(lambda _step, count, axes=None, **_: [at % count for at in axes or range(count)[::-1]]),
    "moveaxis": _arranged(_moved_axes),
    "squeeze": _arranged(_without),
    "expand_dims": _arranged(_with_new),
    "take": _write_taken,
    "take_along_axis": _write_taken_along,
    "flip": _write_flipped,
    "repeat": _write_repeated,
    "tril": _write_triangle("less_equal"),
    "triu": _write_triangle("greater_equal"),
}

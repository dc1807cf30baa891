"""NumPy code for a record, as a person would write it: with the function's variables, operators and methods."""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.ops.recording.arrays import REDUCTIONS, NotRecordedError
from attncli.ops.recording.expression import ARGUMENT, GET_ITEM, RUNNING_MAX, SCATTER, SET_ITEM, Expression, ordered
from attncli.ops.recording.record import Recording

MAX_CONSTANTS = 200  # numbers of an array that is written out
MAX_WHOLE = 10**6  # the largest number written without a point
MAX_LENGTH = 70  # of an inline expression
MAX_NAMED = 35  # of one that has a name
ATOM, CALL, POWER, SIGN, PRODUCT, SUM, AND, OR, COMPARED = range(9, 0, -1)
# The sign of an operator, and its precedence.
OPERATORS: Mapping[str, tuple[str, int]] = {
    "add": ("+", SUM), "subtract": ("-", SUM), "multiply": ("*", PRODUCT), "divide": ("/", PRODUCT),
    "matmul": ("@", PRODUCT), "remainder": ("%", PRODUCT), "floor_divide": ("//", PRODUCT), "power": ("**", POWER),
    "bitwise_and": ("&", AND), "bitwise_or": ("|", OR), "less": ("<", COMPARED), "less_equal": ("<=", COMPARED),
    "greater": (">", COMPARED), "greater_equal": (">=", COMPARED), "equal": ("==", COMPARED),
    "not_equal": ("!=", COMPARED),
}  # fmt: skip


def code_of(made: Recording, variables: Mapping[str, str], taken: Container[str] = ()) -> list[str]:
    r"""The lines of a record, the last being the value; `variables` names arrays and taps.

    Other variables are the function's, with an underscore if the name is `taken`. Raises NotRecordedError if an
    operation can't be written.

    >>> from attncli.ops.recording.record import record
    >>> def shares(x):
    ...     powers = np.exp(x)
    ...     return powers / powers.sum(axis=-1, keepdims=True)
    >>> print(*code_of(record(shares, {"x": np.array([1.0, 2.0])}, {}), {"x": "scores"}), sep="\n")
    powers = np.exp(scores)
    powers / powers.sum(axis=-1, keepdims=True)
    """
    return _Writer(made, variables, taken).lines()


class _Writer:
    """Writes the lines of a record."""

    def __init__(self, made: Recording, variables: Mapping[str, str], taken: Container[str]) -> None:
        self.result = made.result
        self.steps = ordered(made.result)
        self.variables = variables
        names = {**made.inner_names, **made.names}
        self._own_names = {step: name for step, name in names.items() if step is not made.result}
        self._taps = {step for name, step in made.taps.items() if name in variables}
        self._taken = taken
        self._uses = dict[Expression, int]()
        for step in self.steps:
            for source in step.sources:
                self._uses[source] = self._uses.get(source, 0) + 1
        self._texts = dict[Expression, tuple[str, int]]()
        self._used = set(variables.values())

    def lines(self) -> list[str]:
        """The lines, the value last."""
        lines = list[str]()
        for step in self.steps:
            if step.function == SET_ITEM:
                lines += self._assigned(step)
                continue
            text, binding = self._written(step)
            if self._has_line(step, text):
                name = self._variable(step)
                lines.append(f"{name} = {text}")
                text, binding = name, ATOM
            self._texts[step] = text, binding
        return _read([*lines, self._texts[self.result][0]])

    def _has_line(self, step: Expression, text: str) -> bool:
        """Whether a step has a variable: a tap, or a longer expression that is named or read twice."""
        if step is self.result or step.function == ARGUMENT or step.is_constant:
            return False
        if step in self._taps or len(text) > (MAX_NAMED if step in self._own_names else MAX_LENGTH):
            return True
        is_short = text.isidentifier() or (step.function in (GET_ITEM, "negative") and len(text) < MAX_LENGTH // 2)
        return self._uses.get(step, 0) > 1 and not is_short

    def is_inline(self, step: Expression) -> bool:
        """Whether a step is written inline."""
        return self._uses.get(step, 0) == 1 and step not in self._taps and not self._texts[step][0].isidentifier()

    def _variable(self, step: Expression) -> str:
        """A unique name for a step."""
        own, count = self._own_names.get(step, "part"), 1
        name = self.variables[own] if step in self._taps else own
        while step not in self._taps and (name in self._used or name in self._taken):
            count += 1
            name = f"{own}_{count}"
        self._used.add(name)
        return name

    def _assigned(self, step: Expression) -> list[str]:
        """The lines that replace some numbers of an array."""
        x, index, value = step.operands
        name = self._variable(step)
        is_zero = x.is_constant and not np.any(x.value)
        first = f"np.zeros({x.shape})" if is_zero else f"{self.text(x, CALL)} * 1"
        self._texts[step] = name, ATOM
        return [f"{name} = {first}", f"{name}[{self.index(index)}] = {self.text(value, 0)}"]

    def text(self, operand: Any, least: int = 0) -> str:
        """An operand, in brackets if it binds less tightly."""
        if not isinstance(operand, Expression):
            if isinstance(operand, list):
                return f"[{', '.join(self.text(part, 0) for part in operand)}]"
            if isinstance(operand, tuple):
                return f"({', '.join(self.text(part, 0) for part in operand)}{',' * (len(operand) == 1)})"
            return _array(operand) if np.ndim(operand) else repr(operand)
        text, binding = self._texts[operand]
        return f"({text})" if binding < least else text

    def _written(self, step: Expression) -> tuple[str, int]:
        """The text of a step, and its precedence."""
        if step.function == ARGUMENT and step.name in self.variables:
            return self.variables[step.name], ATOM
        if step.is_constant or (step.function == ARGUMENT and not step.shape):  # a number as given
            return _constant(step)
        if step.function in OPERATORS:
            return self._operator(step)
        written = WRITTEN.get(step.function)
        if written is not None:
            binding, write = written
            return write(self, step, *step.operands), binding
        return f"np.{step.function}({self.arguments(step, step.operands)})", CALL

    def arguments(self, step: Expression, operands: tuple[Any, ...]) -> str:
        """Operands and the options as arguments."""
        options = [f"{key}={value!r}" for key, value in step.options.items()]
        return ", ".join([*(self.text(part, 0) for part in operands), *options])

    def _operator(self, step: Expression) -> tuple[str, int]:
        """Two operands around a sign; a neutral number is left out."""
        sign, binding = OPERATORS[step.function]
        left, right = step.operands
        for kept, dropped, neutral in (
            (left, right, {"+": 0, "-": 0, "*": 1, "/": 1, "**": 1}),
            (right, left, {"+": 0, "*": 1}),
        ):
            changes_nothing = dropped.is_constant and np.ndim(dropped.value) == 0 and neutral.get(sign) == dropped.value
            if changes_nothing and np.asarray(kept.value).dtype.kind != "b":  # truths become numbers
                return self._texts[kept]
        value = right.value if right.is_constant and np.ndim(right.value) == 0 else 0
        if sign == "+" and value < 0:
            return f"{self.text(left, binding)} - {_constant(replace(right, value=-value))[0]}", binding
        closer = binding + 1
        if sign == "**":
            return f"{self.text(left, CALL)} ** {self.text(right, SIGN)}", POWER
        first = self.text(left, closer if binding == COMPARED else binding)
        return f"{first} {sign} {self.text(right, closer)}", binding

    def index(self, index: Any) -> str:
        """An index, for brackets."""
        if isinstance(index, tuple):
            parts = [part for at, part in enumerate(index) if not _is_whole(part) or not _is_beside_others(index, at)]
            return ", ".join(map(self.index, parts)) or "()"
        if index is Ellipsis:
            return "..."
        if isinstance(index, slice):
            parts = ["" if part is None else str(part) for part in (index.start, index.stop)]
            return ":".join(parts) + ("" if index.step is None else f":{index.step}")
        if isinstance(index, Expression):
            return self._texts[index][0]
        if np.ndim(index) == 1:
            return str(np.asarray(index).tolist())
        return str(index) if index is None or np.ndim(index) == 0 else _array(np.asarray(index))


def _read(lines: list[str]) -> list[str]:
    """The lines without assignments to unused variables."""
    kept = list[str]()
    for line in reversed(lines):
        name, sign, _ = line.partition(" = ")
        if not sign or not name.isidentifier() or any(name in _words(other) for other in kept):
            kept.append(line)
    return kept[::-1]


def _words(line: str) -> list[str]:
    """The names and the numbers in a line."""
    return "".join(sign if sign.isalnum() or sign == "_" else " " for sign in line).split()


def _clipped(writer: _Writer, step: Expression, left: Expression, right: Expression) -> str:
    """The larger or the smaller of two arrays, or of an array and a number."""
    if np.ndim(left.value) == 0 and left.is_constant:
        left, right = right, left
    if np.ndim(right.value) == 0 and right.is_constant:
        limit = writer.text(right)
        if step.function == "maximum":
            return f"{writer.text(left, CALL)}.clip({limit})"
        inner = left.operands if left.function == "maximum" and writer.is_inline(left) else ()
        if inner and inner[1].is_constant and np.ndim(inner[1].value) == 0:
            return f"{writer.text(inner[0], CALL)}.clip({writer.text(inner[1])}, {limit})"
        return f"{writer.text(left, CALL)}.clip(max={limit})"
    return f"np.{step.function}({writer.text(left)}, {writer.text(right)})"


def _reduced(writer: _Writer, step: Expression, x: Expression) -> str:
    """A sum, a mean, a maximum or a minimum along some axes; for all axes without `axis`."""
    axis, is_kept = step.options["axis"], step.options["keepdims"]
    arguments = [f"axis={axis[0] if len(axis) == 1 else axis}"] if len(axis) == 1 or len(axis) < len(x.shape) else []
    arguments += ["keepdims=True"] if is_kept else []
    return f"{writer.text(x, CALL)}.{step.function}({', '.join(arguments)})"


def _of_arrays(writer: _Writer, step: Expression, *operands: Expression) -> str:
    """A function that takes only arrays in PyTorch: a number becomes an array of one."""
    texts = (f"np.array({float(x.value)})" if x.is_constant and not x.shape else writer.text(x) for x in operands)
    return f"np.{step.function}({', '.join(texts)})"


def _transposed(writer: _Writer, x: Expression, axes: Any = None) -> str:
    """An array with its axes in another order; by default reversed."""
    if axes is None and len(x.shape) == 2:
        return f"{writer.text(x, CALL)}.T"
    order = tuple(axes) if axes is not None else tuple(reversed(range(len(x.shape))))
    return f"np.transpose({writer.text(x)}, {order})"


def _order(step: Expression) -> tuple[int, ...]:
    """The order of axes after `np.moveaxis`."""
    x, source, destination = step.operands
    numbers = np.moveaxis(np.empty(range(2, 2 + len(x.shape))), source, destination).shape
    return tuple(size - 2 for size in numbers)


def _index(writer: _Writer, x: Expression, index: Any) -> str:
    """An index, for brackets; a row becomes a column by `[:, None]`."""
    text = writer.index(index)
    return ":, None" if text == "..., None" and len(x.shape) == 1 else text


def _is_whole(part: Any) -> bool:
    """Whether an element of an index is a colon."""
    return isinstance(part, slice) and part == slice(None)


def _is_beside_others(index: tuple[Any, ...], at: int) -> bool:
    """Whether only colons are between a colon and the dots before it."""
    before = index[:at]
    return any(part is Ellipsis and all(map(_is_whole, before[to + 1 :])) for to, part in enumerate(before))


def _exchanged(writer: _Writer, _step: Expression, x: Expression, one: int, other: int) -> str:
    """Two axes exchanged; a matrix is transposed."""
    is_matrix = len(x.shape) == 2 and one % 2 != other % 2
    return f"{writer.text(x, CALL)}.{'T' if is_matrix else f'swapaxes({one}, {other})'}"


def _added(writer: _Writer, step: Expression, grad: Expression, *moved: Any) -> str:
    """The sums of a gradient by position: with comparisons of rows, as sums or as a product."""
    _, _, shape, (function, operands, options), *_ = (*moved, ("", (), ()))
    rows = None
    if function == "take_along_axis":
        index = operands[0]
        axis = dict(options).get("axis", operands[1] if len(operands) > 1 else 0)
        if axis % len(shape) == len(shape) - 1 and grad.shape[:-1] == tuple(shape[:-1]):
            return _sums_by_row(writer, grad, index, shape[-1], "-2")
    elif function == GET_ITEM:
        rows = _rows(writer, operands[0], shape)
    if rows is None:
        raise NotRecordedError("numbers that are moved unevenly have no code", where=step.line or None)
    text, count, before, after = rows
    if not before and not after:
        found = _sums_of_pairs(writer, grad, operands[0], shape)
        if found:
            return found
    leading, features = tuple(shape[:before]), tuple(shape[len(shape) - after :])
    size = int(np.prod(grad.shape[before : len(grad.shape) - after]))
    are_there = f"((np.arange({count})[:, None] == {text}) * 1.0)"
    flat = (*leading, size, *features)
    of_pairs = writer.text(grad, CALL) + (f".reshape({_listed(flat)})" if flat != grad.shape else "")
    if after:
        found, made = f"{are_there} @ {of_pairs}", (*leading, count, *features)
    else:
        found, made = f"{of_pairs} @ {are_there}.T", (*leading, count)
    return found if made == tuple(shape) else f"({found}).reshape({_listed(shape)})"


def _sums_by_row(writer: _Writer, grad: Expression, row: Any, count: int, axes: str) -> str:
    """The sums of a gradient over the numbers of the same row, along some axes."""
    if isinstance(row, Expression) and row.function == "broadcast_to" and row.operands[0].shape[-1:] == row.shape[-1:]:
        row = row.operands[0]
    are_there = f"({writer.text(row, CALL)}[..., None] == np.arange({count}))"
    return f"({writer.text(grad, CALL)}[..., None] * {are_there}).sum(axis={axes})"


def _sums_of_pairs(writer: _Writer, grad: Expression, index: Any, shape: Any) -> str:
    """The gradient of a table with a column for each head, after an index looked up a row for each pair."""
    row, column = index if isinstance(index, tuple) and len(index) == 2 else (None, None)
    columns = np.asarray(column) if not isinstance(column, Expression) else np.zeros(())
    own = [at - columns.ndim for at, size in enumerate(columns.shape) if size > 1]
    if row is None or len(own) > 1 or not np.array_equal(columns.ravel(), np.arange(shape[1])):
        return ""
    count = len(grad.shape)
    axes = [at - 1 for at in range(-count, 0) if at not in own]
    sums = _sums_by_row(writer, grad, row, shape[0], str(axes[0] if len(axes) == 1 else tuple(axes)))
    return f"{sums}.T" if own else f"{sums}.reshape({_listed(shape)})"


def _rows(writer: _Writer, index: Any, shape: tuple[int, ...]) -> tuple[str, int, int, int] | None:
    """The flat positions that an index by arrays looks up, over the axes that it indexes by arrays.

    Then the number of positions on these axes, and the numbers of axes before and after them; None for other indices.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    if any(part is None for part in parts):
        return None
    missing = [slice(None)] * (len(shape) - len([part for part in parts if part is not Ellipsis]))
    first = next((place for place, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts[first : first + 1] = missing
    arrays = [place for place, part in enumerate(parts) if not isinstance(part, slice)]
    is_joined = bool(arrays) and arrays == list(range(arrays[0], arrays[-1] + 1))
    if not is_joined or any(isinstance(part, slice) and part != slice(None) for part in parts):
        return None
    before, after = arrays[0], len(shape) - arrays[-1] - 1
    if after > 1:
        return None
    text, lengths = "", [np.shape(_value(parts[place])) for place in arrays]
    for place in arrays:
        if shape[place] == 1:
            continue
        own = writer.text(parts[place], CALL)
        text = f"{text} * {shape[place]} + {own}" if text else own
    whole = np.broadcast_shapes(*lengths)
    if len(whole) != 1 or not text:
        text = f"({text}).reshape(-1)" if not text.isidentifier() else f"{text}.reshape(-1)"
    return text, int(np.prod([shape[place] for place in arrays])), before, after


def _value(operand: Any) -> Any:
    return operand.value if isinstance(operand, Expression) else operand


def _reshaped(writer: _Writer, step: Expression, x: Expression, _shape: Any) -> str:
    """The same numbers in another shape; an inner reshape without another use is skipped."""
    while x.function == "reshape" and writer.is_inline(x):
        x = x.operands[0]
    text = writer.text(x, CALL)
    return text if x.shape == step.shape else f"{text}.reshape({_listed(step.shape)})"


def _squeezed(writer: _Writer, step: Expression, x: Expression) -> str:
    """Without some axes of length 1."""
    axes = np.atleast_1d(step.options["axis"]).tolist()
    return f"{writer.text(x, CALL)}.squeeze({axes[0] if len(axes) == 1 else tuple(axes)})"


_TYPES = {"b": "bool", "f": "float", "i": "int", "u": "int"}
# The writers of functions that are neither operators nor `np.NAME(…)`, with the precedence.
WRITTEN: Mapping[str, tuple[int, Callable[..., str]]] = {
    "negative": (SIGN, lambda writer, _step, x: f"-{writer.text(x, SIGN)}"),
    "invert": (SIGN, lambda writer, _step, x: f"~{writer.text(x, SIGN)}"),
    "square": (POWER, lambda writer, _step, x: f"{writer.text(x, CALL)} ** 2"),
    "reciprocal": (PRODUCT, lambda writer, _step, x: f"1 / {writer.text(x, SIGN)}"),
    "absolute": (CALL, lambda writer, _step, x: f"abs({writer.text(x)})"),
    "astype": (CALL, lambda writer, _step, x, kind: f"{writer.text(x, CALL)}.astype({_TYPES[kind.kind]})"),
    "maximum": (CALL, _clipped),
    "minimum": (CALL, _clipped),
    **dict.fromkeys(REDUCTIONS, (CALL, _reduced)),
    GET_ITEM: (CALL, lambda writer, _step, x, index: f"{writer.text(x, CALL)}[{_index(writer, x, index)}]"),
    SCATTER: (PRODUCT, _added),
    RUNNING_MAX: (
        CALL,
        lambda writer, step, x: f"np.maximum.accumulate({writer.text(x)}, axis={step.options['axis']})",
    ),
    "reshape": (CALL, _reshaped),
    "repeat": (CALL, lambda writer, step, x, *count: f"{writer.text(x, CALL)}.repeat({writer.arguments(step, count)})"),
    "swapaxes": (CALL, _exchanged),
    "squeeze": (CALL, _squeezed),
    "transpose": (CALL, lambda writer, _step, x, *axes: _transposed(writer, x, *axes)),
    "moveaxis": (CALL, lambda writer, step, x, *_axes: _transposed(writer, x, _order(step))),
    "logaddexp": (CALL, _of_arrays),
    "hypot": (CALL, _of_arrays),
    "expand_dims": (CALL, lambda writer, step, x, *_axis: f"{writer.text(x, CALL)}[{_new_axes(step)}]"),
}


def _listed(numbers: Any) -> str:
    """Lengths or axes, as arguments."""
    return ", ".join(map(str, np.atleast_1d(numbers).tolist())) or "()"


def _constant(step: Expression) -> tuple[str, int]:
    """A number, or an array written out."""
    value = step.value
    if np.ndim(value) == 0:
        is_real = np.asarray(value).dtype.kind == "f"
        is_short = is_real and abs(value) < MAX_WHOLE and float(value).is_integer()  # `np.sqrt(4)`
        number = float(value) if is_real and not is_short else int(value)
        text = repr(number)
        if text.lstrip("-") in ("inf", "nan"):
            text = text.replace("inf", "np.inf").replace("nan", "np.nan")
        return text, SIGN if text.startswith("-") else ATOM
    if not np.any(value):
        return f"np.zeros({value.shape})", CALL
    return _array(np.asarray(value)), CALL


def _array(value: Any) -> str:
    """An array of few numbers, written out."""
    numbers = value.ravel()
    is_row = value.dtype.kind in "iu" and value.size == max(value.shape, default=0) > 1
    if is_row and (np.diff(numbers) == 1).all():
        counted = f"np.arange({numbers[0]}, {numbers[-1] + 1})" if numbers[0] else f"np.arange({numbers.size})"
        axes = ", ".join(":" if size > 1 else "None" for size in value.shape)
        return counted if value.ndim == 1 else f"{counted}[{axes}]"
    if value.size > MAX_CONSTANTS:
        raise NotRecordedError(f"an array of {value.size} numbers that is not an argument can't be written as code")
    return f"np.array({value.tolist()})".replace("inf", "np.inf").replace("nan", "np.nan")


def _new_axes(step: Expression) -> str:
    """An index that adds axes of length 1."""
    axis = step.options.get("axis", step.operands[1] if len(step.operands) > 1 else 0)
    axes = {at % len(step.shape) for at in np.atleast_1d(axis).tolist()}
    last = max(axes)
    kept = ["None" if at in axes else ":" for at in range(last + 1)]
    if last == len(step.shape) - 1:
        first = min(axes)
        return ", ".join(["..."] * (first > 0) + kept[first:])
    return ", ".join(kept)

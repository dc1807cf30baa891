"""NumPy's code of a record, as a person would write it: variables where the function has them, operators, methods."""

from collections.abc import Callable, Container, Mapping
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.ops.recording.arrays import REDUCTIONS, NotRecordedError
from attncli.ops.recording.expression import ARGUMENT, GET_ITEM, RUNNING_MAX, SCATTER, SET_ITEM, Expression, ordered
from attncli.ops.recording.record import Recording

MAX_CONSTANTS = 200  # numbers of an array that is written out
MAX_WHOLE = 10**6  # that is written without its point
MAX_LENGTH = 70  # of what is written within a line
ATOM, CALL, POWER, SIGN, PRODUCT, SUM, AND, OR, COMPARED = range(9, 0, -1)
# How an operator is written, and how closely it binds.
OPERATORS: Mapping[str, tuple[str, int]] = {
    "add": ("+", SUM), "subtract": ("-", SUM), "multiply": ("*", PRODUCT), "divide": ("/", PRODUCT),
    "matmul": ("@", PRODUCT), "remainder": ("%", PRODUCT), "floor_divide": ("//", PRODUCT), "power": ("**", POWER),
    "bitwise_and": ("&", AND), "bitwise_or": ("|", OR), "less": ("<", COMPARED), "less_equal": ("<=", COMPARED),
    "greater": (">", COMPARED), "greater_equal": (">=", COMPARED), "equal": ("==", COMPARED),
    "not_equal": ("!=", COMPARED),
}  # fmt: skip


def code_of(made: Recording, variables: Mapping[str, str], taken: Container[str] = ()) -> list[str]:
    r"""The lines of a record, of which the last is the value; arguments and taps are called as in `variables`.

    Other variables are those of the function, with an underscore where a name is `taken`. Raises NotRecordedError where
    something can't be written.

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
        self._own_names = {step: name for step, name in made.names.items() if step is not made.result}
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
        return [*lines, self._texts[self.result][0]]

    def _has_line(self, step: Expression, text: str) -> bool:
        """Whether a step has a variable: what passes through a tap, and what is named or read twice and not short."""
        if step is self.result or step.function == ARGUMENT or step.is_constant:
            return False
        if step in self._taps or len(text) > MAX_LENGTH:
            return True
        is_short = text.isidentifier() or (step.function in (GET_ITEM, "negative") and len(text) < MAX_LENGTH // 2)
        return self._uses.get(step, 0) > 1 and not is_short

    def _variable(self, step: Expression) -> str:
        """A name for a step that nothing else has."""
        own, count = self._own_names.get(step, "part"), 1
        name = self.variables[own] if step in self._taps else own
        while step not in self._taps and (name in self._used or name in self._taken):
            count += 1
            name = f"{own}_{count}"
        self._used.add(name)
        return name

    def _assigned(self, step: Expression) -> list[str]:
        """The lines of an array in which some numbers are others."""
        x, index, value = step.operands
        name = self._variable(step)
        is_zero = x.is_constant and not np.any(x.value)
        first = f"np.zeros({x.shape})" if is_zero else f"{self.text(x, CALL)} * 1"
        self._texts[step] = name, ATOM
        return [f"{name} = {first}", f"{name}[{self.index(index)}] = {self.text(value, 0)}"]

    def text(self, operand: Any, least: int = 0) -> str:
        """An operand, in brackets where it is bound less closely."""
        if not isinstance(operand, Expression):
            if isinstance(operand, list):
                return f"[{', '.join(self.text(part, 0) for part in operand)}]"
            if isinstance(operand, tuple):
                return f"({', '.join(self.text(part, 0) for part in operand)},)"
            return _array(operand) if np.ndim(operand) else repr(operand)
        text, binding = self._texts[operand]
        return f"({text})" if binding < least else text

    def _written(self, step: Expression) -> tuple[str, int]:
        """The text of a step, and how closely it binds."""
        if step.function == ARGUMENT and step.name in self.variables:
            return self.variables[step.name], ATOM
        if step.is_constant or (step.function == ARGUMENT and not step.shape):  # a number, as it is given
            return _constant(step)
        if step.function in OPERATORS:
            return self._operator(step)
        written = WRITTEN.get(step.function)
        if written is not None:
            binding, write = written
            return write(self, step, *step.operands), binding
        arguments = [self.text(part, 0) for part in step.operands]
        arguments += [f"{key}={value!r}" for key, value in step.options.items()]
        return f"np.{step.function}({', '.join(arguments)})", CALL

    def _operator(self, step: Expression) -> tuple[str, int]:
        """Two operands around a sign; a number that changes nothing is left out."""
        sign, binding = OPERATORS[step.function]
        left, right = step.operands
        for kept, dropped, neutral in (
            (left, right, {"+": 0, "-": 0, "*": 1, "/": 1, "**": 1}),
            (right, left, {"+": 0, "*": 1}),
        ):
            if dropped.is_constant and np.ndim(dropped.value) == 0 and neutral.get(sign) == dropped.value:
                return self._texts[kept]
        closer = binding + 1
        if sign == "**":
            return f"{self.text(left, CALL)} ** {self.text(right, SIGN)}", POWER
        first = self.text(left, closer if binding == COMPARED else binding)
        return f"{first} {sign} {self.text(right, closer)}", binding

    def index(self, index: Any) -> str:
        """An index as it is written in brackets."""
        if isinstance(index, tuple):
            return ", ".join(map(self.index, index)) or "()"
        if index is Ellipsis:
            return "..."
        if isinstance(index, slice):
            parts = ["" if part is None else str(part) for part in (index.start, index.stop)]
            return ":".join(parts) + ("" if index.step is None else f":{index.step}")
        if isinstance(index, Expression):
            return self._texts[index][0]
        return str(index) if index is None or np.ndim(index) == 0 else _array(np.asarray(index))


def _clipped(writer: _Writer, step: Expression, left: Expression, right: Expression) -> str:
    """The larger or the smaller of two arrays, or of an array and a number."""
    if np.ndim(left.value) == 0 and left.is_constant:
        left, right = right, left
    if np.ndim(right.value) == 0 and right.is_constant:
        limit = "" if step.function == "maximum" else "max="
        return f"{writer.text(left, CALL)}.clip({limit}{writer.text(right)})"
    return f"np.{step.function}({writer.text(left)}, {writer.text(right)})"


def _reduced(writer: _Writer, step: Expression, x: Expression) -> str:
    """A sum, a mean, the largest or the smallest along some axes; of all axes without naming them."""
    axis, is_kept = step.options["axis"], step.options["keepdims"]
    arguments = [f"axis={axis[0] if len(axis) == 1 else axis}"] if len(axis) == 1 or len(axis) < len(x.shape) else []
    arguments += ["keepdims=True"] if is_kept else []
    return f"{writer.text(x, CALL)}.{step.function}({', '.join(arguments)})"


def _uneven(_writer: _Writer, step: Expression, *_operands: Any) -> str:
    raise NotRecordedError("numbers that are moved unevenly have no code", where=step.line or None)


_TYPES = {"b": "bool", "f": "float", "i": "int", "u": "int"}
# How the functions are written that are neither operators nor `np.NAME(…)`, and how closely that binds.
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
    GET_ITEM: (CALL, lambda writer, _step, x, index: f"{writer.text(x, CALL)}[{writer.index(index)}]"),
    SCATTER: (CALL, _uneven),
    RUNNING_MAX: (
        CALL,
        lambda writer, step, x: f"np.maximum.accumulate({writer.text(x)}, axis={step.options['axis']})",
    ),
    "reshape": (CALL, lambda writer, step, x, _shape: f"{writer.text(x, CALL)}.reshape({_listed(step.shape)})"),
    "swapaxes": (CALL, lambda writer, step, x, *axes: f"{writer.text(x, CALL)}{_swapped(step, axes)}"),
    "squeeze": (CALL, lambda writer, step, x: f"{writer.text(x, CALL)}.squeeze({_listed(step.options['axis'])})"),
    "expand_dims": (CALL, lambda writer, step, x, *_axis: f"{writer.text(x, CALL)}[{_new_axes(step)}]"),
}


def _swapped(step: Expression, axes: tuple[int, int]) -> str:
    """How axes are swapped: those of a matrix by `.T`."""
    return ".T" if len(step.shape) == 2 and axes == (-1, -2) else f".swapaxes({axes[0]}, {axes[1]})"


def _listed(numbers: Any) -> str:
    """Lengths or axes, as arguments."""
    return ", ".join(map(str, np.atleast_1d(numbers).tolist()))


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
    if value.size > MAX_CONSTANTS:
        raise NotRecordedError(f"an array of {value.size} numbers that is not given can't be written as code")
    return f"np.array({value.tolist()})".replace("inf", "np.inf").replace("nan", "np.nan")


def _new_axes(step: Expression) -> str:
    """The index that adds axes of length 1."""
    axis = step.options.get("axis", step.operands[1] if len(step.operands) > 1 else 0)
    axes = {at % len(step.shape) for at in np.atleast_1d(axis).tolist()}
    last = max(axes)
    kept = ["None" if at in axes else ":" for at in range(last + 1)]
    if last == len(step.shape) - 1:
        first = min(axes)
        return ", ".join(["..."] * (first > 0) + kept[first:])
    return ", ".join(kept)

"""Arrays that record the NumPy functions called with them: each is an expression with its value."""

import linecache
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from numpy import __file__ as numpy_file
from numpy.lib.mixins import NDArrayOperatorsMixin

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.recording.expression import (
    ARGUMENT,
    GET_ITEM,
    MOVES,
    RUNNING_MAX,
    SET_ITEM,
    Expression,
    called,
    constant,
    ordered,
)
from attncli.ops.recording.lengths import Length, filled_constant, is_general, length_constant, lengths_of

# The elementwise functions that are recorded as such; the second set has no slope.
ELEMENTWISE = frozenset({
    "negative", "absolute", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "square",
    "reciprocal", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "add",
    "subtract", "multiply", "divide", "power", "maximum", "minimum", "logaddexp", "hypot", "remainder",
    "where",
})  # fmt: skip
STEPWISE = frozenset({
    "sign", "floor", "ceil", "rint", "trunc", "floor_divide", "less", "less_equal", "greater", "greater_equal",
    "equal", "not_equal", "isnan", "isinf", "isfinite", "signbit", "logical_and", "logical_or", "logical_not",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "invert",
})  # fmt: skip
REDUCTIONS = frozenset({"sum", "mean", "max", "min", "any", "all"})
INDICES = frozenset({"argmax", "argmin", "argsort", "searchsorted", "count_nonzero", "round"})  # they have no slope
# The operands that are numbers, if not all are: others are axes, a type, or decimals.
NUMBERS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys((*INDICES, "cumsum", RUNNING_MAX, "astype"), (0,)),
    "searchsorted": (0, 1),
}
# The same functions under other names.
SYNONYMS: Mapping[str, str] = {
    "amax": "max", "amin": "min", "true_divide": "divide", "float_power": "power", "fabs": "absolute",
    "fmax": "maximum", "fmin": "minimum", "mod": "remainder", "positive": "copy", "conjugate": "copy",
    "concat": "concatenate", "permute_dims": "transpose", "around": "round",
}  # fmt: skip
REDUCED: Mapping[str, str] = {
    "add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
# The array methods that equal a NumPy function of the array.
METHODS = frozenset({
    "sum", "mean", "var", "std", "max", "min", "prod", "any", "all", "argmax", "argmin", "argsort", "cumsum",
    "clip", "swapaxes", "squeeze", "repeat", "take", "dot", "ravel", "diagonal", "trace", "copy", "round",
    "searchsorted",
})  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # `string` takes 5 ms to import
_PLAIN = frozenset({"shape", "ndim", "size", "result_type", "iscomplexobj", "isrealobj", "can_cast"})  # no numbers read
SAME = 1e-13  # relative difference that rounding explains
_FOLDERS = tuple(str(Path(file).parent) for file in (__file__, numpy_file))


class NotRecordedError(AttnError):
    """A function does something that a record can't follow; `where` is the line."""


class Recorded(NDArrayOperatorsMixin):
    """A recorded array: NumPy functions of it return recorded arrays, and no number leaves it.

    `branches` has the lines of the recorded function that branch on numbers.

    >>> from attncli.ops.recording.expression import argument
    >>> doubled = 2 * Recorded(argument("x", np.array([1.0, 3.0])), [])
    >>> doubled.expression.function, doubled.expression.value
    ('multiply', array([2., 6.]))
    """

    def __init__(self, expression: Expression, branches: list[str]) -> None:
        self.expression = expression
        self.branches = branches
        self._viewed: tuple[Recorded, Any] | None = None  # the array that it is a view of, and the index

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out, where = options.pop("out", (None,))[0], options.pop("where", True)
        options = {name: value for name, value in options.items() if name not in ("dtype", "casting")}
        name = SYNONYMS.get(ufunc.__name__, ufunc.__name__)
        if name in ("equal", "not_equal") and any(isinstance(x, Recorded) and x.is_number for x in inputs):
            return name == "not_equal"  # a numeric argument may be any number
        if method == "reduce" and name in REDUCED:
            found = getattr(np, REDUCED[name])(*inputs, **{"axis": 0, **options})
        elif method == "reduce" and name == "logaddexp":
            found = _log_sum_exp(*inputs, **options)
        elif method == "accumulate" and name in ("add", "maximum"):
            found = (
                np.cumsum(*inputs, **options)
                if name == "add"
                else self._made(RUNNING_MAX, *inputs, **{"axis": 0, **options})
            )
        elif method == "outer":
            left, right = inputs
            found = ufunc(np.reshape(left, (*np.shape(left), *(1,) * np.ndim(right))), right)
        elif method != "__call__" or options:
            raise _not_recorded(
                f"{ufunc.__name__}.{method}" if method != "__call__" else f"{ufunc.__name__} with options"
            )
        elif name in _UFUNCS:
            found = _UFUNCS[name](*inputs)
        elif name == "matmul" or name in ELEMENTWISE or name in STEPWISE:
            found = self._made(name, *inputs)
        else:
            raise _not_recorded(f"np.{name}")
        if out is None:
            return found
        if not isinstance(out, Recorded):
            raise _not_recorded("writing into an array that depends on no argument")
        out._become(found if where is True else np.where(where, found, out))
        return out

    def __array_function__(self, function: Any, _types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        name = SYNONYMS.get(function.__name__, function.__name__)
        if function.__module__ == "numpy.linalg":
            name = f"linalg_{name}"
        if name == "result_type":
            return np.result_type(*(x.expression.value if isinstance(x, Recorded) else x for x in args))
        if name in ("shape", "size") and not (args[1:] or options):
            return getattr(args[0], name)
        if name in _PLAIN:
            return getattr(np, name)(args[0].expression.value, *args[1:], **options)
        options = {key: value for key, value in options.items() if value is not None and key != "dtype"}
        written = COMPOSED.get(name)
        if written is not None:
            return written(*args, **options)
        out = options.pop("out", None)
        if name in REDUCTIONS:
            found = self._reduced(name, *args, **options)
        elif name in INDICES or name in MOVES or name == "cumsum":
            found = self._made(name, *args, **options)
        elif name == "where" and len(args) == 3:
            found = self._made(name, *args)
        else:
            raise _not_recorded(f"np.{name}")
        if out is None:
            return found
        out._become(found)
        return out

    def _made(self, function: str, *operands: Any, **options: Any) -> "Recorded":
        """The recorded result of a function."""
        numbers = MOVES.get(function) or NUMBERS.get(function) or range(len(operands))
        if function not in MOVES:
            operands = tuple(_as_array(x) if at in numbers else x for at, x in enumerate(operands))
        made = tuple(_operand(x, are_numbers=at in numbers) for at, x in enumerate(operands))
        if function == "swapaxes" and (before := made[0]).function == function and before.operands[1:] == made[1:]:
            return Recorded(before.operands[0], self.branches)  # back again
        asked = (x.branches for x in operands if isinstance(x, Recorded) and x.branches is not OF_LENGTHS)
        return Recorded(called(function, made, options, line_outside()), next(asked, self.branches))

    def _reduced(self, function: str, x: Any, axis: Any = None, *, keepdims: bool = False, **options: Any) -> Any:
        """The recorded result of a reduction, its axes counted from the last, from −1."""
        where, initial = options.pop("where", True), options.pop("initial", None)
        if options:
            raise _not_recorded(f"np.{function} with {', '.join(options)}")
        if where is not True:
            x = np.where(where, x, {"sum": 0, "any": False, "all": True}.get(function, initial))
        count = x.ndim
        axes = tuple(range(count)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        found: Any = x._made(function, x, axis=tuple(at % count - count for at in axes), keepdims=keepdims)
        if initial is not None and function in ("max", "min"):
            found = {"max": np.maximum, "min": np.minimum}[function](found, initial)
        return found + initial if initial is not None and function == "sum" else found

    def _become(self, other: Any) -> None:
        """Take the values written into it, and write them into the array that it is a view of.

        Raises NotRecordedError if that array is unknown.
        """
        if self._viewed is None and self.expression.function in MOVES and self.value.base is not None:
            raise _not_recorded(f"writing into what np.{self.expression.function} returns")
        made: Any = other if isinstance(other, Recorded) else Recorded(constant(other), self.branches)
        if made.shape != self.shape:
            made = np.broadcast_to(made, self.shape)
        self.expression = made.expression
        if self._viewed is not None:
            array, index = self._viewed
            array[index] = made

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return lambda *args, **options: getattr(np, name)(self, *args, **options)
        if name.startswith("__"):
            raise AttributeError(name)
        raise _not_recorded(f"the attribute .{name} of an array")

    @property
    def value(self) -> Any:
        """The numbers."""
        return self.expression.value

    @property
    def is_number(self) -> bool:
        """Whether it is an argument that is a number, not an array."""
        return self.expression.function == ARGUMENT and not self.shape

    @property
    def _is_known(self) -> bool:
        """Whether it depends on lengths only."""
        return is_general() and not any(step.function == ARGUMENT for step in ordered(self.expression))

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return lengths_of(self.expression)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> "RecordedType":
        """The type of its numbers."""
        return RecordedType(np.asarray(self.value).dtype, self.branches)

    @property
    def T(self) -> "Recorded":  # noqa: N802 - NumPy's name
        """The axes in the opposite order."""
        return self._made("transpose", self)

    @property
    def mT(self) -> "Recorded":  # noqa: N802 - NumPy's name
        """The matrices transposed."""
        return self._made("swapaxes", self, -1, -2)

    def with_value(self, value: Any) -> "Recorded":
        """The same record with a more exact value; itself if that is as good."""
        if np.allclose(value, self.value, rtol=SAME, atol=0):
            return self
        return Recorded(replace(self.expression, value=value), self.branches)

    def with_name(self, name: str) -> "Recorded":
        """The same array with a name; an argument keeps its own."""
        is_argument = self.expression.function == ARGUMENT
        return self if is_argument else Recorded(replace(self.expression, label=name), self.branches)

    def reshape(self, *shape: Any, **options: Any) -> "Recorded":
        """The same numbers in another shape."""
        return self._made("reshape", self, shape[0] if len(shape) == 1 else shape, **options)

    def transpose(self, *axes: Any) -> "Recorded":
        """The axes in another order."""
        return self._made("transpose", self, *([axes[0] if len(axes) == 1 else axes] if axes else []))

    def flatten(self) -> "Recorded":
        """The numbers in one row."""
        return self._made("reshape", self, (-1,))

    def astype(self, dtype: Any, **_: Any) -> "Recorded":
        """The numbers in another type."""
        kind = np.dtype(dtype)
        return self if kind == self.value.dtype else self._made("astype", self, kind)

    def __getitem__(self, index: Any) -> "Recorded":
        found = self._made(GET_ITEM, self, index)
        if np.may_share_memory(found.value, self.value):
            found._viewed = self, index
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        self._become(self._made(SET_ITEM, self, index, value))

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator["Recorded"]:
        return (self[at] for at in range(len(self)))

    def __bool__(self) -> bool:
        if self.is_number:
            return True
        if self._is_known:
            return bool(self.value)
        self.branches.append(line_outside())
        return bool(self.value)

    def __index__(self) -> int:
        self.branches.append(line_outside())
        return int(self.value.__index__())

    def __float__(self) -> float:
        if self._is_known:
            return float(self.value)
        raise _not_recorded("taking a number out of its array")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if self._is_known:
            return np.asarray(self.value, dtype)
        raise _not_recorded("copying numbers out of an array, as np.asarray and np.vectorize do,")

    def __repr__(self) -> str:
        return repr(self.value)


OF_LENGTHS: list[str] = []  # the branches of numbers that depend on lengths only: always empty
Length.recorded = lambda expression: Recorded(expression, OF_LENGTHS)


class RecordedType:
    """The type of a recorded array: its `type` makes recorded numbers, which keep the origin of a length."""

    def __init__(self, dtype: Any, branches: list[str]) -> None:
        self.dtype = dtype
        self.branches = branches

    def type(self, value: Any) -> Any:
        """A number of this type."""
        if isinstance(value, Length):
            return Recorded(length_constant(value), self.branches)
        return value if isinstance(value, Recorded) else Recorded(constant(self.dtype.type(value)), self.branches)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dtype, name)

    def __eq__(self, other: object) -> bool:
        return bool(self.dtype == getattr(other, "dtype", other))

    def __hash__(self) -> int:
        return hash(self.dtype)


def _operand(x: Any, *, are_numbers: bool) -> Any:
    """An operand of a call: the expression of an array, or an index that may contain expressions."""
    if isinstance(x, Recorded):
        return x.expression
    if isinstance(x, (list, tuple)):
        return type(x)([_operand(part, are_numbers=are_numbers) for part in x])
    if not are_numbers:
        return x
    return length_constant(x) if isinstance(x, Length) else constant(x)


def _as_array(x: Any) -> Any:
    """A list as an array."""
    if not isinstance(x, (list, tuple)):
        return x
    return np.stack(x) if any(isinstance(part, Recorded) for part in x) else np.asarray(x)


def line_outside() -> str:
    """The line being recorded, as `line 5: return float(x)`; empty if the source is unknown."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(_FOLDERS) or frame.f_code.co_filename[0] == "<"):
        frame = frame.f_back
    return "" if frame is None else _line(frame.f_code.co_filename, frame.f_lineno)


def line_of(error: Exception, function: Callable[..., Any]) -> str:
    """The line of a function's file that raised an error."""
    code, line, traceback = getattr(function, "__code__", None), "", error.__traceback__
    while traceback is not None:
        if code is not None and traceback.tb_frame.f_code.co_filename == code.co_filename:
            line = _line(code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def _line(file: str, number: int) -> str:
    """The name of a line of a file."""
    source = linecache.getline(file, number).strip()
    return f"line {number}: {source}" if source else ""


def _not_recorded(what: str, hint: str = "") -> NotRecordedError:
    """The error for an operation that can't be recorded."""
    return NotRecordedError(f"{what} can't be followed", where=line_outside() or None, hint=hint or None)


def _einsum(subscripts: str, *operands: Any, **_: Any) -> Recorded:
    """`np.einsum` with a letter for every axis, also for those that `...` and a missing `->` leave out."""
    inputs, arrow, result = subscripts.replace(" ", "").partition("->")
    terms, free = inputs.split(","), [x for x in LETTERS if x not in subscripts]
    pairs = zip(terms, operands, strict=True)
    hidden = [np.ndim(x) - len(term.replace("...", "")) if "..." in term else 0 for term, x in pairs]
    leading = "".join(free[: max(hidden)])
    terms = [term.replace("...", leading[len(leading) - count :]) for term, count in zip(terms, hidden, strict=True)]
    if not arrow:
        every = "".join(terms)
        result = "..." * ("..." in inputs) + "".join(sorted({x for x in every if every.count(x) == 1} - {*leading}))
    first = next(x for x in operands if isinstance(x, Recorded))
    made = tuple(_operand(x, are_numbers=True) for x in operands)
    text = f"{','.join(terms)}->{result.replace('...', leading)}"
    return Recorded(called("einsum", (text, *made), {}, line_outside()), first.branches)


def _norm(x: Recorded, ord: Any = None, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.linalg.norm` of vectors."""
    if ord in (None, 2, "fro") and (axis is not None or ord is None or x.ndim == 1):
        return np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims))
    if axis is None and x.ndim > 1:
        raise _not_recorded(f"np.linalg.norm of matrices with ord={ord!r}")
    sizes = abs(x)
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(sizes, axis=axis, keepdims=keepdims)
    return (
        np.sum(sizes, axis=axis, keepdims=keepdims)
        if ord == 1
        else np.sum(sizes**ord, axis=axis, keepdims=keepdims) ** (1 / ord)
    )


def _variance(x: Recorded, axis: Any = None, *, ddof: float = 0, correction: float = 0, keepdims: bool = False) -> Any:
    """`np.var`: the mean of the squared differences from the mean."""
    squares = np.square(x - np.mean(x, axis=axis, keepdims=True))
    mean = np.mean(squares, axis=axis, keepdims=keepdims)
    if not (ddof or correction):
        return mean
    count = squares.size // max(int(np.size(mean.value)), 1)
    return mean * (count / (count - (ddof or correction)))


def _dot(left: Any, right: Any) -> Any:
    """`np.dot`: `@` for arrays of at most two axes."""
    if np.ndim(left) == 0 or np.ndim(right) == 0:
        return left * right
    if max(np.ndim(left), np.ndim(right)) > 2:
        raise _not_recorded("np.dot of more than two axes", "write @")
    return left @ right


def _inner(left: Any, right: Any) -> Any:
    """`np.inner`: sums over the last axes."""
    if np.ndim(right) < 2:
        return left @ right
    return _dot(left, np.swapaxes(right, -1, -2))


def _sorted(x: Any, axis: int = -1, **_: Any) -> Any:
    """`np.sort`, by the order of the numbers."""
    return np.take_along_axis(x, np.argsort(x, axis=axis), axis=axis)


def _log_sum_exp(x: Recorded, axis: int = 0, *, keepdims: bool = False) -> Any:
    """`np.logaddexp.reduce`, without overflow."""
    largest = np.max(x, axis=axis, keepdims=True)
    found = np.log(np.sum(np.exp(x - largest), axis=axis, keepdims=True)) + largest
    return found if keepdims else np.squeeze(found, axis=axis)


def _product(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.prod` along one axis, factor by factor."""
    factors = np.moveaxis(np.ravel(x) if axis is None else x, 0 if axis is None else axis, 0)
    total = factors[0]
    for factor in factors[1:]:
        total = total * factor
    return np.expand_dims(total, tuple(range(x.ndim)) if axis is None else axis) if keepdims else total


def _median(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.median`: the middle of the sorted numbers, or the mean of the two."""
    rows = _sorted(np.moveaxis(np.ravel(x) if axis is None else x, 0 if axis is None else axis, -1))
    count = rows.shape[-1]
    middle = np.mean(rows[..., (count - 1) // 2 : count // 2 + 1], axis=-1)
    return np.expand_dims(middle, tuple(range(x.ndim)) if axis is None else axis) if keepdims else middle


def _split(x: Recorded, sections: Any, axis: int = 0) -> list[Any]:
    """`np.split`."""
    places = np.split(np.arange(x.shape[axis]), sections)
    return [np.take(x, part, axis=axis) for part in places]


def _selected(conditions: Any, choices: Any, default: Any = 0) -> Any:
    """`np.select`: for each number the choice of the first true condition."""
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        default = np.where(condition, choice, default)
    return default


def _filled(fill: Any) -> Callable[..., Recorded]:
    """The function that makes a new, writable array of another's shape."""

    def make(x: Recorded, value: Any = None, **_: Any) -> Recorded:
        made = np.full(x.shape, fill if value is None else value, x.value.dtype if value is None else None)
        return Recorded(filled_constant(made, x.expression), x.branches)

    return make


def _copy_to(out: Any, x: Any, where: Any = True, **_: Any) -> None:
    """`np.copyto` a recorded array."""
    if not isinstance(out, Recorded):
        raise _not_recorded("writing into an array that depends on no argument", "begin with np.zeros_like")
    out._become(x if where is True else np.where(where, x, out))


def _finite(x: Any, *, nan: float = 0.0, posinf: Any = None, neginf: Any = None, **_: Any) -> Any:
    """`np.nan_to_num`."""
    limits = np.finfo(x.value.dtype)
    x = np.where(np.isnan(x), nan, x)
    x = np.where(x == np.inf, limits.max if posinf is None else posinf, x)
    return np.where(x == -np.inf, limits.min if neginf is None else neginf, x)


# NumPy functions that are written with others.
_UFUNCS: Mapping[str, Callable[..., Any]] = {
    "copy": lambda x: x,
    "vecdot": lambda x, y: (x * y).sum(axis=-1),
    "divmod": lambda x, y: (np.floor_divide(x, y), np.remainder(x, y)),
}
COMPOSED: Mapping[str, Callable[..., Any]] = {
    "zeros_like": _filled(0),
    "empty_like": _filled(0),
    "ones_like": _filled(1),
    "full_like": _filled(0),
    "copyto": _copy_to,
    "copy": lambda x, **_: x + 0,
    "clip": lambda x, low=None, high=None, **ends: _clipped(x, ends.get("min", low), ends.get("max", high)),
    "var": _variance,
    "std": lambda x, axis=None, **options: np.sqrt(_variance(x, axis, **options)),
    "ptp": lambda x, axis=None, keepdims=False: np.max(x, axis, keepdims=keepdims) - np.min(x, axis, keepdims=keepdims),
    "median": _median,
    "prod": _product,
    "sort": _sorted,
    "partition": lambda x, kth, axis=-1: _sorted(x, axis),
    "diff": lambda x, n=1, axis=-1: _difference(x, axis),
    "dot": _dot,
    "vdot": lambda x, y: np.sum(x * y),
    "inner": _inner,
    "outer": lambda x, y: np.ravel(x)[:, None] * np.ravel(y),
    "einsum": _einsum,
    "linalg_norm": _norm,
    "linalg_vector_norm": _norm,
    "linalg_vecdot": lambda x, y, axis=-1: np.sum(x * y, axis=axis),
    "linalg_matmul": lambda x, y: x @ y,
    "nan_to_num": _finite,
    "isneginf": lambda x: x == -np.inf,
    "isposinf": lambda x: x == np.inf,
    "ravel": lambda x, **_: x.reshape(-1),
    "atleast_1d": lambda x: x if x.ndim else x.reshape(1),
    "atleast_2d": lambda x: x if x.ndim > 1 else x.reshape(1, -1),
    "split": _split,
    "select": _selected,
    "trace": lambda x, **options: np.sum(np.diagonal(x, **options), axis=-1),
    "average": lambda x, axis=None, weights=None, keepdims=False: _average(x, axis, weights, keepdims=keepdims),
    "allclose": lambda x, y, **options: bool(np.all(abs(x - y) <= 1e-8 + 1e-5 * abs(y))),
    "array_equal": lambda x, y, **options: bool(np.all(x == y)),
}


def _clipped(x: Any, low: Any, high: Any) -> Any:
    """The numbers between two limits, of which one may be None."""
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _difference(x: Any, axis: int) -> Any:
    """`np.diff`, once."""
    rows = np.moveaxis(x, axis, -1)
    return np.moveaxis(rows[..., 1:] - rows[..., :-1], -1, axis)


def _average(x: Any, axis: Any, weights: Any, *, keepdims: bool) -> Any:
    """`np.average`."""
    if weights is None:
        return np.mean(x, axis=axis, keepdims=keepdims)
    total = np.sum(x * weights, axis=axis, keepdims=keepdims)
    return total / np.sum(np.broadcast_to(weights, np.shape(x)), axis=axis, keepdims=keepdims)

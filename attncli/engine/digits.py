"""Arrays of numbers of many digits, which operators' functions use like NumPy arrays.

NumPy's elementwise functions return the real result, as for floats, or NaN.
"""

import math
import operator
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

from numpy.lib.mixins import NDArrayOperatorsMixin

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np

COSTLY = 5  # products in the time of one exponential, logarithm or root
CHEAP = frozenset({"add", "subtract", "multiply", "divide", "negative", "absolute", "square", "maximum", "minimum"})


class DigitsError(AttnError):
    """Raised if computing with many digits would lose digits, or take long."""


class Digits:
    """The number of digits, in the role of an array's `dtype`, and the allowed number of operations."""

    kind = "f"
    itemsize = 16  # as wide as NumPy's widest: it is never widened

    def __init__(self, count: int, max_operations: int) -> None:
        self.count = count
        self.max_operations = max_operations
        self._operations = 0

    def spend(self, operations: int) -> None:
        """Count operations in advance; raises DigitsError if there are too many."""
        self._operations += operations
        if self._operations > self.max_operations:
            raise DigitsError(f"it would take long: more than {self.max_operations} operations")

    @property
    def dtype(self) -> Any:
        """The type of the NumPy arrays for such numbers: `np.dtype(x.dtype)` reads it."""
        return np.dtype(object)

    @property
    def context(self) -> Any:
        """Mpmath's context with so many digits."""
        return _context(self.count)

    @cached_property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """The elementwise functions, by NumPy's names."""
        return elementwise_functions(self.context)

    @cached_property
    def predicates(self) -> Mapping[str, Callable[..., Any]]:
        """Comparisons and tests, by NumPy's names."""
        return predicates(self.context)

    def type(self, number: Any) -> "DigitsArray":
        """A number without axes."""
        return self.array(number)

    def array(self, value: Any) -> "DigitsArray":
        """A NumPy array or a number, converted exactly."""
        if isinstance(value, DigitsArray):
            return value
        array = np.asarray(value)
        self.spend(array.size)
        if array.dtype.kind == "f" and array.dtype.itemsize > 8:  # mpmath accepts only double precision
            high = array.astype(np.float64)
            rest = np.where(np.isfinite(high), array - high, 0).astype(np.float64)
            wide: DigitsArray = self.array(high) + self.array(rest)
            return wide
        convert = np.frompyfunc(self.context.mpf, 1, 1)
        with np.errstate(all="ignore"):  # mpmath raises the flag for NaN
            return DigitsArray(np.asarray(convert(array.astype(object)), dtype=object), self)

    def operand(self, value: Any) -> Array:
        """The operand of an elementwise function for any of its arguments."""
        if isinstance(value, DigitsArray):
            return value.numbers
        if type(value) is not float:  # a literal in the code, such as 0.5, is exact
            _check_exact(np.asarray(value))
        return self.array(value).numbers

    def result(self, value: Any) -> Any:
        """A NumPy function's result: an array of many digits if it has such numbers, otherwise unchanged."""
        is_object = isinstance(value, self.context.mpf) or getattr(getattr(value, "dtype", None), "kind", "") == "O"
        if not is_object or isinstance(value, DigitsArray):
            return value
        array = np.asarray(value, dtype=object)
        others = [number for number in array.flat if not isinstance(number, self.context.mpf)]
        for number in others:
            _check_exact(np.asarray(number))
        return self.array(array) if others else DigitsArray(array, self)


@cache
def _context(count: int) -> Any:
    """A separate mpmath context, so that the global number of digits stays."""
    import mpmath  # noqa: PLC0415 - an optional package

    context = mpmath.MPContext()
    context.dps = count
    return context


def _check_exact(array: Array) -> None:
    """Raise DigitsError if floats are not whole: then they were computed in double precision."""
    if array.dtype.kind == "f" and not (np.isnan(array) | (array == np.floor(array))).all():
        raise DigitsError("it computes in double precision")


class DigitsArray(NDArrayOperatorsMixin):
    """An array of numbers of many digits, which NumPy's functions and operators accept like an `ndarray`.

    Comparisons return NumPy booleans. Raises DigitsError if a function is not among `elementwise_functions`, or gets
    numbers that were computed in double precision.
    """

    def __init__(self, numbers: Array, digits: Digits) -> None:
        self.numbers = numbers
        self.dtype = digits

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if (ufunc, method) == (np.add, "at"):  # on an array of zeros of this type, which is an object array
            table, index, added = inputs
            np.add.at(table, index, self.dtype.operand(added))
            return None
        out = options.pop("out", (None,))[0]
        operands = [self.dtype.operand(x) for x in inputs]
        if method != "__call__" or options:
            raise DigitsError(f"{ufunc.__name__}.{method} is not available with many digits")
        self._spend(ufunc, operands)
        if ufunc is np.matmul:
            value: Any = np.matmul(*operands)
        elif ufunc.__name__ in self.dtype.predicates:
            value = np.asarray(
                np.frompyfunc(self.dtype.predicates[ufunc.__name__], ufunc.nin, 1)(*operands), dtype=bool
            )
        elif ufunc.__name__ in self.dtype.functions:
            value = np.frompyfunc(self.dtype.functions[ufunc.__name__], ufunc.nin, 1)(*operands)
        else:
            raise DigitsError(f"{ufunc.__name__} is not available with many digits")
        if out is None:
            return self.dtype.result(value)
        out[...] = value
        return out

    def _spend(self, ufunc: Any, operands: list[Array]) -> None:
        """Count the operations of a function before it is called."""
        if ufunc is np.matmul:
            one, other = operands
            self.dtype.spend(one.size * (other.shape[-1] if other.ndim > 1 else 1))
        else:
            size = math.prod(np.broadcast_shapes(*(x.shape for x in operands)))
            self.dtype.spend(size * (1 if ufunc.__name__ in CHEAP else COSTLY))

    def __array_function__(self, function: Any, _types: Any, args: Any, options: Any) -> Any:
        if function is np.result_type:
            return self.dtype
        if function is np.isneginf:
            return args[0] == -np.inf
        arguments, keywords = _without_digits(args), _without_digits(options)
        if "dtype" in keywords:
            raise DigitsError(f"{function.__name__} is not available with many digits and a dtype")
        return self.dtype.result(function(*arguments, **keywords))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.numbers, dtype=object if dtype is None else dtype, copy=copy)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return self.numbers.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.numbers.ndim

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.numbers.size

    @property
    def mT(self) -> "DigitsArray":  # noqa: N802 - NumPy's name
        """The matrices transposed."""
        return self.swapaxes(-2, -1)

    def astype(self, dtype: Any, **_options: Any) -> Any:
        """Booleans if requested; else the array itself: digits are never dropped."""
        return (self != 0) if dtype is bool else self

    def copy(self) -> "DigitsArray":
        """A copy."""
        return DigitsArray(self.numbers.copy(), self.dtype)

    def reshape(self, *shape: Any) -> "DigitsArray":
        """The same numbers in another shape."""
        return DigitsArray(self.numbers.reshape(*shape), self.dtype)

    def swapaxes(self, one: int, other: int) -> "DigitsArray":
        """Two axes exchanged."""
        return DigitsArray(self.numbers.swapaxes(one, other), self.dtype)

    def squeeze(self, axis: Any = None) -> "DigitsArray":
        """Without axes of length 1."""
        return DigitsArray(self.numbers.squeeze(axis), self.dtype)

    def sum(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """The sums along an axis."""
        return self.dtype.result(self.numbers.sum(axis=axis, keepdims=keepdims))

    def cumsum(self, axis: int) -> Any:
        """The running sums along an axis."""
        return self.dtype.result(self.numbers.cumsum(axis=axis))

    def mean(self, axis: int, *, keepdims: bool = False) -> Any:
        """The means along an axis."""
        return self.sum(axis=axis, keepdims=keepdims) / self.shape[axis]

    def max(self, axis: int, *, keepdims: bool = False, **initial: Any) -> Any:
        """The largest numbers along an axis; NaN if there is one."""
        return self._reduce("maximum", axis, keepdims=keepdims, **initial)

    def min(self, axis: int, *, keepdims: bool = False, **initial: Any) -> Any:
        """The smallest numbers along an axis; NaN if there is one."""
        return self._reduce("minimum", axis, keepdims=keepdims, **initial)

    def argmax(self, axis: int) -> Any:
        """The positions of the largest numbers along an axis; the first of equal ones."""
        return self.numbers.argmax(axis=axis)

    def any(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """Whether a number along an axis is not 0."""
        return (self != 0).any(axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """Whether no number along an axis is 0."""
        return (self != 0).all(axis=axis, keepdims=keepdims)

    def _reduce(self, name: str, axis: int, *, keepdims: bool, **initial: Any) -> Any:
        """A function of two numbers applied along an axis."""
        function: Any = np.frompyfunc(self.dtype.functions[name], 2, 1)
        initial = {key: self.dtype.context.mpf(value) for key, value in initial.items()}
        return self.dtype.result(function.reduce(self.numbers, axis=axis, keepdims=keepdims, **initial))

    def __getitem__(self, index: Any) -> Any:
        return self.dtype.result(self.numbers[_as_indices(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.numbers[_as_indices(index)] = self.dtype.operand(value)

    def __len__(self) -> int:
        return len(self.numbers)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def rounded(self, dtype: str) -> Array:
        """The numbers, each rounded once to float64, or to longdouble (as a sum of two float64 numbers)."""
        high = _to_float64(self.numbers)
        if dtype == "float64":
            return high
        is_finite = np.isfinite(high)
        rest = np.where(is_finite, self.numbers, 0) - np.where(is_finite, high, 0)
        return high.astype(np.longdouble) + _to_float64(rest)


def _to_float64(numbers: Array) -> Array:
    """Numbers of many digits, each rounded to the nearest float64."""
    with np.errstate(all="ignore"):  # mpmath raises the flags for NaN and overflow
        return np.asarray(np.frompyfunc(float, 1, 1)(numbers), dtype=np.float64)


def _without_digits(value: Any) -> Any:
    """The arguments of a NumPy function, with object arrays of the numbers."""
    if isinstance(value, DigitsArray):
        return value.numbers
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_digits, value))
    if isinstance(value, dict):
        return {name: _without_digits(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        _check_exact(value)
    return value


def _as_indices(index: Any) -> Any:
    """An index with NumPy integers for numbers of many digits."""
    if isinstance(index, tuple):
        return tuple(map(_as_indices, index))
    return index.numbers.astype(np.int64) if isinstance(index, DigitsArray) else index


Function = Callable[..., Any]


def elementwise_functions(context: Any) -> Mapping[str, Function]:
    """The functions by NumPy's names, on numbers of an mpmath context, which has the number of digits."""
    nan, infinity = context.nan, context.inf

    def real(function: Function) -> Function:
        """The function, with NaN for no real result."""

        def result(*numbers: Any) -> Any:
            value = function(*numbers)
            return value if isinstance(value, context.mpf) else nan

        return result

    def divide(x: Any, y: Any) -> Any:
        if y == 0:
            return nan if x == 0 or context.isnan(x) else infinity if x > 0 else -infinity
        return x / y

    def power(x: Any, y: Any) -> Any:
        if x != 0 and context.isfinite(x) and context.isfinite(y):
            return x**y
        return context.mpf(np.power(float(x), float(y)))  # 0, 1, an infinity or NaN

    def maximum(x: Any, y: Any) -> Any:
        return x if x >= y or context.isnan(x) else y

    def minimum(x: Any, y: Any) -> Any:
        return x if x <= y or context.isnan(x) else y

    def log_add_exp(x: Any, y: Any) -> Any:
        larger = maximum(x, y)
        return larger if abs(larger) == infinity else larger + context.log1p(context.exp(minimum(x, y) - larger))

    return {
        "add": operator.add,
        "subtract": operator.sub,
        "multiply": operator.mul,
        "divide": divide,
        "power": real(power),
        "negative": operator.neg,
        "absolute": operator.abs,
        "floor": context.floor,
        "rint": context.nint,
        "square": lambda x: x * x,
        "sign": context.sign,
        "sqrt": real(context.sqrt),
        "exp": context.exp,
        "exp2": lambda x: context.power(2, x),
        "expm1": context.expm1,
        "log": real(context.log),
        "log1p": real(context.log1p),
        "logaddexp": log_add_exp,
        "sin": context.sin,
        "cos": context.cos,
        "tanh": context.tanh,
        "maximum": maximum,
        "minimum": minimum,
    }


def predicates(context: Any) -> Mapping[str, Function]:
    """Comparisons and tests with boolean results, by NumPy's names."""
    return {
        "equal": operator.eq,
        "not_equal": operator.ne,
        "less": operator.lt,
        "less_equal": operator.le,
        "greater": operator.gt,
        "greater_equal": operator.ge,
        "isnan": context.isnan,
        "isinf": context.isinf,
        "isfinite": context.isfinite,
    }

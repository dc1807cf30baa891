"""Lengths that know their origin, for records that must hold for arrays of other lengths."""

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Self

from attncli.ops.recording.expression import CONSTANT, Expression

_IS_GENERAL = ContextVar("_IS_GENERAL", default=False)
# The functions of lengths, by NumPy's names.
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "maximum": max,
    "minimum": min,
}


@contextmanager
def for_any_numbers() -> Iterator[None]:
    """A block whose records must hold for other lengths, and for any numbers.

    Gradients are then plain products and quotients; the one who computes them makes products with 0 be 0.
    """
    token = _IS_GENERAL.set(True)
    try:
        yield
    finally:
        _IS_GENERAL.reset(token)


def is_general() -> bool:
    """Whether the code runs in such a block."""
    return _IS_GENERAL.get()


class Length(int):
    """The length of an axis, or a whole number among the options, or the result of arithmetic with such.

    `made` is the array and its axis (−1 is the last), the name of an option, or a function of lengths.

    >>> from attncli.ops.recording.expression import argument
    >>> from attncli.base.lazy_numpy import np
    >>> half = Length.of(argument("x", np.zeros((2, 6))))[-1] // 2
    >>> int(half), half.made[0]
    (3, 'floor_divide')
    """

    made: tuple[Any, ...]
    recorded: ClassVar[Callable[[Any], Any]]  # makes the recorded array of an expression; `arrays` sets it

    def __new__(cls, value: int, *made: Any) -> Self:
        """A length with its origin."""
        self = super().__new__(cls, value)
        self.made = made
        return self

    @classmethod
    def of(cls, expression: Expression) -> tuple["Length", ...]:
        """The lengths of an array's axes."""
        count = len(expression.shape)
        return tuple(cls(size, "length", expression, at - count) for at, size in enumerate(expression.shape))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """The NumPy function of the length as a recorded number."""
        inputs = tuple(_as_recorded(x) for x in inputs)
        return getattr(ufunc, method)(*inputs, **options)

    def __add__(self, other: Any) -> Any:
        return _combined("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _combined("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _combined("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _combined("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _combined("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _combined("multiply", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _combined("floor_divide", self, other)

    def __mod__(self, other: Any) -> Any:
        return _combined("remainder", self, other)

    def __truediv__(self, other: Any) -> Any:
        return _number(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _number(operator.truediv, other, self)

    def __pow__(self, other: Any, _modulus: Any = None) -> Any:
        return _number(operator.pow, self, other)

    def __neg__(self) -> Any:
        return _combined("subtract", 0, self)


def lengths_of(expression: Expression) -> tuple[int, ...]:
    """The shape of an array, made of lengths inside `follow_lengths`."""
    return Length.of(expression) if is_general() else expression.shape


def length_constant(length: Length) -> Expression:
    """A length as a plain number, which depends on no argument."""
    return Expression(CONSTANT, (length,), {}, int(length))


def filled_constant(filled: Any, like: Expression) -> Expression:
    """An array that repeats one number, as long as another array."""
    return Expression(CONSTANT, (lengths_of(like),), {}, filled)


def _combined(function: str, left: Any, right: Any) -> Any:
    """A function of two lengths, or of one and a whole number; with a fraction the plain number."""
    if type(left) is float or type(right) is float:
        return _number({"add": operator.add, "subtract": operator.sub}.get(function, operator.mul), left, right)
    if not (isinstance(left, int) and isinstance(right, int)):
        return NotImplemented
    return Length(_FUNCTIONS[function](int(left), int(right)), function, left, right)


def _number(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """A recorded number that is a function of lengths and numbers."""
    if not all(isinstance(x, (int, float)) for x in (left, right)):
        return NotImplemented
    return function(_as_recorded(left), _as_recorded(right))


def _as_recorded(x: Any) -> Any:
    """A length as a recorded number; anything else unchanged."""
    return Length.recorded(length_constant(x)) if isinstance(x, Length) else x

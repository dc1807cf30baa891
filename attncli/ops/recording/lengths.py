"""Lengths that remember where they come from, for records that have to hold for arrays of other lengths."""

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Self

from attncli.ops.recording.expression import CONSTANT, Expression

_IS_GENERAL = ContextVar("_IS_GENERAL", default=False)
# The functions of lengths, by the names of NumPy's.
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
    """A block in which what is recorded has to hold for other lengths, and for any numbers.

    Gradients are then plain products and quotients; whoever computes them takes those of 0 for 0.
    """
    token = _IS_GENERAL.set(True)
    try:
        yield
    finally:
        _IS_GENERAL.reset(token)


def is_general() -> bool:
    """Whether this is such a block."""
    return _IS_GENERAL.get()


class Length(int):
    """The length of an axis, or a whole number among the options, and what is made of it by arithmetic.

    `made` is the array and its axis, counted from the last, from −1; the name of an option; or a function of lengths.

    >>> from attncli.ops.recording.expression import argument
    >>> from attncli.base.lazy_numpy import np
    >>> half = Length.of(argument("x", np.zeros((2, 6))))[-1] // 2
    >>> int(half), half.made[0]
    (3, 'floor_divide')
    """

    made: tuple[Any, ...]
    recorded: ClassVar[Callable[[Any], Any]]  # the recorded array of an expression, which `arrays` knows

    def __new__(cls, value: int, *made: Any) -> Self:
        """A length with its origin."""
        self = super().__new__(cls, value)
        self.made = made
        return self

    @classmethod
    def of(cls, expression: Expression) -> tuple["Length", ...]:
        """Those of the axes of an array."""
        count = len(expression.shape)
        return tuple(cls(size, "length", expression, at - count) for at, size in enumerate(expression.shape))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's function of the length as a recorded number."""
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
    """The shape of an array, of lengths where they are followed."""
    return Length.of(expression) if is_general() else expression.shape


def length_constant(length: Length) -> Expression:
    """The number that a length is, without an argument behind it."""
    return Expression(CONSTANT, (length,), {}, int(length))


def filled_constant(filled: Any, like: Expression) -> Expression:
    """An array of one number, which is as long as another."""
    return Expression(CONSTANT, (lengths_of(like),), {}, filled)


def _combined(function: str, left: Any, right: Any) -> Any:
    """A function of two lengths, or of one and a whole number; of a fraction the number."""
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
    """A length as a recorded number, anything else as it is."""
    return Length.recorded(length_constant(x)) if isinstance(x, Length) else x

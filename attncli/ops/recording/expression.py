"""Expressions: arrays with the NumPy calls that made them, down to the arguments of a recorded call."""

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from attncli.base.lazy_numpy import Array, as_array, np

ARGUMENT, CONSTANT = "argument", "constant"
GET_ITEM, SET_ITEM, SCATTER, RUNNING_MAX = "get_item", "set_item", "scatter", "running_max"
# The functions that only move numbers, and the operands with these numbers: 0 is the first.
MOVES: Mapping[str, tuple[int, ...]] = {
    GET_ITEM: (0,),
    SET_ITEM: (0, 2),
    **dict.fromkeys(
        (
            "reshape", "swapaxes", "transpose", "matrix_transpose", "moveaxis", "broadcast_to", "repeat", "tile",
            "squeeze", "expand_dims", "flip", "roll", "rot90", "take", "take_along_axis", "diagonal", "triu", "tril",
            "pad", "concatenate", "stack", "hstack", "vstack", "column_stack", "dstack",
        ),
        (0,),
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Expression:
    """An array, and the call that made it.

    The function is NumPy's, by name, or one of this module; an argument has its recorded name. Operands may have
    expressions in lists and tuples.
    """

    function: str
    operands: tuple[Any, ...]
    options: Mapping[str, Any] = field(repr=False)
    value: Any = field(repr=False)  # an array, or a Python number
    line: str = ""  # of the recorded function's source, if known
    label: str = ""  # the name that the function gave it

    @cached_property
    def sources(self) -> tuple["Expression", ...]:
        """The expressions among the operands, in order."""
        return tuple(_expressions_in(self.operands))

    @cached_property
    def carried(self) -> tuple["Expression", ...]:
        """The sources whose numbers it has or computes with; not indices."""
        if self.function in (SCATTER, "where"):
            return self.sources[:1] if self.function == SCATTER else self.sources[1:]
        positions = MOVES.get(self.function)
        if positions is None:
            return self.sources
        return tuple(_expressions_in([self.operands[at] for at in positions]))

    @property
    def name(self) -> str:
        """The name of an argument."""
        assert self.function == ARGUMENT
        return str(self.operands[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return np.shape(self.value)

    @property
    def is_constant(self) -> bool:
        """Whether it depends on no argument."""
        return self.function == CONSTANT

    @cached_property
    def places(self) -> tuple[tuple["Expression", ...], Array]:
        """For a function that only moves numbers: their arrays, and the origin of each number.

        Origins count from 1, through all the arrays; 0 marks a 0 that the function filled in.
        """
        positions, found = MOVES[self.function], list[Expression]()

        def numbered(source: Expression) -> Array:
            start = 1 + sum(np.size(one.value) for one in found)
            found.append(source)
            return np.arange(start, start + np.size(source.value)).reshape(source.shape)

        operands = tuple(
            _replaced(operand, numbered if at in positions else lambda one: one.value)
            for at, operand in enumerate(self.operands)
        )
        places: Array = np.asarray(function_of(self.function)(*operands, **self.options))
        return tuple(found), places


@dataclass(frozen=True, eq=False)
class Moved:
    """For numbers moved back: the function that had moved them, and their array."""

    step: Expression
    source: Expression


def constant(value: Any) -> Expression:
    """A number or an array that depends on no argument; a Python number keeps its type."""
    return Expression(CONSTANT, (), {}, value if isinstance(value, (bool, int, float)) else as_array(value))


def argument(name: str, value: Array) -> Expression:
    """An argument of the recorded call."""
    return Expression(ARGUMENT, (name,), {}, value)


def called(function: str, operands: tuple[Any, ...], options: Mapping[str, Any], line: str = "") -> Expression:
    """The expression of a call, with its value."""
    values = tuple(_replaced(operand, lambda one: one.value) for operand in operands)
    return Expression(function, operands, options, function_of(function)(*values, **options), line)


def ordered(*results: Expression) -> list[Expression]:
    """All sources of some expressions, each after its own sources; without recursion, as loops make long chains."""
    found, pending = dict[Expression, None](), [(result, False) for result in reversed(results)]
    while pending:
        expression, are_sources_done = pending.pop()
        if expression in found:
            continue
        if are_sources_done:
            found[expression] = None
        else:
            pending.append((expression, True))
            pending += [(source, False) for source in reversed(expression.sources) if source not in found]
    return list(found)


def evaluate(result: Expression, arguments: Mapping[str, Array]) -> Array:
    """The value of an expression with other arguments, by their names.

    >>> x = argument("x", np.array([1.0, 2.0]))
    >>> evaluate(called("multiply", (x, constant(3.0)), {}), {"x": np.array([5.0])})
    array([15.])
    """
    values = dict[Expression, Array]()
    for expression in ordered(result):
        if expression.function == ARGUMENT:
            values[expression] = arguments[expression.name]
        elif expression.is_constant:
            values[expression] = expression.value
        else:
            operands = (_replaced(operand, values.__getitem__) for operand in expression.operands)
            values[expression] = function_of(expression.function)(*operands, **expression.options)
    return values[result]


def function_of(name: str) -> Callable[..., Any]:
    """The function of an expression, by its name."""
    own: dict[str, Callable[..., Any]] = {
        GET_ITEM: operator.getitem,
        SET_ITEM: _set_item,
        SCATTER: _scatter,
        RUNNING_MAX: lambda x, axis: np.maximum.accumulate(x, axis=axis),
        "astype": lambda x, kind: x.astype(kind),
    }
    return own.get(name) or getattr(np, name)


def _set_item(x: Array, index: Any, value: Array) -> Array:
    """A copy of an array, with other numbers at an index."""
    x = x.copy()
    x[index] = value
    return x


def _scatter(x: Array, places: Array, start: int, shape: tuple[int, ...], _how: Any = (), _moved: Any = None) -> Array:
    """The sums of numbers that go to the same position of an array of a shape, whose positions begin at `start`.

    `_how` is the call that had moved the numbers: a function, its operands after the array, and its options.
    """
    size = math.prod(shape)
    flat, numbers = places.ravel() - start, np.broadcast_to(x, places.shape).ravel()
    if flat.size and (flat.min() < 0 or flat.max() >= size):
        counted = (flat >= 0) & (flat < size)
        flat, numbers = flat[counted], numbers[counted]
    if x.dtype in (np.float32, np.float64):  # summed in float64
        return np.bincount(flat, numbers, size).astype(x.dtype, copy=False).reshape(shape)
    total = np.zeros(size, x.dtype)
    np.add.at(total, flat, numbers)
    return total.reshape(shape)


def _expressions_in(operand: Any) -> Iterator[Expression]:
    """The expressions in an operand, at any depth of lists and tuples."""
    if isinstance(operand, Expression):
        yield operand
    elif isinstance(operand, (list, tuple)):
        for part in operand:
            yield from _expressions_in(part)


def _replaced(operand: Any, value_of: Callable[[Expression], Any]) -> Any:
    """An operand with its expressions replaced."""
    if isinstance(operand, Expression):
        return value_of(operand)
    if isinstance(operand, (list, tuple)):
        parts = [_replaced(part, value_of) for part in operand]
        return parts if isinstance(operand, list) else tuple(parts)
    return operand

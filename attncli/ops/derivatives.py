"""Derivatives of functions: from the gradient of a result to the gradients of its arguments."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from attncli.base.axes import COUNTED_FROM_0, Letters
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter, Computed
from attncli.numbers.terms import products, total
from attncli.ops.code import Code, CodeRule
from attncli.ops.recording.stable import stable

CONSTANT = None  # the derivative of an argument that is not a real number: a mask, a position


EVERY_PAIR: Letters = (*COUNTED_FROM_0, "n", "m")  # of all batch items and heads

Formula = str | Callable[[Mapping[str, str], Mapping[str, Any]], str]


@dataclass(frozen=True, eq=False)
class DerivativeRecord:
    """The record of a function's derivative by one of its arguments.

    Besides the result's gradient it gets `reads`: arguments, inner quantities and, as `forward`, the result; and
    `options` of the function. `formula` has the arguments, the result and their gradients in braces: `{d_scores} =
    {weights} ∘ …`. If it depends on what is given, it is a function of these symbols and the options. Worked lines are
    for one cell; arrays have all entries along the axes in `sums_over`. Without `by_hand` the function is linear in the
    argument, and the lines follow from that. `remark` names the value taken where no derivative exists.
    """

    formula: Formula
    reads: tuple[str, ...]
    options: tuple[str, ...]
    sums_over: Letters = ()
    by_hand: Callable[..., list[str]] | None = None
    remark: str = ""
    is_whole: bool = False  # the gradient has only the argument's axes; the argument does not broadcast
    symbol: str = ""  # of a number among the options; empty for an array
    code: Code | CodeRule | None = None  # code as a person would write it; None if unknown
    is_recorded: bool = False  # it follows from a record of the function, like its lines and code
    # Why a recorded one can't be trusted, given the shapes of its inputs and the options.
    objection: Callable[[Mapping[str, tuple[int, ...]], Mapping[str, Any]], str] | None = None
    operator: str = ""  # the operator's title, if its derivative is recorded
    keeps_sign: bool = False  # whether a fit keeps the sign of this factor

    def formula_with(self, symbols: Mapping[str, str], options: Mapping[str, Any]) -> str:
        """The formula with these symbols in place of the braces, and the remark."""
        formula = self.formula if isinstance(self.formula, str) else self.formula(symbols, options)
        return formula.format_map(symbols) + (f"; {self.remark}" if self.remark else "")


class Derivative(Protocol):
    """The derivative of a function by one argument: a function of plans with its record.

    It returns the gradient with the argument's axes, after the axes of the result along which the argument broadcasts.
    """

    @property
    def record(self) -> DerivativeRecord:
        """Its record."""
        ...

    def __call__(self, grad: Array, *args: Any, **kwargs: Any) -> Array:
        """The argument's gradient, from the result's."""
        ...


@dataclass(frozen=True)
class NoDerivative:
    """The reason why a function has no derivative by an argument: a gradient that reaches it is an error."""

    reason: str


@dataclass(frozen=True, eq=False)
class ByNumber:
    """The symbol of a numeric parameter, `{argument}`, and the formula of the derivative by it."""

    symbol: str
    formula: Formula
    keeps_sign: bool = False  # as in a derivative's record


# By argument; None if it is not a real number. A mere formula means that a record of the function gives the derivative.
Derivatives = Mapping[str, Derivative | NoDerivative | Formula | ByNumber | None]


def derivative(formula: Formula, **more: Any) -> Callable[[Callable[..., Array]], Derivative]:
    """A decorator: the function is the derivative with this formula; keywords are fields of its record.

    It reads the arguments after the first; those after `*` are options.
    """

    def decorate(function: Callable[..., Array]) -> Derivative:
        code: Any = function
        names = code.__code__.co_varnames
        count, keywords = code.__code__.co_argcount, code.__code__.co_kwonlyargcount
        reads, options = tuple(names[1:count]), tuple(names[count : count + keywords])
        code.record = DerivativeRecord(formula, reads, options, **more)
        recorded: Derivative = code
        return recorded

    return decorate


def derivative_by_number(symbol: str, formula: Formula, **more: Any) -> Callable[[Callable[..., Array]], Derivative]:
    """A decorator: the function is the derivative by a number among the options, which has this symbol.

    It is one number, summed over all uses; `{argument}` is the number in formulas.
    """
    return derivative(formula, symbol=symbol, sums_over=EVERY_PAIR, is_whole=True, **more)


def sum_products(grad: Array, x: Array) -> Array:
    """The sum of gradients times numbers; a gradient of 0 is left out, as its number may be infinite.

    >>> float(sum_products(np.array([0.0, 2.0]), np.array([-np.inf, 3.0])))
    6.0
    """
    total: Array = (grad * np.where(grad != 0, x, 0)).sum()
    return total


def computed_products(write: ArithmeticWriter, name: str, grad: Array, x: Array) -> Computed:
    """The line of `sum_products`, with a name."""
    counts = grad != 0
    return write.computed(name, products(grad[counts], x[counts]) if counts.any() else products([0], [0]))


def add_rows(grad: Array, rows: Array, count: int) -> Array:
    """The gradient of a table after a look-up of rows: [… n x] and [… n] to [… count x], summed for equal rows.

    >>> add_rows(np.array([[1.0], [2.0], [4.0]]), np.array([1, 0, 1]), 3).tolist()
    [[2.0], [5.0], [0.0]]
    """
    rows = np.broadcast_to(rows, grad.shape[:-1])
    added: Array = stable(
        lambda grad, rows: ((np.arange(count)[:, None] == rows[..., None, :]) * 1.0) @ grad,
        lambda grad, rows: _add_at(grad, rows, count),
        *(grad, rows),
    )
    return added


def _add_at(grad: Array, rows: Array, count: int) -> Array:
    """The same, one row after another."""
    *leading, length, features = grad.shape
    found = np.broadcast_to(rows, (*leading, length)).reshape(-1, length)
    table = np.zeros((len(found), count, features), grad.dtype)
    np.add.at(table, (np.arange(len(found))[:, None], found), grad.reshape(-1, length, features))
    return table.reshape(*leading, count, features)


def _sum_lines(write: ArithmeticWriter, result: Any, **gradients: Any) -> list[str]:
    """The gradients of one cell or vector, and their sum; matrices have no lines."""
    return [] if np.ndim(result) > 1 else [write.equation(total(gradients.values()), result, letter="x")]


@derivative("the sum of {d_result}", by_hand=_sum_lines, code=lambda call: " + ".join(call.variables.values()))
def add_all(**gradients: Array) -> Array:
    """The sum of the gradients that reach a step by different paths."""
    first, *others = gradients.values()
    for other in others:
        first = first + other
    return first


@derivative("{d_argument} = {d_result}", code="{grad}")
def unchanged(grad: Array) -> Array:
    """The gradient, unchanged."""
    return grad

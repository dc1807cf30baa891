"""Formulas of cells from a recording of a step's function, for functions without a table, own operators included."""

from collections.abc import Mapping, Sequence
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.ops.recording.arrays import NotRecordedError
from attncli.ops.recording.derivatives import recording_of
from attncli.ops.recording.expression import ARGUMENT, MOVES, RUNNING_MAX, SCATTER, Expression, ordered
from attncli.ops.recording.lines import read_cells
from attncli.plan.trace import Step
from attncli.worksheet.spreadsheet.cells import Book, Index

ATOM, POWER, PRODUCT, SUM, COMPARED = 5, 4, 3, 2, 1
MAX_ARGUMENTS = 250  # arguments of a function
LEAST = "-1E+300"  # replaces −∞, which no cell can hold
OPERATORS: Mapping[str, tuple[str, int]] = {
    "add": ("+", SUM), "subtract": ("-", SUM), "multiply": ("*", PRODUCT), "divide": ("/", PRODUCT),
    "power": ("^", POWER), "less": ("<", COMPARED), "less_equal": ("<=", COMPARED), "greater": (">", COMPARED),
    "greater_equal": (">=", COMPARED), "equal": ("=", COMPARED), "not_equal": ("<>", COMPARED),
}  # fmt: skip
# The other functions; operands have brackets unless they are atoms.
FUNCTIONS: Mapping[str, str] = {
    "negative": "(0-{0})", "absolute": "ABS({0})", "exp": "EXP({0})", "exp2": "(2^{0})", "expm1": "(EXP({0})-1)",
    "log": "LN({0})", "log2": "LOG({0},2)", "log10": "LOG10({0})", "log1p": "LN(1+{0})", "sqrt": "SQRT({0})",
    "square": "({0}^2)", "reciprocal": "(1/{0})", "cbrt": "(SIGN({0})*ABS({0})^(1/3))", "sin": "SIN({0})",
    "cos": "COS({0})", "tan": "TAN({0})", "arctan": "ATAN({0})", "arcsin": "ASIN({0})", "arccos": "ACOS({0})",
    "sinh": "SINH({0})", "cosh": "COSH({0})", "tanh": "TANH({0})", "arcsinh": "ASINH({0})", "sign": "SIGN({0})",
    "floor": "INT({0})", "ceil": "(0-INT(0-{0}))", "maximum": "MAX({0},{1})", "minimum": "MIN({0},{1})",
    "logaddexp": "(MAX({0},{1})+LN(1+EXP(0-ABS({0}-{1}))))", "hypot": "SQRT({0}^2+{1}^2)",
    "remainder": "({0}-{1}*INT({0}/{1}))", "where": "IF({0},{1},{2})", "astype": "{0}", "isfinite": "(ABS({0})<1E+290)",
    "isinf": "(ABS({0})>=1E+290)", "bitwise_and": "AND({0},{1})", "logical_and": "AND({0},{1})",
    "bitwise_or": "OR({0},{1})", "logical_or": "OR({0},{1})", "invert": "NOT({0})", "logical_not": "NOT({0})",
}  # fmt: skip
SUMS: Mapping[str, str] = {
    **{"sum": "SUM", "mean": "AVERAGE", "max": "MAX", "min": "MIN", "any": "OR", "all": "AND"},
    **{"cumsum": "SUM", RUNNING_MAX: "MAX", SCATTER: "SUM"},
}


class RecordedFormulas:
    """The formulas of a step's numbers, or of an inner quantity; raises NotRecordedError without a recording."""

    def __init__(self, book: Book, step: Step, inner: str = "") -> None:
        self.book = book
        self.step = step
        arrays = {name: book.trace.value(source) for name, source in step.inputs.items()}
        exact = {name: x.astype(np.float64) if x.dtype.kind == "f" else x for name, x in arrays.items()}
        with np.errstate(all="ignore"):
            made = recording_of(step.function, exact, step.options)
        if made is None:
            raise NotRecordedError("nothing of it is read")
        self.result = made.taps[inner] if inner else made.result
        shown = {name: own for name, own in step.node.taps.items() if name != inner and own in book.titles}
        self.known = {made.taps[name]: own for name, own in shown.items() if name in made.taps}
        self._varying = _varying(self.result, book, step)
        self._texts = dict[tuple[Expression, int], tuple[str, int]]()

    def __call__(self, at: Index) -> str:
        """The formula of one number."""
        flat = int(np.ravel_multi_index(at, self.result.shape)) if at else 0
        return self._text(self.result, flat)[0]

    def _text(self, step: Expression, flat: int) -> tuple[str, int]:
        """The formula of one number of an expression, and its operator precedence."""
        found = self._texts.get((step, flat))
        if found is None:
            found = self._texts[step, flat] = self._written(step, flat)
        return found

    def _written(self, step: Expression, flat: int) -> tuple[str, int]:
        """A number in terms of its inputs, down to cells and to constants."""
        name = self.known.get(step) or (self.step.inputs.get(step.name) if step.function == ARGUMENT else None)
        if name is not None:
            return self._cell(name, step, flat), ATOM
        if step not in self._varying:
            return _number(np.ravel(step.value)[flat])
        read = self._read(step, flat)
        if step.function in MOVES:
            return self._text(read[0][0], read[0][1][0]) if read else ("0", ATOM)
        if step.function in ("matmul", "einsum"):
            return self._products(read)
        return self._operator(step, read) if step.function in OPERATORS else (self._called(step, read), ATOM)

    def _called(self, step: Expression, read: Sequence[tuple[Expression, list[int]]]) -> str:
        """A function of numbers."""
        if step.function in SUMS:
            return self._sum(SUMS[step.function], *read[0])
        if step.function not in FUNCTIONS:
            raise NotRecordedError(f"np.{step.function} has no formula", where=step.line or None)
        return FUNCTIONS[step.function].format(*(self._closed(source, places[0], ATOM) for source, places in read))

    def _read(self, step: Expression, flat: int) -> list[tuple[Expression, list[int]]]:
        """The inputs of one number; raises NotRecordedError if they depend on numbers that a user may change."""
        numbers = MOVES.get(step.function, range(len(step.operands)))
        moving = (operand for at, operand in enumerate(step.operands) if at not in numbers)
        if any(part in self._varying for operand in moving for part in _parts(operand)):
            raise NotRecordedError("where a number is found depends on other numbers", where=step.line or None)
        return [(source, own[0].tolist()) for source, own in read_cells(step, np.array([flat]))]

    def _cell(self, name: str, step: Expression, flat: int) -> str:
        """The cell of a step's number; if that is not shown, the number."""
        if name in self.book.constants or name not in self.book.ids:
            return _number(np.ravel(step.value)[flat])[0]
        cell = str(self.book.cells[int(np.ravel(self.book.ids[name])[flat])])
        return f"IF(ISNUMBER({cell}),{cell},{LEAST})" if np.isneginf(step.value).any() else cell

    def _closed(self, step: Expression, flat: int, least: int) -> str:
        """A number, in brackets if its operator binds less."""
        text, binding = self._text(step, flat)
        return text if binding >= least else f"({text})"

    def _operator(self, step: Expression, read: Sequence[tuple[Expression, list[int]]]) -> tuple[str, int]:
        """Two numbers around a sign."""
        sign, binding = OPERATORS[step.function]
        (left, one), (right, other) = read
        return f"{self._closed(left, one[0], binding)}{sign}{self._closed(right, other[0], binding + 1)}", binding

    def _ids(self, step: Expression, places: Sequence[int]) -> Array | None:
        """The cells of numbers that cells hold unchanged and visible."""
        while step.function in MOVES and step in self._varying and step not in self.known:
            moved = [self._read(step, at) for at in places]
            if any(len(part) != 1 for part in moved) or len({part[0][0] for part in moved}) > 1:
                return None
            step, places = moved[0][0][0], [part[0][1][0] for part in moved]
        name = self.known.get(step) or (self.step.inputs.get(step.name) if step.function == ARGUMENT else None)
        if name is None or name in self.book.constants or name not in self.book.ids or np.isneginf(step.value).any():
            return None
        return np.asarray(np.ravel(self.book.ids[name])[list(places)])

    def _sum(self, function: str, source: Expression, places: Sequence[int]) -> str:
        """A function of several numbers: of a range of cells if they are adjacent."""
        ids = self._ids(source, places)
        if ids is not None and self.book.range(ids):
            return f"{function}({self.book.range(ids)})"
        texts = [self._text(source, at)[0] for at in places]
        if len(texts) > MAX_ARGUMENTS:
            raise NotRecordedError("it is made of more numbers than a function of a spreadsheet takes")
        return f"{function}({','.join(texts)})"

    def _products(self, read: Sequence[tuple[Expression, list[int]]]) -> tuple[str, int]:
        """The sum of the products of numbers."""
        ids = [self._ids(source, places) for source, places in read]
        if len(ids) == 2 and ids[0] is not None and ids[1] is not None:
            return self.book.products(ids[0], ids[1]), SUM
        rows = zip(*(places for _, places in read), strict=True)
        texts = ["*".join(self._closed(read[at][0], place, PRODUCT) for at, place in enumerate(row)) for row in rows]
        return "+".join(texts), SUM


def _varying(result: Expression, book: Book, step: Step) -> set[Expression]:
    """The expressions that depend on numbers that a user may change in a cell."""
    found = set[Expression]()
    for expression in ordered(result):
        if expression.function == ARGUMENT:
            name = step.inputs.get(expression.name)
            is_varying = name is not None and name not in book.constants and name in book.ids
        else:
            is_varying = any(source in found for source in expression.sources)
        if is_varying:
            found.add(expression)
    return found


def _parts(operand: Any) -> list[Expression]:
    """The expressions in an operand."""
    if isinstance(operand, Expression):
        return [operand]
    return [part for one in operand for part in _parts(one)] if isinstance(operand, (list, tuple)) else []


def _number(value: Any) -> tuple[str, int]:
    """A number as formulas write it."""
    number = float(value)
    if not np.isfinite(number):
        return (LEAST if number < 0 else LEAST[1:]), ATOM
    text = repr(int(number) if number == int(number) and abs(number) < 2**53 else number)
    return (f"({text})" if number < 0 else text), ATOM

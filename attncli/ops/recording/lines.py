"""Worked lines of a cell from a record: its terms, down to the numbers of the arguments."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import (
    Number,
    Term,
    absolute,
    arctan,
    cos,
    cube_root,
    exp,
    floor,
    largest,
    ln,
    number,
    parameter,
    remainder,
    sin,
    smallest,
    sqrt,
    tanh,
    total,
)  # fmt: skip
from attncli.ops.recording.arrays import REDUCTIONS, NotRecordedError
from attncli.ops.recording.expression import ARGUMENT, MOVES, RUNNING_MAX, SCATTER, Expression, ordered

MAX_OWN_CELLS = 2  # of an array whose numbers get their own lines
MAX_LINES = 12  # for intermediate numbers
MAX_INLINE = 2  # terms of a sum that is written in brackets within another
# Functions that are written inline, even if their numbers recur.
_AROUND = frozenset({"sqrt", "log", "cbrt"})
_SIMPLE = frozenset({"negative", "add", "subtract", "multiply", "absolute", "maximum", "minimum", "where", "astype"})
_JOINED = frozenset({"bitwise_and", "logical_and", "bitwise_or", "logical_or", "invert", "logical_not"})
# The truth value of one operand that decides the whole.
_DECIDING = {"bitwise_or": True, "logical_or": True, "bitwise_and": False, "logical_and": False}
_SIGNS = {"less": "<", "less_equal": "≤", "greater": ">", "greater_equal": "≥", "equal": "=", "not_equal": "≠"}
_OPPOSITE_SIGNS = {"less": "greater_equal", "less_equal": "greater", "equal": "not_equal"}
_OPPOSITE_SIGNS |= {sign: opposite for opposite, sign in _OPPOSITE_SIGNS.items()}


def _is(term: Term, value: float) -> bool:
    """Whether a term is a constant of the function and has a value."""
    return isinstance(term, Number) and term.is_parameter and term.entries == (value,)


def _is_negative(x: Term) -> bool:
    """Whether a term is a number less than 0."""
    return isinstance(x, Number) and not x.is_vector and x.entries[0] < 0


def _times(x: Term, y: Term) -> Term:
    """A product: constants before other numbers, numbers before vectors; 1 is left out, 0 makes 0."""
    if _is(x, 1) or _is(y, 0):
        return y
    if _is(x, 0) or _is(y, 1):
        return x
    is_turned = x.is_vector and not y.is_vector
    is_turned |= not y.is_vector and getattr(y, "is_parameter", False) and not getattr(x, "is_parameter", False)
    return y * x if is_turned else x * y


def _over(x: Term, y: Term) -> Term:
    """A quotient, with a constant's sign before it; 1 is left out."""
    if isinstance(y, Number) and y.is_parameter and y.entries[0] < 0:
        return -_over(x, parameter(-float(y.entries[0])))
    return x if _is(y, 1) else x / y


def _total(terms: Sequence[Term]) -> Term:
    """A sum without constant zeros."""
    counted = [term for term in terms if not _is(term, 0)]
    return total(counted) if counted else parameter(0)


TermOf = Callable[..., Term]
# The way a person writes a function of terms.
TERMS: Mapping[str, TermOf] = {
    "negative": lambda x: number(-x.entries[0]) if _is_negative(x) else -x,
    "absolute": absolute,
    "exp": exp,
    "exp2": lambda x: number(2) ** x,
    "expm1": lambda x: exp(x) - 1,
    "log": ln,
    "log2": lambda x: ln(x) / ln(2),
    "log10": lambda x: ln(x) / ln(10),
    "log1p": lambda x: ln(1 + x),
    "sqrt": sqrt,
    "cbrt": cube_root,
    "square": lambda x: x**2,
    "reciprocal": lambda x: 1 / x,
    "sin": sin,
    "cos": cos,
    "tan": lambda x: sin(x) / cos(x),
    "arctan": arctan,
    "arcsin": lambda x: arctan(x / sqrt(1 - x**2)),
    "arcsinh": lambda x: ln(x + sqrt(x**2 + 1)),
    "sinh": lambda x: (exp(x) - exp(-x)) / 2,
    "cosh": lambda x: (exp(x) + exp(-x)) / 2,
    "tanh": tanh,
    "add": lambda x, y: y if _is(x, 0) else x if _is(y, 0) else x + y,
    "subtract": lambda x, y: x if _is(y, 0) else x - y,
    "multiply": _times,
    "divide": _over,
    "power": lambda x, y: x if _is(y, 1) or _is(x, 1) else sqrt(x) if _is(y, 0.5) else x**y,
    "maximum": lambda x, y: largest([x, y]),
    "minimum": lambda x, y: smallest([x, y]),
    "logaddexp": lambda x, y: ln(1 + exp(y)) if _is(x, 0) else ln(1 + exp(x)) if _is(y, 0) else ln(exp(x) + exp(y)),
    "hypot": lambda x, y: sqrt(x**2 + y**2),
    "floor": floor,
    "remainder": remainder,
    "astype": lambda x: x,
}


@dataclass(frozen=True)
class Known:
    """Facts about the expressions of a record.

    Those `given` have their numbers, in separate lines if few are read, or few of their `rows` of features. Those
    `computed` before have numbers and no lines. `names` has names for intermediate numbers, also with an index.
    """

    given: Mapping[Expression, Array] = field(default_factory=dict)
    computed: Mapping[Expression, Array] = field(default_factory=dict)
    rows: Container[Expression] = ()
    names: Mapping[Expression, str | Callable[..., str]] = field(default_factory=dict)


def recorded_lines(
    write: ArithmeticWriter,
    result: Expression,
    flats: Array,
    value: Any,
    *,
    known: Known,
    name: str = "",
    letter: str = "",
    grad: Expression | None = None,
    sentence: Callable[[str, Term | None, Array], str] = lambda own, _term, _places: own,
) -> list[str]:
    """The lines for one number of a result, or for a vector: intermediate numbers first, its own last.

    `flats` are its flat positions in the result, `value` is the step's value there. `sentence` makes the last line from
    it, its term, and the positions of `grad` that are read.
    """
    worked = _Worked(write, result, known, letter)
    worked.demand(result, flats)
    term = worked.term(result, flats, is_root=True)
    name = name or (worked.place_of(result, flats) if isinstance(term, Number) and not worked.lines else "")
    lines = [*worked.lines, *worked.conditions]
    if worked.left_out:
        lines.append(f"… {count_of(worked.left_out, 'number')} on the way computed alike …")
    if term is worked.last and not worked.conditions and not worked.left_out:  # the result's own line
        lines, term = lines[:-1], worked.last_term
    if isinstance(term, Number) and not term.is_vector and np.ndim(value):
        term = number(np.full(np.shape(value), float(term.entries[0])))
    own = write.equation(term, value, name=name, letter=letter)
    read = worked.read.get(grad, []) if grad is not None else []
    places = _distinct(np.concatenate([*read, np.zeros(0, int)]))
    return [*dict.fromkeys(lines), sentence(own, term, places) if not lines else own]


def recorded_verdict(write: ArithmeticWriter, result: Expression, flat: int) -> str:
    """Why one cell of a mask is true or false."""
    worked = _Worked(write, result, Known(), "")
    places = np.array([flat])
    worked.demand(result, places)
    return worked.condition(result, places)


class _Worked:
    """The terms and the lines for one cell."""

    def __init__(
        self,
        write: ArithmeticWriter,
        result: Expression,
        known: Known,
        letter: str,
    ) -> None:
        self.write = write
        self.steps = ordered(result)
        self.known = known
        self.given = known.given
        self.names = known.names
        self.letter = letter
        self.read = dict[Expression, list[Array]]()  # the positions of arguments whose numbers are written
        self.lines = list[str]()
        self.last: Term | None = None  # the term with the last line, and its source
        self.last_term: Term = number(0)
        self.conditions = list[str]()
        self.left_out = 0
        self._cells = dict[Expression, int]()  # the count of numbers read from each
        self._needed = dict[Expression, Array]()  # their positions
        self._uses = dict[Expression, int]()  # the count of functions that read them
        self._made = set[Expression]()  # expressions that depend on arguments
        for step in self.steps:
            if step.function == ARGUMENT or not self._made.isdisjoint(step.sources):
                self._made.add(step)
        # Sums under a root, which are written there.
        under = [step.sources[0] for step in self.steps if step.function in _AROUND]
        under += [source for step in under if step.function == "add" for source in step.sources]
        self._inside = {step for step in under if not step.label}
        self._own = dict[tuple[Expression, bytes], Term]()
        self._numbered = dict[str, int]()  # the count of unnamed numbers with each sign

    def demand(self, result: Expression, flats: Array) -> None:
        """Count the numbers of each expression that are read."""
        needed = {result: [flats]}
        for step in reversed(self.steps):
            if step not in needed:
                continue
            places = _distinct(np.concatenate([part.ravel() for part in needed[step]]))
            is_row = step in self.known.rows or (step.label and step.shape)
            length = step.shape[-1] if is_row else len(flats)
            self._cells[step] = len(_distinct(places // length)) if is_row else -(-len(places) // length)
            self._needed[step] = places
            if self._is_leaf(step):
                continue
            for source, own in _read_of_each(step, places):
                needed.setdefault(source, []).append(own)
                self._uses[source] = self._uses.get(source, 0) + 1

    def place_of(self, step: Expression, flats: Array) -> str:
        """The position in its argument of a number that was only moved: `table[2]`; empty for others."""
        while step.function in MOVES:
            read = _read(step, flats)
            if len(read) != 1 or len(read[0][1]) != len(flats):
                return ""
            step, flats = read[0][0], read[0][1][:, 0]
        if step.function != ARGUMENT or not step.shape or len(flats) > 1:
            return ""
        index = ", ".join(str(at[0]) for at in np.unravel_index(flats, step.shape))
        return f"{step.name}[{index}]"

    def term(self, step: Expression, flats: Array, *, is_root: bool = False) -> Term:
        """The term of one number, or of a vector with so many positions."""
        if len(flats) > 1 and (flats == flats[0]).all():
            flats = flats[:1]
        if self._is_leaf(step):
            return self._number(step, flats)
        key = (step, flats.tobytes())
        if not is_root and key in self._own:
            return self._own[key]
        if not is_root and self._has_own_line(step):
            row = self._named_row(step, flats)
            if len(row) > len(flats):
                self.term(step, row)
            if key not in self._own:
                self._own[key] = self._with_line(step, flats)
            return self._own[key]
        return self._written(step, flats, is_root=is_root)

    def _named_row(self, step: Expression, flats: Array) -> Array:
        """Every number that is read from the same row, if rows have a name: they share a line."""
        if not step.label or not step.shape or len(flats) > 1:
            return flats
        needed, length = self._needed[step], step.shape[-1]
        row: Array = needed[needed // length == flats[0] // length]
        return row

    def _is_leaf(self, step: Expression) -> bool:
        """Whether a number is not worked out: it is an argument, a constant, or one of many of another step."""
        is_many = step in self.given and self._cells.get(step, 0) > MAX_OWN_CELLS
        return is_many or step in self.known.computed or step.function == ARGUMENT or step.is_constant

    def _number(self, step: Expression, flats: Array) -> Term:
        """Numbers as given; a single one if all are the same."""
        self.read.setdefault(step, []).append(flats)
        if isinstance(step.value, (int, float)):  # a constant of the function
            return parameter(step.value)
        values = np.asarray(self.given.get(step, self.known.computed.get(step, step.value))).ravel()[flats]
        is_truth = values.dtype.kind == "b"
        values = values.astype(int) if is_truth else values
        if (step.is_constant or is_truth) and (values == values[0]).all():
            return parameter(values[0])
        return number(values[0]) if len(_distinct(flats)) == 1 else number(list(map(float, values)))

    def _has_own_line(self, step: Expression) -> bool:
        """Whether a step's numbers get their own lines: sums inside others, and numbers with a name or several uses."""
        if step in self.given or (step.label and self._cells.get(step, 0) <= MAX_OWN_CELLS):
            return True
        if (
            step in self._inside
            or step not in self._made
            or step.function in MOVES
            or step.function not in (*TERMS, *_SUMS, "where")
        ):
            return False
        if self._cells.get(step, 0) > MAX_OWN_CELLS:
            return self._count_of_terms(step) > MAX_INLINE and step.function in _SUMS
        if step.function in _SUMS and self._count_of_terms(step) > 1:
            return True
        return step.function not in _SIMPLE and (step in self.names or self._uses.get(step, 0) > 1)

    def _count_of_terms(self, step: Expression) -> int:
        """The number of a sum's terms."""
        return max((own.shape[1] for _, own in _read(step, np.zeros(1, int))), default=0)

    def _with_line(self, step: Expression, flats: Array) -> Term:
        """A number with its own line; after MAX_LINES the number alone."""
        if len(self.lines) >= MAX_LINES or self._cells.get(step, 0) > MAX_LINES:
            self.left_out += 1
            return self._number(step, flats)
        origin, places = self._moved_from(step, flats) if step in self.given else (step, flats)
        if origin is not step and self._is_leaf(origin):
            origin, places = step, flats
        term = self._written(origin, places)
        if step in self.given:
            known = self._number(step, flats)
            assert isinstance(known, Number)
            value = known.entries if known.is_vector else known.entries[0]
            self.lines.append(self.write.equation(term, value, name=self._name(step, flats), letter=self.letter))
            return known
        if isinstance(term, Number) and not (step.label and term.is_vector == (len(flats) > 1)):
            return term
        made = self.write.computed(self._name(step, flats), term, letter=self.letter)
        self.lines.append(made.line)
        self.last, self.last_term = made, term
        if made.is_vector:
            for at, entry in enumerate(made.entries):
                self._own.setdefault((step, flats[at : at + 1].tobytes()), number(entry))
        return made

    def _name(self, step: Expression, flats: Array) -> str:
        """The name of an intermediate number: the function's variable with its index, otherwise Σ, Σ₂ and so on."""
        sign = self.names.get(step, "Σ" if step.function in _SUMS else "x")
        if not isinstance(sign, str):
            return sign(*np.unravel_index(flats, step.shape or (1,)))
        if step.function in ("max", "min") and step not in self.names:
            sign = step.function
        self._numbered[sign] = count = self._numbered.get(sign, 0) + 1
        return sign if count == 1 else sign + str(count).translate(_SUBSCRIPTS)

    def _written(self, step: Expression, flats: Array, *, is_root: bool = False) -> Term:
        """The term of a step from its operands' terms; without the sign or position for a result."""
        name = step.function
        if name == "where" or name in MOVES:
            return (self._chosen if name == "where" else self._moved)(step, flats, is_root=is_root)
        is_sum = name in _SUMS and not (name in _UNEVEN and len(flats) > 1)
        if not is_sum and (name not in TERMS or self._reads_infinite(step, flats)):
            return self._number(step, flats)
        read = _read(step, flats)
        if is_root and name == "negative" and read[0][0] not in self.names:
            return -self.term(read[0][0], read[0][1][:, 0], is_root=True)
        if name == "divide" and read[1][0].function == "negative" and not read[1][0].is_constant:
            (x, of_x), (divisor, of_divisor) = read
            (positive, of_positive), *_ = _read(divisor, of_divisor[:, 0])
            return -_over(self.term(x, of_x[:, 0]), self.term(positive, of_positive[:, 0]))
        parts = [self._parts(step, *read[0])]
        if name == "matmul":  # numbers that the function multiplies by a constant 0 are not read
            kept = [at for at, term in enumerate(parts[0]) if not _is(term, 0)]
            parts[0], read[1] = [parts[0][at] for at in kept], (read[1][0], read[1][1][:, kept])
        parts += [self._parts(step, source, own) for source, own in read[1:]]
        if name in ("matmul", "einsum"):
            return _total([reduce(_times, factors) for factors in zip(*parts, strict=True)])
        return _SUMS[name](parts[0]) if name in _SUMS else self._called(name, read, [terms[0] for terms in parts])

    def _called(self, name: str, read: list[tuple[Expression, Array]], terms: list[Term]) -> Term:
        """The term of a function of terms; the sign of a factor is before the product."""
        if name == "multiply" and read[1][0].function == "negative" and read[1][0] not in self.names:
            source, own = _read(read[1][0], read[1][1][:, 0])[0]
            return -(terms[0] * self.term(source, own[:, 0]))
        return TERMS[name](*terms)

    def _parts(self, step: Expression, source: Expression, own: Array) -> list[Term]:
        """The terms that a step's numbers read from a source: entries of a row, if the row has a line."""
        row = own[0]
        if len(row) > 1 and len(_distinct(row)) == len(row) and (own == row).all():
            return self._entries(step, source, row)
        return [self.term(source, own[:, at]) for at in range(own.shape[1])]

    def _entries(self, step: Expression, source: Expression, row: Array) -> list[Term]:
        """The terms of a row that a step reads from a source; joined arrays have one each."""
        origin, places = (source, row) if source in self.given else self._moved_from(source, row)
        if origin.function in MOVES and origin not in self.given:
            found = dict[int, Term]()
            sources, came_from = origin.places
            numbers, start = came_from.ravel()[places], 1
            for one in sources:
                end = start + int(np.size(one.value))
                own = np.flatnonzero((numbers >= start) & (numbers < end))
                if len(own):
                    found |= zip(own.tolist(), self._entries(step, one, numbers[own] - start), strict=True)
                start = end
            if len(found) == len(row):
                return [found[at] for at in range(len(row))]
        is_long_sum = origin.function in _SUMS and self._count_of_terms(origin) > 1
        is_factor = step.function in ("matmul", "einsum") and origin.function not in (*_SIMPLE, *MOVES)
        if len(row) > 1 and not self._is_leaf(origin) and (is_long_sum or is_factor or origin in self.given):
            made = self.term(origin, places)
            if isinstance(made, Number) and made.is_vector:
                return [number(entry) for entry in made.entries]
        self._with_rows(origin, places)
        return [self.term(source, row[at : at + 1]) for at in range(len(row))]

    def _with_rows(self, step: Expression, row: Array) -> None:
        """Write the lines of named rows, before their numbers are read."""
        if len(row) > 1 and step.function in (*TERMS, "where") and not self._is_leaf(step):
            if step.label and self._has_own_line(step):
                self.term(step, row)
            else:
                for source, own in _read(step, row):
                    self._with_rows(source, own[:, 0])

    def _moved_from(self, step: Expression, flats: Array) -> tuple[Expression, Array]:
        """The origin of moved numbers, if it is one array."""
        while step.function in MOVES:
            sources, places = step.places
            found = places.ravel()[flats]
            if len(sources) > 1 or (found < 1).any():
                break
            step, flats = sources[0], found - 1
            if step in self.given:
                break
        return step, flats

    def _reads_infinite(self, step: Expression, flats: Array) -> bool:
        """Whether a number depends on −∞ or ∞, so that no arithmetic repeats it."""
        return any(np.isinf(np.ravel(source.value)[own]).any() for source, own in _read(step, flats))

    def _moved(self, step: Expression, flats: Array, *, is_root: bool) -> Term:
        """The term of numbers at their origin; from several arrays the numbers themselves."""
        sources, places = step.places
        found, start = places.ravel()[flats], 1
        for source in sources:
            end = start + int(np.size(source.value))
            if (found >= start).all() and (found < end).all():
                return self.term(source, found - start, is_root=is_root and source not in self.names)
            start = end
        return self._number(step, flats)

    def _chosen(self, step: Expression, flats: Array, *, is_root: bool) -> Term:
        """The term that a condition chose, for a result with the condition's line; for a mixed vector its numbers."""
        condition, *choices = step.operands
        chosen = np.broadcast_to(condition.value, step.shape).ravel()[flats]
        if chosen.any() != chosen.all():
            return self._number(step, flats)
        choice, other = choices if chosen.all() else choices[::-1]
        is_guard = condition.function == "equal" and other.is_constant  # against division by 0
        is_finite = not self._reads_infinite(condition, _at_same(condition, step, flats))
        if is_root and not is_guard and is_finite and (len(flats) == 1 or choice.is_constant):
            text = self.condition(condition, _at_same(condition, step, flats)[:1])
            self.conditions += [text] if text not in ("true", "false", "0 = 0") else []
        return self.term(choice, _at_same(choice, step, flats))

    def condition(self, step: Expression, flats: Array) -> str:
        """Why a condition is true or false, in numbers: `2 − 1 ≥ 0`, `−1 ≤ 0`, and several with "and"."""
        is_true = bool(np.ravel(step.value)[flats[0]])
        if step.function in _SIGNS:
            sides = [self.term(source, own[:, 0]) for source, own in _read(step, flats)]
            sign = _SIGNS[step.function if is_true else _OPPOSITE_SIGNS[step.function]]
            return f" {sign} ".join(side.text(self.write.style) for side in sides)
        if step.function in MOVES or step.function in _JOINED:
            parts = [(source, own[:, 0]) for source, own in _read(step, flats)]
            deciding = _DECIDING.get(step.function)
            if deciding == is_true:  # one operand decides: a true one of "or", a false one of "and"
                parts = [part for part in parts if bool(np.ravel(part[0].value)[part[1][0]]) == is_true]
            return " and ".join(dict.fromkeys(self.condition(*part) for part in parts))
        return "true" if is_true else "false"


_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SUMS: Mapping[str, Callable[[Sequence[Term]], Term]] = {
    "sum": _total,
    "mean": lambda terms: total(terms) / len(terms),
    "max": lambda terms: largest(terms) if len(terms) > 1 else terms[0],
    "min": lambda terms: smallest(terms) if len(terms) > 1 else terms[0],
    "cumsum": total,
    RUNNING_MAX: lambda terms: largest(terms) if len(terms) > 1 else terms[0],
    "matmul": total,
    "einsum": total,
    SCATTER: total,
}


def _distinct(places: Array) -> Array:
    """The distinct positions, in order; `np.unique` imports masked arrays, which take as long as all lines."""
    return np.array(sorted(set(places.ravel().tolist())), dtype=np.int64)


def _numbers(expression: Expression) -> Array:
    """The flat positions of an array, in its shape."""
    return np.arange(np.size(expression.value)).reshape(expression.shape)


def _at_same(source: Expression, step: Expression, flats: Array) -> Array:
    """The positions of an operand for positions of an elementwise result."""
    if not step.shape:
        return np.zeros(len(flats), int)
    found: Array = np.broadcast_to(_numbers(source), step.shape)[np.unravel_index(flats, step.shape)]
    return found


def _read(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The sources of the numbers at some positions: for each operand their positions, [count terms]."""
    name = step.function
    if name in _READERS:
        return _READERS[name](step, flats)
    return [(one, _at_same(one, step, flats)[:, None]) for one in step.sources]


def _read_of_each(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The sources of the numbers at some positions, even if they have different counts."""
    if step.function not in _UNEVEN:
        return _read(step, flats)
    return [part for at in flats for part in _read(step, np.array([at]))]


def _read_by_scatter(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The positions of all summands."""
    source, places, start, *_ = step.operands
    of_each = [np.flatnonzero(places.ravel() == start + at) for at in flats]
    numbers = np.broadcast_to(_numbers(source), places.shape).ravel()
    width = max(map(len, of_each), default=0)
    if any(len(part) != width for part in of_each):
        raise NotRecordedError("a gradient of numbers that were moved unevenly has no lines")
    return [(source, np.array([numbers[part] for part in of_each]).reshape(len(flats), width))]


def _read_by_reduction(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The positions along the reduced axes."""
    source, axes = step.operands[0], tuple(step.options["axis"])
    moved = np.moveaxis(_numbers(source), axes, range(-len(axes), 0))
    return [(source, moved.reshape(max(np.size(step.value), 1), -1)[flats])]


def _read_by_move(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The positions in each array that moved numbers come from."""
    sources, places = step.places
    found, start, read = places.ravel()[flats], 1, list[tuple[Expression, Array]]()
    for source in sources:
        end = start + int(np.size(source.value))
        own = found[(found >= start) & (found < end)] - start
        if own.size:
            read.append((source, own[:, None]))
        start = end
    return read


def _read_by_running_sum(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The positions up to one number's, along the axis of a running sum or maximum."""
    source = step.operands[0]
    if len(flats) != 1:
        raise NotRecordedError("a vector of running sums has no lines")
    axis = step.options.get("axis")
    if axis is None:
        return [(source, np.arange(int(flats[0]) + 1)[None])]
    index: list[Any] = list(np.unravel_index(int(flats[0]), step.shape))
    index[axis] = slice(0, int(index[axis]) + 1)
    return [(source, _numbers(source)[tuple(index)][None])]


def _read_by_product(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The positions of the row and the column for each number of a matrix product."""
    left, right = step.operands
    of_left, of_right = _numbers(left), _numbers(right)
    of_left = of_left[None, :] if of_left.ndim == 1 else of_left
    of_right = of_right[:, None] if of_right.ndim == 1 else of_right
    leading = np.broadcast_shapes(of_left.shape[:-2], of_right.shape[:-2])
    shape = (*leading, of_left.shape[-2], of_right.shape[-1])
    *before, row, column = np.unravel_index(flats, shape)
    of_left = np.broadcast_to(of_left, (*leading, *of_left.shape[-2:]))
    of_right = np.broadcast_to(of_right, (*leading, *of_right.shape[-2:]))
    return [(left, of_left[(*before, row)]), (right, of_right.swapaxes(-1, -2)[(*before, column)])]


def _read_by_einsum(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The positions of the factors for each number of `np.einsum`."""
    subscripts, *factors = step.operands
    inputs, result = subscripts.split("->")
    terms = inputs.split(",")
    lengths = {
        x: size for term, one in zip(terms, factors, strict=True) for x, size in zip(term, one.shape, strict=True)
    }
    summed = [x for x in lengths if x not in result]
    inner = np.indices([lengths[x] for x in summed]).reshape(len(summed), -1)
    outer = np.unravel_index(flats, step.shape) if result else ()
    at = {x: index[:, None] for x, index in zip(result, outer, strict=True)} | dict(
        zip(summed, inner[:, None, :], strict=True)
    )
    count = inner.shape[1] if summed else 1
    return [
        (one, np.broadcast_to(_numbers(one)[tuple(at[x] for x in term)], (len(flats), count)))
        for term, one in zip(terms, factors, strict=True)
    ]


read_cells = _read
_UNEVEN = (SCATTER, "cumsum", RUNNING_MAX)  # their numbers have different counts of sources
_READERS: Mapping[str, Callable[[Expression, Array], list[tuple[Expression, Array]]]] = {
    **dict.fromkeys(MOVES, _read_by_move),
    **dict.fromkeys(REDUCTIONS, _read_by_reduction),
    SCATTER: _read_by_scatter,
    "cumsum": _read_by_running_sum,
    RUNNING_MAX: _read_by_running_sum,
    "matmul": _read_by_product,
    "einsum": _read_by_einsum,
}

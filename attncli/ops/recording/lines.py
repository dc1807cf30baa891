"""Worked lines of a cell from a record: the terms that it is made of, down to the numbers of the arguments."""

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

MAX_OWN_CELLS = 2  # of an array whose numbers have lines of their own
MAX_LINES = 12  # of numbers on the way
MAX_INLINE = 2  # terms of a sum that stands in brackets among others
# Functions that are written where they stand, also where their numbers recur.
_AROUND = frozenset({"sqrt", "log", "cbrt"})
_SIMPLE = frozenset({"negative", "add", "subtract", "multiply", "absolute", "maximum", "minimum", "where", "astype"})
_JOINED = frozenset({"bitwise_and", "logical_and", "bitwise_or", "logical_or", "invert", "logical_not"})
# With which truth one part says that of the whole.
_DECIDING = {"bitwise_or": True, "logical_or": True, "bitwise_and": False, "logical_and": False}
_SIGNS = {"less": "<", "less_equal": "≤", "greater": ">", "greater_equal": "≥", "equal": "=", "not_equal": "≠"}
_OPPOSITE_SIGNS = {"less": "greater_equal", "less_equal": "greater", "equal": "not_equal"}
_OPPOSITE_SIGNS |= {sign: opposite for opposite, sign in _OPPOSITE_SIGNS.items()}


def _is(term: Term, value: float) -> bool:
    """Whether a term is a number of the function and has a value."""
    return isinstance(term, Number) and term.is_parameter and term.entries == (value,)


def _is_negative(x: Term) -> bool:
    """Whether a term is a number less than 0."""
    return isinstance(x, Number) and not x.is_vector and x.entries[0] < 0


def _times(x: Term, y: Term) -> Term:
    """A product: numbers of the function before others, and numbers before vectors; 1 is left out, 0 makes 0."""
    if _is(x, 1) or _is(y, 0):
        return y
    if _is(x, 0) or _is(y, 1):
        return x
    is_turned = x.is_vector and not y.is_vector
    is_turned |= not y.is_vector and getattr(y, "is_parameter", False) and not getattr(x, "is_parameter", False)
    return y * x if is_turned else x * y


def _over(x: Term, y: Term) -> Term:
    """A quotient, with the sign of a number of the function before it; 1 is left out."""
    if isinstance(y, Number) and y.is_parameter and y.entries[0] < 0:
        return -_over(x, parameter(-float(y.entries[0])))
    return x if _is(y, 1) else x / y


def _total(terms: Sequence[Term]) -> Term:
    """A sum without what is always 0."""
    counted = [term for term in terms if not _is(term, 0)]
    return total(counted) if counted else parameter(0)


TermOf = Callable[..., Term]
# What a person writes for a function of terms.
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
    """What is known of the expressions of a record.

    What is `given` has the numbers that are given, in lines of their own where few are read, or few rows of what has
    `rows` of features; what was `computed` before has numbers and no lines. Numbers on the way are named as in `names`,
    also by their index.
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
    """The lines of one number of a result, or of a vector: of what it is made of, and its own last.

    `flats` are its places among the numbers of the result, `value` what the step has there. `sentence` makes the last
    line of it, of its term, and of the places of `grad` that are read.
    """
    worked = _Worked(write, result, known, letter)
    worked.demand(result, flats)
    term = worked.term(result, flats, is_root=True)
    name = name or (worked.place_of(result, flats) if isinstance(term, Number) and not worked.lines else "")
    lines = [*worked.lines, *worked.conditions]
    if worked.left_out:
        lines.append(f"… {count_of(worked.left_out, 'number')} on the way computed alike …")
    if term is worked.last and not worked.conditions and not worked.left_out:  # the line of the result itself
        lines, term = lines[:-1], worked.last_term
    if isinstance(term, Number) and not term.is_vector and np.ndim(value):
        term = number(np.full(np.shape(value), float(term.entries[0])))
    own = write.equation(term, value, name=name, letter=letter)
    read = worked.read.get(grad, []) if grad is not None else []
    places = _distinct(np.concatenate([*read, np.zeros(0, int)]))
    return [*dict.fromkeys(lines), sentence(own, term, places) if not lines else own]


def recorded_verdict(write: ArithmeticWriter, result: Expression, flat: int) -> str:
    """What makes one truth of a mask true or false."""
    worked = _Worked(write, result, Known(), "")
    places = np.array([flat])
    worked.demand(result, places)
    return worked.condition(result, places)


class _Worked:
    """The terms and the lines of what one cell is made of."""

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
        self.read = dict[Expression, list[Array]]()  # the places of arguments whose numbers are written
        self.lines = list[str]()
        self.last: Term | None = None  # whose line is the last, and what it was made of
        self.last_term: Term = number(0)
        self.conditions = list[str]()
        self.left_out = 0
        self._cells = dict[Expression, int]()  # how many numbers of each are read
        self._needed = dict[Expression, Array]()  # and which
        self._uses = dict[Expression, int]()  # and by how many functions
        self._made = set[Expression]()  # what is made of arguments
        for step in self.steps:
            if step.function == ARGUMENT or not self._made.isdisjoint(step.sources):
                self._made.add(step)
        # Sums under a root, which stand there.
        under = [step.sources[0] for step in self.steps if step.function in _AROUND]
        under += [source for step in under if step.function == "add" for source in step.sources]
        self._inside = {step for step in under if not step.label}
        self._own = dict[tuple[Expression, bytes], Term]()
        self._numbered = dict[str, int]()  # how many numbers without a name have a sign

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
        """Where a number that was only moved stands in its argument: `table[2]`; nothing of others."""
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
        """The term of one number, or of a vector of as many as there are places."""
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
        """All that is read of the row of one number, where rows have a name: they have one line together."""
        if not step.label or not step.shape or len(flats) > 1:
            return flats
        needed, length = self._needed[step], step.shape[-1]
        row: Array = needed[needed // length == flats[0] // length]
        return row

    def _is_leaf(self, step: Expression) -> bool:
        """Whether a number is not worked out: an argument, a constant, one of many that another step has."""
        is_many = step in self.given and self._cells.get(step, 0) > MAX_OWN_CELLS
        return is_many or step in self.known.computed or step.function == ARGUMENT or step.is_constant

    def _number(self, step: Expression, flats: Array) -> Term:
        """Numbers as they are; one where all are the same one."""
        self.read.setdefault(step, []).append(flats)
        if isinstance(step.value, (int, float)):  # written in the function
            return parameter(step.value)
        values = np.asarray(self.given.get(step, self.known.computed.get(step, step.value))).ravel()[flats]
        is_truth = values.dtype.kind == "b"
        values = values.astype(int) if is_truth else values
        if (step.is_constant or is_truth) and (values == values[0]).all():
            return parameter(values[0])
        return number(values[0]) if len(_distinct(flats)) == 1 else number(list(map(float, values)))

    def _has_own_line(self, step: Expression) -> bool:
        """Whether the numbers of a step have lines of their own: sums inside others, and what has a name or recurs."""
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
        """How many terms a sum has."""
        return max((own.shape[1] for _, own in _read(step, np.zeros(1, int))), default=0)

    def _with_line(self, step: Expression, flats: Array) -> Term:
        """A number with a line of its own; beyond so many lines the number alone."""
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
        """The name of a number on the way: the function's variable with its index, otherwise Σ, Σ₂ and so on."""
        sign = self.names.get(step, "Σ" if step.function in _SUMS else "x")
        if not isinstance(sign, str):
            return sign(*np.unravel_index(flats, step.shape or (1,)))
        if step.function in ("max", "min") and step not in self.names:
            sign = step.function
        self._numbered[sign] = count = self._numbered.get(sign, 0) + 1
        return sign if count == 1 else sign + str(count).translate(_SUBSCRIPTS)

    def _written(self, step: Expression, flats: Array, *, is_root: bool = False) -> Term:
        """The term of a step from those of what it reads; that of a result is not behind its sign or its place."""
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
        if name == "matmul":  # what the function itself multiplies by 0 is not read
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
        """The terms that the numbers of a step read of a source: of a row that has a line its entries."""
        row = own[0]
        if len(row) > 1 and len(_distinct(row)) == len(row) and (own == row).all():
            return self._entries(step, source, row)
        return [self.term(source, own[:, at]) for at in range(own.shape[1])]

    def _entries(self, step: Expression, source: Expression, row: Array) -> list[Term]:
        """The terms of a row that a step reads of a source; the parts of joined arrays each have their own."""
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
        """Write the lines of whole rows that have a name, before each number of them is read."""
        if len(row) > 1 and step.function in (*TERMS, "where") and not self._is_leaf(step):
            if step.label and self._has_own_line(step):
                self.term(step, row)
            else:
                for source, own in _read(step, row):
                    self._with_rows(source, own[:, 0])

    def _moved_from(self, step: Expression, flats: Array) -> tuple[Expression, Array]:
        """Where numbers come from that a function moved, all from one array."""
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
        """Whether a number is made of −∞ or ∞: nothing can be redone with it."""
        return any(np.isinf(np.ravel(source.value)[own]).any() for source, own in _read(step, flats))

    def _moved(self, step: Expression, flats: Array, *, is_root: bool) -> Term:
        """The term of numbers where they came from; of several arrays the numbers themselves."""
        sources, places = step.places
        found, start = places.ravel()[flats], 1
        for source in sources:
            end = start + int(np.size(source.value))
            if (found >= start).all() and (found < end).all():
                return self.term(source, found - start, is_root=is_root and source not in self.names)
            start = end
        return self._number(step, flats)

    def _chosen(self, step: Expression, flats: Array, *, is_root: bool) -> Term:
        """The term of what a condition chose, of a result with the condition as a line; of a vector of both numbers."""
        condition, *choices = step.operands
        chosen = np.broadcast_to(condition.value, step.shape).ravel()[flats]
        if chosen.any() != chosen.all():
            return self._number(step, flats)
        choice, other = choices if chosen.all() else choices[::-1]
        is_guard = condition.function == "equal" and other.is_constant  # against a division by 0, which it is not
        is_finite = not self._reads_infinite(condition, _at_same(condition, step, flats))
        if is_root and not is_guard and is_finite and (len(flats) == 1 or choice.is_constant):
            text = self.condition(condition, _at_same(condition, step, flats)[:1])
            self.conditions += [text] if text not in ("true", "false", "0 = 0") else []
        return self.term(choice, _at_same(choice, step, flats))

    def condition(self, step: Expression, flats: Array) -> str:
        """What makes a truth true or false, in numbers: `2 − 1 ≥ 0`, `−1 ≤ 0`, and several with "and"."""
        is_true = bool(np.ravel(step.value)[flats[0]])
        if step.function in _SIGNS:
            sides = [self.term(source, own[:, 0]) for source, own in _read(step, flats)]
            sign = _SIGNS[step.function if is_true else _OPPOSITE_SIGNS[step.function]]
            return f" {sign} ".join(side.text(self.write.style) for side in sides)
        if step.function in MOVES or step.function in _JOINED:
            parts = [(source, own[:, 0]) for source, own in _read(step, flats)]
            deciding = _DECIDING.get(step.function)
            if deciding == is_true:  # by itself: one true part of "or", one false part of "and"
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
    """The places, each once, in order; `np.unique` imports masked arrays, which take as long as all lines."""
    return np.array(sorted(set(places.ravel().tolist())), dtype=np.int64)


def _numbers(expression: Expression) -> Array:
    """The numbers of the places of an array, in its shape."""
    return np.arange(np.size(expression.value)).reshape(expression.shape)


def _at_same(source: Expression, step: Expression, flats: Array) -> Array:
    """The places of an operand that belong to those of what is computed from it number by number."""
    if not step.shape:
        return np.zeros(len(flats), int)
    found: Array = np.broadcast_to(_numbers(source), step.shape)[np.unravel_index(flats, step.shape)]
    return found


def _read(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """What the numbers at some places are made of: of each operand the places for each of them, [count terms]."""
    name = step.function
    if name in _READERS:
        return _READERS[name](step, flats)
    return [(one, _at_same(one, step, flats)[:, None]) for one in step.sources]


def _read_of_each(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """What the numbers at some places are made of, also where one is made of more than another."""
    if step.function not in _UNEVEN:
        return _read(step, flats)
    return [part for at in flats for part in _read(step, np.array([at]))]


def _read_by_scatter(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The places of all numbers that were added up."""
    source, places, start, *_ = step.operands
    of_each = [np.flatnonzero(places.ravel() == start + at) for at in flats]
    numbers = np.broadcast_to(_numbers(source), places.shape).ravel()
    width = max(map(len, of_each), default=0)
    if any(len(part) != width for part in of_each):
        raise NotRecordedError("the gradient of numbers that were moved unevenly has no lines")
    return [(source, np.array([numbers[part] for part in of_each]).reshape(len(flats), width))]


def _read_by_reduction(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The places of the numbers along the axes that were reduced."""
    source, axes = step.operands[0], tuple(step.options["axis"])
    moved = np.moveaxis(_numbers(source), axes, range(-len(axes), 0))
    return [(source, moved.reshape(max(np.size(step.value), 1), -1)[flats])]


def _read_by_move(step: Expression, flats: Array) -> list[tuple[Expression, Array]]:
    """The places that moved numbers come from, in each array."""
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
    """The places up to that of one number, along the axis of a running sum or maximum."""
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
    """The places of the row and the column of each number of a product of matrices."""
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
    """The places of the factors of each number of `np.einsum`."""
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
_UNEVEN = (SCATTER, "cumsum", RUNNING_MAX)  # whose numbers are made of more or of fewer others
_READERS: Mapping[str, Callable[[Expression, Array], list[tuple[Expression, Array]]]] = {
    **dict.fromkeys(MOVES, _read_by_move),
    **dict.fromkeys(REDUCTIONS, _read_by_reduction),
    SCATTER: _read_by_scatter,
    "cumsum": _read_by_running_sum,
    RUNNING_MAX: _read_by_running_sum,
    "matmul": _read_by_product,
    "einsum": _read_by_einsum,
}

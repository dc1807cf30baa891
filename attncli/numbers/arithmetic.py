"""Lines of arithmetic: `2·2 + 0·(−4) = 4`, true for the digits as written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from typing import Any

from attncli.base.axes import SYMBOLS
from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import np
from attncli.numbers.formatting import Style
from attncli.numbers.terms import CONTEXT, Number, Term, Vector, number

MAX_TERMS = 12  # the longest sum that is written whole by default
MAX_EXTRA_DECIMALS = 2  # numbers in a term may have so many more than its result
ADDED_DECIMALS = 25  # for a summand: later decimals are what 50 digits leave of a difference of 0
HALF = Decimal("0.5")
CLOSE = Decimal("0.01")  # relative to a result: the error of a rounded sum whose small factors look as in their table
UNROUNDED = "of unrounded numbers"  # of a result whose step read unrounded numbers
ROUNDING = Decimal("1e-9")  # of a unit: a result halfway between two roundings may be either


@dataclass(frozen=True, eq=False)
class ArithmeticWriter:
    """Writes the numbers and equations for one cell; `by_hand` functions get one.

    A term is the left side of an equation: `attncli.numbers.terms` makes terms of numbers. Its numbers have as many
    decimals as the result, or one or two more, so that the equation is true: `=` says that the digits of the term give
    the digits of the result. Otherwise it says `≈`, or adds the value as rounded `, in float16`, or that the result is
    `of unrounded numbers`.

    >>> import numpy as np
    >>> from attncli.numbers.terms import products
    >>> write = ArithmeticWriter(decimals=2, query="cat", keys=["the"], row=0, column=0)
    >>> query, key = np.array([2, -1]), np.array([0.5, 3])
    >>> write.equation(products(query, key), query @ key, name=f"Q({write.query})·K({write.key})")
    'Q(cat)·K(the) = 2·0.5 + (−1)·3 = −2'
    """

    decimals: int  # digits after the point
    query: str  # the label of the cell's row
    keys: Sequence[str]  # the labels of all columns
    row: int  # indices count from 0
    column: int
    head: int = 0
    # The longest sum or vector that is written whole; None for no limit. If a result has more than half as many
    # numbers, only its number at `feature` is worked out.
    max_terms: int | None = MAX_TERMS
    dtype: str = "float64"  # the type of results
    has_exponents: bool = False  # whether the result's table writes an exponent instead of `0.0000`
    # Symbols that differ from those in formulas, by the names of arguments and roles: {"query": "Qᵣ"}.
    symbols: Mapping[str, str] = field(default_factory=dict)
    feature: int = 0

    def __call__(self, value: Any) -> str:
        """A number, or a vector in brackets.

        >>> import numpy as np
        >>> write = ArithmeticWriter(2, "q", ["k"], 0, 0)
        >>> write(0.125), write(np.array([1, -2]))
        ('0.12', '[1 −2]')
        """
        return number(value).text(self.style)

    def equation(self, term: Term, result: Any, *, name: str = "", letter: str = "") -> str:
        """The line `name = term = result`: how the result is computed, and the number in the step's table.

        For a long vector one number is worked out, named by the letter of its axis: `C(cat)[e1]`.

        >>> from attncli.numbers.terms import number, products
        >>> write = ArithmeticWriter(4, "q", ["k"], 0, 0)
        >>> write.equation(number(10) / 3, 10 / 3)
        '10/3 = 3.3333'
        >>> write.equation(number(0.45484) + 0.45484, 0.90968)
        '0.45484 + 0.45484 = 0.9097'
        >>> write.equation(products([0.5, 0.5], [[2, 0], [4, 2]]), [3, 1], name="C", letter="e")
        'C = 0.5·[2 0] + 0.5·[4 2] = [3 1]'
        """
        value = number(result)
        assert isinstance(value, Number)
        if value.is_vector and self.is_long(len(value.entries)):
            at = min(self.feature, len(value.entries) - 1)
            name, term, value = name and f"{name}[{letter}{at + 1}]", term.entry(at), Number(value.entries[at : at + 1])
        text = self._written(term, value)
        return f"{name} = {text}" if name else text

    def computed(self, name: str, term: Term, *, letter: str = "", is_added: bool = False) -> "Computed":
        """A number without a step: its line, and the number itself as a term for other lines.

        A small one has an exponent, unless `is_added`: it is only added to larger numbers.

        >>> from attncli.numbers.terms import number, sqrt
        >>> write = ArithmeticWriter(4, "q", ["k"], 0, 0)
        >>> norm = write.computed("‖x‖", sqrt(number(3) * 3 + number(4) * 4))
        >>> norm.line, write.equation(number(3) / norm, 0.6)
        ('‖x‖ = √(3·3 + 4·4) = 5', '3/5 = 0.6')
        >>> write.computed("D", (number(0.5) * 4.4 - 2.2) ** 2, is_added=True).line
        'D = (0.5·4.4 − 2.2)² = 0'
        """
        exact_value = term.value(None)
        rounded = tuple(float(round(x, ADDED_DECIMALS) if is_added and x.is_finite() else x) for x in exact_value)
        is_small = not is_added and any(Style(self.decimals).rounded(entry) == 0 != entry for entry in rounded)
        write = replace(self, has_exponents=self.has_exponents or is_small, dtype="")
        line = write.equation(term, list(rounded) if term.is_vector else rounded[0], name=name, letter=letter)
        return Computed(rounded, term.is_vector, line=line)

    def symbol(self, name: str) -> str:
        """The symbol of an argument, or of the result by its role; without one the name itself.

        >>> write = ArithmeticWriter(4, "q", ["k"], 0, 0, symbols={"query": "Qᵣ"})
        >>> write.symbol("query"), write.symbol("key"), write.symbol("table")
        ('Qᵣ', 'K', 'table')
        """
        return self.symbols.get(name) or SYMBOLS.get(name, name)

    def is_long(self, features: int) -> bool:
        """Whether only one feature of so many is worked out."""
        return self.max_terms is not None and features > max(self.max_terms // 2, 1)

    @property
    def key(self) -> str:
        """The label of the cell's column."""
        return self.keys[self.column]

    @property
    def style(self) -> Style:
        """How results are written."""
        return Style(self.decimals, self.has_exponents, self.max_terms)

    def _written(self, term: Term, result: Number) -> str:
        """`term = result`, `term ≈ result`, or the result as its type has rounded the term's value."""
        styles = [replace(self.style, decimals=self.decimals + extra) for extra in range(MAX_EXTRA_DECIMALS + 1)]
        text = self._equal_text(term, result, styles)
        if text:
            return text
        rounded = term.value(styles[-1])
        is_close = self._is_close(rounded, result)
        if not is_close or not self._agree(rounded, result, Decimal(1)):  # the factors of small numbers may be large
            with_exponents = [replace(style, has_exponents=True) for style in styles]
            text = self._equal_text(term, result, with_exponents)
            if text:
                return text
            if not is_close:
                styles = with_exponents
        exact_value = term.value(None)
        if self._agree(exact_value, result) or not self.dtype:
            value = term.value(styles[-1])
            return self._equation_text(term.text(styles[-1]), "≈", self._result_text(result, value, is_exact=False))
        unrounded = replace(self, dtype="")._written(term, Number(exact_value, result.is_vector))
        means = f"in {self.dtype}" if self._is_rounded(exact_value, result) else UNROUNDED
        return f"{unrounded}, {means} {result.text(self.style)}"

    def _is_rounded(self, value: Vector, result: Number) -> bool:
        """Whether a result is the value in its type; a step that read unrounded numbers may differ."""
        numbers = np.array([float(value[at % len(value)]) for at in range(len(result.entries))])
        results = np.array([float(x) for x in result.entries])
        return bool(np.array_equal(Precision(self.dtype).round(numbers), results, equal_nan=True))

    def _equal_text(self, term: Term, result: Number, styles: Sequence[Style]) -> str:
        """`term = result` in the first style whose digits give the result; None if none does."""
        for style in styles:
            value = term.value(style)
            if self._agree(value, result):
                right = self._result_text(result, value, is_exact=term.is_exact(style))
                return self._equation_text(term.text(style), "=", right)
        return ""

    @staticmethod
    def _equation_text(left: str, sign: str, right: str) -> str:
        """Both sides of an equation; one side if they are the same: `0 = 0`."""
        return right if left == right else f"{left} {sign} {right}"

    def _agree(self, value: Vector, result: Number, tolerance: Decimal = HALF) -> bool:
        """Whether a value equals the result, up to so many units of the last digit."""
        with localcontext(CONTEXT):
            return all(
                self._agrees(value[at % len(value)], entry, tolerance) for at, entry in enumerate(result.entries)
            )

    def _is_close(self, value: Vector, result: Number) -> bool:
        """Whether a value is within a hundredth of the result, or within one unit if the result is written as 0."""
        pairs = [(value[at % len(value)], Decimal(entry)) for at, entry in enumerate(result.entries)]
        with localcontext(CONTEXT):
            return all(
                left.is_finite()
                and right.is_finite()
                and abs(left - right) <= (CLOSE * abs(right) if self.style.rounded(right) else self.style.unit(right))
                for left, right in pairs
            )

    def _agrees(self, value: Decimal, entry: float | Decimal, tolerance: Decimal) -> bool:
        """Whether a number equals one entry of the result."""
        rounded = self.style.rounded(entry)
        if not (value.is_finite() and rounded.is_finite()):
            return str(value) == str(rounded)
        return abs(value - rounded) <= self.style.unit(entry) * (tolerance + ROUNDING)

    def _result_text(self, result: Number, values: Vector, *, is_exact: bool) -> str:
        """The result; trailing zeros say that it is rounded, or that the values come from rounded numbers."""
        texts = []
        for at, entry in enumerate(result.entries):
            value = values[at % len(values)]  # one number is every entry's
            shows_all = self.style.rounded(value) == value and (is_exact or value == 0 == entry)
            texts.append(self.style.text(value) if shows_all else self.style.padded(entry))
        return result.text_of(texts, self.style)


@dataclass(frozen=True, eq=False)
class Computed(Number):
    """A number with the line that computes it."""

    line: str = field(default="")

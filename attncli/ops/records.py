"""Operator records: everything that is known of an operator, as fields of its record, an attribute of its function.

Lists, help, completion, validation, explanations, engines and laws read the record.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from attncli.base.axes import Letters, Signature
from attncli.base.errors import UnknownNameError
from attncli.base.lazy_numpy import Array
from attncli.ops.code import Code, CodeRule
from attncli.ops.derivatives import Derivatives

Interval = tuple[float, float]  # half-open: from the first key to before the last


@dataclass(frozen=True, eq=False)
class Factorization:
    """A score [… n m] that is `left(query) @ right(key).mT * scale(d)`.

    `left(query [… n d], **parameters)` and `right(key [… m c], **parameters)` return matrices of equally many columns;
    they get every parameter of the score, defaults resolved. `scale` takes the number of features d; for a number of
    `longdouble` it returns one of this type.

    >>> import numpy as np
    >>> from attncli.ops.scores import cosine
    >>> query, key = np.array([[3.0, 4.0]]), np.array([[6.0, 8.0], [4.0, -3.0]])
    >>> rule = cosine.record.factorization
    >>> (rule.left(query, beta=2) @ rule.right(key, beta=2).mT * rule.scale(2)).round(4)
    array([[2., 0.]])
    """

    left: Callable[..., Array]
    right: Callable[..., Array]
    scale: Callable[[Any], Any] = lambda features: 1.0


@dataclass(frozen=True, eq=False)
class OnlineNormalizer:
    """Online form of a normalizer: weights = numerator / denominator, accumulated tile by tile.

    `numerator(scores [… n m], running_max [… n 1], out=, **parameters)` gets every parameter, defaults resolved,
    and may compute in `out`, an array of the shape of the scores. When the running maximum rises from m to m', what was
    accumulated is multiplied by `numerator(m, m')`. The denominator is the sum of the numerators and of
    `extra_denominator(running_max)`. Source: Milakov & Gimelshein 2018, Algorithm 3.

    Softmax of [1, 3], a score at a time:

    >>> import numpy as np
    >>> from attncli.ops.normalizers import softmax
    >>> numerator, first, second = softmax.record.online.numerator, np.array([[1.0]]), np.array([[3.0]])
    >>> one = numerator(first, first, temperature=1.0)  # the running maximum is 1 …
    >>> one = one * numerator(first, second, temperature=1.0)  # … and rises to 3
    >>> two = numerator(second, second, temperature=1.0)
    >>> np.concatenate([one, two], axis=-1) / (one + two)
    array([[0.11920292, 0.88079708]])
    """

    numerator: Callable[..., Array]
    uses_running_max: bool = True  # without it the numerator gets None in its place
    min_running_max: float = -float("inf")
    extra_denominator: Callable[[Array], Array] | None = None
    is_divided: bool = True  # without it the numerators are the weights
    may_cancel: bool = False  # numerators may be negative
    # The factor f where the numerator is exp(f (score − running_max)): without a need for it no maximum is subtracted.
    exp_scale: Callable[[Mapping[str, Any]], float] | None = None
    # gradient(grad, weights, row_sums [… n 1], **parameters): that of scores, from Σⱼ dA∘A of whole rows
    gradient: Callable[..., Array] | None = None
    multiplications: int = 32  # cost of one numerator and what else tiles do with a score, in multiply-adds

    @property
    def ignores_shifts(self) -> bool:
        """Whether a number that is added to all scores of a row changes no weight."""
        return self.exp_scale is not None and self.is_divided and self.extra_denominator is None


@dataclass(frozen=True, eq=False)
class KeyBounds:
    """Half-open key ranges of a block of queries.

    Outside `any_visible` all cells are masked, and so they are inside `gap`, which may be between keys of it that are
    not; inside `all_visible` none is, so no mask is applied there.

    >>> import numpy as np
    >>> from attncli.ops.masks import causal
    >>> bounds = causal.record.key_bounds(np.array([2, 3, 4]), np.arange(8))
    >>> tuple(map(int, bounds.any_visible)), tuple(map(int, bounds.all_visible))
    ((0, 5), (0, 3))
    """

    any_visible: Interval
    all_visible: Interval
    gap: Interval = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class MaskSign:
    """The sign of the cells that a rule hides in the table of mask signs, and its meaning in the legend."""

    sign: str
    meaning: str
    precedence: int = 0  # a cell that several rules hide has the sign of the highest


@dataclass(frozen=True, eq=False)
class DerivedInput:
    """An array that an operator reads and that is computed where the user does not give it.

    `function(shape=…, **options)` returns an array of that shape: the lengths of `axes`, in which `…` means the
    axes before the queries. The options are the operator's own parameters of the names in `parameters`; an operator
    that gets the array does not get them. What depends on the parameters in force, with defaults, are functions of
    them: `is_needed`, `lengths` of axes that are the operator's own, from those of the problem in one head (an axis
    without one is left out), and `inputs`, the roles of nodes that the function reads.

    >>> import numpy as np
    >>> slopes = DerivedInput(
    ...     lambda shape: np.ones(shape),
    ...     "m",
    ...     lambda shape: f"1 for {shape[0]} heads",
    ...     ("h",),
    ...     purpose="How fast the bias grows in each head.",
    ... )
    >>> slopes.function(shape=(2,)), slopes.formula((2,))
    (array([1., 1.]), '1 for 2 heads')
    """

    function: Callable[..., Array]
    symbol: str
    formula: Callable[..., str]  # of what the function gets: the shape and the options
    axes: Letters
    parameters: tuple[str, ...] = ()
    is_needed: Callable[[Mapping[str, Any]], bool] = lambda parameters: True
    lengths: Callable[[Mapping[str, Any], Mapping[str, int]], Mapping[str, int]] = lambda parameters, lengths: {}
    inputs: Callable[[Mapping[str, Any]], tuple[str, ...]] = lambda parameters: ()
    purpose: str = field(kw_only=True)  # what it is for, in one sentence


@dataclass(frozen=True)
class PositionAxes:
    """How many numbers a position has, such as a row and a column, and whether they have to be given.

    Without positions every row has its number on each axis, unless `are_needed`.
    """

    count: int
    are_needed: bool = False


@dataclass(frozen=True)
class OperatorUse:
    """The parameters of an operator, and the lengths and positions that they are checked against.

    `lengths` has the length of each axis letter in one head; `positions` are those of the rows it acts on,
    counted from the first key.
    """

    parameters: Mapping[str, Any]
    lengths: Mapping[str, int]
    positions: range


Tap = Callable[[str, Array], Array]
ByHand = Callable[..., list[str]]
FormulaInForce = Callable[..., str]
AxesInForce = Callable[[Mapping[str, Any]], PositionAxes | None]
ActsOn = Literal["embeddings", "query_and_key", "products", "scores"]

# Keywords that are not parameters: where inner quantities pass through, and how to multiply matrices.
TAP, MATMUL = "tap", "matmul"
TABLE = "table"  # Annotated[Array, TABLE]: rows are looked up, so that `weight_layout` does not transpose it
COUNTS = "counts"  # Annotated[Array, COUNTS]: whole numbers from 0, which keep their type


@dataclass(frozen=True)
class Symbol:
    """The symbol of an array parameter in formulas, where it is not its name: `w1: Annotated[Array, Symbol("W₁")]`."""

    text: str


@dataclass(frozen=True)
class MayHave:
    """The letter of an axis that an array may have before its own: `frequencies: Annotated[Array, MayHave("s")]`."""

    letter: str


class ParameterMapping:
    """The value of a parameter that is written as a mapping of names to numbers, choices and lists; it is hashable."""

    def as_mapping(self) -> dict[str, Any]:
        """The mapping, which is read back as the same value."""
        raise NotImplementedError


@dataclass(frozen=True)
class ReadsMapping:
    """A number may be a mapping too: `scaling: Annotated[float | RopeScaling, ReadsMapping(read_scaling, example)]`.

    `read` gets the mapping with its numbers converted, and returns the value or raises AttnError; mappings inside it
    are as they were given. `example` is such a mapping, as it is written.
    """

    read: Callable[[Mapping[str, Any]], ParameterMapping]
    example: str


class _Required:
    """The default of a parameter that has none."""


REQUIRED = _Required()


def no_tap(_name: str, value: Array) -> Array:
    """The default tap, the identity: inner quantities are not kept."""
    return value


def reused(table: Array, tap: Tap) -> Array | None:
    """The table itself, to compute in: for large ones memory takes as long as arithmetic. None where the tap has it."""
    return table if tap is no_tap and table.dtype.kind == "f" else None


@dataclass(frozen=True, eq=False)
class Range:
    """The numbers that a parameter may have: greater than `above`, and not less than `least`.

    >>> Range(above=0).holds(0), Range(least=0).holds(0), str(Range(least=0))
    (False, True, '≥ 0')
    """

    above: float | None = None
    least: float | None = None
    allows_infinity: bool = False  # whether inf is among them

    def holds(self, number: float) -> bool:
        """Whether the number is in the range (NaN never is)."""
        return (
            (self.above is None or number > self.above)
            and (self.least is None or number >= self.least)
            and not math.isnan(number)
        )

    def __str__(self) -> str:
        ends = (("> ", self.above), ("≥ ", self.least))
        return " and ".join(f"{sign}{end:g}" for sign, end in ends if end is not None)


Positive = Annotated[float, Range(above=0)]


@dataclass(frozen=True, eq=False)
class Parameter:
    """One keyword parameter of an operator, as its function's signature has it."""

    name: str
    kind: Literal["array", "number", "integer", "boolean", "word"]
    default: Any = REQUIRED
    letters: Letters = ()  # of an array
    words: tuple[str, ...] = ()  # the choices
    range: Range = Range()
    is_table: bool = False  # of an array: its rows are looked up
    is_counts: bool = False  # of an array: whole numbers from 0
    symbol: str = ""  # of an array: in formulas
    leading: Letters = ()  # of an array: an axis that it may have before its own
    mapping: ReadsMapping | None = None  # how a mapping in place of a number is read

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is REQUIRED

    @property
    def is_weight(self) -> bool:
        """Whether it is a matrix that is multiplied from the right, stored as `weight_layout` says."""
        return len(self.letters) == 2 and not self.is_table

    def __str__(self) -> str:
        match self.kind:
            case "array":
                what = f"[{' '.join(self.letters)}]"
            case "word":
                what = "|".join(self.words) or "word"
            case "boolean":
                what = "true|false"
            case _:
                what = f"{self.kind} {self.range}".rstrip() + (" or a mapping" if self.mapping else "")
        default = "" if self.required or self.default is None else f" = {format_value(self.default)}"
        return f"{self.name}: {what}{default}"


@dataclass(frozen=True, eq=False)
class Quantity:
    """An inner step: the name, symbol, formula, axes and purpose of an array that an operator passes to `tap(name, …)`.

    >>> Quantity("dot_products", "QKᵀ", "Qᵢ·Kⱼ", ("n", "m"), "How well each key answers each query.").axes
    ('n', 'm')
    """

    name: str
    symbol: str
    formula: str
    axes: Letters
    purpose: str = ""  # what it is for, in one sentence
    formula_in_force: FormulaInForce | None = None  # as that of the operator's record

    def formula_with(self, parameters: Mapping[str, Any]) -> str:
        """The formula with these parameters of the operator."""
        return self.formula if self.formula_in_force is None else self.formula_in_force(**parameters)


@dataclass(frozen=True, eq=False)
class OperatorRecord:
    """One operator and everything that is known of it."""

    kind: str
    name: str
    function: Callable[..., Any]
    formula: str  # in general, as its source has it; Unicode, as a terminal shows it
    source: str  # paper and equation
    example: Mapping[str, Any]  # small enough to do by hand; `gives` is the result
    shapes: Signature
    parameters: tuple[Parameter, ...]
    arguments: tuple[str, ...] = ()  # the names of those before `*`, which plans pass
    inner: tuple[Quantity, ...] = ()  # in the order in which they pass through `tap`
    # The formula with the parameters in force and no others: (**parameters), True for an array that is given.
    formula_in_force: FormulaInForce | None = None
    by_hand: ByHand | None = None  # lines on one cell: (write, **arguments, result=, **inner quantities, **parameters)
    check: Callable[[OperatorUse], None] | None = None  # raises AttnError where parameters do not fit
    derived: Mapping[str, DerivedInput] = field(default_factory=dict)  # arrays that are computed where not given
    position_axes: AxesInForce | None = None  # position: with the parameters in force, where it reads several axes
    flatten: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None  # sets parameters that are inside others
    derivatives: Derivatives | None = None  # of each argument and array parameter; None where there are none
    code: Code | CodeRule | None = None  # what a person would write for it; None where nothing is known
    unscaled: str | None = None  # score: the name of the one without this one's own scale
    factorization: Factorization | None = None  # score: as a product of two matrices
    is_distribution: bool = False  # normalizer: rows are ≥ 0 and sum to 1
    online: OnlineNormalizer | None = None  # normalizer: key by key
    is_weighted_sum: bool = False  # context: exactly weights @ value, which tiles compute without calling the function
    needs_distribution: bool = False  # context: weights are probabilities
    key_bounds: Callable[..., KeyBounds] | None = None  # mask: a function of the mask's arguments
    sign: MaskSign | None = None  # mask: in a table of signs
    reads_rows: bool = False  # mask: a cell depends on the whole row, so that keys can't go tile by tile
    acts_on: ActsOn | None = None  # position
    # position: how many numbers are added up in a score with the parameters in force, by whose count scores are scaled
    scores_added: Callable[[Mapping[str, Any]], int] | None = None
    counts_from_first_key: bool = False  # mask, position: other results where queries and keys are all shifted alike
    is_drawn: bool = False  # generator: from a stream of random numbers

    @property
    def title(self) -> str:
        """Its kind and name, as messages call it: `score cosine`."""
        return f"{self.kind} {self.name}"

    @property
    def takes_matmul(self) -> bool:
        """Whether its function has the keyword `matmul`, which multiplies matrices."""
        return MATMUL in (getattr(self.function, "__kwdefaults__", None) or {})

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of this package's."""
        return str(self.function.__module__).startswith("attncli.")

    def formula_with(self, parameters: Mapping[str, Any]) -> str:
        """The formula with these parameters: numbers and choices, and True for an array that is given.

        >>> from attncli.ops.normalizers import softmax
        >>> softmax.record.formula_with({"temperature": 1.0}), softmax.record.formula_with({"temperature": 2.0})
        ('Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ)', 'Aᵢⱼ = exp(Sᵢⱼ/T) / Σⱼ exp(Sᵢⱼ/T)')
        """
        return self.formula if self.formula_in_force is None else self.formula_in_force(**parameters)

    @property
    def summary(self) -> str:
        """The first sentence of the function's docstring; of one that has none its formula."""
        return (self.function.__doc__ or "").strip().partition("\n")[0] or self.formula

    @property
    def definition(self) -> Iterator[tuple[str, str]]:
        """The formula, shapes, parameters, inner steps and source: titles and texts; a title of "" repeats the last."""
        yield "formula", self.formula
        shapes = ", ".join([f"{name}[{' '.join(axes)}]" for name, axes in self.shapes.arrays.items()])
        yield "shapes", f"{shapes} → [{' '.join(self.shapes.result)}]".lstrip()
        for number, parameter in enumerate(self.parameters):
            yield "" if number else "parameters", str(parameter)
        for number, inner in enumerate(self.inner):
            yield "" if number else "steps inside", f"{inner.name} = {inner.formula}"
        yield "source", self.source

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The parameters that have a default, each with it; a default of None means «not given»."""
        return {p.name: p.default for p in self.parameters if not p.required and p.default is not None}

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name; raises UnknownNameError."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise UnknownNameError(f"parameter of {self.name}", name, [p.name for p in self.parameters])


@dataclass(frozen=True, eq=False)
class StructuralRecord:
    """What is known of a function that plans use and that has no name for users."""

    by_hand: ByHand | None = None
    derivatives: Derivatives | None = None  # of each argument
    code: Code | CodeRule | None = None  # what a person would write for it; None where nothing is known
    is_exact: bool = False  # counts, or moves numbers and computes none: it is neither widened nor rounded
    is_boolean: bool = False  # its result is true or false
    key_bounds: Callable[..., KeyBounds] | None = None  # of masks combined: (number of keys, **bounds of each)


@dataclass(frozen=True, eq=False)
class Operator:
    """A record and the parameters that the user gave it: `gaussian:sigma=2`."""

    record: OperatorRecord
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every parameter in force: those given, and the defaults of the others."""
        return {**self.record.defaults, **self.given}

    @property
    def arrays(self) -> dict[str, Array]:
        """The parameters that are arrays."""
        return {name: value for name, value in self.given.items() if _is_array(value)}

    @property
    def options(self) -> dict[str, Any]:
        """The other parameters in force: numbers and choices."""
        return {name: value for name, value in self.parameters.items() if not _is_array(value)}

    @property
    def scores_added(self) -> int:
        """How many numbers are added up in a score with a position scheme, by whose count scores are scaled."""
        count = self.record.scores_added
        return 1 if count is None else count(self.parameters)

    @property
    def in_force(self) -> str:
        """In the grammar of the options, with the defaults of the parameters that were not given; without arrays."""
        options = ",".join(f"{name}={format_value(value)}" for name, value in self.options.items())
        return f"{self.record.name}:{options}" if options else self.record.name

    def __str__(self) -> str:
        """In the grammar of the options, as it was given; arrays are left out."""
        parameters = ",".join(
            f"{name}={format_value(value)}"
            for name, value in self.given.items()
            if self.record.parameter(name).kind != "array"
        )
        return f"{self.record.name}:{parameters}" if parameters else self.record.name


def _is_array(value: Any) -> bool:
    """Whether a parameter's value is an array of at least one axis."""
    return bool(getattr(value, "ndim", 0))


def format_value(value: Any) -> str:
    """The value of a parameter as the options write it: `0.5`, `true`, `tanh`; a number is read back as it was.

    >>> [format_value(value) for value in (10000.0, 1e-12, 1234567.0, 0.1 + 0.2, True)]
    ['10000', '1e-12', '1234567', '0.30000000000000004', 'true']
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value or math.isnan(value) else repr(float(value)).removesuffix(".0")

"""Operator records: all facts about an operator, as fields of one object, an attribute of its function.

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

    `left(query [… n d], **parameters)` and `right(key [… m c], **parameters)` return matrices with equally many
    columns; they get every parameter of the score, with defaults. `scale` takes the number of features d; for a
    `longdouble` it returns a `longdouble`.

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

    `numerator(scores [… n m], running_max [… n 1], out=, **parameters)` gets every parameter, with defaults, and may
    compute in `out`, an array of the scores' shape. When the running maximum rises from m to m', the accumulated
    numbers are multiplied by `numerator(m, m')`. The denominator is the sum of the numerators plus
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
    uses_running_max: bool = True  # otherwise the numerator gets None
    min_running_max: float = -float("inf")
    extra_denominator: Callable[[Array], Array] | None = None
    is_divided: bool = True  # otherwise the numerators are the weights
    may_cancel: bool = False  # numerators may be negative
    # The factor f if the numerator is exp(f (score − running_max)): then the maximum is subtracted only if needed.
    exp_scale: Callable[[Mapping[str, Any]], float] | None = None
    # gradient(grad, weights, row_sums [… n 1], **parameters): the scores' gradient, from Σⱼ dA∘A of whole rows
    gradient: Callable[..., Array] | None = None
    multiplications: int = 32  # cost of one numerator and what else tiles do with a score, in multiply-adds

    @property
    def ignores_shifts(self) -> bool:
        """Whether adding a number to all scores of a row changes no weight."""
        return self.exp_scale is not None and self.is_divided and self.extra_denominator is None


@dataclass(frozen=True, eq=False)
class KeyBounds:
    """Half-open key ranges of a block of queries.

    All cells outside `any_visible` are masked, and so are all cells inside `gap`, which may lie within it. Inside
    `all_visible` no cell is masked, so no mask is applied there.

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
    """The sign of a rule's hidden cells in the table of mask signs, and its meaning in the legend."""

    sign: str
    meaning: str
    precedence: int = 0  # if several rules hide a cell, it has the highest one's sign


@dataclass(frozen=True, eq=False)
class DerivedInput:
    """An array that an operator reads, and that is computed if the user does not give it.

    `function(shape=…, **options)` returns an array of that shape: the lengths of `axes`, where `…` means the axes
    before the queries. The options are the operator's `parameters`; an operator that gets the array does not get them.
    Three fields are functions of the parameters, with defaults: `is_needed`; `lengths` of the operator's own axes, from
    the problem's lengths in one head (an axis without one is left out); `inputs`, the roles of nodes that the function
    reads.

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
    formula: Callable[..., str]  # of the function's arguments: the shape and the options
    axes: Letters
    parameters: tuple[str, ...] = ()
    is_needed: Callable[[Mapping[str, Any]], bool] = lambda parameters: True
    lengths: Callable[[Mapping[str, Any], Mapping[str, int]], Mapping[str, int]] = lambda parameters, lengths: {}
    inputs: Callable[[Mapping[str, Any]], tuple[str, ...]] = lambda parameters: ()
    purpose: str = field(kw_only=True)  # in one sentence


@dataclass(frozen=True)
class PositionAxes:
    """The axes of positions, such as rows and columns, and whether positions must be given.

    By default a token's position is its index on every axis, unless `are_needed`.
    """

    count: int
    are_needed: bool = False


@dataclass(frozen=True)
class OperatorUse:
    """The parameters of an operator, and the lengths and positions for checking them.

    `lengths` has the length of each axis letter in one head; `positions` belong to the operator's rows, counted from
    the first key.
    """

    parameters: Mapping[str, Any]
    lengths: Mapping[str, int]
    positions: range


Tap = Callable[[str, Array], Array]
ByHand = Callable[..., list[str]]
FormulaInForce = Callable[..., str]
AxesInForce = Callable[[Mapping[str, Any]], PositionAxes | None]
ActsOn = Literal["embeddings", "query_and_key", "products", "scores"]

# Keywords that are not parameters: the tap for inner quantities, and the matrix product.
TAP, MATMUL = "tap", "matmul"
TABLE = "table"  # Annotated[Array, TABLE]: its rows are looked up, so `weight_layout` does not transpose it
COUNTS = "counts"  # Annotated[Array, COUNTS]: non-negative integers, which keep their type


@dataclass(frozen=True)
class Symbol:
    """The symbol of an array parameter in formulas, if it is not its name: `w1: Annotated[Array, Symbol("W₁")]`."""

    text: str


@dataclass(frozen=True)
class MayHave:
    """An optional first axis of an array: `frequencies: Annotated[Array, MayHave("s")]`."""

    letter: str


class ParameterMapping:
    """The hashable value of a parameter that users write as a mapping of names to numbers, choices and lists."""

    def as_mapping(self) -> dict[str, Any]:
        """The mapping, which reads back as the same value."""
        raise NotImplementedError


@dataclass(frozen=True)
class ReadsMapping:
    """A number may be a mapping too: `scaling: Annotated[float | RopeScaling, ReadsMapping(read_scaling, example)]`.

    `read` gets the mapping with its numbers converted, and returns the value or raises AttnError; inner mappings are
    unchanged. `example` is such a mapping, as users write it.
    """

    read: Callable[[Mapping[str, Any]], ParameterMapping]
    example: str


class _Required:
    """Marks a parameter without a default."""


REQUIRED = _Required()


def no_tap(_name: str, value: Array) -> Array:
    """The default tap, the identity: it keeps no inner quantities."""
    return value


def reused(table: Array, tap: Tap) -> Array | None:
    """The table itself as scratch memory: allocating takes as long as arithmetic. None if a tap keeps the table."""
    return table if tap is no_tap and table.dtype.kind == "f" else None


@dataclass(frozen=True, eq=False)
class Range:
    """The valid numbers of a parameter: greater than `above`, and at least `least`.

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
    is_table: bool = False  # for an array: its rows are looked up
    is_counts: bool = False  # for an array: non-negative integers
    symbol: str = ""  # for an array: in formulas
    leading: Letters = ()  # for an array: an optional first axis
    mapping: ReadsMapping | None = None  # how to read a mapping instead of a number

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is REQUIRED

    @property
    def is_weight(self) -> bool:
        """Whether it is a matrix to multiply with from the right, stored according to `weight_layout`."""
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
    purpose: str = ""  # its purpose, in one sentence
    formula_in_force: FormulaInForce | None = None  # as in the operator's record

    def formula_with(self, parameters: Mapping[str, Any]) -> str:
        """The formula for these parameters of the operator."""
        return self.formula if self.formula_in_force is None else self.formula_in_force(**parameters)


@dataclass(frozen=True, eq=False)
class OperatorRecord:
    """One operator: its function and all facts about it."""

    kind: str
    name: str
    function: Callable[..., Any]
    formula: str  # the general one of its source, in Unicode
    source: str  # paper and equation
    example: Mapping[str, Any]  # small enough to do by hand; `gives` is the result
    shapes: Signature
    parameters: tuple[Parameter, ...]
    arguments: tuple[str, ...] = ()  # the names before `*`, which plans pass
    inner: tuple[Quantity, ...] = ()  # in the order of the calls of `tap`
    # The formula for the parameters in force: (**parameters), True for a given array.
    formula_in_force: FormulaInForce | None = None
    by_hand: ByHand | None = None  # lines for one cell: (write, **arguments, result=, **inner quantities, **parameters)
    check: Callable[[OperatorUse], None] | None = None  # raises AttnError if parameters don't match
    derived: Mapping[str, DerivedInput] = field(default_factory=dict)  # arrays that are computed unless given
    position_axes: AxesInForce | None = None  # position: for these parameters, if it reads several axes
    flatten: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None  # expands parameters inside others
    derivatives: Derivatives | None = None  # by each argument and array parameter; None if it has none
    code: Code | CodeRule | None = None  # code as a person would write it; None if unknown
    unscaled: str | None = None  # score: the name of the same score without a scale
    factorization: Factorization | None = None  # score: a product of two matrices
    is_distribution: bool = False  # normalizer: rows are ≥ 0 and sum to 1
    online: OnlineNormalizer | None = None  # normalizer: key by key
    is_weighted_sum: bool = False  # context: exactly weights @ value, which tiles compute without calling the function
    needs_distribution: bool = False  # context: weights are probabilities
    key_bounds: Callable[..., KeyBounds] | None = None  # mask: a function of the mask's arguments
    sign: MaskSign | None = None  # mask: in a table of signs
    reads_rows: bool = False  # mask: a cell depends on the whole row, so that keys can't go tile by tile
    acts_on: ActsOn | None = None  # position
    # position: the number of summands in a score for these parameters, by which scores are scaled
    scores_added: Callable[[Mapping[str, Any]], int] | None = None
    counts_from_first_key: bool = False  # mask, position: shifting all queries and keys alike changes the result
    is_drawn: bool = False  # generator: from a stream of random numbers

    @property
    def title(self) -> str:
        """Its kind and name, for messages: `score cosine`."""
        return f"{self.kind} {self.name}"

    @property
    def takes_matmul(self) -> bool:
        """Whether its function takes the matrix product `matmul`."""
        return MATMUL in (getattr(self.function, "__kwdefaults__", None) or {})

    @property
    def is_built_in(self) -> bool:
        """Whether it belongs to this package."""
        return str(self.function.__module__).startswith("attncli.")

    def formula_with(self, parameters: Mapping[str, Any]) -> str:
        """The formula for these parameters: numbers and choices, and True for a given array.

        >>> from attncli.ops.normalizers import softmax
        >>> softmax.record.formula_with({"temperature": 1.0}), softmax.record.formula_with({"temperature": 2.0})
        ('Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ)', 'Aᵢⱼ = exp(Sᵢⱼ/T) / Σⱼ exp(Sᵢⱼ/T)')
        """
        return self.formula if self.formula_in_force is None else self.formula_in_force(**parameters)

    @property
    def summary(self) -> str:
        """The first sentence of the function's docstring; without one its formula."""
        return (self.function.__doc__ or "").strip().partition("\n")[0] or self.formula

    @property
    def definition(self) -> Iterator[tuple[str, str]]:
        """The formula, shapes, parameters, inner steps and source: titles and texts; the title "" repeats the last."""
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
        """The defaults of parameters; None means «not given»."""
        return {p.name: p.default for p in self.parameters if not p.required and p.default is not None}

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name; raises UnknownNameError."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise UnknownNameError(f"parameter of {self.name}", name, [p.name for p in self.parameters])


@dataclass(frozen=True, eq=False)
class StructuralRecord:
    """The record of a function that plans use and that has no name for users."""

    by_hand: ByHand | None = None
    derivatives: Derivatives | None = None  # by each argument
    code: Code | CodeRule | None = None  # code as a person would write it; None if unknown
    is_exact: bool = False  # it only counts or moves numbers: it is neither widened nor rounded
    is_boolean: bool = False  # its result is true or false
    key_bounds: Callable[..., KeyBounds] | None = None  # for combined masks: (number of keys, **bounds of each)


@dataclass(frozen=True, eq=False)
class Operator:
    """A record and the user's parameters: `gaussian:sigma=2`."""

    record: OperatorRecord
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every parameter in force: given ones, and defaults of the others."""
        return {**self.record.defaults, **self.given}

    @property
    def arrays(self) -> dict[str, Array]:
        """The parameters that are arrays."""
        return {name: value for name, value in self.given.items() if _is_array(value)}

    @property
    def options(self) -> dict[str, Any]:
        """The other parameters: numbers and choices."""
        return {name: value for name, value in self.parameters.items() if not _is_array(value)}

    @property
    def scores_added(self) -> int:
        """The number of summands in a score with a position scheme, by which scores are scaled."""
        count = self.record.scores_added
        return 1 if count is None else count(self.parameters)

    @property
    def in_force(self) -> str:
        """The option's text, with defaults and without arrays."""
        options = ",".join(f"{name}={format_value(value)}" for name, value in self.options.items())
        return f"{self.record.name}:{options}" if options else self.record.name

    def __str__(self) -> str:
        """The option's text as given, without arrays."""
        parameters = ",".join(
            f"{name}={format_value(value)}"
            for name, value in self.given.items()
            if self.record.parameter(name).kind != "array"
        )
        return f"{self.record.name}:{parameters}" if parameters else self.record.name


def _is_array(value: Any) -> bool:
    """Whether a parameter's value is an array with at least one axis."""
    return bool(getattr(value, "ndim", 0))


def format_value(value: Any) -> str:
    """A parameter's value in an option's text: `0.5`, `true`, `tanh`; a number reads back the same.

    >>> [format_value(value) for value in (10000.0, 1e-12, 1234567.0, 0.1 + 0.2, True)]
    ['10000', '1e-12', '1234567', '0.30000000000000004', 'true']
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value or math.isnan(value) else repr(float(value)).removesuffix(".0")

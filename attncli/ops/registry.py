"""Operator records: everything that is known of an operator is a field of its record, which hangs on its function.

Lists, help, completion, validation, explanations, engines and laws read the record. An operator is one function with
one decorator; there is no list to add it to. Packages bring operators through the entry-point group
`attncli.operators`: each entry point names a module or a function, which is imported, and whose decorators register.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Literal, ParamSpec, Protocol, TypeVar, get_args, get_origin, get_type_hints

from attncli.base.axes import LEGEND, Letters, Signature, parse
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array
from attncli.ops.rules import DerivedInput, Factorization, KeyBounds, MaskSign, OnlineNormalizer, OperatorUse

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Tap = Callable[[str, Array], Array]
ByHand = Callable[..., list[str]]
ActsOn = Literal["embeddings", "query_and_key", "products", "scores"]

ENTRY_POINTS = "attncli.operators"
TABLE = "table"  # Annotated[Array, TABLE]: rows are looked up, so that `weight_layout` does not transpose it

# The kinds of operators, and the arguments that a plan hands to a function of each kind besides its parameters.
ARGUMENTS: Mapping[str, frozenset[str]] = {
    "score": frozenset({"query", "key", "query_positions", "key_positions"}),
    "normalize": frozenset({"scores"}),
    "context": frozenset({"weights", "value", "query"}),
    "position": frozenset({"x", "positions", "features", "query", "query_positions", "key_positions", "heads"}),
    "mask": frozenset({"table", "query_rows", "query_positions", "key_positions", "key_lengths"}),
    "qk_norm": frozenset({"x"}),
    "generator": frozenset({"stream", "shape"}),
}


class _Required:
    """The default of a parameter that has none."""


REQUIRED = _Required()


def no_tap(_name: str, value: Array) -> Array:
    """The tap that keeps nothing: the identity."""
    return value


@dataclass(frozen=True, eq=False)
class Range:
    """The numbers that a parameter may take: above an open end, or a closed end at the least."""

    above: float | None = None
    least: float | None = None

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


@dataclass(frozen=True, eq=False)
class Parameter:
    """One keyword parameter of an operator, as its function's signature has it."""

    name: str
    kind: Literal["array", "number", "integer", "boolean", "word"]
    default: Any = REQUIRED
    letters: Letters = ()  # of an array
    words: tuple[str, ...] = ()  # the choices of a word
    range: Range = Range()
    is_table: bool = False  # of an array: its rows are looked up

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is REQUIRED

    @property
    def is_weight(self) -> bool:
        """Whether it is a matrix that is multiplied from the right, stored as `weight_layout` says."""
        return len(self.letters) == 2 and not self.is_table

    def __str__(self) -> str:
        what = {
            "array": f"[{' '.join(self.letters)}]",
            "word": "|".join(self.words),
            "number": f"number {self.range}".strip(),
            "integer": f"integer {self.range}".strip(),
            "boolean": "true|false",
        }[self.kind]
        default = "" if self.required or self.default is None else f" = {format_value(self.default)}"
        return f"{self.name}: {what}{default}"


@dataclass(frozen=True, eq=False)
class Quantity:
    """What a step is called and how it reads; an operator has one for each that passes through its `tap(name, …)`."""

    name: str
    symbol: str
    formula: str
    axes: Letters


@dataclass(frozen=True, eq=False)
class OperatorRecord:
    """One operator and everything that is known of it."""

    kind: str
    name: str
    function: Callable[..., Any]
    formula: str  # Unicode, as a terminal shows it
    source: str  # paper and equation
    example: Mapping[str, Any]  # small enough to do by hand; `gives` is the result
    shapes: Signature
    parameters: tuple[Parameter, ...]
    inner: tuple[Quantity, ...] = ()  # in the order in which they pass through `tap`
    by_hand: ByHand | None = None  # the lines that work one cell out: (write, **arguments, result=, **parameters)
    check: Callable[[OperatorUse], None] | None = None  # raises AttnError where parameters do not fit
    derived: Mapping[str, DerivedInput] = field(default_factory=dict)  # arrays that are computed where not given
    derivative: Callable[..., Any] | None = None
    unscaled: str | None = None  # score: the one without this one's own scale
    factorization: Factorization | None = None  # score: as a product of two matrices
    is_distribution: bool = False  # normalizer: rows are ≥ 0 and sum to 1
    online: OnlineNormalizer | None = None  # normalizer: key by key
    is_linear: bool = False  # context: weights @ value
    needs_distribution: bool = False  # context: weights are probabilities
    key_bounds: Callable[..., KeyBounds] | None = None  # mask: takes what the mask takes
    sign: MaskSign | None = None  # mask: in a picture
    acts_on: ActsOn | None = None  # position
    is_drawn: bool = False  # generator: from a stream of random numbers

    @property
    def summary(self) -> str:
        """The first sentence of the function's docstring."""
        return (self.function.__doc__ or "").partition("\n")[0]

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The parameters that have a default, each with it; None stands for «not given»."""
        return {p.name: p.default for p in self.parameters if not p.required and p.default is not None}

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name; raises UnknownNameError."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise UnknownNameError(f"parameter of {self.name}", name, [p.name for p in self.parameters])

    def __reduce__(self) -> tuple[Any, ...]:
        return look_up, (self.kind, self.name)


@dataclass(frozen=True, eq=False)
class StructuralRecord:
    """What is known of a function that plans use and nobody chooses by name."""

    by_hand: ByHand | None = None
    is_exact: bool = False  # counts, or moves numbers and computes none: nothing is widened or rounded
    is_boolean: bool = False  # its result is true or false


@dataclass(frozen=True, eq=False)
class Operator:
    """A record and the parameters that somebody gave it: what `gaussian:sigma=2` says."""

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
        """The other parameters in force: numbers and words."""
        return {name: value for name, value in self.parameters.items() if not _is_array(value)}

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
    """The value of a parameter as the options write it: `0.5`, `true`, `tanh`."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


class OperatorFunction(Protocol[P, R_co]):
    """A registered function: as it was written, with its record as an attribute."""

    record: OperatorRecord

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Compute it."""
        ...


class StructuralFunction(Protocol[P, R_co]):
    """A function of plans, with its record as an attribute."""

    record: StructuralRecord

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Compute it."""
        ...


class Register(Protocol):
    """A decorator that registers a function as an operator and returns it with its record."""

    def __call__(self, function: Callable[P, R], /) -> OperatorFunction[P, R]:
        """Register the function."""
        ...


_RECORDS: dict[str, dict[str, OperatorRecord]] = {kind: {} for kind in ARGUMENTS}
_STRUCTURAL = StructuralRecord()
_loaded_entry_points = False


def kinds() -> Sequence[str]:
    """The kinds of operators."""
    return list(ARGUMENTS)


def registered(kind: str) -> Mapping[str, OperatorRecord]:
    """The operators of a kind that are registered by now; no package is asked for its own."""
    return MappingProxyType(_RECORDS[kind])


def operators(kind: str) -> Mapping[str, OperatorRecord]:
    """Every operator of a kind by name, those of installed packages last."""
    _load_entry_points()
    return MappingProxyType(_RECORDS[kind])


def is_operator(kind: str, name: str) -> bool:
    """Whether there is an operator of that kind and name; packages are asked only for what may be a name."""
    if name in _RECORDS[kind]:
        return True
    return name.isidentifier() and name in operators(kind)


def look_up(kind: str, name: str, *, where: str | None = None) -> OperatorRecord:
    """The operator of that kind and name; raises UnknownNameError, which suggests the nearest name."""
    if not is_operator(kind, name):
        raise UnknownNameError(kind, name, operators(kind), where=where)
    return _RECORDS[kind][name]


def record_of(function: Callable[..., Any]) -> OperatorRecord | StructuralRecord:
    """The record that hangs on a function."""
    record: OperatorRecord | StructuralRecord = getattr(function, "record", _STRUCTURAL)
    return record


def _load_entry_points() -> None:
    """Import what installed packages register; once, since looking them up takes 30 ms."""
    global _loaded_entry_points  # noqa: PLW0603 - a process loads them once
    if _loaded_entry_points:
        return
    _loaded_entry_points = True
    from importlib.metadata import entry_points  # noqa: PLC0415 - only lists and unknown names need it

    for entry_point in entry_points(group=ENTRY_POINTS):
        try:
            entry_point.load()
        except Exception as error:  # the import of somebody's package may raise anything
            message = f"its operators can't be loaded ({type(error).__name__}: {error})"
            raise AttnError(message, where=f"package {entry_point.value}", hint="mend or uninstall it") from error


def register(kind: str, **fields: Any) -> Register:
    """A decorator that makes an operator's record, checks it, and hangs it on the function.

    `score`, `normalizer`, `context`, `position`, `mask`, `norm` and `generator` call it. The name of the operator is
    that of its function, without a trailing underscore. Arguments before `*` are what plans hand to every operator of
    the kind; those after it are its own parameters. The formula and the source are added to the function's docstring.

    Parameters
    ----------
    kind : str
        A key of ARGUMENTS.
    **fields
        Fields of OperatorRecord. `shapes` is a text with the letters of `attncli.base.axes.LEGEND`, in which lengths
        that must agree have the same letter; axes before those named broadcast.

    Returns
    -------
    callable
        It returns the function that it gets, with the attribute `record`.

    Raises
    ------
    AttnError
        Where the name is taken (the message names both modules), the formula, the source or the docstring is missing,
        a letter is not in the legend, or the function has an argument that no plan hands it or a parameter of a type
        that nothing reads.

    Examples
    --------
    An own normalizer, with the parameter `power`, for `attn compute --normalize powers:power=2`:

    >>> from typing import Annotated
    >>> @normalizer(
    ...     formula="aᵢⱼ = max(sᵢⱼ, 0)ᵖ / Σⱼ max(sᵢⱼ, 0)ᵖ",
    ...     shapes="scores[n m] -> [n m]",
    ...     source="nobody's",
    ...     example={"scores": [[1, 3]], "power": 1, "gives": [[0.25, 0.75]]},
    ... )
    ... def powers(scores: Array, *, power: Annotated[float, Range(above=0)] = 1.0) -> Array:
    ...     '''Positive scores to a power, divided by their sum.'''
    ...     powers = scores.clip(0) ** power
    ...     return powers / powers.sum(axis=-1, keepdims=True)
    >>> print(powers.record.parameter("power"))
    power: number > 0 = 1
    >>> look_up("normalize", "powers").summary
    'Positive scores to a power, divided by their sum.'
    """

    def decorate(function: Callable[P, R], /) -> OperatorFunction[P, R]:
        code: Any = function
        name, signature = code.__name__.rstrip("_"), parse(fields["shapes"])
        where = f"{kind} {name!r} in {code.__module__}"
        record = OperatorRecord(
            kind=kind,
            name=name,
            function=function,
            parameters=_parameters(code, signature, where),
            **{**fields, "shapes": signature, "example": MappingProxyType(dict(fields["example"]))},
        )
        _check(record, code, where)
        _RECORDS[kind][name] = record
        code.record = record
        _extend_docstring(record, code)
        decorated: OperatorFunction[P, R] = code
        return decorated

    return decorate


def _check(record: OperatorRecord, function: Any, where: str) -> None:
    """Raise AttnError where a record is incomplete or its name is taken."""
    taken = _RECORDS[record.kind].get(record.name)
    if taken is not None:
        modules = f"{taken.function.__module__} and {function.__module__}"
        raise AttnError(f"{record.kind} {record.name!r} is registered twice, in {modules}")
    docstring = record.summary if sys.flags.optimize < 2 else "-OO leaves none"
    for what, text in (("formula", record.formula), ("source", record.source), ("docstring", docstring)):
        if not text:
            raise AttnError(f"has no {what}", where=where)
    letters = {
        part for axes in (*record.shapes.arrays.values(), record.shapes.result) for x in axes for part in x.split("+")
    }
    if not letters <= {*LEGEND, "r", "c", "1"}:
        unknown = ", ".join(sorted(letters - {*LEGEND}))
        raise AttnError(f"its shapes have letters that are not in the legend: {unknown}", where=where)
    own = {parameter.name for parameter in record.parameters} | {"tap"}
    handed = ARGUMENTS[record.kind] | set(record.derived)
    for name in (*_positional(function), *record.shapes.arrays):
        if name not in handed | own:
            hint = f"a {record.kind} gets {', '.join(sorted(handed))}; its own parameters follow *"
            raise AttnError(f"has an argument {name!r} that no plan hands it", where=where, hint=hint)


def _positional(function: Any) -> Sequence[str]:
    """The names of the arguments before `*`."""
    names: Sequence[str] = function.__code__.co_varnames[: function.__code__.co_argcount]
    return names


def _extend_docstring(record: OperatorRecord, function: Any) -> None:
    """Add the formula and the source to a function's docstring, so that they are written once."""
    if function.__doc__ is None:
        return
    first, *others = function.__doc__.rstrip().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    added = ["", "Notes", "-----", record.formula, "", "References", "----------", record.source, ""]
    function.__doc__ = "\n".join([first, *others, *(" " * margin + line if line else "" for line in added)])


def score(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    inner: tuple[Quantity, ...] = (),
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivative: Callable[..., Any] | None = None,
    unscaled: str | None = None,
    factorization: Factorization | None = None,
) -> Register:
    """Register a score: query [n d] and key [m c] to scores [n m]."""
    return register("score", **locals())


def normalizer(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    inner: tuple[Quantity, ...] = (),
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivative: Callable[..., Any] | None = None,
    is_distribution: bool = False,
    online: OnlineNormalizer | None = None,
) -> Register:
    """Register a normalizer: scores [n m] to weights [n m]; a score of −∞ marks a masked key, whose weight is 0."""
    return register("normalize", **locals())


def context(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    inner: tuple[Quantity, ...] = (),
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derived: Mapping[str, DerivedInput] = MappingProxyType({}),
    derivative: Callable[..., Any] | None = None,
    is_linear: bool = False,
    needs_distribution: bool = False,
) -> Register:
    """Register a context: weights [n m] and value [m e] to one vector a query, [n e] or [n a]."""
    return register("context", **locals())


def position(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    acts_on: ActsOn,
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derived: Mapping[str, DerivedInput] = MappingProxyType({}),
    derivative: Callable[..., Any] | None = None,
) -> Register:
    """Register a position scheme.

    `acts_on` says what it changes: "embeddings" (positions [n] and the number of features to vectors [n x], which are
    added), "query_and_key" (x [n d] and positions [n] to [n d]), "products" (query, query_positions and key_positions
    to numbers [n m] that are added to dot products), "scores" (query_positions, key_positions and heads to a bias).
    """
    return register("position", **locals())


def mask(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    key_bounds: Callable[..., KeyBounds] | None = None,
    sign: MaskSign | None = None,
) -> Register:
    """Register a mask: a rule on the indices of queries and keys, true where the query may attend to the key."""
    return register("mask", **locals())


def norm(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    by_hand: ByHand | None = None,
    check: Callable[[OperatorUse], None] | None = None,
    derivative: Callable[..., Any] | None = None,
) -> Register:
    """Register a norm of queries and keys: x [n d] to vectors of a fixed size, [n d]."""
    return register("qk_norm", **locals())


def generator(
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    is_drawn: bool = False,
) -> Register:
    """Register a generator: (stream, shape) to an array of that shape."""
    return register("generator", **locals())


def structural(
    *, by_hand: ByHand | None = None, is_exact: bool = False, is_boolean: bool = False
) -> Callable[[Callable[P, R]], StructuralFunction[P, R]]:
    """Hang a record on a function that plans use."""

    def decorate(function: Callable[P, R]) -> StructuralFunction[P, R]:
        code: Any = function
        code.record = StructuralRecord(by_hand, is_exact, is_boolean)
        recorded: StructuralFunction[P, R] = code
        return recorded

    return decorate


def _parameters(function: Any, shapes: Signature, where: str) -> tuple[Parameter, ...]:
    """Read the keyword parameters off a function's signature; `tap` is none."""
    code, defaults, annotations = function.__code__, function.__kwdefaults__ or {}, function.__annotations__
    if any(isinstance(annotation, str) for annotation in annotations.values()):  # from __future__ import annotations
        annotations = get_type_hints(function, include_extras=True)
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return tuple(
        _parameter(name, annotations.get(name), defaults.get(name, REQUIRED), shapes, where)
        for name in keywords
        if name != "tap"
    )


def _parameter(name: str, annotation: Any, default: Any, shapes: Signature, where: str) -> Parameter:
    """One parameter: its kind by its annotation, or an array where the shapes name it."""
    extras: Iterable[Any] = ()
    if get_origin(annotation) is Annotated:
        annotation, *extras = get_args(annotation)
    if name in shapes.arrays:
        return Parameter(name, "array", default, letters=shapes.arrays[name], is_table=TABLE in extras)
    if get_origin(annotation) is Literal:
        return Parameter(name, "word", default, words=get_args(annotation))
    types = set(get_args(annotation) or (annotation,)) - {type(None)}
    if types == {bool}:
        return Parameter(name, "boolean", default)
    if not types or not types <= {int, float}:
        hint = "expected int, float, bool or a Literal of words; arrays are named in the shapes"
        raise AttnError(f"its parameter {name!r} has a type that nothing reads", where=where, hint=hint)
    limits = next((extra for extra in extras if isinstance(extra, Range)), Range())
    return Parameter(name, "number" if float in types else "integer", default, range=limits)

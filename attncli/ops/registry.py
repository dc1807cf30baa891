"""The record of an entry, the decorators that write one, and the look-up by name.

An entry is one function. Its record stands on it; lists, help, completion, checks and explanations read the record.
Look-ups are taken from `attncli.ops`, which has every entry registered.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from attncli.base.axes import Letters, Signature, parse
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array

Function = TypeVar("Function", bound=Callable[..., Any])
Tap = Callable[[str, Array], Array]
RawValue = Callable[..., list[str]]


class _Required:
    """Stands for a default where there is none."""


REQUIRED = _Required()


def no_tap(_name: str, value: Array) -> Array:
    """The tap when nobody listens: the identity."""
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
    """One keyword parameter of an entry, as its function's signature has it."""

    name: str
    kind: Literal["array", "number", "integer", "boolean", "word"]
    default: Any = REQUIRED
    letters: Letters = ()  # of an array
    words: tuple[str, ...] = ()  # the choices of a word
    range: Range = Range()

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is REQUIRED

    def __str__(self) -> str:
        what = {
            "array": f"[{' '.join(self.letters)}]",
            "word": "|".join(self.words),
            "number": f"number {self.range}".strip(),
            "integer": f"integer {self.range}".strip(),
            "boolean": "true|false",
        }[self.kind]
        default = "" if self.required or self.default is None else f" = {said(self.default)}"
        return f"{self.name}: {what}{default}"


@dataclass(frozen=True, eq=False)
class Quantity:
    """What a step is called and how it reads; an entry has one for each that passes through its `tap(name, …)`."""

    name: str
    symbol: str
    formula: str
    axes: Letters


@dataclass(frozen=True, eq=False)
class OperatorRecord:
    """One function of the catalogue and everything that is said about it."""

    kind: str
    name: str
    function: Callable[..., Any]
    formula: str  # Unicode, as a terminal shows it
    source: str  # paper and equation
    example: Mapping[str, Any]  # small enough to do by hand; `gives` is the result
    shapes: Signature
    parameters: tuple[Parameter, ...]
    inner: tuple[Quantity, ...] = ()
    traits: frozenset[str] = frozenset()  # "distribution": rows are ≥ 0 and sum to 1; "needs distribution"
    unscaled: str | None = None  # the entry of the same kind without this one's own scale

    @property
    def summary(self) -> str:
        """The first sentence of the function's docstring."""
        return (self.function.__doc__ or "").partition("\n")[0]

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name; raises UnknownNameError."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise UnknownNameError(f"parameter of {self.name}", name, [p.name for p in self.parameters])


@dataclass(frozen=True, eq=False)
class Operator:
    """An entry and the values of its parameters: what `gaussian:sigma=2` says."""

    entry: OperatorRecord
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def arrays(self) -> dict[str, Array]:
        """The parameters that are arrays."""
        return {name: value for name, value in self.parameters.items() if hasattr(value, "ndim") and value.ndim}

    @property
    def scalars(self) -> dict[str, Any]:
        """The other parameters: numbers and words."""
        return {name: value for name, value in self.parameters.items() if name not in self.arrays}

    def __str__(self) -> str:
        """In the grammar of the options; arrays are left out."""
        parameters = ",".join(
            f"{name}={said(value)}"
            for name, value in self.parameters.items()
            if self.entry.parameter(name).kind != "array"
        )
        return f"{self.entry.name}:{parameters}" if parameters else self.entry.name


def said(value: Any) -> str:
    """The value of a parameter as the options write it: `0.5`, `true`, `tanh`."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


_ENTRIES: dict[str, dict[str, OperatorRecord]] = {}
_WRITTEN: dict[Callable[..., Any], RawValue] = {}


def kinds() -> Sequence[str]:
    """The kinds of entries, in the order in which they were registered."""
    return list(_ENTRIES)


def entries(kind: str) -> Mapping[str, OperatorRecord]:
    """Every entry of a kind, by name, in the order of its file."""
    return MappingProxyType(_ENTRIES[kind])


def look_up(kind: str, name: str, *, where: str | None = None) -> OperatorRecord:
    """The entry of that kind and name; raises UnknownNameError, which suggests the nearest name."""
    known = entries(kind)
    if name not in known:
        raise UnknownNameError(kind, name, known, where=where)
    return known[name]


def written_for(function: Callable[..., Any]) -> RawValue | None:
    """How one cell of this function's result is written out by hand, if somebody said so."""
    return _WRITTEN.get(function)


def register(
    kind: str,
    *,
    formula: str,
    shapes: str,
    source: str,
    example: Mapping[str, Any],
    inner: tuple[Quantity, ...] = (),
    traits: Sequence[str] = (),
    unscaled: str | None = None,
) -> Callable[[Function], Function]:
    """A decorator that writes the function's record into the catalogue and returns the function unchanged.

    Raises AttnError where the name is taken: the message names both functions.
    """

    def decorate(function: Function) -> Function:
        name = function.__name__.rstrip("_")
        taken = _ENTRIES.setdefault(kind, {}).get(name)
        if taken is not None:
            places = f"{taken.function.__module__} and {function.__module__}"
            raise AttnError(f"{kind} {name!r} is registered twice, in {places}")
        signature = parse(shapes)
        _ENTRIES[kind][name] = OperatorRecord(
            kind=kind,
            name=name,
            function=function,
            formula=formula,
            source=source,
            example=MappingProxyType(dict(example)),
            shapes=signature,
            parameters=_parameters(function, signature),
            inner=inner,
            traits=frozenset(traits),
            unscaled=unscaled,
        )
        return function

    return decorate


def score(**record: Any) -> Callable[[Function], Function]:
    """Register a score: (query, key) to scores [n m]."""
    return register("score", **record)


def normalizer(**record: Any) -> Callable[[Function], Function]:
    """Register a normalizer: scores [n m] to weights [n m]; a score of −∞ is a hidden key and gets weight 0."""
    return register("normalize", **record)


def context(**record: Any) -> Callable[[Function], Function]:
    """Register a context: (weights, value) to one vector a query."""
    return register("context", **record)


def position(**record: Any) -> Callable[[Function], Function]:
    """Register a position; its traits say what it acts on: "embeddings", "heads", "products" or "scores"."""
    return register("position", **record)


def mask(**record: Any) -> Callable[[Function], Function]:
    """Register a rule on the indices of queries and keys: true where the query may attend to the key."""
    return register("mask", **record)


def norm(**record: Any) -> Callable[[Function], Function]:
    """Register a norm of queries and keys: a vector of each head to one of a fixed size."""
    return register("qk_norm", **record)


def generator(**record: Any) -> Callable[[Function], Function]:
    """Register a generator: (stream, shape) to an array of that shape."""
    return register("generator", **record)


def written(function: Callable[..., Any]) -> Callable[[RawValue], RawValue]:
    """Attach to a function the writer of one cell by hand: a list of lines, each a true equation."""

    def decorate(writer: RawValue) -> RawValue:
        _WRITTEN[function] = writer
        return writer

    return decorate


def _parameters(function: Any, shapes: Signature) -> tuple[Parameter, ...]:
    """Read the keyword parameters off the signature; `tap` and the pipeline's own arrays are none."""
    found = []
    code, defaults = function.__code__, function.__kwdefaults__ or {}
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    for name in keywords:
        if name == "tap":
            continue
        annotation, limits, default = function.__annotations__[name], Range(), defaults.get(name, REQUIRED)
        if get_origin(annotation) is Annotated:
            annotation, limits = get_args(annotation)
        if name in shapes.arrays:
            found.append(Parameter(name, "array", default, letters=shapes.arrays[name]))
        elif get_origin(annotation) is Literal:
            found.append(Parameter(name, "word", default, words=get_args(annotation)))
        elif annotation is bool:
            found.append(Parameter(name, "boolean", default))
        else:
            kind: Literal["integer", "number"] = "integer" if int in (annotation, *get_args(annotation)) else "number"
            found.append(Parameter(name, kind, default, range=limits))
    return tuple(found)

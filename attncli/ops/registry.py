"""The registry: it makes and checks the record of each operator, and finds it by kind and name.

A decorator of `attncli.ops.decorators` registers an operator. `attncli.ops.catalogue` names the module of each of this
package's operators; a look-up imports it. Packages add operators through the entry-point group `attncli.operators`:
each entry point names a module or a function; importing it runs its decorators.
"""

import copyreg
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, MappingProxyType
from typing import Annotated, Any, Literal, ParamSpec, Protocol, TypeVar, get_args, get_origin, get_type_hints

from attncli.base.axes import LEGEND, Letters, Signature, parse
from attncli.base.errors import AttnError, UnknownNameError
from attncli.ops.catalogue import MODULES
from attncli.ops.derivatives import DerivativeRecord
from attncli.ops.records import (
    COUNTS,
    MATMUL,
    REQUIRED,
    TABLE,
    TAP,
    ActsOn,
    MayHave,
    OperatorRecord,
    Parameter,
    ParameterMapping,
    Range,
    ReadsMapping,
    StructuralRecord,
    Symbol,
)

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

ENTRY_POINTS = "attncli.operators"
DEFINITION = "Definition\n----------"  # the heading of the text appended to a docstring

# The kinds of operators, and the arguments, besides parameters, that a plan passes to each kind's functions.
ARGUMENTS: Mapping[str, frozenset[str]] = {
    "score": frozenset({"query", "key", "query_positions", "key_positions"}),
    "normalize": frozenset({"scores"}),
    "context": frozenset({"weights", "value", "query", "visible"}),
    "recurrence": frozenset({"query", "key", "value", "decay", "beta", "past_state", "scale"}),
    "difference": frozenset(),
    "position": frozenset({"x", "positions", "features", "query", "key", "query_positions", "key_positions", "heads"}),
    "mask": frozenset(
        {
            "table",
            "query_rows",
            "query_positions",
            "key_positions",
            "key_lengths",
            "query_key_lengths",
            "query_sequences",
            "key_sequences",
            "key_mask",
            "real_key_starts",
            "index_scores",
            "candidates",
        }
    ),
    "norm": frozenset({"x"}),
    "query_scale": frozenset({"positions", "heads"}),
    "gate": frozenset({"x"}),
    "generator": frozenset({"stream", "shape"}),
}

# Arguments that are not arrays and have no shape.
NO_ARRAYS = frozenset({"features", "heads", "scale", "stream", "shape"})
# The first axes of a result (a mask's: the last), by the operator's kind or by `acts_on`.
RESULT_AXES: Mapping[str, Letters] = {
    "score": ("n", "m"),
    "normalize": ("n", "m"),
    "context": ("n",),
    "recurrence": ("n", "e"),
    "difference": (),
    "mask": ("n", "m"),
    "norm": ("n", "d"),
    "query_scale": ("n",),
    "gate": ("n", "u"),
    "embeddings": ("n", "x"),
    "query_and_key": ("n", "d"),
    "products": ("n", "m"),
    "scores": ("n", "m"),
    "generator": (),
}

# The default axes of arguments for a user's operator; under "" those common to all kinds.
USUAL_AXES: Mapping[str, Mapping[str, str]] = {
    "": {
        "query": "n d", "key": "m d", "value": "m e", "x": "n d", "scores": "n m", "weights": "n m", "visible": "n m",
        "positions": "n", "query_positions": "n", "key_positions": "m", "table": "n m", "query_rows": "n",
        "decay": "n", "beta": "n", "past_state": "d e",
    },
    "recurrence": {"key": "n d", "value": "n e"},
    "gate": {"x": "n u"},
}  # fmt: skip
# The symbols of the result and the arguments in such an operator's formula.
USUAL_FORMULAS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "score": ("Sᵢⱼ", {"query": "Qᵢ", "key": "Kⱼ", "query_positions": "posᵢ", "key_positions": "j"}),
    "normalize": ("Aᵢ", {"scores": "Sᵢ"}),
    "context": ("Cᵢ", {"weights": "Aᵢ", "value": "V", "query": "Qᵢ"}),
    "recurrence": ("C", {"query": "Q", "key": "K", "value": "V"}),
    "difference": ("λ", {}),
    "mask": ("", {"query_positions": "posᵢ", "key_positions": "j"}),
    "norm": ("x̂", {}),
    "query_scale": ("κᵢ", {"positions": "posᵢ"}),
    "gate": ("Gᵃ", {"x": "G"}),
    "embeddings": ("P", {"positions": "pos"}),
    "query_and_key": ("x'", {"positions": "pos"}),
    "products": ("Bᵢⱼ", {"query": "Qᵢ", "key": "Kⱼ", "query_positions": "posᵢ", "key_positions": "j"}),
    "scores": ("Bᵢⱼ", {"query_positions": "posᵢ", "key_positions": "j"}),
}

# The operators of each kind by name: the record, or the module to import for it.
_OPERATORS: dict[str, dict[str, OperatorRecord | str]] = {
    kind: {name: module for module, names in MODULES[kind].items() for name in names.split()} for kind in ARGUMENTS
}
_USES: dict[str, "_Use"] = {}
_TAKEN_KINDS: list[str] = list(ARGUMENTS)
_STRUCTURAL = StructuralRecord()
_loaded_entry_points = False
_broken: list[str] = []


@dataclass(frozen=True, eq=False)
class _Use:
    """A key's use of a kind of operators: the kind, and the function that adapts a record to the key."""

    key: str
    kind: str
    make_record: Callable[[str, OperatorRecord], OperatorRecord]
    records: dict[str, OperatorRecord] = field(default_factory=dict)  # those made so far

    def record(self, record: OperatorRecord) -> OperatorRecord:
        """The record of an operator with the key's parameters; always the same object."""
        made = self.records.get(record.name)
        if made is None or made.function is not record.function:
            made = self.records[record.name] = self.make_record(self.key, record)
        return made


def kinds() -> Sequence[str]:
    """The kinds of operators."""
    return list(ARGUMENTS)


def plural_of(kind: str) -> str:
    """The plural of a kind of operators.

    >>> plural_of("score"), plural_of("normalize")
    ('scores', 'normalizers')
    """
    return {"normalize": "normalizers"}.get(kind, f"{kind}s")


def add_use(key: str, kind: str, make_record: Callable[[str, OperatorRecord], OperatorRecord]) -> None:
    """Let a key take the operators of a kind with its own parameters: `key` then counts as a kind.

    `make_record` adapts an operator's record to the key.
    """
    _USES[key] = _Use(key, kind, make_record)
    _TAKEN_KINDS[:] = [name for kind in kinds() for name in (kind, *(key for key in _USES if _USES[key].kind == kind))]


def taken_kinds() -> Sequence[str]:
    """The kinds that keys take: kinds of operators, and the uses of each after it."""
    return _TAKEN_KINDS


def kind_of(name: str) -> str:
    """The kind of operators of a use; a kind is its own.

    >>> kind_of("qk_norm"), kind_of("score")
    ('norm', 'score')
    """
    return _USES[name].kind if name in _USES else name


def registered(kind: str) -> Mapping[str, OperatorRecord]:
    """The operators of a kind, this package's and others registered so far, without importing installed packages."""
    return {name: _record(kind, name) for name in list(_OPERATORS[kind_of(kind)])}


def _record(kind: str, name: str) -> OperatorRecord:
    """The record of an existing operator; imports its module if necessary."""
    operators, use = _OPERATORS[kind_of(kind)], _USES.get(kind)
    record = operators[name]
    if isinstance(record, str):
        import_module(record)
        record = operators[name]
        assert isinstance(record, OperatorRecord)
    return record if use is None else use.record(record)


def operators(kind: str) -> Mapping[str, OperatorRecord]:
    """Every operator of a kind by name, installed packages' last."""
    _load_entry_points()
    return registered(kind)


def is_operator(kind: str, name: str) -> bool:
    """Whether there is an operator of that kind and name; imports packages only for a valid name."""
    if name in _OPERATORS[kind_of(kind)]:
        return True
    return name.isidentifier() and name in operators(kind)


def look_up(kind: str, name: str, *, where: str | None = None) -> OperatorRecord:
    """The operator of that kind and name; raises UnknownNameError with the nearest name."""
    if not is_operator(kind, name):
        if _broken:  # the name may be in one of them
            raise AttnError(f"unknown {kind} {name!r}", where=where, hint="; ".join(_broken))
        raise UnknownNameError(kind, name, operators(kind), where=where)
    return _record(kind, name)


def record_of(function: Callable[..., Any]) -> OperatorRecord | StructuralRecord | DerivativeRecord:
    """The record of a function; an empty one if it has none."""
    record: OperatorRecord | StructuralRecord | DerivativeRecord = getattr(function, "record", _STRUCTURAL)
    return record


def is_recorded(record: object) -> bool:
    """Whether missing fields, such as worked lines and code, follow from the function."""
    if isinstance(record, OperatorRecord):
        return record.kind != "generator"
    if isinstance(record, DerivativeRecord):
        return True
    return isinstance(record, StructuralRecord)


def broken_packages() -> Sequence[str]:
    """The errors of installed packages whose operators could not be loaded; the others are registered."""
    _load_entry_points()
    return tuple(_broken)


def _load_entry_points() -> None:
    """Import the entry points of installed packages; once, since finding them takes 30 ms."""
    global _loaded_entry_points  # noqa: PLW0603 - a process loads them once
    if _loaded_entry_points:
        return
    _loaded_entry_points = True
    from importlib.metadata import entry_points  # noqa: PLC0415 - only lists and unknown names need it

    for entry_point in entry_points(group=ENTRY_POINTS):
        try:
            entry_point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the import of another package may raise anything
            reason = f"{type(error).__name__}: {error}"
            _broken.append(
                f"package {entry_point.value}: its operators can't be loaded ({reason}); fix or uninstall it"
            )


def _pickle_by_name(record: OperatorRecord) -> tuple[Callable[..., OperatorRecord], tuple[str, str]]:
    """A record, pickled as its kind and name: another process has the same operators registered."""
    return look_up, (record.kind, record.name)


copyreg.pickle(OperatorRecord, _pickle_by_name)


class OperatorFunction(Protocol[P, R_co]):
    """A registered function: the same, with its record as an attribute."""

    record: OperatorRecord

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Compute it."""
        ...


class Register(Protocol):
    """A decorator that registers a function as an operator and returns it with its record."""

    def __call__(self, function: Callable[P, R], /) -> OperatorFunction[P, R]:
        """Register the function."""
        ...


def register(kind: str, **fields: Any) -> Register:
    """A decorator that makes an operator's record from these fields, checks it, and attaches it to the function.

    `score`, `normalizer`, `context`, `recurrence`, `difference`, `position`, `mask`, `norm`, `query_scale`, `gate` and
    `generator` call it. An operator has its function's name, without a trailing underscore. Plans pass the arguments
    before `*` to every operator of the kind. Those after it are its own parameters, except `tap`, which keeps inner
    quantities, and `matmul`, which multiplies matrices: by default `attncli.ops.products.product`, or
    `product_in_parts` if no type is wider than the numbers'. `shapes` has the letters of `attncli.base.axes.LEGEND`:
    lengths that must agree have the same letter, and axes before those named broadcast. The record's definition is
    added to the function's docstring.

    Raises AttnError if the name is taken (the message names both modules); if the formula, the source, the docstring or
    the example's result is missing; if a letter is not in the legend; if the shapes lack an argument, or give the
    result the wrong axes for its kind; or if the function has an argument that plans do not pass, or a parameter of an
    unsupported type.

    A user's normalizer with the parameter `power`, for `attn compute --normalize powers:power=2`:

    >>> from typing import Annotated
    >>> from attncli import Range, normalizer
    >>> from attncli.base.lazy_numpy import Array
    >>> @normalizer(
    ...     formula="Aᵢⱼ = max(Sᵢⱼ, 0)ᵖ / Σⱼ max(Sᵢⱼ, 0)ᵖ",
    ...     shapes="scores[n m] -> [n m]",
    ...     source="an example",
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
        """Register the function under its name, and return it with its record."""
        if not isinstance(function, FunctionType):
            raise AttnError(f"{function!r} is not a function", where=kind, hint="write def NAME(…) below the decorator")
        code: Any = function
        name = code.__name__.rstrip("_")
        where = f"{kind} {name!r} in {code.__module__}"
        if not isinstance(fields["shapes"], str) or not isinstance(fields["example"], Mapping):
            hint = "expected shapes='scores[n m] -> [n m]' and example={'scores': …, 'gives': …}"
            raise AttnError("its shapes are not a text, or its example is not a mapping", where=where, hint=hint)
        passed = ARGUMENTS[kind] | set(fields.get("derived", ()))
        arguments = tuple(x for x in _positional(code) if x in passed or _is_built_in(code))
        if passed and not arguments:
            hint = f"it gets {', '.join(sorted(passed))}"
            raise AttnError(f"has none of the arguments of a {kind}", where=where, hint=hint)
        known = {**fields, **({} if _is_built_in(code) else _usual_fields(kind, name, code, arguments, fields))}
        signature = parse(known["shapes"])
        record = OperatorRecord(
            kind=kind,
            name=name,
            function=function,
            arguments=arguments,
            parameters=_parameters(code, arguments, signature, where),
            **{**known, "shapes": signature, "example": MappingProxyType(dict(fields["example"]))},
        )
        _check(record, code, where)
        _OPERATORS[kind][name] = code.record = record
        _append_definition(code, record)
        decorated: OperatorFunction[P, R] = code
        return decorated

    return decorate


def _is_built_in(function: Any) -> bool:
    """Whether a function belongs to this package."""
    return str(function.__module__).startswith("attncli.")


def _positional(function: Any) -> tuple[str, ...]:
    """The names before `*` of a function's signature."""
    names: tuple[str, ...] = function.__code__.co_varnames[: function.__code__.co_argcount]
    return names


def _usual_fields(
    kind: str, name: str, function: Any, arguments: Sequence[str], fields: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The defaults of a user's operator: the usual axes, a formula, and its file as the source."""
    known: dict[str, Any] = {}
    acts_on = fields.get("acts_on")
    if kind == "position" and acts_on is None:
        known["acts_on"] = acts_on = _acts_on(arguments)
    if not fields["shapes"]:
        axes = {
            argument: USUAL_AXES.get(kind, {}).get(argument, USUAL_AXES[""].get(argument)) for argument in arguments
        }
        result = "n e" if kind == "context" else " ".join(RESULT_AXES[acts_on or kind])
        known["shapes"] = ", ".join(f"{argument}[{own}]" for argument, own in axes.items() if own) + f" -> [{result}]"
    if not fields["formula"]:
        result, written = USUAL_FORMULAS.get(acts_on or kind, ("x", {}))
        named = ", ".join(written.get(argument, argument) for argument in arguments if argument != "heads")
        known["formula"] = f"{result} = {name}({named})" if kind != "mask" else f"visible where {name}({named})"
    if not fields["source"]:
        file = function.__code__.co_filename.replace("\\", "/").rpartition("/")[2]
        known["source"] = f"{file}, line {function.__code__.co_firstlineno}"
    return known


def _acts_on(arguments: Collection[str]) -> ActsOn:
    """The default `acts_on` of a position scheme, by its arguments."""
    if "x" in arguments:
        return "query_and_key"
    if "query" in arguments or "key" in arguments:
        return "products"
    return "scores" if "key_positions" in arguments else "embeddings"


def _check(record: OperatorRecord, function: Any, where: str) -> None:
    """Raise AttnError if a record is incomplete or its name is taken."""
    other = _OPERATORS[record.kind].get(record.name)
    module = other.function.__module__ if isinstance(other, OperatorRecord) else other
    is_again = record.is_built_in and module == function.__module__  # an interrupted import may have registered it
    if other is not None and not is_again:
        raise AttnError(f"{record.kind} {record.name!r} is registered twice, in {module} and {function.__module__}")
    docstring = function.__doc__ if sys.flags.optimize < 2 and record.is_built_in else "-OO leaves none"
    for what, text in (("formula", record.formula), ("source", record.source), ("docstring", docstring)):
        if not text:
            raise AttnError(f"has no {what}", where=where)
    letters = {
        part for axes in (*record.shapes.arrays.values(), record.shapes.result) for x in axes for part in x.split("+")
    }
    if not letters <= {*LEGEND, "r", "c", "1"}:
        unknown = ", ".join(sorted(letters - {*LEGEND}))
        raise AttnError(f"its shapes have letters that are not in the legend: {unknown}", where=where)
    if record.acts_on not in (None, *get_args(ActsOn)):
        raise AttnError(f"can't act on {record.acts_on!r}", where=where, hint=f"expected {', '.join(get_args(ActsOn))}")
    _check_arguments(record, function, where)
    _check_shapes(record, where)
    _check_example(record, where)


def _check_arguments(record: OperatorRecord, function: Any, where: str) -> None:
    """Raise AttnError if the function has arguments that plans do not pass."""
    if function.__code__.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        raise AttnError("takes any arguments", where=where, hint="name them: parameters follow *")
    for name in {TAP, MATMUL} & set(_keywords(function)):
        if not callable((function.__kwdefaults__ or {}).get(name)):
            hint = f"only some calls pass the function {name}; rename a parameter of your own"
            raise AttnError(f"the default of its keyword {name!r} is not a function", where=where, hint=hint)
    own = {parameter.name for parameter in record.parameters} | {TAP}
    passed = ARGUMENTS[record.kind] | set(record.derived)
    for name in (*_positional(function), *record.shapes.arrays):
        if name not in passed | own:
            hint = f"a {record.kind} gets {', '.join(sorted(passed))}; its own parameters follow *"
            raise AttnError(f"has an argument {name!r} that no plan passes", where=where, hint=hint)


def _check_shapes(record: OperatorRecord, where: str) -> None:
    """Raise AttnError if the shapes lack an argument, or the result has the wrong axes for its kind."""
    for name in record.arguments:
        if name not in record.shapes.arrays and name not in NO_ARRAYS:
            raise AttnError(f"its shapes lack {name!r}", where=where, hint=f"write {name}[…] in shapes=")
    expected = RESULT_AXES[record.acts_on or record.kind]
    if record.shapes.result[-2 if record.kind == "mask" else 0 :][: len(expected)] != expected:
        found = f"[{' '.join(record.shapes.result)}]"
        raise AttnError(f"its result has the axes {found}", where=where, hint=f"expected [{' '.join(expected)} …]")


def _check_example(record: OperatorRecord, where: str) -> None:
    """Raise AttnError if the example lacks its result or has a name that is not an argument."""
    is_left_out = not record.is_built_in and not record.example
    if record.kind != "generator" and not is_left_out and "gives" not in record.example:
        raise AttnError("its example has no result", where=where, hint="add 'gives': the result")
    known = {*record.arguments, *(parameter.name for parameter in record.parameters), "gives"}
    for name in record.example:
        if name not in known:
            raise UnknownNameError("argument of its example", name, known, where=where)


def _append_definition(function: Any, record: OperatorRecord) -> None:
    """Append the record's definition to the function's docstring, so that it is written once."""
    if function.__doc__ is None:
        return
    *_, last = function.__doc__.rpartition("\n")
    margin = last[: len(last) - len(last.lstrip())]  # the closing quotes' indentation
    facts = [f"{title:12}  {fact}" for title, fact in record.definition]
    function.__doc__ = f"\n{margin}".join([f"{function.__doc__.rstrip()}\n", *DEFINITION.split("\n"), *facts, ""])


def _parameters(function: Any, arguments: Sequence[str], shapes: Signature, where: str) -> tuple[Parameter, ...]:
    """Read the parameters of a function's signature: all but the arguments, `tap` and `matmul`."""
    names, last = _positional(function), function.__defaults__ or ()
    defaults = dict(zip(names[len(names) - len(last) :], last, strict=True)) | (function.__kwdefaults__ or {})
    annotations = function.__annotations__
    if any(isinstance(annotation, str) for annotation in annotations.values()):  # from __future__ import annotations
        annotations = get_type_hints(function, include_extras=True)
    return tuple(
        _parameter(name, annotations.get(name), defaults.get(name, REQUIRED), arguments, shapes, where)
        for name in (*names, *_keywords(function))
        if name not in (*arguments, TAP, MATMUL)
    )


def _keywords(function: Any) -> tuple[str, ...]:
    """The names after `*` of a function's signature."""
    code = function.__code__
    names: tuple[str, ...] = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return names


def _parameter(
    name: str, annotation: Any, default: Any, arguments: Sequence[str], shapes: Signature, where: str
) -> Parameter:
    """One parameter: its kind by its annotation, or an array if the shapes name it."""
    extras: Iterable[Any] = ()
    if get_origin(annotation) is Annotated:
        annotation, *extras = get_args(annotation)
    if name in shapes.arrays:
        symbol = next((extra.text for extra in extras if isinstance(extra, Symbol)), name)
        leading = tuple(extra.letter for extra in extras if isinstance(extra, MayHave))
        parameter = Parameter(name, "array", default, shapes.arrays[name], symbol=symbol, leading=leading)
        return replace(parameter, is_table=TABLE in extras, is_counts=COUNTS in extras)
    for words in (annotation, *get_args(annotation)):  # of an optional one
        if get_origin(words) is Literal:
            return Parameter(name, "word", default, words=get_args(words))
    if annotation is None and isinstance(default, (bool, int, float, str)):
        annotation = type(default)
    types = set(get_args(annotation) or (annotation,)) - {type(None)}
    mapping = next((extra for extra in extras if isinstance(extra, ReadsMapping)), None)
    if mapping is not None:
        types = {kind for kind in types if not issubclass(kind, ParameterMapping)}
    if types == {bool}:
        return Parameter(name, "boolean", default)
    if types == {str} and arguments is not None and not where.partition(" in ")[2].startswith("attncli."):
        return Parameter(name, "word", default)  # any word: the function checks it
    if not types or not types <= {int, float}:
        hint = "expected int, float, bool or a Literal of words, or a default; arrays are named in shapes="
        if default is REQUIRED and annotation is None and arguments:
            hint = f"it is called with {', '.join(arguments)}; {hint}"
        raise AttnError(f"its parameter {name!r} has an unsupported type", where=where, hint=hint)
    limits = next((extra for extra in extras if isinstance(extra, Range)), Range())
    return Parameter(name, "number" if float in types else "integer", default, range=limits, mapping=mapping)


@contextmanager
def failures_named(record: OperatorRecord, what: str) -> Iterator[None]:
    """A block that calls a function of a record; raises AttnError if the function is another package's and fails.

    `what` is the field of the record with the function, or `function`.
    """
    try:
        yield
    except (AttnError, MemoryError):
        raise
    except Exception as error:  # another package's function may raise anything
        if record.is_built_in:
            raise
        message = f"its {what} failed ({type(error).__name__}: {error})"
        hint = f"fix it in {record.function.__module__}"
        raise AttnError(message, where=record.title, hint=hint) from error

"""Registration: a record is made from the fields of a decorator and the signature of its function, and is checked."""

import sys
from collections.abc import Callable, Iterable, Mapping
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, MappingProxyType
from typing import Annotated, Any, Literal, ParamSpec, Protocol, TypeVar, get_args, get_origin, get_type_hints

from attncli.base.axes import LEGEND, Letters, Signature, parse
from attncli.base.errors import AttnError, UnknownNameError
from attncli.ops.records import (
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
    Symbol,
)
from attncli.ops.registry import ARGUMENTS, add, registered

# Arguments that are no arrays, and so have no shape.
NO_ARRAYS = frozenset({"features", "heads", "stream", "shape"})
# The axes that a result begins with (a mask: ends with), by the kind of the operator or by what it acts on.
RESULT_AXES: Mapping[str, Letters] = {
    "score": ("n", "m"),
    "normalize": ("n", "m"),
    "context": ("n",),
    "mask": ("n", "m"),
    "norm": ("n", "d"),
    "query_scale": ("n",),
    "embeddings": ("n", "x"),
    "query_and_key": ("n", "d"),
    "products": ("n", "m"),
    "scores": ("n", "m"),
    "generator": (),
}

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class OperatorFunction(Protocol[P, R_co]):
    """A registered function, unchanged but for its record, which is an attribute."""

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
    """A decorator that makes an operator's record, checks it, and hangs it on the function.

    `score`, `normalizer`, `context`, `position`, `mask`, `norm`, `query_scale` and `generator` call it. The name of
    the operator is that of its function, without a trailing underscore. Arguments before `*` are what plans pass to
    every operator of the kind; those after it are its own parameters, but for `tap`, which inner quantities pass
    through, and `matmul`, which multiplies matrices: `attncli.ops.products.product` by default, where no type is wider
    than that of the numbers `product_in_parts`. The formula and the source are added to the function's docstring.

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
        Where the name is taken (the message names both modules), the formula, the source, the docstring or the
        example's result is missing, a letter is not in the legend, the shapes lack an argument or give the result
        other axes than its kind has, or the function has an argument that plans do not pass or a parameter whose type
        is not supported.

    Examples
    --------
    A normalizer of the user's with the parameter `power`, for `attn compute --normalize powers:power=2`:

    >>> from typing import Annotated
    >>> from attncli import Range, normalizer
    >>> from attncli.base.lazy_numpy import Array
    >>> from attncli.ops.registry import look_up
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
            raise AttnError(f"{function!r} is no function", where=kind, hint="write def NAME(…) below the decorator")
        code: Any = function
        name = code.__name__.rstrip("_")
        where = f"{kind} {name!r} in {code.__module__}"
        if not isinstance(fields["shapes"], str) or not isinstance(fields["example"], Mapping):
            hint = "expected shapes='scores[n m] -> [n m]' and example={'scores': …, 'gives': …}"
            raise AttnError("its shapes are no text, or its example is no mapping", where=where, hint=hint)
        signature = parse(fields["shapes"])
        record = OperatorRecord(
            kind=kind,
            name=name,
            function=function,
            arguments=tuple(code.__code__.co_varnames[: code.__code__.co_argcount]),
            parameters=_parameters(code, signature, where),
            **{**fields, "shapes": signature, "example": MappingProxyType(dict(fields["example"]))},
        )
        _check(record, code, where)
        add(record)
        code.record = record
        _extend_docstring(record, code)
        decorated: OperatorFunction[P, R] = code
        return decorated

    return decorate


def _check(record: OperatorRecord, function: Any, where: str) -> None:
    """Raise AttnError where a record is incomplete or its name is taken."""
    other = registered(record.kind).get(record.name)
    if other is not None:
        modules = f"{other.function.__module__} and {function.__module__}"
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
    if record.acts_on not in (None, *get_args(ActsOn)):
        raise AttnError(f"can't act on {record.acts_on!r}", where=where, hint=f"expected {', '.join(get_args(ActsOn))}")
    _check_arguments(record, function, where)
    _check_shapes(record, where)
    _check_example(record, where)


def _check_arguments(record: OperatorRecord, function: Any, where: str) -> None:
    """Raise AttnError where the function has arguments that plans do not pass."""
    if function.__code__.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        raise AttnError("takes any arguments", where=where, hint="name them: parameters follow *")
    for name in {TAP, MATMUL} & set(_keywords(function)):
        if not callable((function.__kwdefaults__ or {}).get(name)):
            hint = f"{name} is a function that is handed to some calls alone; rename a parameter of your own"
            raise AttnError(f"its keyword {name!r} has no function for a default", where=where, hint=hint)
    own = {parameter.name for parameter in record.parameters} | {TAP}
    passed = ARGUMENTS[record.kind] | set(record.derived)
    for name in (*record.arguments, *record.shapes.arrays):
        if name not in passed | own:
            hint = f"a {record.kind} gets {', '.join(sorted(passed))}; its own parameters follow *"
            raise AttnError(f"has an argument {name!r} that no plan hands it", where=where, hint=hint)


def _check_shapes(record: OperatorRecord, where: str) -> None:
    """Raise AttnError where the shapes lack an argument, or the result does not have the axes of its kind."""
    for name in record.arguments:
        if name not in record.shapes.arrays and name not in NO_ARRAYS:
            raise AttnError(f"its shapes lack {name!r}", where=where, hint=f"write {name}[…] in shapes=")
    expected = RESULT_AXES[record.acts_on or record.kind]
    if record.shapes.result[-2 if record.kind == "mask" else 0 :][: len(expected)] != expected:
        found = f"[{' '.join(record.shapes.result)}]"
        raise AttnError(f"its result has the axes {found}", where=where, hint=f"expected [{' '.join(expected)} …]")


def _check_example(record: OperatorRecord, where: str) -> None:
    """Raise AttnError where the example lacks its result or names something else than arguments."""
    if record.kind != "generator" and "gives" not in record.example:
        raise AttnError("its example does not say what it gives", where=where, hint="add 'gives': the result")
    known = {*record.arguments, *(parameter.name for parameter in record.parameters), "gives"}
    for name in record.example:
        if name not in known:
            raise UnknownNameError("argument of its example", name, known, where=where)


def _extend_docstring(record: OperatorRecord, function: Any) -> None:
    """Add the formula and the source to a function's docstring, so that they are written once."""
    if function.__doc__ is None:
        return
    first, *others = function.__doc__.rstrip().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    added = ["", "Notes", "-----", record.formula, "", "References", "----------", record.source, ""]
    function.__doc__ = "\n".join([first, *others, *(" " * margin + line if line else "" for line in added)])


def _parameters(function: Any, shapes: Signature, where: str) -> tuple[Parameter, ...]:
    """Read the keyword parameters off a function's signature; `tap` and `matmul` are none."""
    defaults, annotations = function.__kwdefaults__ or {}, function.__annotations__
    if any(isinstance(annotation, str) for annotation in annotations.values()):  # from __future__ import annotations
        annotations = get_type_hints(function, include_extras=True)
    return tuple(
        _parameter(name, annotations.get(name), defaults.get(name, REQUIRED), shapes, where)
        for name in _keywords(function)
        if name not in (TAP, MATMUL)
    )


def _keywords(function: Any) -> tuple[str, ...]:
    """The names after `*` of a function's signature."""
    code = function.__code__
    names: tuple[str, ...] = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return names


def _parameter(name: str, annotation: Any, default: Any, shapes: Signature, where: str) -> Parameter:
    """One parameter: its kind by its annotation, or an array where the shapes name it."""
    extras: Iterable[Any] = ()
    if get_origin(annotation) is Annotated:
        annotation, *extras = get_args(annotation)
    if name in shapes.arrays:
        symbol = next((extra.text for extra in extras if isinstance(extra, Symbol)), name)
        leading = tuple(extra.letter for extra in extras if isinstance(extra, MayHave))
        return Parameter(
            name,
            "array",
            default,
            letters=shapes.arrays[name],
            is_table=TABLE in extras,
            symbol=symbol,
            leading=leading,
        )
    if get_origin(annotation) is Literal:
        return Parameter(name, "word", default, words=get_args(annotation))
    types = set(get_args(annotation) or (annotation,)) - {type(None)}
    mapping = next((extra for extra in extras if isinstance(extra, ReadsMapping)), None)
    if mapping is not None:
        types = {kind for kind in types if not issubclass(kind, ParameterMapping)}
    if types == {bool}:
        return Parameter(name, "boolean", default)
    if not types or not types <= {int, float}:
        hint = "expected int, float, bool or a Literal of words; arrays are named in the shapes"
        raise AttnError(f"its parameter {name!r} has a type that nothing reads", where=where, hint=hint)
    limits = next((extra for extra in extras if isinstance(extra, Range)), Range())
    return Parameter(name, "number" if float in types else "integer", default, range=limits, mapping=mapping)

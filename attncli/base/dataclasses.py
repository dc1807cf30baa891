"""`dataclass` of the standard library that generates no methods at the start, as every command waits for its classes.

The standard library writes each method of a class as text and compiles it, on which a small command spent a quarter of
its time. Here all classes share their methods; `__init__` is written for those of which many instances are made.
"""

import dataclasses
import inspect  # which the standard library's dataclasses import anyway
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

FIRST_INSTANCES = 100  # are made without a method of their class, which takes as long to write as some fifty of them
MADE_ANEW = type("<factory>", (), {"__repr__": lambda _: "<factory>"})()  # the default of what a factory makes

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool, eq: bool = True, kw_only: bool = False) -> Callable[[type], type]:
        """`dataclasses.dataclass` of frozen classes, with the same meaning; `fields` and `replace` know them.

        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: float
        ...     y: float = 0.0
        >>> Point(1.0), Point(1.0) == Point(1.0, y=0.0), dataclasses.replace(Point(1.0), y=2.0)
        (Point(x=1.0, y=0.0), True, Point(x=1.0, y=2.0))
        """
        assert frozen
        return lambda cls: _with_shared_methods(cls, eq=eq, kw_only=kw_only)


def _with_shared_methods(cls: type[Any], *, eq: bool, kw_only: bool) -> Any:
    """The class as a frozen dataclass; methods that its body defines stay."""
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)

    instances, fields = 0, dataclasses.fields(made)

    def initialize(self: Any, *args: Any, **values: Any) -> None:
        """The method `__init__` of the first instances; the written one says what is wrong with arguments."""
        nonlocal instances
        instances += 1
        if instances > FIRST_INSTANCES or not _set_fields(self, fields, args, values):
            made.__init__ = _written_initializer(made)
            made.__init__(self, *args, **values)
        elif hasattr(made, "__post_init__"):
            self.__post_init__()

    methods = {"__init__": initialize, "__repr__": _represent, "__setattr__": _refuse, "__delattr__": _refuse}
    if eq:
        methods |= _comparing_methods(made)
    for name, method in methods.items():
        if name not in vars(cls) or vars(cls)[name] is None:  # Python sets __hash__ to None where a body has __eq__
            setattr(made, name, method)
    made.__signature__ = _Signature()
    return made


class _Signature:
    """The signature of a class, as `help` and editors read it: that of its `__init__`, which may not be written yet."""

    def __get__(self, instance: object, cls: type[Any]) -> inspect.Signature:
        """The signature without `self`, with the types of the fields."""
        types = {field.name: field.type for field in dataclasses.fields(cls)}
        _, *parameters = inspect.signature(_written_initializer(cls)).parameters.values()
        return inspect.Signature([parameter.replace(annotation=types[parameter.name]) for parameter in parameters])


def _set_fields(self: Any, fields: Sequence[Any], args: Sequence[Any], values: Mapping[str, Any]) -> bool:
    """Set each field to its argument, its default, or what its factory makes; false where arguments are wrong."""
    own, used = self.__dict__, 0
    positions = iter(args)
    for field in fields:
        name = field.name
        value = MISSING if field.kw_only else next(positions, MISSING)
        if value is not MISSING:
            used += 1
        elif name in values:
            value = values[name]
            used += 1
        elif field.default is not MISSING:
            value = field.default
        elif field.default_factory is not MISSING:
            value = field.default_factory()
        else:
            return False
        own[name] = value
    return used == len(args) + len(values)


def _written_initializer(cls: Any) -> Any:
    """The method `__init__`: it sets each field to its argument, its default, or what its factory makes."""
    names: dict[str, Any] = {"MADE_ANEW": MADE_ANEW}
    parameters = dict[bool, list[str]]()
    lines = [" own_ = self.__dict__"]  # which takes half the time of object.__setattr__ for each field
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        parameter = name
        if field.default is not MISSING:
            names[f"default_{name}"] = field.default
            parameter = f"{name}=default_{name}"
        elif field.default_factory is not MISSING:
            names[f"make_{name}"] = field.default_factory
            parameter, value = f"{name}=MADE_ANEW", f"make_{name}() if {name} is MADE_ANEW else {name}"
        parameters.setdefault(bool(field.kw_only), []).append(parameter)
        lines.append(f" own_[{name!r}] = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    after_self = [*parameters.get(False, ()), *(["*", *parameters[True]] if True in parameters else ())]
    text = "\n".join([f"def __init__({', '.join(['self', *after_self])}):", *lines])
    exec(text, names)
    written = names["__init__"]
    written.__qualname__ = f"{cls.__qualname__}.__init__"  # which errors name
    return written


def _comparing_methods(cls: Any) -> dict[str, Callable[..., Any]]:
    """The methods by which instances are compared, by their names."""
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    values = attrgetter("__class__", *names)  # with the class they are never one alone, and so always a tuple

    def equals(self: object, other: object) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hash_values(self: object) -> int:
        return hash(values(self))

    return {"__eq__": equals, "__hash__": hash_values}


def _refuse(self: object, name: str, _value: object = None) -> NoReturn:
    """The methods `__setattr__` and `__delattr__`."""
    raise FrozenInstanceError(f"{type(self).__name__}.{name} can't be changed")


def _represent(self: Any) -> str:
    """The method `__repr__`."""
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"

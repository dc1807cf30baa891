"""The values of the keys of a worked example, each checked; an error has the place of the key."""

from collections.abc import Mapping, Sequence
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError


def to_text(value: Any) -> str:
    """A value as text; nothing where it is not given."""
    return "" if value is None else str(value)


def to_names(value: Any, place: ErrorPath) -> tuple[str, ...]:
    """The names of results, a list or one alone; none where the key is not given. Raises AttnError for others.

    >>> to_names("output", ("p.yaml", "together")), to_names(None, ("p.yaml", "show"))
    (('output',), ())
    """
    names = [value] if isinstance(value, str) else value
    if names is None:
        return ()
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise AttnError("is no list of names of results", where=place, hint="write one, such as [weights, output]")
    return tuple(names)


def to_word(value: Any, noun: str, place: ErrorPath, hint: str) -> str | None:
    """A text that must be one, not a number or a list; None where the key is not given. Raises AttnError for others."""
    if value is not None and not isinstance(value, str):
        raise AttnError(f"is no {noun}", where=place, hint=hint)
    return value


def to_values_by_name(value: Any, place: ErrorPath, noun: str) -> Mapping[Any, Any]:
    """What stands under the names of results; nothing where the key is not given. Raises AttnError for no mapping."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise AttnError("has no names", where=place, hint=f"write NAME: {noun}")
    return value


def to_choice(value: Any, noun: str, choices: Sequence[str], place: ErrorPath) -> str | None:
    """One of some words; None where the key is not given. Raises UnknownNameError for others."""
    if value is not None and value not in choices:
        raise UnknownNameError(noun, str(value), choices, where=place)
    return None if value is None else str(value)


def to_whole_number(value: Any, place: ErrorPath, hint: str) -> int | None:
    """A whole number; None where the key is not given. Raises AttnError for others."""
    if value is not None and type(value) is not int:
        raise AttnError("is no whole number", where=place, hint=hint)
    return value


def to_parts(value: Any, place: ErrorPath) -> Sequence[Mapping[str, Any]] | None:
    """The parts, each by its keys; None where the key is not given. Raises AttnError for others, or none."""
    if value is None:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(part, Mapping) for part in value):
        raise AttnError("is no list of parts", where=place, hint="expected - title: … and the part's keys")
    return value

"""Names from Python: one, or several in a list."""

from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import repr_excerpt


def to_names(names: Any, where: str = "select", example: str = "weights") -> tuple[str, ...]:
    """The names in a list, or the one that it is; raises AttnError at `where` if it holds anything but text."""
    try:
        listed = (names,) if isinstance(names, str) else tuple(names)
    except TypeError:  # it can't be iterated over
        listed = (None,)
    if not all(isinstance(name, str) for name in listed):
        nouns = "results" if where == "select" else where
        message, hint = f"{repr_excerpt(names)} is no list of names", f'give names of {nouns}, such as ("{example}",)'
        raise AttnError(message, where=where, hint=hint)
    return listed


def to_name(name: Any, where: str) -> str:
    """The one name that it is; raises AttnError at `where` for anything but text."""
    if not isinstance(name, str):
        raise AttnError(f"{repr_excerpt(name)} is no name", where=where, hint='give one, such as "weights"')
    return name

"""Names from Python: one, or several in a list."""

from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import repr_excerpt


def to_names(select: Any) -> tuple[str, ...]:
    """The names of results in `select`, or the one that it is; raises AttnError where it holds anything but text."""
    try:
        names = (select,) if isinstance(select, str) else tuple(select)
    except TypeError:  # it can't be iterated over
        names = (None,)
    if not all(isinstance(name, str) for name in names):
        message, hint = f"{repr_excerpt(select)} is no list of names", 'give names of results, such as ("weights",)'
        raise AttnError(message, where="select", hint=hint)
    return names

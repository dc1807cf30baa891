"""Conventions: the record of each framework's reading of the words of a problem, and the table of all by name."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.text import repr_excerpt
from attncli.ops.records import Operator


@dataclass(frozen=True, eq=False)
class Reading:
    """What a framework makes of one word, in a sentence; where attn reads it otherwise, what that is in attn's keys.

    `change` makes of the word's converted value the one that attn reads so. `keys` are in force where the word is
    given, unless they are given themselves: only beside one of the words in `beside`, where there are any, and never
    beside one in `not_beside`. `limit` says why the framework does not take a value, "" where it does.
    """

    text: str
    change: Callable[[Any], Any] | None = None
    keys: Mapping[str, Any] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    not_beside: tuple[str, ...] = ()
    limit: Callable[[Any], str] | None = None

    def matters(self, words: Collection[str]) -> bool:
        """Whether its keys matter beside these words."""
        return not self.beside or not {*self.beside}.isdisjoint(words)

    def opponents(self, words: Collection[str]) -> Sequence[str]:
        """Those of these words beside which its keys would matter, but are not in force."""
        return [word for word in self.not_beside if word in words] if self.matters(words) else []


@dataclass(frozen=True, eq=False)
class Convention:
    """How one framework reads the words of a problem.

    `words` has what it makes of each word that it has: a key, or one operator of a key, `position alibi`. `defaults`
    are keys in force unless they are given. Of the words in one group of `exclusive` it takes one.
    """

    name: str
    title: str
    version: str  # that was run, or whose documentation was read; "" of this program
    source: str
    is_run: bool  # tests compare it with the framework itself; otherwise it is from the documentation
    words: Mapping[str, Reading]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    exclusive: tuple[tuple[str, ...], ...] = ()

    @property
    def evidence(self) -> str:
        """How it is known."""
        if not self.version:
            return "as this program computes"
        known = "tested against" if self.is_run else "from its documentation,"
        return f"{known} version {self.version}"

    def reading(self, key: str, value: Any) -> Reading | None:
        """What it makes of the value of a key; None where it has no such word."""
        operator = f"{key} {value.record.name}" if isinstance(value, Operator) else key
        return self.words.get(operator, self.words.get(key))


_CONVENTIONS: dict[str, Convention] = {}
CONVENTIONS: Mapping[str, Convention] = MappingProxyType(_CONVENTIONS)


def register(convention: Convention) -> Convention:
    """Add a convention to the table."""
    assert convention.name not in _CONVENTIONS, convention.name
    _CONVENTIONS[convention.name] = convention
    return convention


def find_convention(name: Any, where: str | None = None) -> Convention:
    """The convention of that name.

    Raises UnknownNameError, which suggests the nearest one, and AttnError for what is no name.

    >>> from attncli.problem.conventions import find_convention
    >>> find_convention("torch-mha").words["mask"].text
    '1 or true hides'
    """
    if not isinstance(name, str):
        hint = f"expected one of {', '.join(CONVENTIONS)}"
        raise AttnError(f"{repr_excerpt(name)} is no name of a convention", where=where, hint=hint)
    if name not in CONVENTIONS:
        raise UnknownNameError("convention", name, CONVENTIONS, where=where)
    return CONVENTIONS[name]

"""Errors: AttnError, for everything that the user can correct, and its subclass for unknown names."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from attncli.base.option_texts import with_keywords

ErrorPath = tuple[str, ...]
MAX_LISTED = 100  # names, such as those of tokens; a longer list is shortened
FIRST_LISTED = 3  # names before the last, if it is shortened
# Similarity of letters in a typing mistake, and the least for another name; three letters may have two swapped.
SAME_WORD, SIMILAR, SIMILAR_SHORT = 0.85, 0.7, 0.6
SHORTEST_WORD = 3  # letters of a word that identifies a name
MOST_COMPARED = 2000  # names to compare with; a long text has more tokens
MOST_PROPOSED = 3  # names that share a word
_WORDS = re.compile(r"[\W_]+")


class AttnError(Exception):
    """An error that the user can correct: what is wrong, where, and what to do.

    `where` is a path of one or several elements, from the outermost to the innermost: a file, `line 3`, a key, a
    parameter, `row 2`, `number 3`. `hint` says what was expected or what to do. `subject` is the wrong list or mapping,
    and `entry` the wrong entry of a list: a reader of files finds the line from them. `keys` are keys that contradict
    each other, if the message names them. As a text it has Python keywords; `typed` has the options.

    >>> str(AttnError("is not a number", where=("p.yaml", "line 3", "w_q", "row 2"), hint="write 0 for nothing"))
    'p.yaml, line 3, w_q, row 2: is not a number; write 0 for nothing'
    """

    def __init__(
        self,
        message: str,
        *,
        where: str | Iterable[str] | None = None,
        hint: str | None = None,
        subject: Any = None,
        entry: int | None = None,
        keys: Iterable[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path: ErrorPath = () if not where else (where,) if isinstance(where, str) else tuple(where)
        self.hint = hint
        self.subject = subject
        self.entry = entry
        self.keys = tuple(keys)

    @property
    def where(self) -> str | None:
        """The path as text: `p.yaml, line 3, w_q`; None if it is empty."""
        return ", ".join(self.path) or None

    @property
    def typed(self) -> str:
        """The error as the command line prints it, with options as they are typed."""
        return self._at_its_place(f"{self.message}{f'; {self.hint}' if self.hint else ''}")

    def __str__(self) -> str:
        return self._at_its_place(with_keywords(f"{self.message}{f'; {self.hint}' if self.hint else ''}"))

    def _at_its_place(self, text: str) -> str:
        return f"{self.where}: {text}" if self.path else text

    def at(self, *parts: str) -> "AttnError":
        """The same error, with elements put before its path.

        >>> str(AttnError("is empty", where="row 2").at("p.yaml", "w_q"))
        'p.yaml, w_q, row 2: is empty'
        """
        self.path = (*parts, *self.path)
        return self


class UnknownNameError(AttnError, KeyError):
    """A name that is not in a list of names; the hint suggests the nearest one, or lists them.

    >>> str(UnknownNameError("key", "hedas", ["heads", "seed"], where="p.yaml"))
    "p.yaml: unknown key 'hedas'; did you mean 'heads'?"
    >>> UnknownNameError("token", "the", [f"query_{number}" for number in range(1, 3001)]).hint
    'expected one of query_1, query_2, query_3, …, query_3000 (3000 in all)'
    """

    def __init__(
        self,
        what: str,
        name: str,
        known: Iterable[str],
        *,
        where: str | Iterable[str] | None = None,
        subject: Any = None,
    ) -> None:
        names = list(known)
        expected = f"expected one of {_list_names(names)}" if names else "there are none"
        hint = did_you_mean(name, names) or expected
        super().__init__(f"unknown {what} {name!r}", where=where, hint=hint, subject=subject)

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker process pickles its error; without this unpickling would call the class with the message alone.
        return _restore, (type(self), self.message), vars(self)


def _list_names(names: Sequence[str]) -> str:
    """Names in a line; a long list is cut to the first ones, the last one and the count."""
    if len(names) <= MAX_LISTED:
        return ", ".join(names)
    return f"{', '.join(names[:FIRST_LISTED])}, …, {names[-1]} ({len(names)} in all)"


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The question whether one of the nearest names was meant; None if no name is near.

    A name is near if its letters are nearly the same, or if the wrong name has its words. Capitals and the hyphens
    before an option do not count. Of very many names only the first ones are compared.

    >>> did_you_mean("Casual", ["causal", "window"])
    "did you mean 'causal'?"
    >>> did_you_mean("flashattention", ["keras-attention", "flash"]), did_you_mean("torch", ["torch-sdpa", "torch-mha"])
    ("did you mean 'flash'?", "did you mean 'torch-sdpa' or 'torch-mha'?")
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only a wrong name needs it

    names = {known_name.casefold().lstrip("-"): known_name for known_name in islice(known, MOST_COMPARED)}
    wrong = name.casefold().lstrip("-")
    nearest = get_close_matches(wrong, list(names), n=1, cutoff=SAME_WORD) or _sharing_words(wrong, names)
    least = SIMILAR if len(wrong) > SHORTEST_WORD else SIMILAR_SHORT
    nearest = nearest or get_close_matches(wrong, list(names), n=1, cutoff=least)
    return f"did you mean {' or '.join(repr(names[each]) for each in nearest)}?" if nearest else None


def _sharing_words(wrong: str, names: Iterable[str]) -> list[str]:
    """The names with the first word of the wrong name, or else with its next word; none if they are many."""
    found: dict[int, list[str]] = {}
    for name in names:
        words = [word for word in _WORDS.split(name) if len(word) >= SHORTEST_WORD]
        if starts := [start for word in words if (start := _start_of_word(word, wrong)) is not None]:
            found.setdefault(min(starts), []).append(name)
    first = found[min(found)] if found else []
    return first if len(first) <= MOST_PROPOSED else []


def _start_of_word(word: str, text: str) -> int | None:
    """Where a text has a word: as a whole word or, if it is long, at the start or the end of another."""
    pattern = rf"(?<![^\W_]){re.escape(word)}(?![^\W_])"
    if len(word) > SHORTEST_WORD:
        pattern = rf"(?<![^\W_]){re.escape(word)}|{re.escape(word)}(?![^\W_])"
    found = re.search(pattern, text)
    return found.start() if found else None


def missing_package(package: str, extra: str, where: str = "", needs: str = "needs") -> AttnError:
    """The error for a missing package that an extra of this package installs.

    >>> str(missing_package("watchfiles", "watch", "--watch"))
    "--watch: needs the package watchfiles; install it: pip install 'attncli[watch]'"
    """
    return AttnError(f"{needs} the package {package}", where=where, hint=f"install it: pip install 'attncli[{extra}]'")


def _restore(error_class: type[AttnError], message: str) -> AttnError:
    """Make an error without its fields, which copying and unpickling set next."""
    return error_class.__new__(error_class, message)

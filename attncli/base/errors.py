"""The one exception for what the user can mend."""

from collections.abc import Iterable


class AttnError(Exception):
    """Something the user can mend: what is wrong, where it stands, and what to do.

    `where` is a file and line, or a key; `hint` says what was expected or what to do.
    """

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{place}{self.message}{hint}"

    def at(self, where: str) -> "AttnError":
        """The same error, its place said more widely: `words.yaml, w_q, row 2`."""
        self.where = f"{where}, {self.where}" if self.where else where
        return self


class UnknownNameError(AttnError, KeyError):
    """A name that is not in a list of names; it suggests the nearest one."""

    def __init__(self, what: str, name: str, known: Iterable[str], *, where: str | None = None) -> None:
        from difflib import get_close_matches  # noqa: PLC0415 - only a wrong name needs it

        names = list(known)
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(names)}"
        super().__init__(f"unknown {what} {name!r}", where=where, hint=hint)

"""Where the arrays of a problem were given, and what a convention has made of its keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attncli.base.errors import ErrorPath


@dataclass(frozen=True)
class ArrayOrigin:
    """The file or option that an array was given in, and the line of each of its rows where the file has lines.

    `is_whole` says that the name reads the array, as `words.csv` or `model.safetensors#w[0:2]` does; it is not where
    a problem's file has the numbers among its keys, and where they were changed since they were read.
    """

    name: str
    lines: Sequence[int] = ()
    is_option: bool = False
    is_whole: bool = False

    def path_of_row(self, row: int) -> ErrorPath:
        """The file, and the line of a row, which is counted from 0.

        >>> ArrayOrigin("words.csv", (2, 3)).path_of_row(1)
        ('words.csv', 'line 3')
        """
        return (self.name, f"line {self.lines[row]}") if row < len(self.lines) else (self.name,)


@dataclass(frozen=True)
class ConventionUse:
    """How the keys of a problem were read: the convention's name and version, and what was read otherwise than usual.

    `changes` has a line for each word that was given and that the convention reads otherwise than attn does, `remarks`
    one for each that it does not have, which is read as attn reads it. With `has_heads_third` queries, keys and values
    were given with heads after tokens; so is what is expected of steps like them.
    """

    name: str
    version: str
    changes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    has_heads_third: bool = False

    def __str__(self) -> str:
        return f"as {self.name} ({'; '.join(self.changes)})" if self.changes else f"as {self.name}"

    def as_object(self) -> dict[str, Any]:
        """Its fields as JSON has them."""
        return {
            "name": self.name,
            "version": self.version,
            "changes": list(self.changes),
            "remarks": list(self.remarks),
        }

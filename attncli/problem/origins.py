"""Where an array of a problem was given: a file, or an option, and the line of each of its rows."""

from collections.abc import Sequence

from attncli.base.dataclasses import dataclass
from attncli.base.errors import ErrorPath


@dataclass(frozen=True)
class ArrayOrigin:
    """The file or option that an array was given in, and the line of each of its rows where the file has lines."""

    name: str
    lines: Sequence[int] = ()
    is_option: bool = False

    def path_of_row(self, row: int) -> ErrorPath:
        """The file, and the line of a row, which is counted from 0.

        >>> ArrayOrigin("words.csv", (2, 3)).path_of_row(1)
        ('words.csv', 'line 3')
        """
        return (self.name, f"line {self.lines[row]}") if row < len(self.lines) else (self.name,)

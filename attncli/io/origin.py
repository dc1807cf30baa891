"""The origin of a value: a file, an option, or Python."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attncli.base.errors import ErrorPath
from attncli.io.inputs import Inputs
from attncli.problem.fields import option_name
from attncli.problem.origins import ArrayOrigin


@dataclass(frozen=True)
class Origin:
    """Where a value was given: in a file (paths in it are relative to its folder), as an option, or in Python.

    `option` is the option that names the key (`--vary`); it is empty where the key has an option of its own.
    `lines` has the first line of each list and mapping of the file, by the object's id. In Python a text names no file
    (`opens_files` is False); elsewhere files that are named are opened through `inputs`. An option, and what
    `overrides` a file from Python, wins over the value of the file.
    """

    name: str = ""
    folder: Path = Path()
    options: bool = False
    option: str = ""
    lines: Mapping[int, int] = field(default_factory=dict)
    opens_files: bool = True
    overrides: bool = False
    inputs: Inputs = field(default_factory=Inputs)

    def path(self, *parts: str, subject: Any = None) -> ErrorPath:
        """The path of an error at a key and its inner parts: `p.yaml`, `line 3`, `w_q`; or `--w-q`.

        `subject` is the list or mapping whose first line is named.
        """
        if self.options:
            name = f"{self.option} {parts[0]}" if self.option else option_name(parts[0])
            return (name, *parts[1:])
        line = self.lines.get(id(subject))
        return (*((self.name,) if self.name else ()), *((f"line {line}",) if line else ()), *parts)

    def of_array(self, value: Any) -> ArrayOrigin:
        """The origin of an array that was given in this file as nested lists, with the line of each row."""
        lines = [self.lines.get(id(row)) for row in _rows(value)] if self.lines else []
        return ArrayOrigin(self.name, tuple(line for line in lines if line) if all(lines) else ())


def _rows(value: Any) -> Iterator[list[Any]]:
    """The innermost lists of nested lists and mappings."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    if isinstance(value, list) and not any(isinstance(part, (list, Mapping)) for part in value):
        yield value
    else:
        for part in parts:
            yield from _rows(part)


PYTHON = Origin(opens_files=False)
PYTHON_OVER_FILE = Origin(opens_files=False, overrides=True)


@dataclass(frozen=True)
class RawValue:
    """A value as the user gave it, and its origin."""

    value: Any
    origin: Origin

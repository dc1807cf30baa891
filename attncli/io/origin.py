"""The origin of a value (file, option, Python), and the text of files and of standard input."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, ErrorPath
from attncli.problem.origins import ArrayOrigin

STDIN = "-"
_ENCODING_HINT = "save it as UTF-8"


@dataclass(frozen=True)
class Origin:
    """Where a value was given: in a file (paths in it are relative to its folder), as an option, or in Python.

    `lines` has the first line of each list and mapping of the file, by the object's id. In Python a text names no file
    (`opens_files` is False).
    """

    name: str = ""
    folder: Path = Path()
    options: bool = False
    lines: Mapping[int, int] = field(default_factory=dict)
    opens_files: bool = True

    def path(self, *parts: str, subject: Any = None) -> ErrorPath:
        """The path of an error at a key and its inner parts: `p.yaml`, `line 3`, `w_q`; or `--w-q`.

        `subject` is the list or mapping whose first line is named.
        """
        if self.options:
            return (f"--{parts[0].replace('_', '-')}", *parts[1:])
        line = self.lines.get(id(subject))
        return (*((self.name,) if self.name else ()), *((f"line {line}",) if line else ()), *parts)

    def of_array(self, value: Any, key: str) -> ArrayOrigin:
        """The origin of an array that was given as nested lists: their file or option, and the line of each row."""
        (name, *_) = self.path(key)
        lines = [self.lines.get(id(row)) for row in _rows(value)] if self.lines else []
        return ArrayOrigin(name, tuple(line for line in lines if line) if all(lines) else ())


def _rows(value: Any) -> Iterator[list[Any]]:
    """The innermost lists of nested lists and mappings."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    if isinstance(value, list) and not any(isinstance(part, (list, Mapping)) for part in value):
        yield value
    else:
        for part in parts:
            yield from _rows(part)


PYTHON = Origin(opens_files=False)


@dataclass(frozen=True)
class RawValue:
    """A value as the user gave it, and its origin."""

    value: Any
    origin: Origin


def path_of(name: str) -> Path:
    """The path of a file by its name, with `~` expanded; raises AttnError for a name that is no path."""
    try:
        if "\0" not in name:
            return Path(name).expanduser()
    except RuntimeError:
        raise AttnError("there is no such home folder", where=name) from None
    raise AttnError("a path can't have the character NUL", where=name)


@contextmanager
def opening(name: str) -> Iterator[None]:
    """Raise AttnError in place of the system's error where a file can't be opened."""
    try:
        yield
    except FileNotFoundError:
        raise AttnError("there is no such file", where=name) from None
    except IsADirectoryError:
        raise AttnError("is a folder", where=name, hint="name a file in it") from None
    except OSError as error:
        raise AttnError(f"can't be read ({error.strerror or error})", where=name) from None


def read_text(name: str, path: Path | None = None) -> str:
    """The text of a file, or of standard input for `-`; UTF-8, with or without a byte-order mark.

    Raises AttnError where it can't be read; standard input can be read once.
    """
    with opening(name):
        raw = _read_stdin() if path is None else path.read_bytes()
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise AttnError("is UTF-16 text", where=name, hint=_ENCODING_HINT)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise AttnError("is not UTF-8 text", where=(name, f"line {line}"), hint=_ENCODING_HINT) from None


def _read_stdin() -> bytes:
    """All bytes of standard input, which can be read once."""
    if sys.stdin is None or sys.stdin.closed:
        raise AttnError("is closed or was read before", where="standard input", hint="use - once")
    with sys.stdin.buffer as stream:
        return stream.read()

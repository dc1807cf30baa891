"""Text from a file or from standard input, and where a piece of it came from."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError

STDIN = "-"
_ENCODING_HINT = "save it as UTF-8"


@dataclass(frozen=True)
class Origin:
    """Where a value was written: a file (paths in it are relative to its folder), the command line, or Python.

    `lines` has the first line of each list and mapping of the file, by the identity of the object.
    """

    name: str = ""
    folder: Path = Path()
    options: bool = False
    lines: Mapping[int, int] = field(default_factory=dict)

    def where(self, key: str, value: Any = None) -> str:
        """The place of a key, as an error says it: `p.yaml, line 3, w_q`, or `--w-q`."""
        if self.options:
            return f"--{key.replace('_', '-')}"
        line = self.lines.get(id(value))
        return ", ".join(part for part in (self.name, f"line {line}" if line else "", key) if part)


@dataclass(frozen=True)
class RawValue:
    """A value as it was written, and where."""

    value: Any
    origin: Origin


def path_of(name: str) -> Path:
    """The path that a name means, `~` for a home folder; raises AttnError where it can mean none."""
    try:
        if "\0" not in name:
            return Path(name).expanduser()
    except RuntimeError:
        raise AttnError("there is no such home folder", where=name) from None
    raise AttnError("a path can't have the character NUL", where=name)


@contextmanager
def opening(name: str) -> Iterator[None]:
    """What the system says of a file that can't be opened, in our words."""
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
        raise AttnError("is not UTF-8 text", where=f"{name}, line {line}", hint=_ENCODING_HINT) from None


def _read_stdin() -> bytes:
    """Everything on standard input; a second reader would find nothing there."""
    if sys.stdin is None or sys.stdin.closed:
        raise AttnError("is closed or was read before", where="standard input", hint="use - once")
    with sys.stdin.buffer as stream:
        return stream.read()

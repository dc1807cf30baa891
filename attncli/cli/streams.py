"""Standard output and standard error: what goes there, and what is known of the terminal."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import typer

from attncli.base.errors import AttnError
from attncli.base.text import escape_control

if TYPE_CHECKING:
    from attncli.render.formats.terminal import TextTarget


AT_ONCE = 2**16  # letters


def pieces(contents: str | Iterable[str]) -> Iterator[str]:
    """A text in pieces that are worth a call to the system."""
    if isinstance(contents, str):
        yield contents
        return
    waiting, size = list[str](), 0
    for piece in contents:
        waiting.append(piece)
        size += len(piece)
        if size > AT_ONCE:
            yield from waiting if len(piece) > AT_ONCE else ("".join(waiting),)
            waiting, size = [], 0
    yield "".join(waiting)


def put(contents: str | Iterable[str]) -> None:
    """Write a result to standard output; a reader who has gone away ends the program quietly."""
    if sys.stdout is None:
        raise AttnError("is closed", where="standard output")
    try:
        for piece in pieces(contents):
            sys.stdout.buffer.write(piece.encode(sys.stdout.encoding, "backslashreplace"))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None


def warn(notes: Iterable[str]) -> None:
    """What the user should know, on standard error."""
    for note in notes:
        print(f"attn: warning: {escape_control(note)}", file=sys.stderr)


def is_screen() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def screen() -> "TextTarget":
    """The width of the terminal and whether it shows styles; NO_COLOR is read by Rich itself."""
    from attncli.render.formats.terminal import TextTarget

    terminal = is_screen()
    dumb = os.environ.get("TERM") == "dumb"
    forced = bool(os.environ.get("FORCE_COLOR"))
    width = shutil.get_terminal_size().columns if terminal else None
    return TextTarget(width, styled=forced or (terminal and not dumb))


def is_utf8() -> bool:
    """Whether standard output takes every character."""
    return sys.stdout is None or sys.stdout.encoding.lower().replace("-", "") == "utf8"

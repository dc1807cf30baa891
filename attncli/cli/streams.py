"""Standard output and standard error: writing to them, and the properties of the terminal."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator

import typer

from attncli.base.errors import AttnError
from attncli.render.target import TextTarget

BUFFER_SIZE = 2**16  # characters
MIN_WIDTH = 20  # columns; a narrower terminal wraps the lines itself


def buffer_chunks(chunks: Iterable[str]) -> Iterator[str]:
    """The chunks of a text, small ones joined to BUFFER_SIZE characters or more, so that there are few system calls."""
    buffer, size = list[str](), 0
    for chunk in chunks:
        buffer.append(chunk)
        size += len(chunk)
        if size > BUFFER_SIZE:
            yield from buffer if len(chunk) > BUFFER_SIZE else ("".join(buffer),)
            buffer, size = [], 0
    yield "".join(buffer)


def write_output(contents: str | Iterable[str]) -> None:
    """Write a text, or its chunks, to standard output; where the reader has closed the pipe the program ends quietly.

    Raises AttnError where standard output is closed, OSError where it can't be written.
    """
    if sys.stdout is None:
        raise AttnError("is closed", where="standard output")
    try:
        for chunk in buffer_chunks([contents] if isinstance(contents, str) else contents):
            sys.stdout.buffer.write(chunk.encode(sys.stdout.encoding, "backslashreplace"))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None


def write_warnings(notes: Iterable[str]) -> None:
    """Write each note as a line on standard error."""
    for note in notes:
        write_error(f"warning: {note}")


def write_error(message: str) -> None:
    """Write a message as one line on standard error, where there is one."""
    if sys.stderr is not None:
        print(f"attn: {TextTarget(encoding=sys.stderr.encoding).text(message)}", file=sys.stderr)
        sys.stderr.flush()


def announce_terminal(name: str) -> None:
    """Say on standard error that a terminal is read, and how to end what is typed."""
    if sys.stderr is not None:
        print(f"attn: reading {name} from the terminal; Ctrl-D on a line of its own ends it", file=sys.stderr)


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def output_target() -> TextTarget:
    """The text target that standard output is; Rich itself reads NO_COLOR."""
    is_dumb = os.environ.get("TERM") == "dumb"
    is_forced = bool(os.environ.get("FORCE_COLOR"))
    width = max(shutil.get_terminal_size().columns, MIN_WIDTH) if is_terminal() else None
    has_styles = is_forced or (is_terminal() and not is_dumb)
    return TextTarget(width, has_styles) if sys.stdout is None else TextTarget(width, has_styles, sys.stdout.encoding)

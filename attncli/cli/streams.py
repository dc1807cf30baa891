"""Standard output and standard error: writing to them, warnings, and the properties of the terminal."""

import io
import os
import select
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from attncli.base.errors import AttnError
from attncli.render.target import PAGE_WIDTH, TextTarget, wrapped_words

BUFFER_SIZE = 2**16  # characters
MIN_WIDTH = 20  # columns; a narrower terminal wraps the lines itself


def buffer_chunks(chunks: Iterable[str]) -> Iterator[str]:
    """The chunks of a text, small ones joined to BUFFER_SIZE characters or more, to save system calls."""
    buffer, size = list[str](), 0
    for chunk in chunks:
        buffer.append(chunk)
        size += len(chunk)
        if size > BUFFER_SIZE:
            yield from buffer if len(chunk) > BUFFER_SIZE else ("".join(buffer),)
            buffer, size = [], 0
    yield "".join(buffer)


def encoded_chunks(contents: str | Iterable[str]) -> Iterator[bytes]:
    """A text, or its chunks, in standard output's encoding; raises AttnError if that lacks a character."""
    for chunk in buffer_chunks([contents] if isinstance(contents, str) else contents):
        try:
            yield chunk.encode(sys.stdout.encoding)
        except UnicodeEncodeError as error:  # programs read this: no other character may replace it
            lacking = f"its encoding {sys.stdout.encoding} has no '{chunk[error.start]}'"
            raise AttnError(lacking, where="standard output", hint="write to a file: it is UTF-8") from None


def write_output(contents: str | Iterable[str]) -> None:
    """Write a text, or its chunks, to standard output.

    Raises AttnError if it is closed or its encoding lacks a character, BrokenPipeError if its reader has closed it,
    OSError if it can't be written.
    """
    for chunk in encoded_chunks(contents):
        sys.stdout.buffer.write(chunk)
    sys.stdout.flush()


@contextmanager
def while_read() -> Iterator[None]:
    """A block that writes to standard output, or nowhere once its reader has closed it.

    For work that must go on: the exit status and other files matter too.
    """
    try:
        yield
    except BrokenPipeError:
        discard(sys.stdout)


def check_reader() -> None:
    """Raise BrokenPipeError if the reader of standard output's pipe has closed it; call this between writes.

    If the system can't tell, the next write raises it.
    """
    events = []
    with suppress(AttributeError, OSError):  # a system without poll, an output without a descriptor
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)  # without a mask only errors are events
        events = poll.poll(0)
    if any(event & select.POLLERR for _, event in events):
        raise BrokenPipeError


def write_error(message: str) -> None:
    """Write an error, a warning or a wait notice as a line on standard error."""
    write_notice(f"attn: {message}")


def write_notice(message: str) -> None:
    """Write a notice of completed work as a line on standard error; a failure is ignored, as nobody could read it."""
    try:
        print(_wrapped(TextTarget(encoding=sys.stderr.encoding).text(message)), file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def _wrapped(line: str) -> str:
    """A line for standard error, wrapped between words on a terminal."""
    if not sys.stderr.isatty():
        return line
    return "\n".join(wrapped_words(line, max(_error_columns(), MIN_WIDTH)))


def _error_columns() -> int:
    """The width of standard error's terminal, as standard output may go elsewhere; COLUMNS takes precedence."""
    with suppress(OSError, ValueError):
        return int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(sys.stderr.fileno()).columns or PAGE_WIDTH
    return PAGE_WIDTH


def write_warnings(warnings: Iterable[str], *, strict: bool) -> None:
    """Write each warning as a line on standard error; if `strict`, raise AttnError of all of them."""
    messages = list(dict.fromkeys(warnings))
    if strict and messages:
        raise AttnError("; ".join(messages), where="--strict")
    for message in messages:
        write_error(f"warning: {message}")


def write_notes(notes: Iterable[str]) -> None:
    """Write each notice, once, as a line on standard error; `--strict` ignores notices."""
    for note in dict.fromkeys(notes):
        write_error(note)


def discard(stream: TextIO) -> None:
    """Send a stream's remaining and later content nowhere: the end of the program would report it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _ClosedOutput(io.TextIOBase):
    """A standard output that the shell has closed (`>&-`): writing to it is an error."""

    encoding = "utf-8"

    @property
    def buffer(self) -> "_ClosedOutput":
        """The stream of bytes below, also closed."""
        return self

    def write(self, _contents: object) -> NoReturn:
        """Raise AttnError."""
        raise AttnError("is closed", where="standard output")


class _TextOutput(io.TextIOBase):
    """A standard stream over an object that takes text and has no bytes below: io.StringIO, or a notebook's."""

    encoding = "utf-8"

    def __init__(self, target: Any) -> None:
        self._target = target

    @property
    def buffer(self) -> "_TextOutput":
        """The stream of bytes, passed on as text: whole characters at once."""
        return self

    def write(self, contents: Any) -> int:
        """Write a text, or one in bytes."""
        self._target.write(contents.decode(self.encoding) if isinstance(contents, bytes) else contents)
        return len(contents)

    def flush(self) -> None:
        """Flush the object, if it can be flushed."""
        getattr(self._target, "flush", lambda: None)()


@contextmanager
def usable_streams() -> Iterator[None]:
    """A block in which standard output and standard error are writable, whatever objects replace them.

    Python has None for closed ones: `print(file=sys.stderr)` then writes to standard output, and Typer prints nothing.
    Writing to a closed standard output is an error; to a closed standard error it does nothing. Another program may
    have set an object that has neither an encoding nor bytes below.
    """
    before = sys.stdout, sys.stderr
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process
    sys.stdout, sys.stderr = _with_encoding(sys.stdout), _with_encoding(sys.stderr)
    try:
        yield
    finally:
        if None not in before:
            sys.stdout, sys.stderr = before


def _with_encoding(stream: Any) -> TextIO:
    """The stream, or one that writes to it, with an encoding and bytes below."""
    is_complete = getattr(stream, "encoding", None) is not None and hasattr(stream, "buffer")
    return cast("TextIO", stream if is_complete else _TextOutput(stream))


def announce_terminal(name: str) -> None:
    """Announce on standard error that a terminal is read, and how to end the input."""
    write_error(f"reading {name} from the terminal; Ctrl-D on its own line ends it")


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def output_target() -> TextTarget:
    """The text target for standard output; Rich itself reads NO_COLOR."""
    is_dumb = os.environ.get("TERM") == "dumb"
    is_forced = bool(os.environ.get("FORCE_COLOR"))
    has_styles = is_forced or (is_terminal() and not is_dumb)
    if not is_terminal():
        return TextTarget(None, has_styles, sys.stdout.encoding)
    columns, lines = shutil.get_terminal_size()
    return TextTarget(max(columns, MIN_WIDTH), has_styles, sys.stdout.encoding, height=lines)

"""A text page by page: the next one appears when the reader presses a key."""

import os
import sys
from collections.abc import Iterable

from attncli.base.errors import AttnError
from attncli.cli import streams

NEXT_KEYS = b"\r\n "
QUIT_KEYS = (b"q", b"Q", b"\x04", b"\x1b", b"")  # Ctrl-D, Escape, and the end of the input


def write_at_readers_pace(pages: Iterable[str], option: str) -> None:
    """Write pages to the terminal, each after the first when Enter or the space bar is pressed; q ends.

    Raises AttnError, in which `option` is named, where standard input or standard output is no terminal.
    """
    for stream, name in ((sys.stdin, "standard input"), (sys.stdout, "standard output")):
        if stream is None or not stream.isatty():
            raise AttnError(
                f"{name} is no terminal, so nobody can press a key", where=option, hint=f"leave out {option}"
            )
    for number, page in enumerate(pages):
        if number and not _reader_goes_on():
            return
        streams.write_output(page)


def _reader_goes_on() -> bool:
    """Wait for a key behind a line that says which, and remove that line; false where the reader ends."""
    prompt = streams.output_target().text("── Enter: the next part   q: end ")
    streams.write_output(prompt)
    try:
        key = _read_key()
        while key not in (*QUIT_KEYS, *(bytes([code]) for code in NEXT_KEYS)):
            key = _read_key()
    finally:
        streams.write_output(f"\r{' ' * len(prompt)}\r")
    return key not in QUIT_KEYS


def _read_key() -> bytes:
    """The next key, without waiting for the end of a line where the system can do so."""
    if sys.platform == "win32":
        return sys.stdin.readline()[:1].encode()
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSADRAIN)  # keys that were pressed before count
        return os.read(terminal, 1)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)

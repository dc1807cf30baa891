"""`attn` called in this process or started in one of its own, also on a terminal: what it printed and how it ended."""

import io
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import attncli.cli
from tests.schemas import assert_valid

Ran = subprocess.CompletedProcess[str]
Run = Callable[..., Ran]

STYLE = re.compile(r"\x1b\[[0-9;]*m")
LARGE_OUTPUT = 20_000  # what takes longer to validate than to compute
STYLE_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TERM")


def environment(env: dict[str, str] | None) -> dict[str, str]:
    """This process's environment without what changes styles, with UTF-8, and with `env`."""
    plain = {name: value for name, value in os.environ.items() if name not in STYLE_VARIABLES}
    return plain | {"PYTHONIOENCODING": "utf-8", **(env or {})}


class Terminal(io.TextIOWrapper):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def run_in_process(
    *words: str,
    folder: Path,
    input: str | bytes = "",
    env: dict[str, str] | None = None,
    errors_to: type[io.TextIOWrapper] = io.TextIOWrapper,
) -> Ran:
    """Call `attn` with these words in a folder; its standard streams are real text streams over bytes in memory."""
    variables = environment(env)
    encoding = variables["PYTHONIOENCODING"]
    stdin = io.TextIOWrapper(io.BytesIO(input.encode() if isinstance(input, str) else input), encoding=encoding)
    stdout = io.TextIOWrapper(output := io.BytesIO(), encoding=encoding)
    stderr = errors_to(errors := io.BytesIO(), encoding=encoding, errors="backslashreplace")
    with (
        patch.dict(os.environ, variables, clear=True),
        chdir(folder),
        patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr, argv=["attn", *words]),
    ):
        status = attncli.cli.run()
        stdout.flush()
        stderr.flush()
    ran = Ran(list(words), status, output.getvalue().decode(encoding), errors.getvalue().decode(encoding))
    if "--json" in words and "--watch" not in words and len(ran.stdout) < LARGE_OUTPUT:
        assert_valid(ran.stdout)
    return ran


def run_process(*words: str, folder: Path, input: str = "", env: dict[str, str] | None = None) -> Ran:
    """Start `python -m attncli` with these words in a folder, and wait until it ends."""
    variables = environment(env)
    return subprocess.run(
        [sys.executable, "-m", "attncli", *words],
        cwd=folder,
        env=variables,
        input=input,
        capture_output=True,
        encoding=variables["PYTHONIOENCODING"],
        timeout=60,
        check=False,
    )


def on_a_terminal(
    *words: str,
    folder: Path,
    width: int = 80,
    env: dict[str, str] | None = None,
    typed: str = "",
    status: int = 0,
    is_process: bool = False,
) -> str:
    """Everything that `attn` writes to a pseudo-terminal of that width, on which this is typed, until it ends so.

    It is called in this process or, for what belongs to the system (a pager) or to a process
    (Rich keeps a style's codes for the first kind of terminal that it meets), started in one of its own.
    """
    reading_end, terminal = open_terminal(width)
    os.write(reading_end, typed.encode())
    variables = {name: value for name, value in environment(None).items() if name not in ("COLUMNS", "LINES")}
    variables |= {"TERM": "xterm-256color", **(env or {})}
    call = _start_on if is_process else _call_on
    with ThreadPoolExecutor(1) as reader:
        shown = reader.submit(read_terminal, reading_end)
        try:
            ended = call(terminal, words, folder, variables)
        finally:
            os.close(terminal)
    os.close(reading_end)
    assert ended == status
    return shown.result().decode().replace("\r\n", "\n")


def open_terminal(width: int) -> tuple[int, int]:
    """The end of a new pseudo-terminal of that width that reads what is written to the other, and that other."""
    import fcntl  # these are not on Windows
    import pty
    import termios

    reading_end, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    return reading_end, terminal


def read_terminal(reading_end: int) -> bytes:
    """What is written to a terminal until its other end is closed."""
    chunks = [b""]
    while True:
        try:
            chunks.append(os.read(reading_end, 65536))
        except OSError:
            return b"".join(chunks)


def _call_on(terminal: int, words: tuple[str, ...], folder: Path, variables: dict[str, str]) -> int:
    """Call `attn` with a terminal as its standard streams."""
    with (
        open(terminal, encoding="utf-8", closefd=False) as stdin,
        open(terminal, "w", encoding="utf-8", closefd=False) as stdout,
        open(terminal, "w", encoding="utf-8", closefd=False, buffering=1) as stderr,
        patch.dict(os.environ, variables, clear=True),
        chdir(folder),
        patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr, __stdout__=stdout, argv=["attn", *words]),
    ):
        return attncli.cli.run()


def _start_on(terminal: int, words: tuple[str, ...], folder: Path, variables: dict[str, str]) -> int:
    """Start `attn` with a terminal as its standard streams."""
    command = [sys.executable, "-m", "attncli", *words]
    ran = subprocess.run(
        command, cwd=folder, env=variables, stdin=terminal, stdout=terminal, stderr=terminal, timeout=60, check=False
    )
    return ran.returncode

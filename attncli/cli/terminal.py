"""Terminal features besides text: a pager, pages at the reader's pace, and a progress bar."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from attncli.base.errors import AttnError
from attncli.cli import streams

if TYPE_CHECKING:
    from rich.progress import Progress

VARIABLE = "PAGER"
DEFAULT_PAGERS = ("less", "more")
# Defaults of less unless LESS is set: end if everything fits on one screen, keep colours, leave the text there.
LESS_OPTIONS = {"LESS": "FRX"}
NO_PAGER: tuple[Sequence[str], ...] = ([], ["cat"])  # values of PAGER for which git pages nothing either
NEXT_KEYS = b"\r\n "
QUIT_KEYS = (b"q", b"Q", b"\x04", b"\x1b", b"")  # Ctrl-D, Escape, and the end of the input
DELAY = 1.0  # seconds of work before the bar appears


def write_text(text: str | Iterable[str], *, is_paged: bool) -> None:
    """Write a text for readers: through a pager, or with its length if a terminal can't show it whole."""
    if is_paged:
        write_pages(text)
    else:
        streams.write_output(with_length(text))


def with_length(contents: str | Iterable[str]) -> Iterator[str]:
    """The chunks of a text; if a terminal can't show it whole, a last line gives its length and a way to see it."""
    if not streams.is_terminal():
        yield from [contents] if isinstance(contents, str) else contents
        return
    from attncli.render.formats.text_page import TextPage, line_width

    target, count, line = streams.output_target(), 0, ""
    for chunk in [contents] if isinstance(contents, str) else contents:
        yield chunk
        *whole, line = (line + chunk).split("\n")
        count += sum(max(-(-line_width(text) // target.page_width), 1) for text in whole)
    if target.height and count >= target.height:  # the prompt takes the last line of the screen
        page = TextPage(target)
        page.print((f"{count} lines: --pager shows them a page at a time", "dim"))
        yield page.text


def write_pages(contents: str | Iterable[str]) -> None:
    """Write a text, or its chunks, through the user's pager; directly if standard output is not a terminal.

    A pager that ends early is not an error. Raises AttnError if it can't be started, or reports failure by its status.
    """
    pager = _pager() if streams.is_terminal() else []
    if pager in NO_PAGER:
        streams.write_output(contents)
        return
    try:
        process = subprocess.Popen(pager, stdin=subprocess.PIPE, env=LESS_OPTIONS | os.environ)
    except OSError as error:
        message = f"{pager[0]!r} can't be started ({error.strerror})"
        raise AttnError(message, where=VARIABLE, hint="name a program, such as less") from None
    assert process.stdin is not None
    with _interrupts_ignored(), suppress(BrokenPipeError), process:  # waits for its end
        for chunk in streams.encoded_chunks(contents):
            process.stdin.write(chunk)
    if process.returncode > 0:  # a negative status means a signal: it was ended on purpose
        message = f"{pager[0]!r} ended with status {process.returncode}"
        raise AttnError(message, where=VARIABLE, hint="leave out --pager to see the result without it")


def _pager() -> Sequence[str]:
    """The tokens of the pager's command line: from PAGER, otherwise the first installed default."""
    text = os.environ.get(VARIABLE)
    if text is None:
        installed = [name for name in DEFAULT_PAGERS if shutil.which(name)]
        if not installed:
            names = " nor ".join(DEFAULT_PAGERS)
            raise AttnError(f"neither {names} is installed", where="--pager", hint=f"name a program in {VARIABLE}")
        return installed[:1]
    try:
        return shlex.split(text)
    except ValueError as error:
        raise AttnError(f"{text!r} is not a command ({error})", where=VARIABLE, hint="close the quotes") from None


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """A block in which only the pager gets Ctrl-C, for example to stop a search."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def write_at_readers_pace(pages: Iterable[str], option: str) -> None:
    """Write pages to the terminal, each after the first on Enter or the space bar; q ends.

    Raises AttnError, which names `option`, if standard input or standard output is not a terminal.
    """
    for name in _no_terminals():
        message = f"{name} is not a terminal, so nobody can press a key"
        raise AttnError(message, where=option, hint=f"leave out {option}")
    for number, page in enumerate(pages):
        if number and not _reader_goes_on():
            return
        streams.write_output(page)


def has_reader() -> bool:
    """Whether standard input and standard output are terminals, so that a reader can press a key."""
    return not any(_no_terminals())


def _no_terminals() -> Iterator[str]:
    """Standard input and standard output, if they are not terminals."""
    for stream, name in ((sys.stdin, "standard input"), (sys.stdout, "standard output")):
        if stream is None or stream.closed or not stream.isatty():  # standard input is closed after it was read
            yield name


def _reader_goes_on() -> bool:
    """Wait for a key after a line that names it, and remove that line; false if the reader ends."""
    prompt = streams.output_target().text("── Enter: the next page   q: end ")
    streams.write_output(prompt)
    try:
        key = _read_key()
        while key not in (*QUIT_KEYS, *(bytes([code]) for code in NEXT_KEYS)):
            key = _read_key()
    finally:
        streams.write_output(f"\r{' ' * len(prompt)}\r")
    return key not in QUIT_KEYS


def _read_key() -> bytes:
    """The next key, without waiting for the end of a line if the system permits."""
    if sys.platform == "win32":
        return sys.stdin.readline()[:1].encode()
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSADRAIN)  # earlier key presses count
        return os.read(terminal, 1)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


class ProgressBar:
    """A callback `(done, total)` that shows the description of the work, its progress, and the remaining time.

    The bar appears after DELAY seconds and disappears when the `with` block ends. `is_shown=False` never shows it.
    """

    def __init__(self, description: str, *, is_shown: bool = True) -> None:
        self.description = description
        self.start = time.monotonic()
        self.is_shown = is_shown and sys.stderr.isatty()
        self.bar: Progress | None = None
        self.task: Any = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, done: int, total: int, said: str = "") -> None:
        """Show that `done` of `total` blocks or lines are done, and a remark on them next to the description."""
        if not self.is_shown or time.monotonic() - self.start < DELAY:
            return
        if self.bar is None:
            self.bar = _make_bar()
            self.task = self.bar.add_task(self.description, total=total)
            self.bar.start()
        self.bar.update(self.task, completed=done, description=f"{self.description}{said}")

    def count_lines(self, chunks: Iterable[str], total: int) -> Iterator[str]:
        """The chunks of a text of about `total` lines; each counts as done when the next one is requested.

        The last chunk does not update the bar, which is removed after it; a text of one chunk shows none.
        """
        done = 0
        for chunk in chunks:
            yield chunk
            done += chunk.count("\n")
            if done < total:
                self(done, total)


def _make_bar() -> "Progress":
    """A bar with its description, percentage and remaining time."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    # Rich would otherwise replace sys.stdout while the bar is shown, and print results to standard error.
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)

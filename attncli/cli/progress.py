"""Progress: what is being done, how far it is and how long it will take, on standard error where that is a terminal."""

import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PATIENCE = 1.0  # seconds before anything is shown


class Progress:
    """Told how much is done; shows a bar once the work takes long, and takes it away at the end."""

    def __init__(self, work: str, *, is_shown: bool = True) -> None:
        self.work = work
        self.start = time.monotonic()
        self.is_shown = is_shown and sys.stderr is not None and sys.stderr.isatty()
        self.bar: Bar | None = None
        self.task: Any = None

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """So many blocks, or lines, of so many are done."""
        if not self.is_shown or time.monotonic() - self.start < PATIENCE:
            return
        if self.bar is None:
            self.bar = _bar()
            self.task = self.bar.add_task(self.work, total=total)
            self.bar.start()
        self.bar.update(self.task, completed=done)

    def over(self, pieces: Iterable[str], lines: int) -> Iterator[str]:
        """The pieces of a text of so many lines; it is told of those that have been taken."""
        done = 0
        for piece in pieces:
            yield piece
            done += piece.count("\n")
            self(min(done, lines), lines)


def _bar() -> "Bar":
    """What is being done, how much of it is done, and how long the rest will take."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    # What is printed meanwhile goes where it belongs: Rich would put its own file in the place of standard output.
    own = Console(stderr=True)
    return Progress(*columns, console=own, transient=True, redirect_stdout=False, redirect_stderr=False)

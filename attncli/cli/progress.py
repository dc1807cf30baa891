"""A progress bar on standard error, where that is a terminal and the work takes long."""

import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

DELAY = 1.0  # seconds of work before the bar appears


class ProgressBar:
    """A callback `(done, total)` that shows the description of the work, its progress, and the remaining time.

    The bar appears after DELAY seconds and is removed when the `with` block ends. `is_shown=False` never shows it.
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

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` blocks or lines are done."""
        if not self.is_shown or time.monotonic() - self.start < DELAY:
            return
        if self.bar is None:
            self.bar = _make_bar()
            self.task = self.bar.add_task(self.description, total=total)
            self.bar.start()
        self.bar.update(self.task, completed=done)

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
    # Rich would otherwise replace sys.stdout while the bar is shown, and results would be printed to standard error.
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)

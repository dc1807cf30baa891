"""Events of files: a signal each time that something changes in a folder, from the package watchfiles."""

from collections.abc import Callable, Generator, Iterable
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread

from attncli.base.errors import AttnError

INSTALL = "pip install 'attncli[watch]'"
QUIET = 50  # milliseconds without a change after which a save is taken as complete: editors save in several steps
MAX_DELAY = 400  # milliseconds after which changes that go on are passed on
# Milliseconds after which there is an event in any case: some file systems tell of no changes, and a folder that was
# removed and made again is another one.
INTERVAL = 300

# Yields after each change in one of the folders, and after INTERVAL without one; ends where a folder is gone.
Events = Callable[[Iterable[Path]], Generator[None, None, None]]

_Queue = SimpleQueue[Exception | None]


def find_events(option: str) -> Events:
    """The events of watchfiles; raises AttnError, in which the option is named, where it is not installed."""
    if find_spec("watchfiles") is None:
        raise AttnError("needs the package watchfiles", where=option, hint=f"install it: {INSTALL}")
    return _events


def _events(folders: Iterable[Path]) -> Generator[None, None, None]:
    """Events of folders; raises AttnError where the system can't watch them.

    A thread waits for them: watchfiles drops the exception of a signal that comes while it waits in the main thread.
    """
    queue, stop = _Queue(), Event()
    thread = Thread(target=_forward, args=(list(folders), queue, stop), daemon=True)
    thread.start()
    try:
        while (error := queue.get()) is None:
            yield
        if not isinstance(error, FileNotFoundError):
            message = f"the files can't be watched ({error})"
            raise AttnError(message, hint="end other programs that watch many files") from None
    finally:
        stop.set()
        thread.join()


def _forward(folders: list[Path], queue: _Queue, stop: Event) -> None:
    """Put None into the queue for each event, and an error that ends them."""
    from watchfiles import watch

    try:
        for _ in watch(
            *folders, watch_filter=None, debounce=MAX_DELAY, step=QUIET, stop_event=stop, rust_timeout=INTERVAL,
            yield_on_timeout=True, raise_interrupt=False, recursive=False,
        ):  # fmt: skip
            queue.put(None)
    except (OSError, RuntimeError) as error:  # the second is the package's own
        queue.put(error)

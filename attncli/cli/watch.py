"""`--watch`: compute a problem again whenever one of its files is saved, until Ctrl-C."""

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, NoReturn

from attncli.base.errors import AttnError, missing_package
from attncli.base.text import join_words
from attncli.cli import streams
from attncli.io.inputs import FileVersion, WatchedInputs, file_version
from attncli.io.paths import is_there, path_of

if TYPE_CHECKING:
    from attncli.plan.trace import RunResult
    from attncli.problem.edits import EditedProblem

MAX_NAMES = 4  # files named on a line
QUIET = 50  # milliseconds without a change that complete a save: editors save in several steps
MAX_DELAY = 400  # milliseconds after which continuing changes are passed on
# Milliseconds between events at the latest: some file systems report no changes, and a folder removed and created again
# is a different one.
INTERVAL = 300
_Queue = SimpleQueue[Exception | None]

Events = Callable[[Iterable[Path]], Generator[None, None, None]]  # yields after changes; ends if a folder is gone
Versions = Mapping[str, FileVersion]
Read = Callable[[WatchedInputs], "EditedProblem"]
Write = Callable[["EditedProblem", "RunResult | None"], "RunResult"]  # computes too, and marks changes


def watch(read: Read, write: Write, max_size: str | None, option_texts: Mapping[str, str], events: Events) -> NoReturn:
    """Read a problem, compute it and write its result; repeat whenever a file that it read is saved.

    A mistake in a file is an error that stays until a save corrects it. `option_texts` has the typed text of each
    option. Raises AttnError if the first computation fails for another reason, or reads no file.
    """
    from attncli.render.rows import change_summary

    result = error = None
    inputs = WatchedInputs(max_size)
    try:
        problem = read(inputs)
        if not inputs.versions:
            hint = "name a file, or leave out --watch"
            raise AttnError("the problem is not in a file", where="--watch", hint=hint)
        result = write(problem, None)
    except AttnError as raised:
        if not _is_mistake_in_file(raised, inputs.versions, option_texts):
            raise
        streams.write_error(raised.typed)
    versions: Versions = inputs.versions
    streams.write_error(f"watching {_list_files(list(versions))}; Ctrl-C ends it")
    while True:
        saved = _wait_for_save(versions, events, error)
        versions = {name: file_version(name) for name in versions}
        inputs, error = WatchedInputs(max_size), None
        try:
            after = write(read(inputs), result)
        except AttnError as raised:
            # Files read before the error, and files that could not be read: a save of any may correct it.
            error, versions = raised, {**versions, **inputs.versions}
        else:
            changes = "computed" if result is None else change_summary(result, after)
            streams.write_error(f"{datetime.now():%H:%M:%S} {_list_files(saved)} saved, {changes}")
            result, versions = after, inputs.versions


def _is_mistake_in_file(error: AttnError, versions: Versions, option_texts: Mapping[str, str]) -> bool:
    """Whether an error is about an existing file, a file named in one, or an option that names one."""
    place = error.path[0] if error.path else ""
    if place in versions:
        is_typed = any(place in text for text in option_texts.values())
        return versions[place] is not None or (any(versions.values()) and not is_typed)
    return any(name in option_texts.get(place, "") for name in versions)


def _wait_for_save(versions: Versions, events: Events, error: AttnError | None) -> list[str]:
    """The names of changed files, as soon as there are any.

    The error of the last computation is shown unless a file changes again soon: then it was read half-saved. Raises
    BrokenPipeError if the reader of standard output has closed it.
    """
    paths = [path_of(name) for name in versions]
    folders = {Path(os.path.realpath(path.parent)) for path in paths}
    folders |= {Path(os.path.realpath(path)).parent for path in paths}
    while True:
        with closing(events(sorted(folder for folder in folders if is_there(folder) and folder.is_dir()))) as changes:
            for _ in changes:
                saved = [name for name, version in versions.items() if file_version(name) != version]
                if saved:
                    return saved
                if error is not None:
                    streams.write_error(error.typed)
                    error = None
                streams.check_reader()


def _list_files(names: list[str]) -> str:
    """The names of files in a sentence, or their number if they are many."""
    return join_words(names) if len(names) <= MAX_NAMES else f"{len(names)} files"


def find_events(option: str) -> Events:
    """The events of watchfiles; raises AttnError, which names the option, if it is not installed."""
    if find_spec("watchfiles") is None:
        raise missing_package("watchfiles", "watch", option)
    return _events


def _events(folders: Iterable[Path]) -> Generator[None, None, None]:
    """Events of folders; raises AttnError if the system can't watch them.

    A thread waits for them: in the main thread, watchfiles drops the exception of a signal that arrives while it waits.
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
    """Put None into the queue for each event, or the error that ends them."""
    from watchfiles import watch

    try:
        for _ in watch(
            *folders, watch_filter=None, debounce=MAX_DELAY, step=QUIET, stop_event=stop, rust_timeout=INTERVAL,
            yield_on_timeout=True, raise_interrupt=False, recursive=False,
        ):  # fmt: skip
            queue.put(None)
    except (OSError, RuntimeError) as error:  # the second belongs to the package
        queue.put(error)

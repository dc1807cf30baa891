"""Pages in the browser: a file for a page, and the browser that shows it."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.output_file import STDOUT
from attncli.cli.output_options import OutputOptions
from attncli.io.paths import path_of
from attncli.render.formats import PAGE

Written = TypeVar("Written")
VARIABLE = "BROWSER"
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")  # a program can open a window if one of them is set
_ALWAYS_HAVE_WINDOWS = ("darwin", "win32", "cygwin")  # systems without these variables
_DEFAULT_NAME = "attention"  # of a page without a name


@contextmanager
def page_file(options: OutputOptions, name: str | None) -> Iterator[OutputOptions]:
    """The options with a file for the page: the named one, otherwise one in a new private folder.

    The browser needs the file, so it stays; if the page can't be written,
    nothing stays. Raises AttnError if the options name another format, or the folder can't be created.
    """
    import tempfile

    _check_is_page(options)
    if options.file is not None:
        yield options
        return
    try:
        folder = Path(tempfile.mkdtemp(prefix="attn-"))
    except OSError as error:
        message = f"can't create a temporary folder ({error.strerror or error})"
        raise AttnError(message, where="--open", hint="name a file: -o page.html") from None
    try:
        yield replace(options, output=str(folder / f"{name or _DEFAULT_NAME}.html"))
    finally:
        with suppress(OSError):  # the page is in it
            folder.rmdir()


def write_and_open(write: Callable[[], Written], options: OutputOptions) -> Written:
    """Write a page to the options' file, and open it in the browser; without one, warn."""
    import webbrowser

    has_browser = _has_browser()
    if not has_browser:
        message = f"--open found no browser: open the file in one, or name one in {VARIABLE}"
        streams.write_warnings([message], strict=options.strict)
    written = write()
    assert options.file is not None
    path = path_of(options.file).resolve()
    streams.write_error(f"the page is {path}")
    if has_browser and not webbrowser.open(path.as_uri()):
        streams.write_warnings([f"the browser did not start: open {path} in one"], strict=options.strict)
    return written


def _check_is_page(options: OutputOptions) -> None:
    """Raise AttnError if the options write another format than the page, or write to standard output."""
    others = {
        f"--format {options.format}": options.format is not None,
        "--json": options.json,
        f"--output {STDOUT}": options.output == STDOUT,
    }
    for option, is_given in others.items():
        if is_given:
            hint = "--open shows the page, a file of HTML: leave out one of them"
            raise AttnError(f"--open and {option} contradict each other", hint=hint)
    if options.file is not None and options.output_format.name != PAGE:
        hint = "name a .html file, or leave out --open"
        raise AttnError("--open shows the page, which is HTML", where=f"--output {options.file}", hint=hint)


def _has_browser() -> bool:
    """Whether the user has chosen a browser, or one can open a window.

    Without a display Python finds browsers in the terminal, which run no scripts.
    """
    import webbrowser

    has_windows = sys.platform in _ALWAYS_HAVE_WINDOWS or any(map(os.environ.get, _DISPLAYS))
    if not has_windows and not os.environ.get(VARIABLE):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True

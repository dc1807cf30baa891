"""`--open`: the page of a result in the browser."""

import os
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.output import compute_and_write
from attncli.cli.output_file import STDOUT
from attncli.cli.output_options import OutputOptions
from attncli.cli.warnings import write_warnings
from attncli.io.paths import path_of
from attncli.render.formats import PAGE

if TYPE_CHECKING:
    from attncli.plan.trace import RunResult
    from attncli.problem.edits import EditedProblem

VARIABLE = "BROWSER"
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")  # one of them is set where a program can open a window
_ALWAYS_HAVE_WINDOWS = ("darwin", "win32", "cygwin")  # systems without these variables
_DEFAULT_NAME = "attention"  # of the page of a problem that is in no file


@contextmanager
def page_file(options: OutputOptions, problem: str | None) -> Iterator[OutputOptions]:
    """The options with a file for the page: the one that they name, otherwise one in a new private folder.

    It has the name of the problem's file, and is left to the browser; of a page that is not written nothing is left.
    Raises AttnError where the options name another format, or no folder can be made.
    """
    _check_is_page(options)
    if options.file is not None:
        yield options
        return
    try:
        folder = Path(tempfile.mkdtemp(prefix="attn-"))
    except OSError as error:
        message = f"no temporary folder can be made ({error.strerror or error})"
        raise AttnError(message, where="--open", hint="name a file: -o page.html") from None
    name = _DEFAULT_NAME if problem is None or problem == STDOUT else Path(problem).stem
    try:
        yield replace(options, output=str(folder / f"{name}.html"))
    finally:
        with suppress(OSError):  # the page is in it
            folder.rmdir()


def compute_and_open(edited: "EditedProblem", options: OutputOptions, earlier: "RunResult | None") -> "RunResult":
    """Compute a problem, write its page to the file of the options, and at the first time open it in the browser.

    Without a browser there is a warning, and the page all the same. The parameters and what is raised are those of
    `compute_and_write`.
    """
    if earlier is not None:
        return compute_and_write(edited, options, earlier)
    has_browser = _has_browser()
    if not has_browser:
        message = f"--open has found no browser: open the file in one, or name one in {VARIABLE}"
        write_warnings([message], strict=options.strict)
    result = compute_and_write(edited, options)
    assert options.file is not None
    path = path_of(options.file).resolve()
    streams.write_error(f"the page is {path}")
    if has_browser and not webbrowser.open(path.as_uri()):
        write_warnings([f"the browser could not be started: open {path} in one"], strict=options.strict)
    return result


def _check_is_page(options: OutputOptions) -> None:
    """Raise AttnError where the options write the result in another format than the page, or to standard output."""
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
    """Whether the user has chosen a browser, or there is one that can open a window.

    Without a display Python finds browsers in the terminal, which run no scripts.
    """
    has_windows = sys.platform in _ALWAYS_HAVE_WINDOWS or any(map(os.environ.get, _DISPLAYS))
    if not has_windows and not os.environ.get(VARIABLE):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True

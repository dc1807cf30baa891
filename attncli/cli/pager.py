"""The pager: a long text on a terminal page by page, as man and git show it."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from attncli.base.errors import AttnError
from attncli.cli import streams

VARIABLE = "PAGER"
DEFAULT_PAGERS = ("less", "more")
# What less does unless LESS is set: it ends where all fits on one screen, keeps colours, and leaves the text there.
LESS_OPTIONS = {"LESS": "FRX"}
NO_PAGER: tuple[Sequence[str], ...] = ([], ["cat"])  # values of PAGER with which git pages nothing either


def write_pages(contents: str | Iterable[str]) -> None:
    """Write a text, or its chunks, through the user's pager; directly where standard output is no terminal.

    A pager that ends before it has read everything is no error. Raises AttnError where it can't be started, or says by
    its status that it has failed.
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
    with _interrupts_ignored(), suppress(BrokenPipeError), process:  # which waits for its end
        for chunk in streams.encoded_chunks(contents):
            process.stdin.write(chunk)
    if process.returncode > 0:  # a negative one is that of a signal: it was ended on purpose
        message = f"{pager[0]!r} ended with status {process.returncode}"
        raise AttnError(message, where=VARIABLE, hint="leave out --pager to see the result without it")


def _pager() -> Sequence[str]:
    """The words of the pager's command line: of PAGER, otherwise the first of the default ones that is installed."""
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
        raise AttnError(f"{text!r} is no command ({error})", where=VARIABLE, hint="close the quotes") from None


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """A block in which Ctrl-C is the pager's alone, which may use it to stop a search."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

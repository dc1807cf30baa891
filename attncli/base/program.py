"""The program as other programs see it: its version, and its exit statuses."""

from collections.abc import Mapping

__version__ = "1.0.0rc1"

DONE = 0
DIFFERS = 1  # larger ones: something failed
FAILED = 2
CRASHED = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # the shells' status for a process ended by SIGINT

EXIT_STATUSES: Mapping[int, str] = {
    DONE: "Done, warnings or not.",
    DIFFERS: "`attn check` or `attn demo` found numbers that differ from those expected; everything else was done.",
    FAILED: "It can't be done as asked: a wrong option or input. Standard output is empty, and no file is touched; "
    "of a suite that is checked, some of it can't be done, and the other verdicts are written.",
    CRASHED: "An error of the program itself. One line on standard error has the exception's type and place: please "
    "report it with the command and its input. With the environment variable `ATTN_TRACEBACK=1` the traceback follows.",
    INTERRUPTED: "Ctrl-C ended it; a signal of another number N ends it with 128 + N.",
}

ENVIRONMENT: Mapping[str, str] = {
    "NO_COLOR": "Any text: no colours.",
    "FORCE_COLOR": "Any text: colours, also into a pipe or a file.",
    "TERM": "`dumb`: neither colours nor bold.",
    "COLUMNS": "How wide help and messages are, and tables in a terminal, in place of the terminal's own width.",
    "PAGER": "The command that `--pager` shows pages with; without it `less`, or else `more`.",
    "BROWSER": "The command that `--open` shows a page with; without it the browser of the desktop.",
    "ATTN_TRACEBACK": "Any text: after an error of the program itself the traceback, which belongs into a report.",
}

"""The program as other programs see it: its version, and its exit statuses."""

from collections.abc import Mapping

__version__ = "1.0.0.dev0"

DONE = 0
DIFFERS = 1  # larger ones: something could not be done
FAILED = 2
CRASHED = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # what shells give to a process that SIGINT ended

EXIT_STATUSES: Mapping[int, str] = {
    DONE: "Done, warnings or not.",
    DIFFERS: "`attn check` or `attn demo` found numbers that differ from those expected; everything else was done.",
    FAILED: "It can't be done as asked: a wrong option or input. Standard output is empty, and no file is touched; "
    "of a suite that is checked, some of it can't be done, and the other verdicts are written.",
    CRASHED: "An error of the program itself. One line on standard error has the exception's type and place: please "
    "report it with the command and its input. With the environment variable `ATTN_TRACEBACK=1` the traceback follows.",
    INTERRUPTED: "Ctrl-C ended it; a signal of another number N ends it with 128 + N.",
}

"""The report of an internal error: one line, and its traceback on request."""

import os
import traceback
from pathlib import Path

TRACEBACK_VARIABLE = "ATTN_TRACEBACK"  # an environment variable: any text but "" asks for the traceback
_PACKAGE = Path(__file__).parents[1]
_MAX_MESSAGE = 100  # characters of the exception's own message


def crash_report(error: BaseException) -> str:
    r"""The text for an unexpected exception: its type and location, and how to report it.

    The location is the innermost line of this package in the traceback. An exception raised from another one is
    reported as its cause.

    >>> crash_report(ValueError("a\nb"))
    'internal error: ValueError (a b); please report this line, the command and its input; ATTN_TRACEBACK=1 shows more'
    """
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    message = " ".join(str(cause).split())[:_MAX_MESSAGE]
    said = f" ({message})" if message else ""
    what = f"internal error: {type(cause).__name__}{_place(cause)}{said}"
    report = f"{what}; please report this line, the command and its input"
    if os.environ.get(TRACEBACK_VARIABLE):
        return f"{report}\n{''.join(traceback.format_exception(error))}".rstrip()
    return f"{report}; {TRACEBACK_VARIABLE}=1 shows more"


def is_lack_of_memory(error: Exception) -> bool:
    """Whether an exception reports a lack of memory, also for loading a library."""
    return isinstance(error, MemoryError) or (isinstance(error, ImportError) and "failed to map segment" in str(error))


def _place(error: BaseException) -> str:
    """The innermost line of this package in a traceback: ` in attncli/io/csv.py, line 231`; "" if there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE):
            return f" in {path.relative_to(_PACKAGE.parent).as_posix()}, line {frame.lineno}"
    return ""

"""`attn` and `python -m attncli`: the process; where a signal ends it, unfinished files are removed first."""

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

from attncli.base.program import CRASHED, DIFFERS, FAILED, INTERRUPTED

# The signals that end a process and can be caught: of Ctrl-C; of `kill`, `timeout` and job schedulers; of a terminal
# that is closed; of a limit on processor time. Windows has only some of them.
_ENDING_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU") if hasattr(signal, name)
]


# Small commands make fewer objects that the garbage collector knows, and use nearly all of them to the end: to look for
# garbage after each 700, as Python does, takes a twentieth of their time.
_OBJECTS_BEFORE_COLLECTIONS = 100_000


class EndedBySignal(BaseException):
    """A signal has been sent to end the process: raised wherever the program is, so that it cleans up."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main() -> NoReturn:
    """Import the command line and run it; a signal ends the process as the shell expects it, after a clean-up.

    Ctrl-C ends it with exit status 130, the others as if they had not been caught (143 for SIGTERM, in a shell).
    """
    try:
        _collect_garbage_later()
        _handle_ending_signals(_raise)
        sys.unraisablehook = _end_although_ignored
        from attncli.cli import main as run_command_line  # noqa: PLC0415 - a signal may interrupt the import

        status = run_command_line()
    except (KeyboardInterrupt, EndedBySignal) as end:
        _end(end)
    except Exception as error:  # noqa: BLE001 - whatever it is, Python would end with 1, which says that numbers differ
        status = _report_failure(error)
    with suppress(Exception):  # no memory is left: the process ends at once all the same
        _handle_ending_signals(signal.SIG_DFL)
    _leave(status)


def _collect_garbage_later() -> None:
    """Let Python look for garbage for the first time after so many objects; then as often as it does."""
    usual = gc.get_threshold()

    def collect_as_usual(_phase: str, _info: dict[str, int]) -> None:
        gc.callbacks.remove(collect_as_usual)
        gc.set_threshold(*usual)

    gc.callbacks.append(collect_as_usual)
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTIONS)


def _report_failure(error: Exception) -> int:
    """Print what was not foreseen on standard error; returns CRASHED, or FAILED where memory does not suffice."""
    lacks_memory, said = True, "there is not enough memory"
    with suppress(Exception):  # for this report either: without memory, compiling a module can end in a SystemError
        from attncli.base.crash import crash_report, is_lack_of_memory  # noqa: PLC0415 - hardly a process needs it

        lacks_memory = is_lack_of_memory(error)
        said = f"{said} ({error})".removesuffix(" ()") if lacks_memory else crash_report(error)
    with suppress(OSError, AttributeError):  # a standard error that is closed or full: nobody can be told
        print(f"attn: {said}", file=sys.stderr, flush=True)
    return FAILED if lacks_memory else CRASHED


def _leave(status: int) -> NoReturn:
    """End the process at once: to free every object and unload NumPy would take a tenth of the time of a small problem.

    Commands have flushed what they wrote; operators of other packages may have written too.
    """
    if status <= DIFFERS:  # otherwise standard output may be broken
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            status = FAILED
    os._exit(status)


def _handle_ending_signals(handler: Any) -> None:
    """Set the handler of the signals that are not ignored: nohup and jobs in the background ignore some."""
    for number in _ENDING_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _raise(number: int, _frame: Any) -> NoReturn:
    """Raise the exception of a signal; further ones must not interrupt the clean-up (`timeout` sends two)."""
    _handle_ending_signals(signal.SIG_IGN)
    # Dask would log each of its connections that breaks; another thread may be importing the module just now.
    disable_logging = getattr(sys.modules.get("logging"), "disable", None)
    if disable_logging is not None:
        disable_logging()
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise EndedBySignal(number)


def _end_although_ignored(ignored: Any) -> None:
    """End the process where Python ignores the exception of a signal, because a finalizer raised it.

    A lack of memory there is not reported: no result depends on what closes a generator.
    """
    if isinstance(ignored.exc_value, (KeyboardInterrupt, EndedBySignal)):
        _end(ignored.exc_value)
    if not isinstance(ignored.exc_value, MemoryError):
        sys.__unraisablehook__(ignored)


def _end(end: KeyboardInterrupt | EndedBySignal) -> NoReturn:
    """End the process, at once, as the signal would."""
    if isinstance(end, KeyboardInterrupt):
        os._exit(INTERRUPTED)
    signal.signal(end.number, signal.SIG_DFL)
    os.kill(os.getpid(), end.number)
    os._exit(128 + end.number)  # as a shell counts, should the signal be blocked


if __name__ == "__main__":
    main()

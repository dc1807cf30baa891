"""The address space that `ulimit -v` leaves to this process, and whether NumPy fits in it."""

import os
from pathlib import Path

from attncli.base.errors import AttnError

ENOUGH_FOR_NUMPY = 2**29  # bytes: with fewer it is tried first
MOST_SECONDS = 5  # of processor time: it takes a fifth of one


def address_space_left() -> int | None:
    """The address space that `ulimit -v` leaves; None where there is no limit or the system has none."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    statm = Path("/proc/self/statm")
    used = int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0
    return max(limit - used, 0)


def check_numpy_fits() -> None:
    """Raise AttnError where the address space that is left does not suffice to load NumPy and to multiply matrices.

    Its library of matrix products would end the process, with a status that says that numbers differ, or (of NumPy 2.1)
    ask for memory for ever. Where little is left a child process tries, and has only MOST_SECONDS; this one multiplies
    too, because the library keeps the memory that it has once.
    """
    left = address_space_left()
    if left is None or left > ENOUGH_FOR_NUMPY or not hasattr(os, "fork"):
        return
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            _limit_processor_time()
            _multiply()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        message = f"{left // 10**6} MB of memory are left, which are too few to load NumPy"
        raise AttnError(message, hint="allow more: ulimit -v has the limit")
    _multiply()


def _limit_processor_time() -> None:
    """Have this process killed after MOST_SECONDS of processor time, or what it has left where that is less."""
    import resource  # noqa: PLC0415 - not on Windows

    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    seconds = MOST_SECONDS if most == resource.RLIM_INFINITY else min(MOST_SECONDS, most)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))  # the hard limit kills, whatever handles signals


def _multiply() -> None:
    """Load NumPy, and let its library allocate what it needs for products."""
    import numpy  # noqa: PLC0415 - it is loaded here
    import numpy.random  # noqa: PLC0415 - NumPy loads it at its first use

    square = numpy.ones((256, 256))
    square @ square

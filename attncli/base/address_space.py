"""The address space that `ulimit -v` and `-d` leave to this process, and whether NumPy fits in it."""

import os
from pathlib import Path

from attncli.base.errors import AttnError

ENOUGH_FOR_NUMPY = 2**29  # bytes: with fewer it is tried first
ROOM_TO_COMPUTE = 2**25  # bytes: the commands' own modules, threads and small arrays
MOST_SECONDS = 5  # of processor time: it takes a fifth of one


def address_space_left() -> int | None:
    """The address space that `ulimit -v`, and `-d` for data, leave; None where there is no limit."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return None
    statm = Path("/proc/self/statm")
    pages = [int(count) for count in statm.read_text().split()] if statm.exists() else [0] * 7
    used = {resource.RLIMIT_AS: pages[0], resource.RLIMIT_DATA: pages[5]}  # of all, and of data and the stack
    limits = {kind: resource.getrlimit(kind)[0] for kind in used}
    left = [
        max(limit - used[kind] * os.sysconf("SC_PAGE_SIZE"), 0)
        for kind, limit in limits.items()
        if limit != resource.RLIM_INFINITY
    ]
    return min(left, default=None)


def check_numpy_fits() -> None:
    """Raise AttnError where the address space that is left does not suffice to load NumPy and to multiply matrices.

    Its library of matrix products would end the process, with a status that says that numbers differ, or (of NumPy 2.1)
    ask for memory for ever. Where little is left a child process tries first; this one multiplies too, because the
    library keeps the memory that it has once, and asks for no more in the same thread.
    """
    left = address_space_left()
    if left is None:
        return
    if left <= ENOUGH_FOR_NUMPY and hasattr(os, "fork") and not _fits_in_child():
        message = f"only {left // 10**6} MB of memory are left, too few to load NumPy and compute"
        raise AttnError(message, hint="raise the limit: ulimit -v and ulimit -d show it")
    _multiply()


def _fits_in_child() -> bool:
    """Whether a child process can load NumPy and multiply, and has room left for small problems."""
    try:
        child = os.fork()
    except OSError:
        return False
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            _limit_child()
            _multiply()
            bytearray(ROOM_TO_COMPUTE)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _limit_child() -> None:
    """Have this process killed after MOST_SECONDS of processor time, or what it has left; it leaves no core file."""
    import resource  # noqa: PLC0415 - not on Windows

    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    seconds = MOST_SECONDS if most == resource.RLIM_INFINITY else min(MOST_SECONDS, most)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))  # the hard limit kills, whatever handles signals
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _multiply() -> None:
    """Load NumPy, and let its library allocate what it needs for products."""
    import numpy  # noqa: PLC0415 - it is loaded here
    import numpy.random  # noqa: PLC0415 - NumPy loads it at its first use

    square = numpy.ones((256, 256))
    square @ square

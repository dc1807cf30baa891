"""Memory: how much this process may still use, whether NumPy fits, and sizes in bytes as people write them."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np

ALWAYS_FITS = 2**26  # bytes: no check of free memory below this
ENOUGH_FOR_NUMPY = 2**29  # bytes: with less a child process tries first
ROOM_TO_COMPUTE = 2**25  # bytes: the commands' own modules, threads and small arrays
MOST_SECONDS = 5  # of processor time; loading takes a fifth of one
MAX_NAMES = 4  # sizes in an error
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([KMGTP]?)(i?)B?", re.IGNORECASE | re.ASCII)
_PREFIXES = ("", "K", "M", "G", "T", "P")
_MEMINFO = Path("/proc/meminfo")
_OWN_GROUP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")  # process groups, which containers and job schedulers limit


def available_memory() -> int | None:
    """The bytes that this process may still use: free memory and swap, within its limits.

    None if the system does not say.
    """
    limits = [_free_memory(), _group_limit(), address_space_left()]
    return min((limit for limit in limits if limit is not None), default=None)


@cache
def keep_freed_memory(size: int) -> None:
    """Let the C library keep freed blocks of up to so many bytes, instead of returning them to the system.

    glibc keeps blocks as large as the largest that it has returned. Before that, the system maps every page of each
    array above 128 KB again, which for a small table takes longer than the arithmetic.
    """
    with suppress(MemoryError):  # with so little memory tables are smaller
        np.empty(size, np.uint8)  # never written, so that it takes no memory


def missing_memory(size: int) -> str | None:
    """The message that memory is short: `needs 39.0 GB of memory and 21.0 GB are free`.

    None if the memory suffices, or if the system does not say.
    """
    available = available_memory() if size > ALWAYS_FITS else None
    if available is None or size <= available:
        return None
    return f"needs {format_bytes(size)} of memory and {format_bytes(available)} are free"


def parse_size(text: str, where: str) -> int:
    """The bytes of a size: K, M, G, T and P are powers of 1000, Ki, Mi, Gi, Ti and Pi powers of 1024.

    Raises AttnError if the text is not a size.

    >>> parse_size("1.5GiB", "--max-size"), parse_size("500M", "--max-size"), parse_size("80", "--max-size")
    (1610612736, 500000000, 80)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or (match[3] and not match[2]):
        raise AttnError(
            f"{text!r} is not a size", where=where, hint="expected bytes, or a size such as 500M, 2G, 1.5GiB"
        )
    return int(float(match[1]) * (1024 if match[3] else 1000) ** _PREFIXES.index(match[2].upper()))


def format_bytes(size: float) -> str:
    """A number of bytes, rounded, in the largest unit that is not larger: powers of 1,000.

    >>> format_bytes(12_800_000_000), format_bytes(1234), format_bytes(12)
    ('12.8 GB', '1.2 kB', '12 bytes')
    """
    for unit, factor in (("EB", 10**18), ("PB", 10**15), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size:.0f} bytes"


def largest_sizes(sizes: Mapping[str, int], total: int) -> list[str]:
    """The largest sizes, each after its name: at most MAX_NAMES, and each at least 1 % of the total.

    >>> largest_sizes({"scores": 4000, "output": 10, "weights": 4000}, 8010)
    ['scores 4.0 kB', 'weights 4.0 kB']
    """
    names = sorted(sizes, key=sizes.__getitem__, reverse=True)[:MAX_NAMES]
    return [f"{name} {format_bytes(sizes[name])}" for name in names if sizes[name] >= total / 100]


def _free_memory() -> int | None:
    """The memory and swap that are free or can be freed; if the system does not say, all of its memory."""
    fields = {}
    if _MEMINFO.exists():
        lines = _MEMINFO.read_text().splitlines()
        fields = {name: value.split()[0] for name, _, value in (line.partition(":") for line in lines)}
    if "MemAvailable" in fields:
        return 1024 * (int(fields["MemAvailable"]) + int(fields.get("SwapFree", 0)))
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _group_limit() -> int | None:
    """The least that the limits of this process's groups leave, from its own to the outermost; None without a limit."""
    if not _OWN_GROUP.exists():
        return None
    path = next((line[3:] for line in _OWN_GROUP.read_text().splitlines() if line.startswith("0::")), "/")
    group = _GROUPS / path.lstrip("/")
    groups = [folder for folder in (group, *group.parents) if folder.is_relative_to(_GROUPS)]
    limits = [_limit_of_group(folder) for folder in groups]
    return min((limit for limit in limits if limit is not None), default=None)


def _limit_of_group(folder: Path) -> int | None:
    """The bytes that one group's limit leaves; cached files that can be dropped do not count as used."""
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
        lines = (folder / "memory.stat").read_text().splitlines()
    except OSError:  # the group has no such limit, or is not ours to see
        return None
    droppable = next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)
    return max(int(limit) - used + droppable, 0) if limit.isdecimal() else None


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
    """Raise AttnError if the remaining address space is too small to load NumPy and multiply matrices.

    NumPy's BLAS would end the process, with the status for differing numbers, or (in NumPy 2.1) retry for ever. If
    little is left, a child process tries first. This process multiplies too: the library then keeps its memory, and
    needs no more in the same thread.
    """
    left = address_space_left()
    if left is None:
        return
    if left <= ENOUGH_FOR_NUMPY and hasattr(os, "fork") and not _fits_in_child():
        message = f"only {left // 10**6} MB of memory are left, too few to load NumPy and compute"
        raise AttnError(message, hint="raise the limit: ulimit -v and ulimit -d show it")
    _multiply()


def _fits_in_child() -> bool:
    """Whether a child process can load NumPy, multiply, and still has memory for small problems."""
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
    """Limit this process to MOST_SECONDS of processor time, or less if its limit is lower; it leaves no core file."""
    import resource  # noqa: PLC0415 - not on Windows

    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    seconds = MOST_SECONDS if most == resource.RLIM_INFINITY else min(MOST_SECONDS, most)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))  # the hard limit kills, despite signal handlers
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _multiply() -> None:
    """Load NumPy, and let its BLAS allocate its buffers."""
    import numpy  # noqa: PLC0415 - it is loaded here
    import numpy.random  # noqa: PLC0415 - NumPy loads it at its first use

    square = numpy.ones((256, 256))
    square @ square

"""The memory that is available to this process."""

import os
from collections.abc import Iterator
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_CONTROL_GROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def available_memory() -> int | None:
    """The bytes that can be allocated without swapping, at most the limit of a container; None where no system tells.

    Limits are those of Linux's control groups, of both versions; elsewhere it is the memory of the machine.
    """
    return min((*_free_memory(), *_group_limits()), default=None)


def _free_memory() -> Iterator[int]:
    """What Linux says is available, else all of the machine's memory."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        yield next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _group_limits() -> Iterator[int]:
    """The limits of the control group; `max` is none."""
    for file in _CONTROL_GROUP_LIMITS:
        try:
            yield int(file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue

"""Free space: how many bytes the disk can take that an output is written to."""

import os
import stat
import sys
from pathlib import Path

from attncli.io.paths import path_of


def free_space(file: str | None) -> int | None:
    """The free bytes of the disk of a file (None: of standard output).

    None where that is no regular file, or the system does not say; a file that is replaced stays until the new one is
    complete, so that its bytes are not free.
    """
    try:
        if file is None:
            return _free_bytes(sys.stdout.fileno())
        path = path_of(file)
        if path.exists():  # asked by this name: that of a pipe in /dev/fd leads to no other path
            return _free_bytes(path)
        return _free_bytes(next(folder for folder in Path(os.path.realpath(path)).parents if folder.exists()))
    except OSError:  # the file can't be reached, or standard output has no descriptor: writing says so
        return None


def _free_bytes(target: Path | int) -> int | None:
    """The free bytes of the file system of a path or a descriptor; None of a pipe, a device or a terminal."""
    mode = os.stat(target).st_mode  # noqa: PTH116 - also of a descriptor
    if not hasattr(os, "statvfs") or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return None
    system = os.statvfs(target)
    return system.f_bavail * system.f_frsize

"""Outputs that are written in place, never replaced: pipes, devices, and files that the shell has opened."""

import os
from pathlib import Path
from typing import IO

# The folder of this process's open files, by its names: /dev/stdout and bash's >(…) are links into it.
_DESCRIPTORS = ("/dev/fd", "/proc/self/fd")
_MAX_LINKS = 40


def is_in_place(path: Path) -> bool:
    """Whether a path is that of an open file of this process, or of a pipe or a device."""
    return _descriptor(path) is not None or (path.exists() and not path.is_file() and not path.is_dir())


def open_in_place(path: Path) -> IO[bytes]:
    """A stream for writing to a path that `is_in_place`; raises OSError where it can't be opened.

    An open file is written to through the descriptor that is there: to open it again would forget that `>>` appends,
    or cut the file.
    """
    descriptor = _descriptor(path)
    return path.open("wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb")


def _descriptor(path: Path) -> int | None:
    """The number of the open file that a path names, through any links: 1 for `/dev/stdout`; None for other paths."""
    folders = [os.path.realpath(folder) for folder in _DESCRIPTORS]
    for _ in range(_MAX_LINKS):
        if path.name.isdecimal() and os.path.realpath(path.parent) in folders:
            return int(path.name)
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return None

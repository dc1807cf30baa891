"""The inputs of a problem that is computed again when one of them is saved: what each file was when it was read."""

import os
import stat
from dataclasses import replace
from pathlib import Path

from attncli.base.errors import AttnError
from attncli.io.inputs import STDIN_NAME, Input, Inputs
from attncli.io.paths import STDIN, path_of

# What tells a file from what is there after it was saved: device, inode, size and time of change; None: no file.
FileVersion = tuple[int, int, int, int] | None


def file_version(name: str) -> FileVersion:
    """The version of the file that is there now, through any links; None where there is none, or a folder."""
    return _version(_status(path_of(name)))


class WatchedInputs(Inputs):
    """Inputs of which each file's version is known by its name; a stream, which can be read once, is refused.

    A file is read into memory when it is opened, unless it is larger than the limit: another program may write it while
    its numbers are used, and a mapped file that becomes shorter ends the process.
    """

    def __init__(self, max_size: str | None = None) -> None:
        super().__init__(max_size)
        self.versions: dict[str, FileVersion] = {}

    def open(self, name: str, folder: Path = Path()) -> Input:
        """The input of a name, as of `Inputs`; raises AttnError for a stream too."""
        if name == STDIN:
            raise _stream_error(STDIN_NAME)
        path = folder / path_of(name)
        full_name = str(path) if folder != Path() else name
        status = _status(path)
        if status is not None and not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise _stream_error(full_name)
        # From before it is read, so that a save in between counts; a file that is read twice may have been saved since.
        self.versions.setdefault(full_name, _version(status))
        source = super().open(name, folder)
        is_large = status is not None and status.st_size > source.limit.size
        return source if is_large else replace(source, content=source.read())


def _status(path: Path) -> os.stat_result | None:
    """What the system says of a file; None where there is none, or it may not be seen."""
    try:
        return path.stat()
    except OSError:
        return None


def _version(status: os.stat_result | None) -> FileVersion:
    """The version of a file of which the system says this; what is in a folder changes it without mending the error."""
    if status is None or stat.S_ISDIR(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _stream_error(name: str) -> AttnError:
    """The error of a stream, which is not there any more when the problem is computed again."""
    return AttnError("is a stream, which can be read once", where=name, hint="name a file, or leave out --watch")

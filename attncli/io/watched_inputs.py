"""The inputs of a problem that is computed again when one of them is saved: what each file was when it was read."""

from dataclasses import replace
from pathlib import Path

from attncli.base.errors import AttnError
from attncli.io.inputs import STDIN_NAME, Input, Inputs
from attncli.io.paths import STDIN, path_of

# What tells a file from what is there after it was saved: device, inode, size and time of change; None: no file.
FileVersion = tuple[int, int, int, int] | None


def file_version(name: str) -> FileVersion:
    """The version of the file that is there now, through any links; None where there is none."""
    try:
        status = path_of(name).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


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
        if path.exists() and not path.is_file() and not path.is_dir():
            raise _stream_error(full_name)
        # Before it is read, so that a save in between is seen; an entry that is read later is of the version since.
        self.versions.setdefault(full_name, file_version(full_name))
        source = super().open(name, folder)
        is_small = path.stat().st_size <= source.limit.size
        return replace(source, content=source.read()) if is_small else source


def _stream_error(name: str) -> AttnError:
    """The error of a stream, which is not there any more when the problem is computed again."""
    return AttnError("is a stream, which can be read once", where=name, hint="name a file, or leave out --watch")

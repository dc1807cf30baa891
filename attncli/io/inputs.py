"""Inputs: the files and streams of a problem, and the limit of reading each into memory."""

import io
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO

from attncli.base.errors import AttnError
from attncli.base.memory import available_memory, format_bytes, parse_size
from attncli.io.paths import STDIN, is_there, name_of_path, opening, path_of

STDIN_NAME = "standard input"
MAX_SIZE_OPTION = "--max-size"
MEMORY_SHARE = 4  # the default limit is the available memory divided by this
MAX_DEPTH = 40  # of nested lists and mappings
TOO_DEEP = f"lists are nested more than {MAX_DEPTH} deep"
HEAD_SIZE = 2**12  # bytes for recognizing a format
_CHUNK_SIZE = 2**20
_ENCODING_HINT = "save it as UTF-8"

# The version of a file: device, inode, size and time of change; None: no file.
FileVersion = tuple[int, int, int, int] | None


@dataclass(frozen=True, eq=False)
class SizeLimit:
    """The most bytes of one input to read into memory, and the reason in words."""

    size: int
    reason: str

    def check(self, size: int, where: str, *, is_whole: bool = True) -> None:
        """Raise AttnError if an input, or its content, is larger; it names the size only if it is complete."""
        if size > self.size:
            amount = f"has {format_bytes(size)}, more" if is_whole else "has more"
            message = f"{amount} than the {format_bytes(self.size)} that may be read ({self.reason})"
            raise AttnError(message, where=where, hint=f"allow more with {MAX_SIZE_OPTION}")


@dataclass(frozen=True, eq=False)
class Input:
    """One input: a regular file, which its reader opens, or the bytes of a stream.

    `name` is for errors; `path` names the file, whose suffix determines the format; `content` is None for a file.
    """

    name: str
    path: Path
    limit: SizeLimit
    content: bytes | None = None

    def open(self) -> IO[bytes]:
        """A seekable stream of the bytes; raises AttnError if a file can't be opened."""
        if self.content is not None:
            return io.BytesIO(self.content)
        with opening(self.name, self.path):
            return self.path.open("rb")

    def head(self) -> bytes:
        """The first bytes."""
        with self.open() as stream, opening(self.name):
            return stream.read(HEAD_SIZE)

    def check_size(self) -> None:
        """Raise AttnError if a file is larger than the limit; a stream was checked while reading."""
        if self.content is None:
            with opening(self.name, self.path):
                self.limit.check(self.path.stat().st_size, self.name)

    def read(self) -> bytes:
        """All bytes; raises AttnError if there are more than the limit."""
        if self.content is not None:
            return self.content
        self.check_size()
        with self.open() as stream, opening(self.name):
            return read_stream(stream, self.name, self.limit)

    def text(self) -> str:
        """The whole text: UTF-8, with or without a byte-order mark; raises AttnError for other encodings."""
        raw = self.read()
        if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise AttnError("is UTF-16 text", where=self.name, hint=_ENCODING_HINT)
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            where = (self.name, f"line {line}")
            raise AttnError("is not UTF-8 text", where=where, hint=_ENCODING_HINT) from None


class Inputs:
    """The inputs of one problem: the limit of their sizes, the streams read and the files opened so far.

    `max_size` is a number of bytes or a text such as `2G`; by default an input may have a share of the available
    memory. `on_terminal` is called with the name of a stream before it is read, if it is a terminal.
    """

    def __init__(self, max_size: int | str | None = None, on_terminal: Callable[[str], None] | None = None) -> None:
        self._files: dict[tuple[int, int], str] = {}  # names by device and inode
        self._max_size = parse_size(str(max_size), MAX_SIZE_OPTION) if max_size is not None else None
        self._on_terminal = on_terminal
        self._streams: dict[str, Input] = {}

    @cached_property
    def limit(self) -> SizeLimit:
        """The limit of each input."""
        if self._max_size is not None:
            return SizeLimit(self._max_size, MAX_SIZE_OPTION)
        memory = available_memory()
        reason = f"1/{MEMORY_SHARE} of the free memory"
        return SizeLimit(sys.maxsize if memory is None else memory // MEMORY_SHARE, reason)

    def open(self, name: str, folder: Path = Path()) -> Input:
        """The input of a name: `-` is standard input, any other a path, relative to the folder.

        A stream (a pipe, a terminal, a device) is read whole, once. Raises AttnError if the input can't be opened, or
        is larger than the limit.
        """
        if name == STDIN:
            return self._stream(STDIN_NAME, Path(), _standard_input)
        path = folder / path_of(name)
        name = str(path) if folder != Path() else name
        with opening(name, path):
            status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise AttnError("is a folder", where=name, hint="name a file in it")
        if stat.S_ISREG(status.st_mode):
            self._files[status.st_dev, status.st_ino] = name
            return Input(name, path, self.limit)
        return self._stream(name, path, lambda: path.open("rb"))

    def name_of(self, status: os.stat_result) -> str | None:
        """The name under which a file was opened as an input, by any of its names; None if it was not."""
        return self._files.get((status.st_dev, status.st_ino))

    def of_text(self, text: str, name: str) -> Input:
        """The input of a text that is already read."""
        return Input(name, Path(name), self.limit, text.encode("utf-8", "surrogatepass"))

    def _stream(self, name: str, path: Path, open_stream: Callable[[], IO[bytes]]) -> Input:
        """The content of a stream, which is read at its first use."""
        if name not in self._streams:
            with opening(name, path), open_stream() as stream:
                with suppress(OSError):  # a test's stream has no descriptor
                    status = os.fstat(stream.fileno())
                    if stat.S_ISREG(status.st_mode):  # `attn compute - < p.yaml`
                        self._files[status.st_dev, status.st_ino] = name
                if stream.isatty() and self._on_terminal is not None:
                    self._on_terminal(name)
                self._streams[name] = Input(name, path, self.limit, read_stream(stream, name, self.limit))
        return self._streams[name]


def read_stream(stream: IO[bytes], name: str, limit: SizeLimit) -> bytes:
    """The bytes of a stream to its end; raises AttnError once there are more than the limit."""
    content = io.BytesIO()
    is_at_end = False
    while not is_at_end:
        chunk = stream.read(_CHUNK_SIZE)
        limit.check(content.tell() + len(chunk), name, is_whole=False)
        content.write(chunk)
        is_at_end = len(chunk) < _CHUNK_SIZE  # reading again would make a terminal wait for a second Ctrl-D
    return content.getvalue()


def _standard_input() -> IO[bytes]:
    """Standard input, which can be read once."""
    if sys.stdin is None or sys.stdin.closed:
        raise AttnError("is closed or was read before", where=STDIN_NAME, hint="use - once")
    return sys.stdin.buffer


def file_version(name: str) -> FileVersion:
    """The current version of a file, through any links; None for no file, or a folder.

    Changes inside a folder would change its version, but not correct the wrong name.
    """
    try:
        status = path_of(name).stat()
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class WatchedInputs(Inputs):
    """Inputs that record each file's version by name; a stream, which can be read only once, is an error.

    A file is read into memory when it is opened, unless it is larger than the limit: another program may write it
    during use, and a mapped file that becomes shorter ends the process.
    """

    def __init__(self, max_size: str | None = None) -> None:
        super().__init__(max_size)
        self.versions: dict[str, FileVersion] = {}

    def open(self, name: str, folder: Path = Path()) -> Input:
        """The input of a name, as in `Inputs`; raises AttnError for a stream too."""
        path = folder / path_of(name)
        full_name = name_of_path(path) if folder != Path() else name
        if name == STDIN or (is_there(path) and not path.is_file() and not path.is_dir()):
            message, hint = "is a stream, which can be read only once", "name a file, or leave out --watch"
            raise AttnError(message, where=STDIN_NAME if name == STDIN else full_name, hint=hint)
        # Taken before reading, so that a save in between counts; the first version counts if a file is read twice.
        version = file_version(full_name)
        self.versions.setdefault(full_name, version)
        source = super().open(name, folder)
        is_large = version is not None and version[2] > source.limit.size
        return source if is_large else replace(source, content=source.read())

"""Atomic writes: a file or folder is written under a temporary name beside its own, and renamed when complete."""

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from attncli.base.errors import AttnError
from attncli.io.paths import path_of


@contextmanager
def atomic_write(name: str) -> Iterator[IO[bytes]]:
    """A stream to a file: on normal exit the file is replaced at once; on an exception it is left untouched.

    The stream's `name` is that of a regular file, unless the target is none (a pipe, a device): that is written to
    directly. Raises AttnError where it can't be written.
    """
    try:
        path = Path(os.path.realpath(path_of(name)))
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                yield stream
            return
        with _replacement(path) as stream:
            yield stream
    except OSError as error:
        raise AttnError(f"can't be written ({error.strerror})", where=name) from None


def atomic_write_file(name: str, contents: str | bytes | Iterable[str]) -> None:
    """Write contents to a file, all or nothing; raises AttnError where it can't be written."""
    with atomic_write(name) as stream:
        _write(stream, contents)


def atomic_write_folder(name: str, files: Mapping[str, str | bytes | Iterable[str]]) -> None:
    """Write a new folder of files, all or nothing; raises AttnError where it exists and is not empty."""
    target = Path(os.path.realpath(path_of(name)))
    try:
        if target.is_dir() and any(target.iterdir()):
            raise AttnError("is a folder with something in it", where=name, hint="name a new one")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
            folder = Path(temporary) / "new"
            folder.mkdir()
            for file, contents in files.items():
                with (folder / file).open("wb") as stream:
                    _write(stream, contents)
            if target.is_dir():  # it may be the working directory of a process: it is filled, not replaced
                for file in files:
                    (folder / file).replace(target / file)
            else:
                folder.replace(target)
    except OSError as error:
        raise AttnError(f"can't be written ({error.strerror})", where=name) from None


def _write(stream: IO[bytes], contents: str | bytes | Iterable[str]) -> None:
    """Write bytes, or text and chunks of it as UTF-8."""
    for chunk in [contents] if isinstance(contents, (str, bytes)) else contents:
        stream.write(chunk if isinstance(chunk, bytes) else chunk.encode("utf-8", "surrogateescape"))


@contextmanager
def _replacement(path: Path) -> Iterator[IO[bytes]]:
    """A stream to a temporary file that replaces `path` on normal exit, with the permissions of that or a new file."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        with temporary.open("wb") as stream:
            yield stream
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)  # it is there only after an exception


def _umask() -> int:
    """The permissions that new files do not get; they can be read only by setting them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

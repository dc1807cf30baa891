"""Atomic writes: a file or a folder of files is written apart, and takes its name when it is complete."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from attncli.base.errors import AttnError
from attncli.io.paths import path_of
from attncli.io.writers.in_place import is_in_place, open_in_place
from attncli.io.writers.replacement import replacement


@contextmanager
def atomic_write(name: str) -> Iterator[IO[bytes]]:
    """A stream to a file: on normal exit the file is replaced at once; on an exception it is left untouched.

    Only the stream to a regular file can be read too; what is none (a pipe, a device, an open file such as
    /dev/stdout) is written to in place. Raises AttnError where it can't be written, BrokenPipeError where the reader of
    a pipe has closed it.
    """
    try:
        path = path_of(name)
        if path.is_dir() or name.endswith(os.sep):
            raise AttnError("is a folder", where=name, hint="name a file in it")
        in_place = is_in_place(path)
        with open_in_place(path) if in_place else replacement(Path(os.path.realpath(path))) as stream:
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise AttnError(f"can't be written ({error.strerror or error})", where=name) from None


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
        raise AttnError(f"can't be written ({error.strerror or error})", where=name) from None


def _write(stream: IO[bytes], contents: str | bytes | Iterable[str]) -> None:
    """Write bytes, or text and chunks of it as UTF-8."""
    for chunk in [contents] if isinstance(contents, (str, bytes)) else contents:
        stream.write(chunk if isinstance(chunk, bytes) else chunk.encode("utf-8", "surrogateescape"))

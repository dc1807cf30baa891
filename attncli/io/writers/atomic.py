"""Files and folders, written whole or not at all: what is made beside its place is moved there once it is complete."""

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from attncli.base.errors import AttnError
from attncli.io.origin import path_of


def write_file(name: str, contents: str | bytes | Iterable[str]) -> None:
    """Write a file whole or not at all; raises AttnError where it can't be written."""
    with whole(name) as stream:
        for piece in [contents] if isinstance(contents, (str, bytes)) else contents:
            stream.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogateescape"))


@contextmanager
def whole(name: str) -> Iterator[IO[bytes]]:
    """A stream to a file that is there, whole, once the stream has been left in peace, and is not touched otherwise.

    Its `name` is that of a real file, unless the target is no regular file (a pipe, a device): that is written to
    directly. Raises AttnError where it can't be written.
    """
    try:
        path = Path(os.path.realpath(path_of(name)))
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                yield stream
            return
        with _beside(path) as stream:
            yield stream
    except OSError as error:
        raise AttnError(f"can't be written ({error.strerror})", where=name) from None


def write_folder(name: str, files: Mapping[str, str | bytes]) -> None:
    """Write a new folder whole or not at all; raises AttnError where there is one with something in it."""
    target = Path(os.path.realpath(path_of(name)))
    try:
        if target.is_dir() and any(target.iterdir()):
            raise AttnError("is a folder with something in it", where=name, hint="name a new one")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as beside:
            made = Path(beside) / "new"
            made.mkdir()
            for file, contents in files.items():
                (made / file).write_bytes(contents.encode("utf-8") if isinstance(contents, str) else contents)
            if target.is_dir():  # somebody may stand in it: it is filled, not replaced
                for file in files:
                    (made / file).replace(target / file)
            else:
                made.replace(target)
    except OSError as error:
        raise AttnError(f"can't be written ({error.strerror})", where=name) from None


@contextmanager
def _beside(path: Path) -> Iterator[IO[bytes]]:
    """A new file, put in the place of another at once, with the rights that that one has or a new one would get."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    beside = Path(name)
    try:
        with beside.open("wb") as stream:
            yield stream
        beside.chmod(mode)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)  # it is there only where something went wrong


def _umask() -> int:
    """The rights that new files do not get; reading it means setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

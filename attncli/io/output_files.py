"""Output files: each gets its name when it is complete; pipes, devices and open files are written in place.

Also the free bytes of an output's disk.
"""

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from attncli.base.errors import AttnError
from attncli.io.paths import path_of

_PRIVATE, _DEFAULT = 0o600, 0o666  # permissions of a new file, before the process's umask
_OPEN_FILES = "/proc/self/fd"
_ACCESS_LIST = "system.posix_acl_access"  # Linux's attribute for the permissions of further users
# The folder of this process's open files: /dev/stdout and bash's >(…) are links into it.
_DESCRIPTORS = ("/dev/fd", _OPEN_FILES)
_MAX_LINKS = 40


@contextmanager
def atomic_write(name: str) -> Iterator[IO[bytes]]:
    """A stream to a file: on normal exit the file is replaced at once; on an exception it stays untouched.

    Only the stream to a regular file can also be read; a pipe, a device or an open file such as /dev/stdout is written
    in place. Raises AttnError if it can't be written, BrokenPipeError if a pipe's reader has closed it.
    """
    try:
        path = path_of(name)
        if path.is_dir() or name.endswith(os.sep):
            raise AttnError("is a folder", where=name, hint="name a file in it")
        in_place = is_in_place(path)
        with _open_in_place(path) if in_place else _replacement(Path(os.path.realpath(path))) as stream:
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise AttnError(f"can't be written ({error.strerror or error})", where=name) from None


def atomic_write_file(name: str, contents: str | bytes | Iterable[str]) -> None:
    """Write contents to a file, all or nothing; raises AttnError if it can't be written."""
    with atomic_write(name) as stream:
        _write(stream, contents)


def check_is_new(name: str) -> None:
    """Raise AttnError if the file, or the folder with files, exists; pipes and devices do not count."""
    path = path_of(name)
    with suppress(OSError):  # an unreadable folder: writing raises the error
        if any(path.iterdir()) if path.is_dir() else path.exists() and not is_in_place(path):
            raise AttnError("already exists", where=name, hint="choose another name, or --force")


def atomic_write_folder(name: str, files: Mapping[str, str | bytes | Iterable[str]]) -> None:
    """Write a folder of files, a new one all or nothing; in an existing one they replace files of the same names.

    Folders in names are made.
    """
    target = Path(os.path.realpath(path_of(name)))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
            folder = Path(temporary) / "new"
            folder.mkdir()
            for file, contents in files.items():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                with (folder / file).open("wb") as stream:
                    _write(stream, contents)
            if target.is_dir():  # it may be a process's working directory: fill it, don't replace it
                for file in files:
                    (target / file).parent.mkdir(parents=True, exist_ok=True)
                    (folder / file).replace(target / file)
            else:
                folder.replace(target)
    except OSError as error:
        raise AttnError(f"can't be written ({error.strerror or error})", where=name) from None


def _write(stream: IO[bytes], contents: str | bytes | Iterable[str]) -> None:
    """Write bytes, or text and chunks of it as UTF-8."""
    for chunk in [contents] if isinstance(contents, (str, bytes)) else contents:
        stream.write(chunk if isinstance(chunk, bytes) else chunk.encode("utf-8", "surrogateescape"))


@contextmanager
def _replacement(path: Path) -> Iterator[IO[bytes]]:
    """A stream to a new file, for writing and reading, that replaces `path` on normal exit.

    The new file gets the old one's permissions and, if the process may set it, owner; a read-only file is not replaced.
    Other names of the old file (hard links) keep the old contents, because writing into it could stop half-way. Raises
    OSError if the file can't be written.

    The new file has no name while it is written (Linux's O_TMPFILE), so nothing is left of it if the process ends, even
    by SIGKILL. It has a temporary name at the end, because only renaming, not linking, replaces a file. Other systems
    need the name all the time; an exception removes it, and __main__ turns signals into exceptions.
    """
    old = path.stat() if path.exists() else None
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(None, "the file is read-only")
    temporary = path.with_name(f".attn-{os.urandom(8).hex()}")
    mode = _DEFAULT if old is None else _PRIVATE
    try:
        unnamed = _open_unnamed(path.parent, mode)
        with unnamed or os.fdopen(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), "w+b") as stream:
            yield stream
            stream.flush()
            if old is not None:
                _copy_permissions(path, old, stream.fileno())
            if unnamed is not None:
                _link(stream.fileno(), temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)  # it exists only after an exception


def _open_unnamed(folder: Path, mode: int) -> IO[bytes] | None:
    """A stream to an unnamed new file on a folder's file system; None if that is impossible."""
    if not Path(_OPEN_FILES).is_dir():  # `_link` needs it
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, mode), "w+b")
    except (AttributeError, OSError):  # another system, or a file system without O_TMPFILE
        return None


def _link(descriptor: int, path: Path) -> None:
    """Name an unnamed file; `os.link` follows the link in /proc only with a folder's descriptor."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.link(f"{_OPEN_FILES}/{descriptor}", path.name, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _copy_permissions(path: Path, old: os.stat_result, descriptor: int) -> None:
    """Give a new file the owner, group and permissions of the old one."""
    with suppress(PermissionError):  # only root may change the owner
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, old.st_mode & 0o7777)
    with suppress(AttributeError, OSError):  # another system, or a file without an access list
        os.setxattr(descriptor, _ACCESS_LIST, os.getxattr(path, _ACCESS_LIST))


def is_in_place(path: Path) -> bool:
    """Whether a path is an open file of this process, a pipe or a device."""
    return _descriptor(path) is not None or (path.exists() and not path.is_file() and not path.is_dir())


def _open_in_place(path: Path) -> IO[bytes]:
    """A stream for writing to a path that `is_in_place`; raises OSError if it can't be opened.

    An open file is written through its descriptor: opening it again would ignore the append mode of `>>`, or truncate
    the file.
    """
    descriptor = _descriptor(path)
    return path.open("wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb")


def _descriptor(path: Path) -> int | None:
    """The descriptor of the open file that a path names, through any links: 1 for `/dev/stdout`; None for others."""
    folders = [os.path.realpath(folder) for folder in _DESCRIPTORS]
    for _ in range(_MAX_LINKS):
        if path.name.isdecimal() and os.path.realpath(path.parent) in folders:
            return int(path.name)
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return None


def free_space(file: str | None) -> int | None:
    """The free bytes on a file's disk (None: standard output's).

    None if that is not a regular file, or the system does not say. A replaced file stays until the new one is complete:
    its bytes are not free.
    """
    try:
        if file is None:
            return _free_bytes(sys.stdout.fileno())
        path = path_of(file)
        if path.exists():  # by this name: a pipe in /dev/fd resolves to no other path
            return _free_bytes(path)
        return _free_bytes(next(folder for folder in Path(os.path.realpath(path)).parents if folder.exists()))
    except OSError:  # unreachable, or standard output has no descriptor: writing raises the error
        return None


def _free_bytes(target: Path | int) -> int | None:
    """The free bytes on the file system of a path or a descriptor; None for a pipe, a device or a terminal."""
    mode = os.stat(target).st_mode  # noqa: PTH116 - also of a descriptor
    if not hasattr(os, "statvfs") or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return None
    system = os.statvfs(target)
    return system.f_bavail * system.f_frsize

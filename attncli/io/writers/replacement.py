"""A file that replaces another when it is complete: it has no name until then, where the file system can do that."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_PRIVATE, _DEFAULT = 0o600, 0o666  # permissions of a new file, of which the process's umask removes some
_OPEN_FILES = "/proc/self/fd"
_ACCESS_LIST = "system.posix_acl_access"  # the attribute in which Linux keeps the permissions of further users


@contextmanager
def replacement(path: Path) -> Iterator[IO[bytes]]:
    """A stream to a new file, for writing and reading, that replaces `path` on normal exit.

    The file that is replaced passes its permissions and, where the process may set it, its owner on to the new one; a
    file that may not be written is not replaced. Its other names (hard links) keep the old contents: writing into it
    could end half-way. Raises OSError where the file can't be written.

    The new file has no name while it is written (Linux's O_TMPFILE), so nothing is left of it whatever ends the
    process, SIGKILL included. It has one for a moment at the end, because a link can't replace a file, a renaming can.
    Other systems need a name all the time, which an exception removes: __main__ makes one of each signal it can catch.
    """
    old = path.stat() if path.exists() else None
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(None, "the file is read-only")
    temporary = path.with_name(f".attn-{os.urandom(8).hex()}")
    mode = _DEFAULT if old is None else _PRIVATE
    try:
        unnamed = _open_unnamed(path.parent, mode)
        with unnamed or _open_new(temporary, mode) as stream:
            yield stream
            stream.flush()
            if old is not None:
                _copy_permissions(path, old, stream.fileno())
            if unnamed is not None:
                _link(stream.fileno(), temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)  # it is there only after an exception


def _open_unnamed(folder: Path, mode: int) -> IO[bytes] | None:
    """A stream to a new file without a name on the file system of a folder; None where that is not possible."""
    if not Path(_OPEN_FILES).is_dir():  # `_link` needs it
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, mode), "w+b")
    except (AttributeError, OSError):  # another system, or a file system without O_TMPFILE
        return None


def _open_new(path: Path, mode: int) -> IO[bytes]:
    """A stream to a new file with a name."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), "w+b")


def _link(descriptor: int, path: Path) -> None:
    """Give an unnamed file a name; `os.link` follows the link in /proc only where a folder's descriptor is given."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.link(f"{_OPEN_FILES}/{descriptor}", path.name, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _copy_permissions(path: Path, old: os.stat_result, descriptor: int) -> None:
    """Give a new file the owner, group and permissions of the one that it replaces."""
    with suppress(PermissionError):  # only root may give a file to another user
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, old.st_mode & 0o7777)
    with suppress(AttributeError, OSError):  # another system, or a file without an access list
        os.setxattr(descriptor, _ACCESS_LIST, os.getxattr(path, _ACCESS_LIST))

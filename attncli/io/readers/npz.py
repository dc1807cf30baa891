"""Arrays in `.npz` archives: sizes are checked before anything is unpacked, and every kind of damage is an error."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.base.text import first_duplicate, one_line
from attncli.io.inputs import Input, read_stream
from attncli.io.paths import opening
from attncli.io.readers.descriptions import ArrayDescription
from attncli.io.readers.entries import Entry, read_entries, read_entry
from attncli.io.readers.npy import NPY, byte_count, check_length, read_header, to_labelled
from attncli.io.readers.slices import WHOLE, Index, take
from attncli.problem.convert.arrays import LabelledArray


def read_npz(source: Input, entry: str) -> LabelledArray:
    """The array in an archive: its only one, or the entry of that name; raises AttnError where it is damaged."""
    return read_entry(_npz(source), source, entry)


def read_npz_problem(source: Input) -> tuple[Mapping[str, Any], Mapping[int, int]]:
    """The entries of an archive as values of a problem; there are no lines."""
    return read_entries(_npz(source), source)


def npz_entries(source: Input) -> Mapping[str, Entry]:
    """The entries of an archive, none of which is read yet."""
    return _npz(source)


def list_npz(source: Input) -> list[ArrayDescription]:
    """The description of each array, by its header."""
    return [ArrayDescription(name, *entry.shape_and_type()) for name, entry in _npz(source).items()]


@dataclass(frozen=True)
class _ZipEntry:
    """An array in an `.npz` file: its member's name, and the bytes that the member promises to unpack to."""

    source: Input
    name: str
    size_in_memory: int

    def shape_and_type(self) -> tuple[tuple[int, ...], str]:
        """The shape and the type in its header."""
        import zipfile  # noqa: PLC0415 - most problems have no archive

        where = f"{self.source.name}#{self.name.removesuffix(NPY)}"
        with (
            self.source.open() as file,
            opening(where),
            _unpacking(where),
            zipfile.ZipFile(file) as archive,
            archive.open(self.name) as stream,
        ):
            shape, _, dtype = read_header(stream, where)
        byte_count(shape, dtype, where)
        return shape, dtype.name

    def read(self, index: Index = WHOLE) -> Any:
        """The array or its part (words as text), once the sizes in its header and in the archive have been checked."""
        import zipfile  # noqa: PLC0415 - most problems have no archive

        where = f"{self.source.name}#{self.name.removesuffix(NPY)}"
        with self.source.open() as file, opening(where), _unpacking(where), zipfile.ZipFile(file) as archive:
            method = archive.getinfo(self.name).compress_type
            if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may unpack to any size at once
                raise AttnError(f"is compressed by method {method}", where=where, hint="save it with numpy.savez")
            with archive.open(self.name) as stream:
                shape, is_fortran, dtype = read_header(stream, where)
                size = byte_count(shape, dtype, where)
                self.source.limit.check(max(size, self.size_in_memory), where)
                raw = read_stream(stream, where, self.source.limit)  # to its end, where the checksum is compared
        check_length(size, len(raw), where)
        array = np.frombuffer(raw, dtype, math.prod(shape)).reshape(shape, order="F" if is_fortran else "C")
        part = take(array, index, where)
        return part.tolist() if dtype.kind == "U" else to_labelled(part, where, self.source.limit)


def _npz(source: Input) -> dict[str, _ZipEntry]:
    """The entries of an archive."""
    import zipfile  # noqa: PLC0415 - most problems have no archive

    is_no_archive = _unpacking(source.name, "is no .npz archive")
    with source.open() as file, opening(source.name), is_no_archive, zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(NPY)]
    names = [member.filename for member in members]
    if len(set(names)) < len(names):
        duplicate = first_duplicate(names)
        raise AttnError(f"has two entries of the name {duplicate.removesuffix(NPY)!r}", where=source.name)
    return {
        member.filename.removesuffix(NPY): _ZipEntry(source, member.filename, member.file_size) for member in members
    }


@contextmanager
def _unpacking(where: str, message: str = "") -> Iterator[None]:
    """Raise AttnError in place of every error that a damaged archive makes the libraries of Python raise."""
    import struct  # noqa: PLC0415 - most problems have no archive
    import zipfile  # noqa: PLC0415 - the same
    import zlib  # noqa: PLC0415 - the same

    try:
        yield
    except AttnError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        RuntimeError,  # a member is encrypted
        NotImplementedError,  # an unknown compression
        ValueError,  # an offset or a name that can't be one
        LookupError,
        OverflowError,
    ) as error:
        reason = one_line(str(error)) or type(error).__name__
        raise AttnError(message or f"can't be unpacked ({reason})", where=where) from None

"""NumPy's files, read and written: `.npy`, mapped into memory, and `.npz` archives.

Headers and sizes are checked before unpacking, every kind of damage is an error, and pickled objects, which could run
any program, are refused.
"""

import math
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from tokenize import TokenError
from typing import IO, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import first_duplicate, one_line
from attncli.io.entries import WHOLE, ArchiveEntry, ArchiveReader, Index, split_slices_alone, take
from attncli.io.formats import ArrayDescription, Reader
from attncli.io.inputs import Input, SizeLimit, read_stream
from attncli.io.paths import opening
from attncli.problem.arrays import GivenArray, integers_of_bits

NPY = ".npy"
MAX_AXES = 32  # the limit of every NumPy version


class _NpyReader(Reader):
    """Reads the array in an `.npy` file, or its slice; its numbers are mapped into memory."""

    def array(self, source: Input, entry: str) -> GivenArray:
        """The array or its slice; raises AttnError if the header is damaged, or the file too short."""
        index = split_slices_alone(entry, source.name, "has one array and no entries")
        shape, is_fortran, dtype, offset = _checked_header(source)
        mapped = map_array(source, dtype, shape, offset, "F" if is_fortran else "C")
        return to_labelled(take(mapped, index, source.name), source.name, source.limit)

    def descriptions(self, source: Input) -> list[ArrayDescription]:
        """The description of the array, by its header."""
        shape, _, dtype, _ = _checked_header(source)
        return [ArrayDescription("", shape, dtype.name)]

    def expected(self, source: Input) -> GivenArray:
        """The array."""
        return self.array(source, "")


def _checked_header(source: Input) -> tuple[tuple[int, ...], bool, Any, int]:
    """Shape, order and type of a complete array, and the position of its numbers."""
    with source.open() as stream, opening(source.name):
        shape, is_fortran, dtype = read_header(stream, source.name)
        offset = stream.tell()
        size = stream.seek(0, os.SEEK_END)
    check_length(byte_count(shape, dtype, source.name), size - offset, source.name)
    return shape, is_fortran, dtype, offset


def map_array(source: Input, dtype: Any, shape: tuple[int, ...], offset: int, order: Any = "C") -> Array:
    """An array that is mapped from its file, and read on use; a stream's is a view of its bytes.

    If another program truncates a file before mapping, this is an error. If it does so afterwards, SIGBUS ends the
    process, as with every mapped file. A copy would need the file's size in memory. No result is left half written, as
    results are written to a temporary file and renamed.
    """
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    if source.content is not None:
        return np.frombuffer(source.content, dtype, math.prod(shape), offset).reshape(shape, order=order)
    try:
        with opening(source.name, source.path):
            mapped = np.memmap(source.path, dtype=dtype, mode="r", offset=offset, shape=shape or (1,), order=order)
    except ValueError:
        raise AttnError("became shorter during reading", where=source.name) from None
    return np.asarray(mapped).reshape(shape, order=order)


def read_header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, order and type in the header of an array; raises AttnError if the header is damaged."""
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(stream)
        shape, is_fortran, dtype = headers[version](stream)
    except (ValueError, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError):
        raise AttnError("is not a valid .npy file", where=where) from None
    if dtype.hasobject:
        hint = "save numbers, not Python objects"
        raise AttnError("holds pickled objects, which could run any program", where=where, hint=hint)
    return shape, is_fortran, dtype


def byte_count(shape: tuple[int, ...], dtype: Any, where: str) -> int:
    """The number of bytes of the array in a header; raises AttnError for an impossible shape."""
    largest = math.prod(length for length in shape if length) * dtype.itemsize
    if len(shape) > MAX_AXES or not dtype.itemsize or not all(length >= 0 for length in shape) or largest > sys.maxsize:
        raise AttnError(f"has the shape {shape} of {dtype}, which no array can have", where=where)
    return math.prod(shape) * int(dtype.itemsize)


def check_length(expected: int, actual: int, where: str) -> None:
    """Raise AttnError if a file has fewer bytes than its header says."""
    if expected > actual:
        raise AttnError(f"promises {expected} bytes of numbers and holds {actual}", where=where, hint="it was cut off")


def to_labelled(array: Array, where: str, limit: SizeLimit) -> GivenArray:
    """An array of a problem: booleans and floating types unchanged, integers as float64."""
    match array.dtype.kind:
        case "b":
            return GivenArray(array)
        case "i" | "u":
            limit.check(8 * array.size, where)
            return GivenArray(array.astype(np.float64), integers=integers_of_bits(array))
        case "f":
            native = array.astype(array.dtype.newbyteorder("="), copy=False)
            return GivenArray(native, dtype=native.dtype.name)
    hint = "expected real numbers"
    if array.dtype.kind == "V" and array.dtype.names is None:  # from ml_dtypes: NumPy's files don't name the type
        hint = "NumPy has no such type: save it as .safetensors, or as .astype(numpy.float32) and give --dtype"
    raise AttnError(f"holds numbers of type {array.dtype}", where=where, hint=hint)


@dataclass(frozen=True)
class _ZipEntry(ArchiveEntry):
    """An array in an `.npz` archive, and its unpacked size according to the archive."""

    unpacked_size: int

    @property
    def size_in_memory(self) -> int:
        """The bytes that are allocated when it is read."""
        return self.unpacked_size

    @property
    def description(self) -> ArrayDescription:
        """The description of the array, by its header."""
        with self._archive() as archive, archive.open(self._member) as stream:
            shape, _, dtype = read_header(stream, self.where)
        byte_count(shape, dtype, self.where)
        return ArrayDescription(self.name, shape, dtype.name)

    def read(self, index: Index = WHOLE) -> Any:
        """The array or its slice (words as text), after checking the sizes in its header and in the archive."""
        limit = self.source.limit
        with self._archive() as archive:
            method = archive.getinfo(self._member).compress_type
            if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may unpack to any size
                raise AttnError(f"is compressed by method {method}", where=self.where, hint="save it with numpy.savez")
            with archive.open(self._member) as stream:
                shape, is_fortran, dtype = read_header(stream, self.where)
                size = byte_count(shape, dtype, self.where)
                limit.check(max(size, self.unpacked_size), self.where)
                raw = read_stream(stream, self.where, limit)  # to its end, to compare the checksum
        check_length(size, len(raw), self.where)
        array = np.frombuffer(raw, dtype, math.prod(shape)).reshape(shape, order="F" if is_fortran else "C")
        part = take(array, index, self.where)
        return part.tolist() if dtype.kind == "U" else to_labelled(part, self.where, limit)

    @property
    def _member(self) -> str:
        """Its name in the archive."""
        return f"{self.name}{NPY}"

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        """The archive; every kind of damage is an AttnError."""
        with self.source.open() as file, opening(self.where), _unpacking(self.where), zipfile.ZipFile(file) as archive:
            yield archive


def _entries(source: Input) -> Mapping[str, ArchiveEntry]:
    """The entries of an archive."""
    is_no_archive = _unpacking(source.name, "is not an .npz archive")
    with source.open() as file, opening(source.name), is_no_archive, zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(NPY)]
    entries = [_ZipEntry(source, member.filename.removesuffix(NPY), member.file_size) for member in members]
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise AttnError(f"has two entries named {first_duplicate(names)!r}", where=source.name)
    return dict(zip(names, entries, strict=True))


@contextmanager
def _unpacking(where: str, message: str = "") -> Iterator[None]:
    """Turn every error of Python's libraries about a damaged archive into AttnError."""
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
        ValueError,  # an impossible offset or name
        LookupError,
        OverflowError,
    ) as error:
        reason = one_line(str(error)) or type(error).__name__
        raise AttnError(message or f"can't be unpacked ({reason})", where=where) from None


NPY_READER = _NpyReader()
NPZ_READER = ArchiveReader(_entries)


def write_npy(stream: IO[bytes], array: Array) -> None:
    """Write one array, without a name; also to a pipe, which has no position for `np.save`."""
    array = np.asarray(array, order="C")
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    stream.write(array.data)


def write_npz(stream: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write an archive of the arrays under their names."""
    np.savez(stream, **arrays)  # type: ignore[arg-type] # by its stub a name might be allow_pickle


class NpyTarget:
    """Allocates the first result in an `.npy` file, and every other one in memory.

    `is_used` is true after that.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.is_used = False

    def allocate(self, _name: str, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Array:
        """An uninitialized array of that shape and type: in the file, unless that is already used or can't be read.

        Raises OSError if the disk is full.
        """
        if self.is_used or not self.stream.readable():  # a pipe can't be mapped
            return np.empty(shape, dtype)
        np.lib.format.write_array_header_1_0(self.stream, {"descr": dtype.str, "fortran_order": False, "shape": shape})
        self.stream.flush()
        size = self.stream.tell() + math.prod(shape) * dtype.itemsize
        os.posix_fallocate(self.stream.fileno(), 0, size)  # a full disk raises here, not in the middle of the work
        self.is_used = True
        return np.memmap(self.stream, dtype, "r+", self.stream.tell(), shape)

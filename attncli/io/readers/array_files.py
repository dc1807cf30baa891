"""Arrays in `.npy`, `.npz` and `.safetensors` files: headers are checked first, and pickled objects are refused."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from attncli.base.dtypes import BFLOAT16
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import one_line
from attncli.io.inputs import Input, SizeLimit, opening, read_stream
from attncli.problem.convert.arrays import LabelledArray
from attncli.problem.spec import FIELDS

NPY = ".npy"
_MAX_HEADER_SIZE = 10**8  # bytes; the library of .safetensors files refuses longer headers
INSTALL = "pip install 'attncli[safetensors]'"

# The types of a .safetensors file, as NumPy reads their bytes.
_TYPES = {
    "BOOL": "?",
    **{f"{sign}{8 * size}": f"<{sign.lower()}{size}" for sign in "IU" for size in (1, 2, 4, 8)},
    "F16": "<f2",
    "BF16": "<u2",
    "F32": "<f4",
    "F64": "<f8",
}


def read_npy(source: Input, entry: str) -> LabelledArray:
    """The array in an `.npy` file; raises AttnError where its header is damaged, or has a size beyond the file."""
    if entry:
        raise AttnError(f"has one array and no entries, so #{entry} names nothing", where=source.name)
    return _convert(_npy(source), source.name, source.limit)


def read_npz(source: Input, entry: str) -> LabelledArray:
    """The array in an archive: its only one, or the entry of that name; raises AttnError where it is damaged."""
    return _read_entry(_npz(source), source, entry)


def read_safetensors(source: Input, entry: str) -> LabelledArray:
    """The tensor in a file: its only one, or that of that name; of the others only the header is read."""
    return _read_entry(_safetensors(source), source, entry)


def read_npz_problem(source: Input) -> tuple[Mapping[str, Any], Mapping[int, int]]:
    """The entries of an archive as values of a problem; there are no lines."""
    return _read_problem(_npz(source), source)


def read_safetensors_problem(source: Input) -> tuple[Mapping[str, Any], Mapping[int, int]]:
    """The tensors of a file as values of a problem; there are no lines."""
    return _read_problem(_safetensors(source), source)


def _read_entry(entries: "Mapping[str, _ZipEntry | _Tensor]", source: Input, entry: str) -> LabelledArray:
    """The array of one entry."""
    if not entry and len(entries) != 1:
        hint = f"name one: {source.path.name or source.name}#{next(iter(entries))}" if entries else "expected one array"
        raise AttnError(f"has {len(entries)} entries", where=source.name, hint=hint)
    name = entry or next(iter(entries))
    if name not in entries:
        raise UnknownNameError("entry", name, entries, where=source.name)
    array = entries[name].read()
    if not isinstance(array, LabelledArray):
        raise AttnError("holds words", where=f"{source.name}#{name}", hint="expected numbers")
    return array


def _read_problem(
    entries: "Mapping[str, _ZipEntry | _Tensor]", source: Input
) -> tuple[Mapping[str, Any], Mapping[int, int]]:
    """The values of the entries; raises AttnError where none has a field's name, before any of them is read."""
    if entries and not set(entries) & set(FIELDS):  # a model's checkpoint, for example
        hint = f"name the entry where it belongs, as in --w-q '{source.name}#{next(iter(entries))}'"
        raise AttnError("has no entry with the name of a key", where=source.name, hint=hint)
    source.limit.check(sum(entry.size_in_memory for entry in entries.values()), source.name)
    values = {key: entry.read() for key, entry in entries.items()}
    return {key: _plain_value(value, FIELDS[key].kind if key in FIELDS else "") for key, value in values.items()}, {}


def _plain_value(value: Any, kind: str) -> Any:
    """An entry in the type of its field: one number, labels and windows as Python's numbers, other arrays unchanged."""
    if not isinstance(value, LabelledArray) or (value.array.ndim and kind not in ("labels", "window")):
        return value
    plain = value.array.tolist()
    return [int(x) if float(x).is_integer() else x for x in plain] if isinstance(plain, list) else plain


@dataclass(frozen=True)
class _ZipEntry:
    """An array in an `.npz` file: its member's name, and the bytes that the member promises to unpack to."""

    source: Input
    name: str
    size_in_memory: int

    def read(self) -> Any:
        """The array (words as text), once the sizes in its header and in the archive have been checked."""
        import zipfile  # noqa: PLC0415 - most problems have no archive

        where = f"{self.source.name}#{self.name.removesuffix(NPY)}"
        with self.source.open() as file, opening(where), _unpacking(where), zipfile.ZipFile(file) as archive:
            method = archive.getinfo(self.name).compress_type
            if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others may unpack to any size at once
                raise AttnError(f"is compressed by method {method}", where=where, hint="save it with numpy.savez")
            with archive.open(self.name) as stream:
                shape, is_fortran, dtype = _header(stream, where)
                size = _byte_count(shape, dtype, where)
                self.source.limit.check(max(size, self.size_in_memory), where)
                raw = read_stream(stream, where, self.source.limit)  # to its end, where the checksum is compared
        _check_size(size, len(raw), where)
        array = np.frombuffer(raw, dtype, math.prod(shape)).reshape(shape, order="F" if is_fortran else "C")
        return array.tolist() if dtype.kind == "U" else _convert(array, where, self.source.limit)


def _npz(source: Input) -> dict[str, _ZipEntry]:
    """The entries of an archive."""
    import zipfile  # noqa: PLC0415 - most problems have no archive

    is_no_archive = _unpacking(source.name, "is no .npz archive")
    with source.open() as file, opening(source.name), is_no_archive, zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(NPY)]
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


@dataclass(frozen=True)
class _Tensor:
    """An array in a `.safetensors` file: where its bytes are."""

    source: Input
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size_in_memory(self) -> int:
        """The bytes that are allocated when it is read; a floating type of NumPy's stays in the file."""
        if self.dtype == "BF16":
            return 4 * math.prod(self.shape)
        return 0 if self.dtype.startswith("F") or self.dtype == "BOOL" else 8 * math.prod(self.shape)

    def read(self) -> LabelledArray:
        """The array, mapped from the file."""
        where = f"{self.source.name}#{self.name}"
        if self.dtype not in _TYPES:
            raise AttnError(f"holds numbers of type {self.dtype}", where=where, hint=f"expected {', '.join(_TYPES)}")
        array = _map_array(self.source, np.dtype(_TYPES[self.dtype]), self.shape, self.offset)
        if self.dtype == "BF16":
            self.source.limit.check(4 * array.size, where)
            return LabelledArray((array.astype(np.uint32) << 16).view(np.float32), dtype=BFLOAT16)
        return _convert(array, where, self.source.limit)


def _safetensors(source: Input) -> dict[str, _Tensor]:
    """The tensors of a file; its own library checks the header against the size of the file."""
    try:
        from safetensors import SafetensorError, deserialize, safe_open  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise AttnError("needs the package safetensors", where=source.name, hint=f"install it: {INSTALL}") from None
    try:
        with source.open() as stream, opening(source.name):
            length = int.from_bytes(stream.read(8), "little")
            header = stream.read(length) if length <= _MAX_HEADER_SIZE else b""
        if source.content is not None:
            deserialize(source.content)  # type: ignore[no-untyped-call] # the package has no types
        else:
            with safe_open(source.path, "np"):
                pass
        begin = 8 + length
        return {
            name: _Tensor(source, name, entry["dtype"], tuple(entry["shape"]), begin + entry["data_offsets"][0])
            for name, entry in json.loads(header).items()
            if name != "__metadata__"
        }
    except SafetensorError as error:
        raise AttnError(f"is no sound .safetensors file ({error})", where=source.name) from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # another program has written to it meanwhile
        raise AttnError("is no sound .safetensors file", where=source.name) from None


def _npy(source: Input) -> Array:
    """The array of an `.npy` file, mapped into memory."""
    with source.open() as stream, opening(source.name):
        shape, is_fortran, dtype = _header(stream, source.name)
        offset = stream.tell()
        size = stream.seek(0, os.SEEK_END)
    _check_size(_byte_count(shape, dtype, source.name), size - offset, source.name)
    return _map_array(source, dtype, shape, offset, "F" if is_fortran else "C")


def _map_array(source: Input, dtype: Any, shape: tuple[int, ...], offset: int, order: Any = "C") -> Array:
    """An array that is mapped from its file, and read where it is used; that of a stream is a view of its bytes.

    A file that another program makes shorter before it is mapped is an error. One that is made shorter afterwards ends
    the process with SIGBUS, which no program can mend, as with every mapped file: to copy the file first would cost
    its size in memory, and results are written beside their file and renamed, so that none is left half written.
    """
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    if source.content is not None:
        return np.frombuffer(source.content, dtype, math.prod(shape), offset).reshape(shape, order=order)
    try:
        with opening(source.name, source.path):
            mapped = np.memmap(source.path, dtype=dtype, mode="r", offset=offset, shape=shape or (1,), order=order)
    except ValueError:
        raise AttnError("became shorter while it was read", where=source.name) from None
    return np.asarray(mapped).reshape(shape, order=order)


def _header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, order and type in the header of an array; raises AttnError where the header is damaged."""
    from tokenize import TokenError  # noqa: PLC0415 - a damaged header may raise it

    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(stream)
        shape, is_fortran, dtype = headers[version](stream)
    except (ValueError, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError):
        raise AttnError("is no sound .npy file", where=where) from None
    if dtype.hasobject:
        hint = "save numbers, not Python objects"
        raise AttnError("holds pickled objects, which could run any program", where=where, hint=hint)
    return shape, is_fortran, dtype


def _byte_count(shape: tuple[int, ...], dtype: Any, where: str) -> int:
    """The number of bytes of the array that a header describes."""
    if any(length < 0 for length in shape):
        raise AttnError("is no sound .npy file", where=where)
    return math.prod(shape) * int(dtype.itemsize)


def _check_size(expected: int, actual: int, where: str) -> None:
    """Raise AttnError where a file holds fewer bytes than its header describes."""
    if expected > actual:
        raise AttnError(f"promises {expected} bytes of numbers and holds {actual}", where=where, hint="it was cut off")


def _convert(array: Array, where: str, limit: SizeLimit) -> LabelledArray:
    """An array of a problem: booleans and floating types unchanged, integers as float64."""
    match array.dtype.kind:
        case "b":
            return LabelledArray(array)
        case "i" | "u":
            limit.check(8 * array.size, where)
            return LabelledArray(array.astype(np.float64))
        case "f":
            native = array.astype(array.dtype.newbyteorder("="), copy=False)
            return LabelledArray(native, dtype=native.dtype.name)
    raise AttnError(f"holds numbers of type {array.dtype}", where=where, hint="expected real numbers")

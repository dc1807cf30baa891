"""Arrays in `.npy`, `.npz` and `.safetensors` files: headers are checked first, and pickled objects are refused."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from attncli.base.dtypes import BFLOAT16
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.io.origin import opening
from attncli.problem.convert.arrays import LabelledArray
from attncli.problem.spec import FIELDS

NPY, NPZ, SAFETENSORS = ".npy", ".npz", ".safetensors"
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


def read(path: Path, entry: str) -> LabelledArray:
    """The array in a file: its only one, or the entry of that name; of the other entries only headers are read.

    Raises AttnError where the file does not have the format of its suffix, or its header has a size beyond the file or
    the memory.
    """
    where = str(path)
    with opening(where):
        if path.suffix.lower() == NPY:
            if entry:
                raise AttnError(f"has one array and no entries, so #{entry} names nothing", where=where)
            return _convert(_npy(path, where), where)
        entries = _entries(path)
        if not entry and len(entries) != 1:
            hint = f"name one: {path.name}#{next(iter(entries))}" if entries else "expected one array"
            raise AttnError(f"has {len(entries)} entries", where=where, hint=hint)
        name = entry or next(iter(entries))
        if name not in entries:
            raise UnknownNameError("entry", name, entries, where=where)
        array = entries[name].read()
        if not isinstance(array, LabelledArray):
            raise AttnError("holds words", where=f"{where}#{name}", hint="expected numbers")
        return array


def read_problem(path: Path, name: str) -> tuple[Mapping[str, Any], Mapping[int, int]]:
    """The entries of an `.npz` or `.safetensors` file as values of a problem; there are no lines.

    Raises AttnError where no entry has the name of a field, before any of them is read.
    """
    with opening(name):
        entries = _entries(path)
        if entries and not set(entries) & set(FIELDS):  # a model's checkpoint, for example
            hint = f"name the entry where it belongs, as in --w-q '{name}#{next(iter(entries))}'"
            raise AttnError("has no entry with the name of a key", where=name, hint=hint)
        values = {key: entry.read() for key, entry in entries.items()}
    return {key: _plain_value(value, FIELDS[key].kind if key in FIELDS else "") for key, value in values.items()}, {}


def _plain_value(value: Any, kind: str) -> Any:
    """An entry in the type of its field: one number, labels and windows as Python's numbers, other arrays unchanged."""
    if not isinstance(value, LabelledArray) or (value.array.ndim and kind not in ("labels", "window")):
        return value
    plain = value.array.tolist()
    return [int(x) if float(x).is_integer() else x for x in plain] if isinstance(plain, list) else plain


def _entries(path: Path) -> "Mapping[str, _ZipEntry | _Tensor]":
    """The entries of an `.npz` or `.safetensors` file by their names, none of which is read."""
    return _npz(path) if path.suffix.lower() == NPZ else _safetensors(path)


@dataclass(frozen=True)
class _ZipEntry:
    """An array in an `.npz` file."""

    path: Path
    name: str

    def read(self) -> Any:
        """The array (words as text), once its header has been checked against the archive and the memory."""
        import zipfile  # noqa: PLC0415 - most problems have no archive

        where = f"{self.path}#{self.name.removesuffix(NPY)}"
        with zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(self.name)
            try:
                with archive.open(info) as stream:
                    shape, is_fortran, dtype = _header(stream, where)
                    size = _byte_count(shape, dtype, where)
                    _check_memory(size, where)
                    raw = stream.read(size) if info.file_size >= size else b""
            except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
                raise AttnError(f"can't be unpacked ({error})", where=where) from None
        _check_size(size, len(raw), where)
        array = np.frombuffer(raw, dtype=dtype).reshape(shape, order="F" if is_fortran else "C")
        return array.tolist() if dtype.kind == "U" else _convert(array, where)


def _npz(path: Path) -> dict[str, _ZipEntry]:
    """The entries of an archive."""
    import zipfile  # noqa: PLC0415 - most problems have no archive

    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(NPY)]
    except zipfile.BadZipFile:
        raise AttnError("is no .npz archive", where=str(path)) from None
    return {name.removesuffix(NPY): _ZipEntry(path, name) for name in names}


@dataclass(frozen=True)
class _Tensor:
    """An array in a `.safetensors` file: where its bytes are."""

    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    def read(self) -> LabelledArray:
        """The array, mapped from the file."""
        where = f"{self.path}#{self.name}"
        if self.dtype not in _TYPES:
            raise AttnError(f"holds numbers of type {self.dtype}", where=where, hint=f"expected {', '.join(_TYPES)}")
        array = _memory_map(self.path, np.dtype(_TYPES[self.dtype]), self.shape, self.offset)
        if self.dtype == "BF16":
            _check_memory(4 * array.size, where)
            return LabelledArray((array.astype(np.uint32) << 16).view(np.float32), dtype=BFLOAT16)
        return _convert(array, where)


def _safetensors(path: Path) -> dict[str, _Tensor]:
    """The tensors of a file; its own library checks the header against the size of the file."""
    try:
        from safetensors import SafetensorError, safe_open  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise AttnError("needs the package safetensors", where=str(path), hint=f"install it: {INSTALL}") from None
    try:
        with safe_open(path, "np") as archive:
            names = list(archive.keys())
    except SafetensorError as error:
        raise AttnError(f"is no sound .safetensors file ({error})", where=str(path)) from None
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
    return {
        name: _Tensor(
            path,
            name,
            header[name]["dtype"],
            tuple(header[name]["shape"]),
            8 + length + header[name]["data_offsets"][0],
        )
        for name in names
    }


def _npy(path: Path, where: str) -> Array:
    """The array of an `.npy` file, mapped into memory."""
    with path.open("rb") as stream:
        shape, is_fortran, dtype = _header(stream, where)
        offset = stream.tell()
        _check_size(_byte_count(shape, dtype, where), os.fstat(stream.fileno()).st_size - offset, where)
    return _memory_map(path, dtype, shape, offset, "F" if is_fortran else "C")


def _memory_map(path: Path, dtype: Any, shape: tuple[int, ...], offset: int, order: Any = "C") -> Array:
    """An array that is mapped into memory: it is read where it is used."""
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape or (1,), order=order)).reshape(
        shape, order=order
    )


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


def _check_memory(size: int, where: str) -> None:
    """Raise AttnError where an array is larger than this machine's memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**63
    if size > memory:
        raise AttnError(f"wants {size} bytes for its numbers, more than this machine's memory", where=where)


def _convert(array: Array, where: str) -> LabelledArray:
    """An array of a problem: booleans and floating types unchanged, integers as float64."""
    match array.dtype.kind:
        case "b":
            return LabelledArray(array)
        case "i" | "u":
            _check_memory(8 * array.size, where)
            return LabelledArray(array.astype(np.float64))
        case "f":
            native = array.astype(array.dtype.newbyteorder("="), copy=False)
            return LabelledArray(native, dtype=native.dtype.name)
    raise AttnError(f"holds numbers of type {array.dtype}", where=where, hint="expected real numbers")

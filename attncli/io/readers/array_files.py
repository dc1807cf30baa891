"""Numbers in `.npy`, `.npz` and `.safetensors` files: headers are read and checked first, and nothing is unpickled."""

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

NPY, NPZ, SAFETENSORS = ".npy", ".npz", ".safetensors"
SUFFIXES = (NPY, NPZ, SAFETENSORS)
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


@dataclass(frozen=True)
class Typed:
    """Numbers, and the name of the floating type they were stored in (None for whole numbers and booleans)."""

    array: Array
    dtype: str | None


def read(path: Path, entry: str) -> Typed:
    """The array in a file: its only one, or the entry named; of the others nothing but headers is read.

    Raises AttnError where the file is not what its suffix says, or promises more than it holds or memory has.
    """
    where = str(path)
    with opening(where):
        if path.suffix.lower() == NPY:
            if entry:
                raise AttnError(f"has one array and no entries, so #{entry} names nothing", where=where)
            return _typed(_npy(path, where), where)
        found = _npz(path) if path.suffix.lower() == NPZ else _safetensors(path)
        if not entry and len(found) != 1:
            hint = f"name one: {path.name}#{next(iter(found))}" if found else "expected one array"
            raise AttnError(f"has {len(found)} entries", where=where, hint=hint)
        name = entry or next(iter(found))
        if name not in found:
            raise UnknownNameError("entry", name, found, where=where)
        read = found[name].read()
        if not isinstance(read, Typed):
            raise AttnError("holds words", where=f"{where}#{name}", hint="expected numbers")
        return read


def names(path: Path) -> list[str]:
    """The names of the entries of an `.npz` or `.safetensors` file, none of which is read."""
    with opening(str(path)):
        return list(_npz(path) if path.suffix.lower() == NPZ else _safetensors(path))


def entries(path: Path) -> Mapping[str, Any]:
    """Every entry of an `.npz` or `.safetensors` file by its name: numbers as `Typed`, words as text."""
    with opening(str(path)):
        found = _npz(path) if path.suffix.lower() == NPZ else _safetensors(path)
        return {name: entry.read() for name, entry in found.items()}


@dataclass(frozen=True)
class _ZipEntry:
    """An array in an `.npz` file."""

    path: Path
    name: str

    def read(self) -> Any:
        """The array (words as text), once its header has been checked against what the archive and memory hold."""
        import zipfile  # noqa: PLC0415 - most problems have no archive

        where = f"{self.path}#{self.name.removesuffix(NPY)}"
        with zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(self.name)
            try:
                with archive.open(info) as stream:
                    shape, fortran, dtype = _header(stream, where)
                    size = _promised(shape, dtype, where)
                    _affordable(size, where)
                    raw = stream.read(size) if info.file_size >= size else b""
            except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
                raise AttnError(f"can't be unpacked ({error})", where=where) from None
        _held(size, len(raw), where)
        array = np.frombuffer(raw, dtype=dtype).reshape(shape, order="F" if fortran else "C")
        return array.tolist() if dtype.kind == "U" else _typed(array, where)


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

    def read(self) -> Typed:
        """The array, mapped from the file."""
        where = f"{self.path}#{self.name}"
        if self.dtype not in _TYPES:
            raise AttnError(f"holds numbers of type {self.dtype}", where=where, hint=f"expected {', '.join(_TYPES)}")
        array = _mapped(self.path, np.dtype(_TYPES[self.dtype]), self.shape, self.offset)
        if self.dtype == "BF16":
            _affordable(4 * array.size, where)
            return Typed((array.astype(np.uint32) << 16).view(np.float32), BFLOAT16)
        return _typed(array, where)


def _safetensors(path: Path) -> dict[str, _Tensor]:
    """The tensors of a file; its own library has checked the header against what the file holds."""
    try:
        from safetensors import SafetensorError, safe_open  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise AttnError("needs the package safetensors", where=str(path), hint=f"install it: {INSTALL}") from None
    try:
        with safe_open(path, "np") as checked:
            names = list(checked.keys())
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
        shape, fortran, dtype = _header(stream, where)
        offset = stream.tell()
        _held(_promised(shape, dtype, where), os.fstat(stream.fileno()).st_size - offset, where)
    return _mapped(path, dtype, shape, offset, "F" if fortran else "C")


def _mapped(path: Path, dtype: Any, shape: tuple[int, ...], offset: int, order: Any = "C") -> Array:
    """Numbers that stay in the file until they are used."""
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape or (1,), order=order)).reshape(
        shape, order=order
    )


def _header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, order and type as the header of an array says them; raises AttnError where it says nonsense."""
    from tokenize import TokenError  # noqa: PLC0415 - what a header of nonsense may raise

    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(stream)
        shape, fortran, dtype = headers[version](stream)
    except (ValueError, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError):
        raise AttnError("is no sound .npy file", where=where) from None
    if dtype.hasobject:
        hint = "save numbers, not Python objects"
        raise AttnError("holds pickled objects, which could run any program", where=where, hint=hint)
    return shape, fortran, dtype


def _promised(shape: tuple[int, ...], dtype: Any, where: str) -> int:
    """How many bytes a header promises."""
    if any(length < 0 for length in shape):
        raise AttnError("is no sound .npy file", where=where)
    return math.prod(shape) * int(dtype.itemsize)


def _held(promised: int, held: int, where: str) -> None:
    if promised > held:
        raise AttnError(f"promises {promised} bytes of numbers and holds {held}", where=where, hint="it was cut off")


def _affordable(size: int, where: str) -> None:
    """Refuse what this machine's memory can't take."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**63
    if size > memory:
        raise AttnError(f"wants {size} bytes for its numbers, more than this machine's memory", where=where)


def _typed(array: Array, where: str) -> Typed:
    """Numbers as the problem takes them: booleans and floating types as they are, whole numbers as float64."""
    match array.dtype.kind:
        case "b":
            return Typed(array, None)
        case "i" | "u":
            _affordable(8 * array.size, where)
            return Typed(array.astype(np.float64), None)
        case "f":
            native = array.astype(array.dtype.newbyteorder("="), copy=False)
            return Typed(native, native.dtype.name)
    raise AttnError(f"holds numbers of type {array.dtype}", where=where, hint="expected real numbers")

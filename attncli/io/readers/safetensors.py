"""Tensors in `.safetensors` files, mapped into memory; their own library checks the header."""

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import BFLOAT16
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.io.inputs import Input
from attncli.io.paths import opening
from attncli.io.readers.descriptions import ArrayDescription
from attncli.io.readers.entries import Entry, read_entries, read_entry
from attncli.io.readers.float8 import FLOAT8, numbers_of
from attncli.io.readers.npy import byte_count, map_array, to_labelled
from attncli.io.readers.slices import WHOLE, Index, split_entry, take
from attncli.problem.arrays import EncodedArray, LabelledArray

INSTALL = "pip install 'attncli[safetensors]'"
_POINTER = b"version https://git-lfs"  # how a file begins in whose place Git LFS has another
_MAX_HEADER_SIZE = 10**8  # bytes; the library refuses longer headers

# The types of a .safetensors file, as NumPy reads their bytes.
_TYPES = {
    "BOOL": "?",
    **{f"{sign}{8 * size}": f"<{sign.lower()}{size}" for sign in "IU" for size in (1, 2, 4, 8)},
    **dict.fromkeys(FLOAT8, "<u1"),
    "F16": "<f2",
    "BF16": "<u2",
    "F32": "<f4",
    "F64": "<f8",
}


def read_safetensors(source: Input, entry: str) -> LabelledArray:
    """The tensor in a file: its only one, or that of that name; of the others only the header is read."""
    return read_entry(_safetensors(source), source, entry)


def open_safetensors(source: Input, entry: str) -> EncodedArray | LabelledArray:
    """The same tensor as the file has it, where that is not as NumPy has it, so that rows can be read alone."""
    tensors = _safetensors(source)
    name, index = split_entry(entry, tensors, source.name)
    tensor = tensors.get(name) if name or len(tensors) != 1 else next(iter(tensors.values()))
    return read_entry(tensors, source, entry) if tensor is None else tensor.open(index)


def read_safetensors_problem(source: Input) -> tuple[Mapping[str, Any], Mapping[int, int]]:
    """The tensors of a file as values of a problem; there are no lines."""
    return read_entries(_safetensors(source), source)


def safetensors_entries(source: Input) -> Mapping[str, Entry]:
    """The tensors of a file, none of which is read yet."""
    return _safetensors(source)


def list_safetensors(source: Input) -> list[ArrayDescription]:
    """The description of each tensor, by the header."""
    return [ArrayDescription(name, tensor.shape, tensor.dtype) for name, tensor in _safetensors(source).items()]


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
        if self.dtype in _DECODED:
            return 4 * math.prod(self.shape)
        return 0 if self.dtype.startswith("F") or self.dtype == "BOOL" else 8 * math.prod(self.shape)

    def read(self, index: Index = WHOLE) -> LabelledArray:
        """The array or its part, mapped from the file."""
        found = self.open(index)
        if isinstance(found, LabelledArray):
            return found
        self.source.limit.check(4 * found.stored.size, self._where)
        return LabelledArray(found.decode(found.stored), dtype=found.dtype)

    def open(self, index: Index = WHOLE) -> EncodedArray | LabelledArray:
        """The array or its part, mapped from the file, and not decoded."""
        where = self._where
        if self.dtype not in _TYPES:
            raise AttnError(f"holds numbers of type {self.dtype}", where=where, hint=f"expected {', '.join(_TYPES)}")
        dtype = np.dtype(_TYPES[self.dtype])
        byte_count(self.shape, dtype, where)
        array = take(map_array(self.source, dtype, self.shape, self.offset), index, where)
        if self.dtype in _DECODED:
            return EncodedArray(array, _DECODED[self.dtype], BFLOAT16 if self.dtype == "BF16" else None)
        return to_labelled(array, where, self.source.limit)

    @property
    def _where(self) -> str:
        """The file and the entry, as an error names them."""
        return f"{self.source.name}#{self.name}"


def _decode_bfloat16(stored: Array) -> Array:
    """The numbers whose first 16 bits are stored, in float32."""
    return (stored.astype(np.uint32) << 16).view(np.float32)


def _decode_float8(name: str, stored: Array) -> Array:
    """The numbers of codes of 8 bits, in float32."""
    numbers: Array = numbers_of(name)[stored]
    return numbers


# The types that NumPy does not have: what makes numbers in float32 of what is stored.
_DECODED: Mapping[str, Callable[[Array], Array]] = {
    "BF16": _decode_bfloat16,
    **{name: partial(_decode_float8, name) for name in FLOAT8},
}


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
            check: Callable[[bytes], object] = deserialize  # the package does not say its type
            check(source.content)
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
        if source.head().startswith(_POINTER):
            hint = "git lfs pull fetches it"
            raise AttnError("is a pointer of Git LFS, without the tensors", where=source.name, hint=hint) from None
        raise AttnError(f"is no sound .safetensors file ({error})", where=source.name) from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # another program has written to it meanwhile
        raise AttnError("is no sound .safetensors file", where=source.name) from None

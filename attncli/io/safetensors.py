"""Tensors in `.safetensors` files: mapped into memory, and written; the library safetensors checks the header."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import IO, Any

from attncli.base.dtypes import BFLOAT16, FLOAT8, Precision, float8_numbers
from attncli.base.errors import AttnError, missing_package
from attncli.base.lazy_numpy import Array, np
from attncli.io.captures import Capture, capture_of, problem_of
from attncli.io.entries import WHOLE, ArchiveEntry, ArchiveReader, Index, take
from attncli.io.formats import ArrayDescription, Lines
from attncli.io.inputs import Input
from attncli.io.npy import byte_count, map_array, to_labelled
from attncli.io.paths import opening
from attncli.problem.arrays import EncodedArray, GivenArray

_POINTER = b"version https://git-lfs"  # the beginning of a Git LFS pointer
_METADATA = "__metadata__"  # the header's entry that is not a tensor
_MAX_HEADER_SIZE = 10**8  # bytes; the library refuses longer headers
# The 8-bit types for computing, by their names in a file; only scales have another one.
FLOAT8_NAMES = {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}

# The types of a .safetensors file, with NumPy's types for their bytes.
_TYPES = {
    "BOOL": "?",
    **{f"{sign}{8 * size}": f"<{sign.lower()}{size}" for sign in "IU" for size in (1, 2, 4, 8)},
    **dict.fromkeys((*FLOAT8_NAMES, "F8_E8M0"), "<u1"),
    "F16": "<f2",
    "BF16": "<u2",
    "F32": "<f4",
    "F64": "<f8",
}


class _SafetensorsReader(ArchiveReader):
    """Reads tensors of a file; for others only the header is read."""

    def rows(self, source: Input, entry: str) -> EncodedArray | GivenArray:
        """A tensor, encoded if NumPy lacks its type, so that single rows can be read."""
        found, index = self.find(source, entry)
        return found.open(index) if isinstance(found, _Tensor) else self.array(source, entry)

    def metadata(self, source: Input) -> Mapping[str, str]:
        """The texts in the header next to the tensors."""
        return _header(source)[0]

    def problem(self, source: Input) -> tuple[Mapping[str, Any], Lines]:
        """The values of the entries, or for a capture its layers as parts."""
        capture = capture_of(self.metadata(source), source.name)
        return super().problem(source) if capture is None else (problem_of(capture, source), {})


@dataclass(frozen=True)
class _Tensor(ArchiveEntry):
    """An array in a `.safetensors` file: the position of its bytes."""

    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size_in_memory(self) -> int:
        """The bytes that are allocated when it is read; NumPy's floating types stay in the file."""
        if self.dtype in _DECODED:
            return 4 * math.prod(self.shape)
        return 0 if self.dtype.startswith("F") or self.dtype == "BOOL" else 8 * math.prod(self.shape)

    @property
    def description(self) -> ArrayDescription:
        """The description of the tensor, by the header."""
        return ArrayDescription(self.name, self.shape, self.dtype)

    def read(self, index: Index = WHOLE) -> GivenArray:
        """The array or its slice, mapped from the file."""
        found = self.open(index)
        if isinstance(found, GivenArray):
            return found
        self.source.limit.check(4 * found.stored.size, self.where)
        return GivenArray(found.decode(found.stored), dtype=found.dtype)

    def open(self, index: Index = WHOLE) -> EncodedArray | GivenArray:
        """The array or its slice, mapped from the file, not decoded."""
        where = self.where
        if self.dtype not in _TYPES:
            raise AttnError(f"holds numbers of type {self.dtype}", where=where, hint=f"expected {', '.join(_TYPES)}")
        dtype = np.dtype(_TYPES[self.dtype])
        byte_count(self.shape, dtype, where)
        array = take(map_array(self.source, dtype, self.shape, self.offset), index, where)
        if self.dtype in _DECODED:
            own = {"BF16": BFLOAT16, **FLOAT8_NAMES}.get(self.dtype)
            return EncodedArray(array, _DECODED[self.dtype], own)
        return to_labelled(array, where, self.source.limit)


@cache
def numbers_of(name: str) -> Array:
    """The number of each code of an 8-bit type, [256] in float32; E8M0 has powers of two.

    Source: OCP Microscaling Formats 1.0, §5.4.1.

    >>> numbers_of("F8_E8M0")[128].item()
    2.0
    """
    if name in FLOAT8_NAMES:
        return float8_numbers(FLOAT8_NAMES[name])
    codes = np.arange(2**8)  # from 2⁻¹²⁷; the last code is NaN
    return np.asarray(np.where(codes == 2**8 - 1, np.nan, np.ldexp(1.0, codes - 127)), np.float32)


def _decode_bfloat16(stored: Array) -> Array:
    """The numbers, in float32, whose first 16 bits are stored."""
    return (stored.astype(np.uint32) << 16).view(np.float32)


def _decode_float8(name: str, stored: Array) -> Array:
    """The numbers of 8-bit codes, in float32."""
    numbers: Array = numbers_of(name)[stored]
    return numbers


# The types that NumPy lacks, with decoders to float32.
_DECODED: Mapping[str, Callable[[Array], Array]] = {
    "BF16": _decode_bfloat16,
    **{name: partial(_decode_float8, name) for name in (*FLOAT8_NAMES, "F8_E8M0")},
}


def _tensors(source: Input) -> Mapping[str, ArchiveEntry]:
    """The tensors of a file."""
    return _header(source)[1]


def _header(source: Input) -> tuple[Mapping[str, str], Mapping[str, ArchiveEntry]]:
    """The metadata and the tensors of a file; its own library checks the header against the size of the file."""
    try:
        from safetensors import SafetensorError, deserialize, safe_open  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise missing_package("safetensors", "safetensors", source.name) from None
    try:
        with source.open() as stream, opening(source.name):
            length = int.from_bytes(stream.read(8), "little")
            header = stream.read(length) if length <= _MAX_HEADER_SIZE else b""
        if source.content is not None:
            check: Callable[[bytes], object] = deserialize  # the package has no type hint
            check(source.content)
        else:
            with safe_open(source.path, "np"):
                pass
        begin = 8 + length
        entries = json.loads(header)
        metadata = entries.pop(_METADATA, {})
        return metadata, {
            name: _Tensor(source, name, entry["dtype"], tuple(entry["shape"]), begin + entry["data_offsets"][0])
            for name, entry in entries.items()
        }
    except SafetensorError as error:
        if source.head().startswith(_POINTER):
            hint = "git lfs pull fetches it"
            raise AttnError("is a pointer of Git LFS, without the tensors", where=source.name, hint=hint) from None
        raise AttnError(f"is not a valid .safetensors file ({error})", where=source.name) from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # another program wrote to it meanwhile
        raise AttnError("is not a valid .safetensors file", where=source.name) from None


READER = _SafetensorsReader(_tensors)


def _codes(numbers: Array, name: str) -> Array:
    """The codes of finite numbers of an 8-bit type, with the sign in the highest bit."""
    magnitudes = float8_numbers(name)[: 2**7]
    codes = np.searchsorted(magnitudes[np.isfinite(magnitudes)], abs(numbers))
    return np.asarray(codes + 2**7 * np.signbit(numbers)).astype(np.uint8)


def write_safetensors(stream: IO[bytes], arrays: Mapping[str, Array], precision: Precision) -> None:
    """Write the arrays as tensors under their names; bfloat16 and float8 numbers, held as float32, in their own type.

    Raises AttnError if the package safetensors is missing, or has no type for an array.
    """
    write_tensors(stream, {name: GivenArray(array, dtype=precision.name) for name, array in arrays.items()})


def write_capture(stream: IO[bytes], capture: Capture, tensors: Mapping[str, GivenArray]) -> None:
    """Write a capture and its layers' tensors, each in its own type; raises like `write_safetensors`."""
    write_tensors(stream, tensors, capture.metadata())


def write_tensors(stream: IO[bytes], arrays: Mapping[str, GivenArray], metadata: dict[str, str] | None = None) -> None:
    """Write tensors, each in its own type, and metadata; raises as `write_safetensors`."""
    try:
        from safetensors import TensorSpec, serialize  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise missing_package("safetensors", "safetensors") from None
    tensors, buffers = {}, []  # the library reads memory by address: the buffers must exist until then
    for name, given in arrays.items():
        array, dtype = given.array, given.array.dtype.name
        if array.dtype.kind == "f" and array.dtype.itemsize > 8:
            hint = "compute in --dtype float64, or write .npz"
            raise AttnError(f"safetensors has no type for {dtype}", hint=hint)
        buffer = np.ascontiguousarray(array).reshape(array.shape)
        if array.dtype.kind == "f" and given.dtype == BFLOAT16:
            dtype, buffer = BFLOAT16, np.asarray((buffer.view(np.uint32) >> 16).astype(np.uint16))
        elif array.dtype.kind == "f" and given.dtype in FLOAT8 and np.isfinite(buffer).all():
            dtype, buffer = given.dtype, _codes(buffer, given.dtype)
        buffers.append(buffer)
        tensors[name] = TensorSpec(dtype=dtype, shape=array.shape, data_ptr=buffer.ctypes.data, data_len=buffer.nbytes)
    stream.write(bytes(serialize(tensors, metadata)))

"""Arrays in `.npy` files: the header is checked first, numbers are mapped, and pickled objects are refused."""

import math
import os
import sys
from typing import IO, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.io.inputs import Input, SizeLimit
from attncli.io.paths import opening
from attncli.io.readers.descriptions import ArrayDescription
from attncli.io.readers.slices import split_entry, take
from attncli.problem.arrays import LabelledArray

NPY = ".npy"
MAX_AXES = 32  # of every version of NumPy


def read_npy(source: Input, entry: str) -> LabelledArray:
    """The array in an `.npy` file, or its part; raises AttnError where its header is damaged, or the file too short."""
    name, index = split_entry(entry, (), source.name)
    if name:
        raise AttnError(f"has one array and no entries, so #{name} names nothing", where=source.name)
    return to_labelled(take(_npy(source), index, source.name), source.name, source.limit)


def read_npy_array(source: Input) -> LabelledArray:
    """The array in an `.npy` file."""
    return read_npy(source, "")


def list_npy(source: Input) -> list[ArrayDescription]:
    """The description of the array, by its header; raises AttnError as `read_npy` does."""
    shape, _, dtype, _ = _checked_header(source)
    return [ArrayDescription("", shape, dtype.name)]


def _npy(source: Input) -> Array:
    """The array of an `.npy` file, mapped into memory."""
    shape, is_fortran, dtype, offset = _checked_header(source)
    return map_array(source, dtype, shape, offset, "F" if is_fortran else "C")


def _checked_header(source: Input) -> tuple[tuple[int, ...], bool, Any, int]:
    """Shape, order and type of an array whose numbers are all there, and where they begin."""
    with source.open() as stream, opening(source.name):
        shape, is_fortran, dtype = read_header(stream, source.name)
        offset = stream.tell()
        size = stream.seek(0, os.SEEK_END)
    check_length(byte_count(shape, dtype, source.name), size - offset, source.name)
    return shape, is_fortran, dtype, offset


def map_array(source: Input, dtype: Any, shape: tuple[int, ...], offset: int, order: Any = "C") -> Array:
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


def read_header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, Any]:
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


def byte_count(shape: tuple[int, ...], dtype: Any, where: str) -> int:
    """The number of bytes of the array that a header describes; raises AttnError for a shape that no array can have."""
    largest = math.prod(length for length in shape if length) * dtype.itemsize
    if len(shape) > MAX_AXES or not dtype.itemsize or not all(length >= 0 for length in shape) or largest > sys.maxsize:
        raise AttnError(f"has the shape {shape} of {dtype}, which no array can have", where=where)
    return math.prod(shape) * int(dtype.itemsize)


def check_length(expected: int, actual: int, where: str) -> None:
    """Raise AttnError where a file holds fewer bytes than its header describes."""
    if expected > actual:
        raise AttnError(f"promises {expected} bytes of numbers and holds {actual}", where=where, hint="it was cut off")


def to_labelled(array: Array, where: str, limit: SizeLimit) -> LabelledArray:
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

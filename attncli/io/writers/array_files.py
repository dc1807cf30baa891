"""Arrays as `.npy`, `.npz` and `.safetensors` files."""

from collections.abc import Mapping
from typing import IO

from attncli.base.dtypes import BFLOAT16, Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.io.readers.safetensors import INSTALL


def write_npy(stream: IO[bytes], array: Array) -> None:
    """Write one array, without a name; also to a pipe, whose position `np.save` would ask for."""
    array = np.asarray(array, order="C")
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    stream.write(array.data)


def write_npz(stream: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write an archive of the arrays under their names."""
    np.savez(stream, **arrays)  # type: ignore[arg-type] # by its stub a name might be allow_pickle


def write_safetensors(stream: IO[bytes], arrays: Mapping[str, Array], precision: Precision) -> None:
    """Write the arrays as tensors under their names; those computed in bfloat16, held as float32, become bfloat16.

    Raises AttnError where the package safetensors is missing, or has no type for an array.
    """
    try:
        from safetensors import TensorSpec, serialize  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise AttnError("needs the package safetensors", hint=f"install it: {INSTALL}") from None
    tensors, buffers = {}, []  # the library reads memory by address: the buffers must exist until then
    for name, array in arrays.items():
        dtype = array.dtype.name
        if array.dtype.kind == "f" and array.dtype.itemsize > 8:
            hint = "compute in --dtype float64, or write .npz"
            raise AttnError(f"safetensors has no type for {dtype}", hint=hint)
        buffer = np.ascontiguousarray(array).reshape(array.shape)
        if array.dtype.kind == "f" and precision.name == BFLOAT16:
            dtype, buffer = BFLOAT16, np.asarray((buffer.view(np.uint32) >> 16).astype(np.uint16))
        buffers.append(buffer)
        tensors[name] = TensorSpec(dtype=dtype, shape=array.shape, data_ptr=buffer.ctypes.data, data_len=buffer.nbytes)
    stream.write(bytes(serialize(tensors)))

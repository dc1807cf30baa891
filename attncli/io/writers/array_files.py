"""Arrays as `.npy`, `.npz` and `.safetensors` files."""

from collections.abc import Mapping
from typing import IO

from attncli.base.dtypes import BFLOAT16, Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.io.readers.npy import NPY
from attncli.io.readers.safetensors import INSTALL


def write_npy(stream: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write the one array, without its name; raises AttnError where there are several."""
    if len(arrays) != 1:
        raise AttnError(
            f"holds one array; {len(arrays)} are selected ({', '.join(arrays)})",
            where=NPY,
            hint="select one, such as --select output, or write .npz",
        )
    np.save(stream, next(iter(arrays.values())), allow_pickle=False)


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
        raise AttnError("needs the package safetensors", where=".safetensors", hint=f"install it: {INSTALL}") from None
    tensors, buffers = {}, []  # the library reads memory by address: the buffers must exist until then
    for name, array in arrays.items():
        dtype = array.dtype.name
        if array.dtype.kind == "f" and array.dtype.itemsize > 8:
            hint = "compute in --dtype float64, or write .npz"
            raise AttnError(f"has no type for {dtype}", where=".safetensors", hint=hint)
        buffer = np.ascontiguousarray(array).reshape(array.shape)
        if array.dtype.kind == "f" and precision.name == BFLOAT16:
            dtype, buffer = BFLOAT16, np.asarray((buffer.view(np.uint32) >> 16).astype(np.uint16))
        buffers.append(buffer)
        tensors[name] = TensorSpec(dtype=dtype, shape=array.shape, data_ptr=buffer.ctypes.data, data_len=buffer.nbytes)
    stream.write(bytes(serialize(tensors)))

"""Results as `.npy`, `.npz` and `.safetensors` files."""

from collections.abc import Mapping
from typing import IO

from attncli.base.dtypes import BFLOAT16, Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.io.readers.array_files import INSTALL, NPY, NPZ


def pack(stream: IO[bytes], arrays: Mapping[str, Array], suffix: str, precision: Precision) -> None:
    """Write the arrays under their names, in the format of a suffix.

    Raises AttnError where the format can't hold them: `.npy` holds one, `.safetensors` needs its package.
    """
    if suffix == NPY:
        np.save(stream, only(arrays), allow_pickle=False)
    elif suffix == NPZ:
        np.savez(stream, **arrays)  # type: ignore[arg-type] # its stub takes a name for its option allow_pickle
    else:
        stream.write(_safetensors(arrays, precision))


def only(arrays: Mapping[str, Array]) -> Array:
    """The one array that an `.npy` file holds, without its name."""
    if len(arrays) != 1:
        raise AttnError(
            f"holds one array; {len(arrays)} are selected ({', '.join(arrays)})",
            where=NPY,
            hint="select one, such as --select output, or write .npz",
        )
    return next(iter(arrays.values()))


def _safetensors(arrays: Mapping[str, Array], precision: Precision) -> bytes:
    """The arrays as tensors; what is held as float32 for want of bfloat16 becomes bfloat16 again."""
    try:
        from safetensors import TensorSpec, serialize  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise AttnError("needs the package safetensors", where=".safetensors", hint=f"install it: {INSTALL}") from None
    tensors, buffers = {}, []  # the library reads memory by address: it has to stay until it has
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
    return bytes(serialize(tensors))

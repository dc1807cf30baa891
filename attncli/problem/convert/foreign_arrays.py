"""Arrays and tensors of other libraries to NumPy: from a GPU, with gradients, or by DLPack alone."""

from typing import Any

from attncli.base.dtypes import BFLOAT16
from attncli.base.lazy_numpy import Array, np

# PyTorch's tensors: without the gradients, in the memory of the CPU, and with a minus sign that was only noted applied.
TENSOR_METHODS = ("detach", "cpu", "resolve_neg")


def is_foreign_array(value: Any) -> bool:
    """Whether a value is an array, a tensor or a data frame that `to_numpy` may read."""
    return not isinstance(value, type) and any(hasattr(value, name) for name in ("__array__", "to_numpy", "__dlpack__"))


def to_numpy(value: Any) -> Array:
    """The numbers of an array, tensor or data frame, without a copy where they are in memory already.

    Its library is not imported. A tensor of bfloat16 becomes float32, which holds its numbers. Raises what the library
    does (TypeError, RuntimeError, BufferError) where NumPy has no such type, or the tensor no numbers.
    """
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    for name in TENSOR_METHODS:
        method = getattr(value, name, None)
        value = method() if callable(method) else value
    if is_bfloat16_tensor(value):
        value = value.float()
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):  # of CuPy, which copies where it is asked
        return np.asarray(value.get())
    if hasattr(value, "__array__"):
        return np.asarray(value)
    return np.asarray(value.to_numpy()) if hasattr(value, "to_numpy") else np.from_dlpack(value)


def is_bfloat16_tensor(value: Any) -> bool:
    """Whether a value is a tensor of PyTorch's bfloat16, a type that NumPy does not have."""
    return not isinstance(value, np.ndarray) and str(getattr(value, "dtype", "")) == f"torch.{BFLOAT16}"

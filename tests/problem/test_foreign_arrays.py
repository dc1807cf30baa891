"""Arrays of libraries that NumPy does not read by itself, by stand-ins: on a GPU, with gradients, by DLPack alone."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from attncli import Problem, attention
from attncli.base.errors import AttnError
from attncli.problem.arrays import to_array

ROWS = [[1.0, -2.5], [3.0, 0.125]]


class GpuTensor:
    """A tensor on a GPU with gradients: only what `detach` and then `cpu` return can be read."""

    def __init__(self, array: np.ndarray, *, has_gradients: bool = True, is_on_gpu: bool = True) -> None:
        self.array, self.has_gradients, self.is_on_gpu = array, has_gradients, is_on_gpu
        self.dtype, self.ndim = f"torch.{array.dtype}", array.ndim

    def detach(self) -> "GpuTensor":
        return GpuTensor(self.array, has_gradients=False, is_on_gpu=self.is_on_gpu)

    def cpu(self) -> "GpuTensor":
        return GpuTensor(self.array, has_gradients=self.has_gradients, is_on_gpu=False)

    def tolist(self) -> Any:
        return self.array.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.has_gradients:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.is_on_gpu:
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        return np.asarray(self.array, dtype=dtype)


class GpuArray:
    """An array on a GPU as CuPy has it, which is copied when it is asked for, and never by itself."""

    __cuda_array_interface__: ClassVar[dict[str, Any]] = {}

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.dtype, self.ndim = array, array.dtype, array.ndim

    def get(self) -> np.ndarray:
        return self.array

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


class DlpackArray:
    """An array that can be read by DLPack alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


LIBRARIES: dict[str, Callable[[np.ndarray], Any]] = {"PyTorch": GpuTensor, "CuPy": GpuArray, "DLPack": DlpackArray}
library = pytest.mark.parametrize("convert", LIBRARIES.values(), ids=LIBRARIES)


@library
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_and_their_type_are_taken_as_they_are(convert: Callable[..., Any], dtype: str) -> None:
    labelled = to_array(convert(np.array(ROWS, dtype)), ("query",))
    assert labelled.array.tolist() == ROWS
    assert labelled.array.dtype == labelled.dtype == dtype


@library
def test_numbers_in_memory_are_not_copied(convert: Callable[..., Any]) -> None:
    array = np.array(ROWS)
    assert np.shares_memory(to_array(convert(array), ("query",)).array, array)


@library
def test_attention_takes_them_in_every_key(convert: Callable[..., Any]) -> None:
    x, mask = np.array(ROWS), np.array([[True, False], [True, True]])
    keys = {"score": {"general": {"w": x}}, "bias": x, "mask": mask}
    converted = {"score": {"general": {"w": convert(x)}}, "bias": convert(x), "mask": convert(mask)}
    ours, theirs = attention(x, x, x, **keys), attention(convert(x), convert(x), convert(x), **converted)
    np.testing.assert_array_equal(ours.output, theirs.output)


@pytest.mark.parametrize("convert", [GpuTensor, GpuArray, np.asarray])
def test_an_array_without_axes_is_a_number(convert: Callable[..., Any]) -> None:
    heads, scale, temperature = (convert(np.array(number)) for number in (2, 0.25, 3.0))
    keys = {"heads": heads, "scale": scale, "normalize": {"softmax": {"temperature": temperature}}}
    problem = Problem(query=[ROWS], key=[ROWS], window=(convert(np.array(1)), 0), **keys)
    assert (problem.heads, problem.scale, problem.window) == (2, 0.25, (1, 0))
    assert problem.normalize.given == {"temperature": 3.0}


@pytest.mark.parametrize("name", ["heads", "scale", "window"])
def test_an_array_with_axes_is_no_number(name: str) -> None:
    with pytest.raises(AttnError, match=f"^{name}: .* is (not a|no) "):
        Problem(query=[ROWS], key=[ROWS], **{name: GpuTensor(np.array([1.0]))})


def test_what_its_library_refuses_is_an_error_that_names_the_key() -> None:
    class Unreadable:
        dtype, ndim = "torch.float8_e4m3fn", 2

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
            raise TypeError("Got unsupported ScalarType")

    class OnGpu(DlpackArray):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("it is on a GPU")

    for value, words in ((Unreadable(), "Got unsupported ScalarType"), (OnGpu(np.array(ROWS)), "it is on a GPU")):
        with pytest.raises(AttnError) as caught:
            attention(ROWS, value)
        assert str(caught.value) == f"key: can't be read ({words})"

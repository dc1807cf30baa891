"""Results as files of arrays."""

import io

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.io.writers import array_files

X = np.random.default_rng(0).standard_normal((2, 3))
ARRAYS = {"weights": X, "output": -X}
DOUBLE = Precision("float64")


def pack(arrays: dict[str, np.ndarray], suffix: str, precision: Precision) -> bytes:
    """What a file would hold."""
    stream = io.BytesIO()
    array_files.pack(stream, arrays, suffix, precision)
    return stream.getvalue()


def test_an_archive_holds_every_array_under_its_name() -> None:
    found = np.load(io.BytesIO(pack(ARRAYS, ".npz", DOUBLE)))
    assert set(found) == set(ARRAYS)
    np.testing.assert_array_equal(found["output"], -X)


def test_an_npy_file_holds_one_array() -> None:
    np.testing.assert_array_equal(np.load(io.BytesIO(pack({"output": X}, ".npy", DOUBLE))), X)
    with pytest.raises(AttnError, match=r"holds one array; 2 are selected \(weights, output\); select one"):
        pack(ARRAYS, ".npy", DOUBLE)


def test_without_its_package_a_safetensors_file_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(AttnError, match=r"install it: pip install 'attncli\[safetensors\]'"):
        pack(ARRAYS, ".safetensors", DOUBLE)


@pytest.mark.peer
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_tensors_have_the_type_that_was_computed(dtype: str) -> None:
    torch, loading = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    precision = Precision(dtype)
    stored = precision.stored(X)
    found = loading.load(
        pack({"output": stored, "visible": X > 0, "scale": stored[0, 0].reshape(())}, ".safetensors", precision)
    )
    assert found["output"].dtype == getattr(torch, dtype)
    np.testing.assert_array_equal(found["output"].double().numpy(), stored.astype(float))
    assert found["visible"].dtype == torch.bool
    assert found["scale"].shape == ()


@pytest.mark.peer
def test_arrays_that_lie_otherwise_in_memory_are_written_as_they_read() -> None:
    loading = pytest.importorskip("safetensors.numpy")
    found = loading.load(pack({"turned": X.T, "every other": X[:, ::2]}, ".safetensors", DOUBLE))
    np.testing.assert_array_equal(found["turned"], X.T)
    np.testing.assert_array_equal(found["every other"], X[:, ::2])


@pytest.mark.peer
@pytest.mark.skipif(np.finfo("longdouble").eps == np.finfo("float64").eps, reason="a longdouble is a double here")
def test_what_tensors_can_not_hold_is_said() -> None:
    pytest.importorskip("safetensors")
    with pytest.raises(AttnError, match=r"has no type for .*; compute in --dtype float64, or write .npz"):
        pack({"output": X.astype("longdouble")}, ".safetensors", Precision("longdouble"))

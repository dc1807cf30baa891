"""Results as files of arrays."""

import io
from collections.abc import Callable

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.io.npy import write_npy, write_npz
from attncli.io.safetensors import write_safetensors

X = np.random.default_rng(0).standard_normal((2, 3))
ARRAYS = {"weights": X, "output": -X}
DOUBLE = Precision("float64")


def file_of(write: Callable[..., None], arrays: dict[str, np.ndarray], *options: Precision) -> bytes:
    """The bytes of the file that a function writes."""
    stream = io.BytesIO()
    write(stream, arrays, *options)
    return stream.getvalue()


def test_an_archive_holds_every_array_under_its_name() -> None:
    found = np.load(io.BytesIO(file_of(write_npz, ARRAYS)))
    assert set(found) == set(ARRAYS)
    np.testing.assert_array_equal(found["output"], -X)


@pytest.mark.parametrize("array", [X, X.T, X[0], np.float64(2), X[:0], X > 0, X.astype(np.float16)], ids=str)
def test_an_npy_file_holds_one_array(array: np.ndarray) -> None:
    stream = io.BytesIO()
    write_npy(stream, array)
    stream.seek(0)
    found = np.load(stream)
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)


def test_without_safetensors_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(AttnError, match=r"install it: pip install 'attncli\[safetensors\]'"):
        file_of(write_safetensors, ARRAYS, DOUBLE)

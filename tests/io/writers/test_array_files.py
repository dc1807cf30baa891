"""Results as files of arrays."""

import io
from collections.abc import Callable

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.io.writers.array_files import write_npy, write_npz, write_safetensors

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


def test_an_npy_file_holds_one_array() -> None:
    np.testing.assert_array_equal(np.load(io.BytesIO(file_of(write_npy, {"output": X}))), X)
    with pytest.raises(AttnError, match=r"holds one array; 2 are selected \(weights, output\); select one"):
        file_of(write_npy, ARRAYS)


def test_without_safetensors_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(AttnError, match=r"install it: pip install 'attncli\[safetensors\]'"):
        file_of(write_safetensors, ARRAYS, DOUBLE)

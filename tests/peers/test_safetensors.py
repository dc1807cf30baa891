"""Tensors in .safetensors files: read and written as the package safetensors does, forged headers refused."""

import io
import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.io import formats
from attncli.io.safetensors import write_safetensors
from tests.io.opened import opened
from tests.problems import write_file

pytest.importorskip("safetensors")

X = np.arange(6.0).reshape(2, 3) - 1.5
DOUBLE = Precision("float64")


def safetensors(tensors: dict[str, Any], contents: bytes) -> bytes:
    """A .safetensors file from its parts."""
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text + contents


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int64", "uint8", "bool"])
def test_tensors_of_every_type_are_read(tmp_path: Path, dtype: str) -> None:
    torch, saving = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    tensor = torch.tensor(X * 1.01).to(getattr(torch, dtype))
    saving.save_file({"x": tensor, "other": torch.zeros(3)}, tmp_path / "x.safetensors")
    found = formats.read_array(opened(tmp_path / "x.safetensors"), "x")
    np.testing.assert_array_equal(found.array, tensor.to(torch.float64).numpy())
    assert found.dtype == (dtype if "float" in dtype else None)
    assert found.array.dtype.name == {"bfloat16": "float32", "int64": "float64", "uint8": "float64"}.get(dtype, dtype)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_every_code_of_8_bits_is_the_number_that_pytorch_makes_of_it(tmp_path: Path, dtype: str) -> None:
    torch, saving = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    codes = torch.arange(256, dtype=torch.uint8).reshape(16, 16).view(getattr(torch, dtype))
    saving.save_file({"x": codes}, tmp_path / "x.safetensors")
    found = formats.read_array(opened(tmp_path / "x.safetensors"), "x[1:]")
    np.testing.assert_array_equal(found.array, codes[1:].to(torch.float32).numpy())
    assert found.dtype == (None if dtype == "float8_e8m0fnu" else dtype)  # which scales are of


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_results_of_8_bits_are_written_as_what_they_are(tmp_path: Path, dtype: str) -> None:
    saving = pytest.importorskip("safetensors.torch")
    numbers = Precision(dtype).round(np.linspace(-3, 3, 40).reshape(5, 8))
    with (tmp_path / "x.safetensors").open("wb") as stream:
        write_safetensors(stream, {"x": numbers}, Precision(dtype))
    found = saving.load_file(tmp_path / "x.safetensors")["x"]
    assert str(found.dtype) == f"torch.{dtype}"
    np.testing.assert_array_equal(found.float().numpy(), numbers)


def test_of_a_table_of_bfloat16_the_rows_that_are_looked_up_are_read(tmp_path: Path) -> None:
    torch, saving = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    table = torch.randn(50_000, 64).to(torch.bfloat16)
    saving.save_file({"wte": table, "other": torch.zeros(1)}, tmp_path / "x.safetensors")
    path = write_file(tmp_path, 'token_table: "x.safetensors#wte"\ntokens: [49999, 3]\n')
    attncli.load(path, max_size="1M")  # the modules that it imports are not counted below
    tracemalloc.start()
    made = attncli.load(path, max_size="1M")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(made.token_table, table[[49999, 3]].float().numpy())
    assert made.dtype == "bfloat16"
    assert peak < 2_000_000


def test_one_tensor_is_read_without_the_rest(tmp_path: Path) -> None:
    saving = pytest.importorskip("safetensors.numpy")
    saving.save_file({"large": np.ones((1000, 1000)), "small": X}, tmp_path / "x.safetensors")
    tracemalloc.start()
    found = formats.read_array(opened(tmp_path / "x.safetensors"), "small")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(found.array, X)
    assert peak < 1_000_000


FORGED = {
    "words": b"hello world, this is not a header",
    "a header longer than the file": struct.pack("<Q", 10**12) + b"{}",
    "numbers beyond the end": safetensors(
        {"x": {"dtype": "F64", "shape": [10**6], "data_offsets": [0, 8 * 10**6]}}, b""
    ),
    "a shape of another size": safetensors({"x": {"dtype": "F64", "shape": [9], "data_offsets": [0, 8]}}, bytes(8)),
    "a header that is no JSON": struct.pack("<Q", 4) + b"{{{{",
}


@pytest.mark.parametrize("contents", FORGED.values(), ids=FORGED)
def test_a_forged_header_is_an_error(tmp_path: Path, contents: bytes) -> None:
    (tmp_path / "x.safetensors").write_bytes(contents)
    with pytest.raises(AttnError, match=r"x.safetensors: is not a valid .safetensors file"):
        formats.read_array(opened(tmp_path / "x.safetensors"), "")


def test_a_tensor_of_an_unsupported_type_is_an_error(tmp_path: Path) -> None:
    contents = safetensors({"x": {"dtype": "C64", "shape": [2], "data_offsets": [0, 16]}}, bytes(16))
    (tmp_path / "x.safetensors").write_bytes(contents)
    with pytest.raises(AttnError, match=r"x.safetensors#x: holds numbers of type C64; expected BOOL"):
        formats.read_array(opened(tmp_path / "x.safetensors"), "")


def file_of(arrays: dict[str, np.ndarray], precision: Precision = DOUBLE) -> bytes:
    """The bytes of the file that the writer makes."""
    stream = io.BytesIO()
    write_safetensors(stream, arrays, precision)
    return stream.getvalue()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_tensors_have_the_type_that_was_computed(dtype: str) -> None:
    torch, loading = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    precision = Precision(dtype)
    stored = precision.round(X)
    found = loading.load(file_of({"output": stored, "visible": X > 0, "scale": stored[0, 0].reshape(())}, precision))
    assert found["output"].dtype == getattr(torch, dtype)
    np.testing.assert_array_equal(found["output"].double().numpy(), stored.astype(float))
    assert found["visible"].dtype == torch.bool
    assert found["scale"].shape == ()


def test_views_are_written_in_their_own_order() -> None:
    loading = pytest.importorskip("safetensors.numpy")
    found = loading.load(file_of({"transposed": X.T, "every other": X[:, ::2]}, DOUBLE))
    np.testing.assert_array_equal(found["transposed"], X.T)
    np.testing.assert_array_equal(found["every other"], X[:, ::2])


@pytest.mark.skipif(np.finfo("longdouble").eps == np.finfo("float64").eps, reason="a longdouble is a double here")
def test_a_longdouble_has_no_tensor_type() -> None:
    with pytest.raises(AttnError, match=r'has no type for .*; compute in dtype="float64", or write .npz'):
        file_of({"output": X.astype("longdouble")}, Precision("longdouble"))

"""Files of arrays: read unchanged, or refused before anything is allocated; and written."""

import io
import mmap
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.io import formats
from attncli.io.assemble import assemble
from attncli.io.npy import write_npy, write_npz
from attncli.io.problem_files import read_document
from attncli.io.safetensors import write_safetensors
from tests.io.opened import opened
from tests.problems import raw_values

X = np.arange(6.0).reshape(2, 3) - 1.5


def header(shape: tuple[int, ...], descr: str = "<f8", version: tuple[int, int] = (1, 0)) -> bytes:
    """The header of an .npy file that promises an array."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble", ">f4", ">f8"])
def test_floating_types_are_kept(tmp_path: Path, dtype: str) -> None:
    np.save(tmp_path / "x.npy", X.astype(dtype))
    found = formats.read_array(opened(tmp_path / "x.npy"), "")
    np.testing.assert_array_equal(found.array, X)
    assert found.dtype == np.dtype(dtype).name
    assert found.array.dtype.isnative


def test_an_array_of_a_problem_stays_in_its_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    name = str(tmp_path / "x.npy")
    held: Any = assemble(raw_values(query=name, key=name)).query
    while isinstance(held, np.ndarray):
        held = held.base
    assert isinstance(held, mmap.mmap)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", ">i4"])
def test_integers_become_floating_point(tmp_path: Path, dtype: str) -> None:
    np.save(tmp_path / "x.npy", np.array([[1, 2], [3, 100]], dtype=dtype))
    found = formats.read_array(opened(tmp_path / "x.npy"), "")
    assert found.array.tolist() == [[1, 2], [3, 100]]
    assert (found.array.dtype, found.dtype) == (np.float64, None)


def test_booleans_stay_booleans(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X > 0)
    assert formats.read_array(opened(tmp_path / "x.npy"), "").array.dtype == bool


@pytest.mark.parametrize("array", [np.asfortranarray(X), X[:, ::2], np.float64(3), np.zeros((0, 3))])
def test_any_order_and_any_number_of_axes(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    np.savez(tmp_path / "x.npz", array)
    for name in ("x.npy", "x.npz"):
        found = formats.read_array(opened(tmp_path / name), "").array
        assert found.shape == np.shape(array)
        np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_entry_is_named_or_the_only_one(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "two.npz", a=X, b=-X)
    save(tmp_path / "one.npz", a=X)
    np.testing.assert_array_equal(formats.read_array(opened(tmp_path / "two.npz"), "b").array, -X)
    np.testing.assert_array_equal(formats.read_array(opened(tmp_path / "one.npz"), "").array, X)
    with pytest.raises(AttnError, match=r"two.npz: has 2 entries; name one: .*two.npz#a, .*two.npz#b$"):
        formats.read_array(opened(tmp_path / "two.npz"), "")
    with pytest.raises(AttnError, match=r"unknown entry 'c'"):
        formats.read_array(opened(tmp_path / "two.npz"), "c")


def test_an_archive_without_entries_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "none.npz")
    with pytest.raises(AttnError, match=r"none\.npz: has no entries; expected arrays with the names of keys, such as"):
        read_document(str(tmp_path / "none.npz"))


def test_an_npy_file_is_mapped_and_not_copied(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((1000, 1000)))
    tracemalloc.start()
    found = formats.read_array(opened(tmp_path / "x.npy"), "")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.array.shape == (1000, 1000)
    assert peak < 100_000


class ExecutedError(Exception):
    """Raised by a pickle that is opened."""


class Trap:
    """An object whose pickle raises when it is loaded."""

    def __reduce__(self) -> Any:
        return (_raise, ())


def _raise() -> None:
    raise ExecutedError


def test_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    objects = np.array([Trap()], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "x.npz", x=objects)
    (tmp_path / "bare.npy").write_bytes(pickle.dumps(Trap()))
    for name in ("x.npy", "x.npz"):
        with pytest.raises(AttnError, match="holds pickled objects, which could run any program"):
            formats.read_array(opened(tmp_path / name), "")
    with pytest.raises(AttnError, match=r"is not a valid .npy file"):
        formats.read_array(opened(tmp_path / "bare.npy"), "")


UNSOUND = {
    "nothing": b"",
    "words": b"hello",
    "a header that is cut off": header((2, 3))[:20],
    "a header that is no dictionary": header((2, 3)).replace(b"{", b"["),
    "a header of another version": header((2, 3), version=(7, 0)),
    "a type that does not exist": header((2, 3), descr="<q9"),
}


@pytest.mark.parametrize("contents", UNSOUND.values(), ids=UNSOUND)
def test_a_file_that_is_no_array_is_an_error(tmp_path: Path, contents: bytes) -> None:
    (tmp_path / "x.npy").write_bytes(contents)
    with pytest.raises(AttnError, match=r"x.npy: is not a valid .npy file"):
        formats.read_array(opened(tmp_path / "x.npy"), "")


IMPOSSIBLE = {
    "below nothing": header((-2, 3)),
    "no numbers, and too many": header((0, 10**30)),
    "forty axes": header((1,) * 40),
    "words of no letters": header((3,), descr="<U0"),
}


@pytest.mark.parametrize("contents", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_shape_that_no_array_can_have_is_an_error(contents: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(contents + X.tobytes())
    with pytest.raises(AttnError, match=r"x.npy: has the shape .*, which no array can have"):
        formats.read_array(opened(tmp_path / "x.npy"), "")


def test_a_header_that_promises_more_than_the_file_holds_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(header((10**9, 10**6)) + X.tobytes())
    with pytest.raises(AttnError, match="promises 8000000000000000 bytes of numbers and holds 48; it was cut off"):
        formats.read_array(opened(tmp_path / "x.npy"), "")


def test_an_archive_that_promises_more_than_memory_is_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", header((10**9, 10**6)))
    with pytest.raises(AttnError, match=r"x.npz#x: has 8.0 PB, more than the .* that may be read"):
        formats.read_array(opened(tmp_path / "x.npz"), "")
    with zipfile.ZipFile(tmp_path / "y.npz", "w") as archive:
        archive.writestr("x.npy", header((1000, 1000)) + X.tobytes())
    with pytest.raises(AttnError, match="promises 8000000 bytes of numbers and holds 48"):
        formats.read_array(opened(tmp_path / "y.npz"), "")


@pytest.mark.parametrize("dtype", ["complex128", "S3", "datetime64[s]", [("a", "f8")]])
def test_a_dtype_that_is_not_real_is_an_error(tmp_path: Path, dtype: Any) -> None:
    np.save(tmp_path / "x.npy", np.zeros(2, dtype=dtype))
    with pytest.raises(AttnError, match=r"holds numbers of type .*; expected real numbers"):
        formats.read_array(opened(tmp_path / "x.npy"), "")


def test_an_archive_that_is_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"hello")
    with pytest.raises(AttnError, match=r"x.npz: is not an .npz archive"):
        formats.read_array(opened(tmp_path / "x.npz"), "")


def test_a_string_in_an_archive_is_text(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", score="cosine", heads=2, query=X)
    found = formats.read_problem(opened(tmp_path / "x.npz"))[0]
    assert found["score"] == "cosine"
    assert found["heads"] == 2
    assert found["query"].array.tolist() == X.tolist()


def test_a_damaged_archive_is_an_error(tmp_path: Path) -> None:
    memory = io.BytesIO()
    np.savez_compressed(memory, x=np.random.default_rng(0).random((50, 50)))
    raw = bytearray(memory.getvalue())
    raw[300:340] = bytes(40)
    (tmp_path / "x.npz").write_bytes(raw)
    with pytest.raises(AttnError, match=r"x.npz"):
        formats.read_array(opened(tmp_path / "x.npz"), "")


@pytest.mark.parametrize("name", ["no.npy", "no.npz", "no.safetensors"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    if name.endswith("safetensors"):
        pytest.importorskip("safetensors")
    with pytest.raises(AttnError, match=f"{name}: there is no such file"):
        formats.read_array(opened(tmp_path / name), "")


def test_without_safetensors_the_error_names_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.safetensors").write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(
        AttnError, match=r"needs the package safetensors; install it: pip install 'attncli\[safetensors\]'"
    ):
        formats.read_array(opened(tmp_path / "x.safetensors"), "")


ROWS = np.random.default_rng(0).standard_normal((2, 3))
ARRAYS = {"weights": ROWS, "output": -ROWS}
DOUBLE = Precision("float64")


def file_of(write: Callable[..., None], arrays: dict[str, np.ndarray], *options: Precision) -> bytes:
    """The bytes of the file that a function writes."""
    stream = io.BytesIO()
    write(stream, arrays, *options)
    return stream.getvalue()


def test_an_archive_holds_every_array_under_its_name() -> None:
    found = np.load(io.BytesIO(file_of(write_npz, ARRAYS)))
    assert set(found) == set(ARRAYS)
    np.testing.assert_array_equal(found["output"], -ROWS)


@pytest.mark.parametrize(
    "array",
    [ROWS, ROWS.T, ROWS[0], np.float64(2), ROWS[:0], ROWS > 0, ROWS.astype(np.float16)],
    ids=str,
)
def test_an_npy_file_holds_one_array(array: np.ndarray) -> None:
    stream = io.BytesIO()
    write_npy(stream, array)
    stream.seek(0)
    found = np.load(stream)
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)


def test_without_safetensors_none_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(AttnError, match=r"install it: pip install 'attncli\[safetensors\]'"):
        file_of(write_safetensors, ARRAYS, DOUBLE)

"""Damaged files: whatever byte is changed or missing, a file is read or refused with an error that names it."""

import io
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.io import formats, npy, safetensors
from attncli.io.inputs import Input
from attncli.io.npy import map_array
from attncli.io.safetensors import write_safetensors
from tests.io.opened import opened

X = np.arange(24.0).reshape(4, 6)


def in_bytes(save: Callable[..., None], *arguments: object, **arrays: np.ndarray) -> bytes:
    """What a function of NumPy's writes."""
    save(stream := io.BytesIO(), *arguments, **arrays)
    return stream.getvalue()


def safetensors_bytes() -> bytes:
    """A file of two tensors; skips the test where the package is missing."""
    pytest.importorskip("safetensors")
    return in_bytes(write_safetensors, {"query": X, "key": X}, Precision("float64"))


FILES: dict[str, Callable[[], bytes]] = {
    "x.npy": partial(in_bytes, np.save, X),
    "x.npz": partial(in_bytes, np.savez, query=X, key=X),
    "packed.npz": partial(in_bytes, np.savez_compressed, query=X, key=X),
    "x.safetensors": safetensors_bytes,
    "x.csv": lambda: b'# numbers\nword,"x ""1""",y\nthe,1,-2.5e3\n"le chat",nan,.5\n',
    "x.yaml": lambda: b"tokens: [a, 010]\nquery: &q [[1, 2.5], [.nan, -1e3]]\nkey: *q\nscore: {gaussian: {sigma: 2}}\n",
    "x.json": lambda: b'{"tokens": ["a", 1.50], "query": [[1, 2.5], [3, "NaN"]], "key": [[1, 2]]}',
}


def damaged(raw: bytes) -> Iterator[bytes]:
    """The bytes with one of them changed, at some thirty places, and cut off at ten."""
    for place in range(0, len(raw), max(len(raw) // 30, 1)):
        changed = bytearray(raw)
        changed[place] ^= 1 << place % 8
        yield bytes(changed)
    for tenth in range(10):
        yield raw[: len(raw) * tenth // 10]


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for raw in damaged(FILES[name]()):
        path.write_bytes(raw)
        for read in (lambda: formats.read_array(opened(path), "query"), lambda: formats.read_array(opened(path), "")):
            check_read(read, name)
        if formats.format_of_suffix(path).holds_problems:
            check_read(lambda: formats.read_problem(opened(path)), name)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_stream_is_read_or_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "without-suffix"
    for raw in damaged(FILES[name]()):
        path.write_bytes(raw)
        check_read(lambda: formats.read_array(opened(path), "query"), "without-suffix")


def check_read(read: Callable[[], object], name: str) -> None:
    """Whether a reader returns, or raises AttnError that names the file."""
    message = name
    try:
        read()
    except AttnError as error:
        message = str(error)
    assert name in message


def zip_of(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of these members."""
    with zipfile.ZipFile(stream := io.BytesIO(), "w", method) as archive:
        for name, raw in members:
            archive.writestr(name, raw)
    return stream.getvalue()


NPY = FILES["x.npy"]()
STORED = zip_of(("x.npy", NPY), method=zipfile.ZIP_STORED)
DAMAGED_ARCHIVES = {
    "a checksum that is wrong": (STORED.replace(NPY[-8:], b"12345678", 1), "x.npz#x: can't be unpacked (Bad CRC-32"),
    "an encrypted member": (STORED.replace(b"\0\0\0\0", b"\1\0\0\0", 2), "x.npz#x: "),
    "a compression that NumPy does not write": (
        zip_of(("x.npy", NPY), method=zipfile.ZIP_BZIP2),
        "x.npz#x: is compressed by method 12; save it with numpy.savez",
    ),
    "no array": (zip_of(("x.txt", b"hello")), "x.npz: has 0 entries; expected one array"),
    "a member of words": (zip_of(("x.npy", b"hello")), "x.npz#x: is not a valid .npy file"),
    "nothing": (b"", "x.npz: is not an .npz archive"),
    "half an archive": (STORED[: len(STORED) // 2], "x.npz: is not an .npz archive"),
}


@pytest.mark.parametrize(("raw", "message"), DAMAGED_ARCHIVES.values(), ids=DAMAGED_ARCHIVES)
def test_a_damaged_archive_is_named_with_its_member(raw: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(raw)
    with pytest.raises(AttnError) as caught:
        formats.read_array(opened(tmp_path / "x.npz"), "")
    assert message in str(caught.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(zip_of(("x.npy", NPY), ("x.npy", NPY)))
    with pytest.raises(AttnError, match=r"x.npz: has two entries named 'x'"):
        formats.read_array(opened(tmp_path / "x.npz"), "")


def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    raw = zip_of(("x.npy", in_bytes(np.save, np.zeros(10**6))))
    (tmp_path / "x.npz").write_bytes(raw)
    assert len(raw) < 20_000
    with pytest.raises(AttnError, match=r"x.npz#x: has 8.0 MB, more than the 1.0 MB that may be read \(max_size\)"):
        formats.read_array(opened(tmp_path / "x.npz", 10**6), "")
    assert formats.read_array(opened(tmp_path / "x.npz", 10**7), "").array.shape == (10**6,)


def test_an_archive_that_hides_its_size_is_not_unpacked_beyond_what_it_promises(tmp_path: Path) -> None:
    raw = bytearray(zip_of(("x.npy", in_bytes(np.save, np.zeros(10**6)))))
    directory = raw.index(b"PK\x01\x02")
    raw[22:26] = raw[directory + 24 : directory + 28] = struct.pack("<I", 200)
    (tmp_path / "x.npz").write_bytes(raw)
    with pytest.raises(AttnError, match=r"x.npz#x: "):
        formats.read_array(opened(tmp_path / "x.npz", 10**7), "")


def test_an_archive_of_many_members_is_refused_by_their_sum(tmp_path: Path) -> None:
    array = in_bytes(np.save, np.zeros(10**5))
    (tmp_path / "x.npz").write_bytes(zip_of(("query.npy", array), ("key.npy", array)))
    with pytest.raises(AttnError, match=r"x.npz: has 1.6 MB, more than the 1.0 MB"):
        formats.read_problem(opened(tmp_path / "x.npz", 10**6))


@pytest.mark.parametrize("name", ["x.npy", "x.safetensors"])
def test_a_file_that_shrinks_between_its_header_and_its_numbers_is_an_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(FILES[name]())
    module = npy if name == "x.npy" else safetensors

    def shrink_and_map(source: Input, *arguments: Any) -> np.ndarray:
        source.path.write_bytes(source.path.read_bytes()[:100])
        return map_array(source, *arguments)

    monkeypatch.setattr(module, "map_array", shrink_and_map)
    with pytest.raises(AttnError, match=f"{name}: became shorter during reading"):
        formats.read_array(opened(tmp_path / name), "" if name == "x.npy" else "key")

"""Slices after a name select a part of an array, in every format, and no more of the file is read."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.parse import read_text_array
from attncli.io.problem_files import Origin

X = np.arange(20.0).reshape(4, 5)
ROWS = "\n".join(f"w{row},{','.join(map(str, cells))}" for row, cells in enumerate(X.tolist()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", w=X, **{"l[0].w": -X})
    (tmp_path / "x.csv").write_text(ROWS)
    (tmp_path / "x.yaml").write_text(f"w: {X.tolist()}\nv: [[1]]\n")
    (tmp_path / "x.json").write_text(f'{{"w": {X.tolist()}, "v": [[1]]}}')
    (tmp_path / "y[0].csv").write_text("1,2\n3,4\n")
    return tmp_path


def read(text: str, folder: Path) -> Any:
    return read_text_array(text, ("w_q",), Origin("p.yaml", folder))


@pytest.mark.parametrize("name", ["x.npy", "x.npy#", "x.npz#w", "x.csv", "x.yaml#w", "x.json#w"])
@pytest.mark.parametrize(
    ("slices", "part"),
    [
        ("[:, 0:2]", X[:, 0:2]),
        ("[1:3]", X[1:3]),
        ("[ ::2 , -3: ]", X[::2, -3:]),
        ("[::-1]", X[::-1]),
        ("[0]", X[0]),
        ("[-1,1:]", X[-1, 1:]),
        ("[..., 2]", X[..., 2]),
        ("[0:100]", X),
    ],
)
def test_a_part_of_an_array_is_selected_as_in_numpy(name: str, slices: str, part: np.ndarray, folder: Path) -> None:
    np.testing.assert_array_equal(read(f"{name}{slices}", folder).array, part)


def test_labels_and_lines_are_those_of_the_rows_that_are_left(folder: Path) -> None:
    part = read("x.csv[1:3]", folder)
    assert part.labels == ("w1", "w2")
    assert read("x.csv[:, 1:]", folder).labels == ("w0", "w1", "w2", "w3")
    assert read("x.csv[0]", folder).labels is None
    lines = [read(f"x.csv{part}", folder).origin.lines for part in ("", "[1:3]", "[:, 1:]", "[::-2]")]
    assert lines == [(1, 2, 3, 4), (2, 3), (1, 2, 3, 4), (4, 2)]


@pytest.mark.parametrize(("text", "part"), [("y[0].csv", [[1, 2], [3, 4]]), ("x.npz#l[0].w[0, 1:3]", [-1, -2])])
def test_a_file_or_an_entry_whose_name_has_brackets_has_precedence(text: str, part: Any, folder: Path) -> None:
    assert read(text, folder).array.tolist() == part


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x.npz#w[0:2, 0, 0]", "x.npz#w: has 2 axes, and is sliced along 3; its shape is (4, 5)"),
        ("x.npz#w[4]", "x.npz#w: there is no position 4 on axis 0; its length is 4"),
        ("x.npz#w[a]", "x.npz#w[a]: 'a' is not a slice; expected NumPy's slices, such as [:, 0:768] or [0]"),
        ("x.npz#w[::0]", "x.npz#w[::0]: '::0' is not a slice; expected NumPy's slices"),
        ("x.npz#w[..., ...]", "x.npz#w[..., ...]: '...' is there more than once; expected NumPy's slices"),
        ("x.npz#w[]", "x.npz#w[]: '' is not a slice; expected NumPy's slices"),
        ("x.npz#w[:, [0, 1]]", "x.npz#w[:, [0, 1]]: [:, [0, 1]] are not slices; expected NumPy's slices"),
        ("x.npz#w[0:2", "x.npz#w[0:2: [0:2 are not slices; expected NumPy's slices"),
        ("x.npz#w[4:9]", "x.npz#w: the slices select no numbers; its shape is (4, 5)"),
        ("x.npz#v[0]", "x.npz: unknown entry 'v'"),
        ("x.npy#v[0]", "x.npy: has one array and no entries, so #v names nothing"),
        ("x.csv[9]", "x.csv: there is no position 9 on axis 0; its length is 4"),
        ("z.npy[0:2]", "z.npy: there is no such file"),
    ],
)
def test_what_can_not_be_selected_is_an_error(text: str, message: str, folder: Path) -> None:
    with pytest.raises(AttnError) as caught:
        read(text, folder)
    assert str(caught.value).replace(f"{folder}/", "").startswith(message)


def test_no_more_than_the_part_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((1000, 1000), dtype=np.int64))  # integers are converted, so that they are read
    tracemalloc.start()
    part = read("x.npy[:, 0:3]", tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert part.array.shape == (1000, 3)
    assert peak < 200_000

"""Pipes, devices and open files are written in place."""

import os
from pathlib import Path

import pytest

from attncli.base.errors import AttnError
from attncli.io.output_files import atomic_write, atomic_write_file, is_in_place

pytestmark = pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="there is no folder of open files here")


@pytest.mark.parametrize("link", [False, True])
def test_an_open_file_is_appended_to(link: bool, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("before\n")
    with (tmp_path / "x").open("a") as stream:
        name = f"/dev/fd/{stream.fileno()}"
        if link:
            (tmp_path / "link").symlink_to(name)
            name = str(tmp_path / "link")
        assert is_in_place(Path(name))
        atomic_write_file(name, "after\n")
    assert (tmp_path / "x").read_text() == "before\nafter\n"


def test_the_position_in_an_open_file_stays_common(tmp_path: Path) -> None:
    with (tmp_path / "x").open("w") as stream:
        for line in ("1\n", "2\n"):
            atomic_write_file(f"/dev/fd/{stream.fileno()}", line)
    assert (tmp_path / "x").read_text() == "1\n2\n"


def test_a_closed_pipe_is_no_error_of_the_file() -> None:
    reading_end, writing_end = os.pipe()
    os.close(reading_end)
    with pytest.raises(BrokenPipeError):
        atomic_write_file(f"/dev/fd/{writing_end}", "x")
    os.close(writing_end)


def test_a_file_that_is_not_open_is_an_error() -> None:
    with pytest.raises(AttnError, match="/dev/fd/1234: can't be written"):
        atomic_write_file("/dev/fd/1234", "x")


@pytest.mark.parametrize("name", ["x.csv", "missing/x.csv", ".", "circle"])
def test_other_paths_are_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("")
    (tmp_path / "circle").symlink_to("circle")
    assert not is_in_place(tmp_path / name)


@pytest.mark.parametrize("name", ["folder", "folder/", "x.csv/"])
def test_a_folder_is_no_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(AttnError, match="is a folder; name a file in it"), atomic_write(f"{tmp_path}/{name}"):
        pass

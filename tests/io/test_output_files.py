"""Output files: a file or folder is complete, or left as it was; and the space there is for it."""

import os
import shutil
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.io.output_files import atomic_write_file, atomic_write_folder, check_is_new, free_space
from attncli.io.problem_text import problem_folder, problem_yaml
from tests.problems import problem


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(AttnError, match=r"x.csv: can't be written \(No space left on device\)"):
        atomic_write_file(str(path), "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x.csv"]


def test_a_write_that_fails_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    import resource  # not on Windows

    path = tmp_path / "x.csv"
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(AttnError, match=r"x.csv: can't be written \(File too large\)"):
            atomic_write_file(str(path), "new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x.csv"]


@pytest.mark.parametrize("name", ["a\0b.csv", "~no-such-user/x.csv"])
def test_an_invalid_path_is_an_error(name: str) -> None:
    with pytest.raises(AttnError, match=name.rpartition("\0")[2]):
        atomic_write_file(name, "")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    atomic_write_file(str(tmp_path / "link"), "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    atomic_write_file(os.devnull, "x")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_named_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()), daemon=True)
    reader.start()
    atomic_write_file(str(pipe), "through")
    reader.join(5)
    assert received == ["through"]
    assert pipe.is_fifo()


def test_a_file_and_a_folder_with_something_in_it_are_not_new(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    for name in (tmp_path, tmp_path / "mine"):
        with pytest.raises(AttnError, match="already exists; choose another name, or --force"):
            check_is_new(str(name))
    (tmp_path / "empty").mkdir()
    for new in ("empty", "none", "empty/none.yaml", "mine/below"):
        check_is_new(str(tmp_path / new))
    check_is_new("/dev/null")


def test_files_replace_those_of_their_names_in_a_folder_and_others_stay(tmp_path: Path) -> None:
    for name in ("mine", "a"):
        (tmp_path / name).write_text("x")
    atomic_write_folder(str(tmp_path), {"a": "1", "b": "2"})
    assert {name: (tmp_path / name).read_text() for name in names(tmp_path)} == {"a": "1", "b": "2", "mine": "x"}


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    atomic_write_folder(str(tmp_path / "new"), {"a": "1", "b": "2"})
    assert names(tmp_path / "new") == ["a", "b"]
    assert names(tmp_path) == ["new"]


def test_the_folders_before_a_name_are_made(tmp_path: Path) -> None:
    atomic_write_folder(str(tmp_path / "some" / "where" / "new"), {"a": "1", "below/b": "2"})
    assert (tmp_path / "some" / "where" / "new" / "below" / "b").read_text() == "2"
    assert names(tmp_path) == ["some"]


def test_the_current_folder_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    atomic_write_folder(".", {"a": "1"})
    assert Path("a").read_text() == "1"


def test_a_folder_does_not_replace_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(AttnError, match="can't be written"):
        atomic_write_folder(str(tmp_path / "mine"), {"a": "1"})
    assert (tmp_path / "mine").read_text() == "x"
    assert names(tmp_path) == ["mine"]


def test_a_file_in_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AttnError, match="can't be written"):
        atomic_write_file(str(tmp_path / "no" / "x.csv"), "")


@pytest.mark.parametrize("label", ["\ud800", "\udcff"], ids=["half a pair", "a byte"])  # noqa: PT014 - ruff reads both as U+FFFD
def test_a_label_that_no_file_can_hold_is_an_error(label: str, tmp_path: Path) -> None:
    """The second is what Python makes of a byte on the command line that is not UTF-8."""
    with pytest.raises(AttnError):
        atomic_write_file(str(tmp_path / "p.yaml"), "".join(problem_yaml(problem(embeddings=[[1]], tokens=[label]))))
    with pytest.raises(AttnError):
        atomic_write_folder(str(tmp_path / "new"), problem_folder(problem(embeddings=[[1]], tokens=[label])))
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["new", "old", "no/such/folder", "link"])
def test_the_disk_of_a_file_is_that_of_its_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "old")
    found = free_space(str(tmp_path / name))
    assert found is not None
    assert found == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.2)


def test_pipes_and_devices_have_no_limit(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert free_space(str(tmp_path / "pipe")) is None
    assert free_space(os.devnull) is None


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="there is no folder of open files here")
def test_nor_has_a_pipe_among_the_open_files() -> None:
    for descriptor in (pipe := os.pipe()):
        assert free_space(f"/dev/fd/{descriptor}") is None
    for descriptor in pipe:
        os.close(descriptor)

"""Free space is that of the disk of the file; pipes and devices have none that is known."""

import os
import shutil
from pathlib import Path

import pytest

from attncli.io.output_files import free_space


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

"""The inputs of a problem that is watched: versions of files, and their contents in memory."""

import os
from pathlib import Path

import pytest

from attncli.base.errors import AttnError
from attncli.io.inputs import WatchedInputs, file_version


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "w.csv"
    path.write_bytes(b"1,2\n")
    return path


def test_the_version_is_that_before_the_file_was_read(file: Path) -> None:
    inputs, before = WatchedInputs(), file_version(str(file))
    inputs.open(str(file))
    file.write_bytes(b"1,2,3\n")
    inputs.open(str(file))
    assert inputs.versions == {str(file): before}
    assert file_version(str(file)) != before


def test_a_file_is_read_once_into_memory(file: Path) -> None:
    source = WatchedInputs().open(str(file))
    file.unlink()
    assert source.read() == b"1,2\n"


def test_a_file_larger_than_the_limit_is_left_to_its_reader(file: Path) -> None:
    source = WatchedInputs("3").open(str(file))
    assert source.content is None
    with pytest.raises(AttnError, match="more than the 3 bytes that may be read"):
        source.read()


def test_a_missing_file_is_known_by_its_name_in_its_folder(tmp_path: Path) -> None:
    inputs = WatchedInputs()
    with pytest.raises(AttnError, match="there is no such file"):
        inputs.open("w.csv", tmp_path)
    assert inputs.versions == {str(tmp_path / "w.csv"): None}


def test_a_file_of_the_same_time_and_size_in_its_place_is_another_version(file: Path, tmp_path: Path) -> None:
    before = file_version(str(file))
    other = tmp_path / "other"
    other.write_bytes(b"1,2\n")
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    other.replace(file)
    assert file_version(str(file)) != before

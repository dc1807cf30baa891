"""A file that replaces another: it is complete and has its owner and permissions, or nothing has changed."""

import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from attncli.base.errors import AttnError
from attncli.io.output_files import atomic_write_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["without a name", "with a name"], autouse=True)
def new_file(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """New files have no name until they are complete, as on Linux, or have one, as elsewhere."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    else:
        try:
            os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
        except (AttributeError, OSError):
            pytest.skip("no file without a name can be made here")


def test_a_new_file_has_the_default_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    atomic_write_file(str(tmp_path / "new"), "x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o666])
def test_a_file_is_replaced_and_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old, and longer")
    path.chmod(mode)
    atomic_write_file(str(path), "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)
    assert names(tmp_path) == ["x.csv"]


@pytest.mark.root
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")
    os.chown(path, 1234, 5678)
    atomic_write_file(str(path), "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_a_file_keeps_its_access_list(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")
    # version 2; then tag, permissions and id: the owner, user 1234, the group, the mask and others
    entries = [(1, 6, 2**32 - 1), (2, 6, 1234), (4, 0, 2**32 - 1), (0x10, 6, 2**32 - 1), (0x20, 0, 2**32 - 1)]
    access_list = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", access_list)
    except (AttributeError, OSError):
        pytest.skip("there are no access lists here")
    atomic_write_file(str(path), "new")
    assert (path.read_text(), os.getxattr(path, "system.posix_acl_access")) == ("new", access_list)


def test_a_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write to any file
    with pytest.raises(AttnError, match=r"x.csv: can't be written \(the file is read-only\)"):
        atomic_write_file(str(path), "new")
    assert (path.read_text(), names(tmp_path)) == ("old", ["x.csv"])


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    path = tmp_path / f"{'a' * 251}.csv"
    for text in ("old", "new"):
        atomic_write_file(str(path), text)
    assert path.read_text() == "new"


@pytest.mark.parametrize("before", [None, "old"])
def test_an_exception_leaves_everything_as_it_was(before: str | None, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    if before is not None:
        path.write_text(before)

    def chunks() -> Iterator[str]:
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        atomic_write_file(str(path), chunks())
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == ({} if before is None else {"x.csv": before})


def test_other_names_of_a_file_keep_the_old_contents(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("old")
    (tmp_path / "copy.csv").hardlink_to(tmp_path / "x.csv")
    atomic_write_file(str(tmp_path / "x.csv"), "new")
    assert ((tmp_path / "x.csv").read_text(), (tmp_path / "copy.csv").read_text()) == ("new", "old")

"""Events of files: what becomes of the errors of watchfiles, which stands here as a function."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from attncli.base.errors import AttnError
from attncli.cli.watch import Events, find_events


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    """The events of a package that tells of two changes in a folder, and then raises the error that it is named by."""

    def watch(folder: Path, **_options: object) -> Iterator[set[str]]:
        yield from (set(), {"w.csv"})
        raise {"gone": FileNotFoundError, "limit": OSError, "broken": RuntimeError}[folder.name]("no more")

    monkeypatch.setattr("attncli.cli.watch.find_spec", lambda _name: True)
    monkeypatch.setitem(sys.modules, "watchfiles", SimpleNamespace(watch=watch))
    return find_events("--watch")


def test_events_end_where_a_folder_is_gone(events: Events) -> None:
    assert list(events([Path("gone")])) == [None, None]


@pytest.mark.parametrize("folder", ["limit", "broken"])
def test_an_error_of_the_system_or_of_the_package_is_said(folder: str, events: Events) -> None:
    changes = events([Path(folder)])
    assert [next(changes), next(changes)] == [None, None]
    with pytest.raises(AttnError, match=r"the files can't be watched \(no more\); end other programs"):
        next(changes)

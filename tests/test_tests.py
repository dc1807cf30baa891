"""The tests themselves."""

import re
from pathlib import Path

import pytest

POSIX_ONLY = ("curses", "fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")


def test_no_test_is_parametrized_over_a_set(request: pytest.FixtureRequest) -> None:
    """Its order differs between the processes that share the tests."""
    marks = [mark for item in request.session.items for mark in item.iter_markers("parametrize")]
    values = [mark.kwargs.get("argvalues", mark.args[-1]) for mark in marks]
    assert not [value for value in values if isinstance(value, set | frozenset)]


def test_nothing_that_windows_lacks_is_imported_at_the_top() -> None:
    """No test of a file could be collected there: what needs such a module imports it."""
    pattern = re.compile(rf"^(?:import|from) (?:{'|'.join(POSIX_ONLY)})\b", re.MULTILINE)
    assert not [str(path) for path in Path(__file__).parent.rglob("*.py") if pattern.search(path.read_text("utf-8"))]

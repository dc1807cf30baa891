"""The process: garbage is collected when there may be much; it ends at once, with everything that was written."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

# The program, with a command that leaves text in the buffers of its streams, as an operator of another package may.
PROGRAM = """
import sys
import attncli.cli

class Idle:
    def __del__(self):
        print("freed")

idle = Idle()

def write_without_flush():
    print("a result", end="")
    sys.stderr.write("a note")
    return int(sys.argv[1])

attncli.cli.main = write_without_flush

import attncli.__main__
attncli.__main__.main()
"""


def end_with(status: int, output: int | IO[str] = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """The process whose command returned this status."""
    command = [sys.executable, "-c", PROGRAM, str(status)]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        command, env=buffered, stdout=output, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )


@contextmanager
def full_disk() -> Iterator[IO[str]]:
    """A file that can't be written."""
    path = Path("/dev/full")
    if not path.exists():
        pytest.skip("there is no /dev/full")
    with path.open("w") as file:
        yield file


@pytest.mark.parametrize("status", [0, 1])
def test_what_is_still_in_buffers_is_written_and_nothing_is_freed(status: int) -> None:
    ran = end_with(status)
    assert (ran.returncode, ran.stdout, ran.stderr) == (status, "a result", "a note")


def test_what_can_not_be_written_at_the_end_fails() -> None:
    with full_disk() as file:
        assert end_with(0, output=file).returncode == 2


GARBAGE_PROGRAM = """
import gc
import attncli.cli

usual = gc.get_threshold()

def make_many_objects():
    is_later = gc.get_threshold() > usual
    kept = [[number] for number in range(200_000)]
    print(is_later, gc.get_threshold() == usual, gc.callbacks)
    return 0

attncli.cli.main = make_many_objects

import attncli.__main__
attncli.__main__.main()
"""


def test_garbage_is_collected_as_usual_once_many_objects_have_been_made() -> None:
    ran = subprocess.run([sys.executable, "-c", GARBAGE_PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout == "True True []\n"


# A command that fails in a way that nobody foresaw, in the same process as `attn show x`.
CRASHING_PROGRAM = """
import sys
import attncli.cli.commands.show as show

def fail(word):
    raise {error}

show.path_of = fail
sys.argv = ["attn", "show", "x"]

import attncli.__main__
attncli.__main__.main()
"""


def crash(error: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The process of a command that raised this exception."""
    command = [sys.executable, "-c", CRASHING_PROGRAM.format(error=error)]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("error", ["ValueError('a\\nb')", "EOFError('a b')", "SystemError('a b')"])
def test_what_nobody_foresaw_ends_with_70_and_one_line_that_says_how_to_report_it(error: str) -> None:
    ran = crash(error)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (70, "", 1)
    assert re.match(r"attn: internal error: \w+Error in attncli/cli/commands/show\.py, line \d+ \(a b\)", ran.stderr)
    assert "please report" in ran.stderr


def test_its_traceback_is_printed_where_the_environment_asks_for_it() -> None:
    ran = crash("ValueError(1)", ATTN_TRACEBACK="1")
    assert ran.returncode == 70
    assert "Traceback" in ran.stderr
    assert ran.stderr.endswith("ValueError: 1\n")

"""The process: garbage is collected when there may be much; it ends at once, with everything that was written."""

import os
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

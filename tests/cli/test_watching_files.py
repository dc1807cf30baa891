"""`attn compute --watch` in a process of its own, with the events of watchfiles; files are saved as editors do it."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

PROBLEM = "query: [[1]]\nkey: [[1]]\nvalue: v.csv\n"


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The program, which has written a result, a line of JSON, and waits."""
    (tmp_path / "p.yaml").write_text(PROBLEM)
    (tmp_path / "v.csv").write_text("1\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "attncli", "compute", "p.yaml", "--watch", "--json"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "attn: watching p.yaml and v.csv; Ctrl-C ends it\n"
        assert next_output(process) == 1
        yield process
    finally:
        process.kill()
        process.communicate()


def next_output(process: subprocess.Popen[str]) -> float:
    """The one number of the next result, as soon as it is there."""
    assert process.stdout is not None
    number: float = json.loads(process.stdout.readline())["output"][0][0]
    return number


def replace(file: Path, text: str) -> None:
    """Write another file and rename it, as sed -i and vim do."""
    other = file.with_name(f"{file.name}.tmp")
    other.write_text(text)
    other.replace(file)


def rename_first(file: Path, text: str) -> None:
    """Keep the file under another name, and write a new one, as Emacs does."""
    file.rename(file.with_name(f"{file.name}~"))
    file.write_text(text)


def remove_and_write(file: Path, text: str) -> None:
    file.unlink()
    file.write_text(text)


@pytest.mark.parametrize("save", [Path.write_text, replace, rename_first, remove_and_write])
def test_a_file_is_computed_again_however_it_is_saved(
    save: Callable[[Path, str], object], watching: subprocess.Popen[str], tmp_path: Path
) -> None:
    for number in (2, 3):  # twice: a file in place of the first one is watched too
        save(tmp_path / "v.csv", f"{number}\n")
        assert next_output(watching) == number


def test_a_half_saved_file_is_an_error_until_it_is_whole(watching: subprocess.Popen[str], tmp_path: Path) -> None:
    assert watching.stderr is not None
    (tmp_path / "p.yaml").write_text("query: [[1")
    assert watching.stderr.readline().startswith("attn: p.yaml, line 1: `[` is not closed")
    (tmp_path / "p.yaml").write_text(PROBLEM)
    assert next_output(watching) == 1
    assert watching.stderr.readline().endswith("p.yaml saved, no number changed\n")


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", -signal.SIGTERM)])
def test_a_signal_ends_it_while_it_waits(name: str, status: int, watching: subprocess.Popen[str]) -> None:
    watching.send_signal(getattr(signal, name))
    assert watching.communicate(timeout=60) == ("", "")
    assert watching.returncode == status


def test_it_ends_quietly_when_its_output_is_closed(watching: subprocess.Popen[str]) -> None:
    assert watching.stdout is not None
    assert watching.stderr is not None
    watching.stdout.close()
    assert watching.wait(timeout=60) == 0
    assert watching.stderr.read() == ""

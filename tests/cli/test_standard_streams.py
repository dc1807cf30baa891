"""Standard streams that are closed, full, or read by nobody: for results, help and errors alike."""

import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, suppress
from pathlib import Path
from unittest.mock import patch

import pytest

import attncli.cli
from tests.cli.running import Ran, Run

DEEP = pytest.mark.deep
# Words that write to standard output.
WRITING = ["--version", "", "--help", "compute --help", "compute t.yaml", "compute t.yaml --json"]
WRITING += ["list", "show cosine", "demo", "demo --list", "generate t.yaml", "init -", "check t.yaml --slips"]
NOTHING_ATTENDED = "compute --query [[-1]] --key [[1]] --normalize relu --json"


def shell(command: str, folder: Path) -> Ran:
    """Run a command of bash, in which attn is the program; the status is that of attn also in a pipe."""
    script = f'attn() {{ {sys.executable} -m attncli "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )


def run_into(descriptor: int | None, words: str, folder: Path) -> tuple[int, str]:
    """Call `attn` with this standard output in this process: its exit status, and its standard error."""
    stdout = None if descriptor is None else os.fdopen(descriptor, "w", encoding="utf-8")
    stderr = io.TextIOWrapper(errors := io.BytesIO(), encoding="utf-8")
    with (
        patch.dict(os.environ),
        chdir(folder),
        patch.multiple(sys, stdout=stdout, stderr=stderr, argv=["attn", *words.split()]),
    ):
        status = attncli.cli.main()
        stderr.flush()
    with suppress(OSError):  # what could not be written is still there
        if stdout is not None:
            stdout.close()
    return status, errors.getvalue().decode()


CLOSED = "attn: standard output: is closed\n"
NO_SPACE = "attn: standard output: can't be written (No space left on device)\n"


@pytest.mark.usefixtures("tutorial")
@pytest.mark.parametrize("words", WRITING)
def test_a_standard_output_that_is_closed_or_full_is_an_error_and_a_closed_pipe_is_none(
    words: str, tmp_path: Path
) -> None:
    assert run_into(None, words, tmp_path) == (2, CLOSED)
    assert run_into(os.open("/dev/full", os.O_WRONLY), words, tmp_path) == (2, NO_SPACE)
    reader, writer = os.pipe()
    os.close(reader)
    assert run_into(writer, words, tmp_path) == (0, "")


@pytest.mark.parametrize(
    ("end", "status", "error"), [("| true", 0, ""), (">&-", 2, CLOSED), ("> /dev/full", 2, NO_SPACE)]
)
def test_so_it_is_at_the_end_of_the_process(end: str, status: int, error: str, tmp_path: Path) -> None:
    ran = shell(f"attn list scores {end}", tmp_path)
    assert (ran.returncode, ran.stderr) == (status, error)


@DEEP
def test_a_closed_pipe_in_the_middle_of_a_result_ends_the_program(run: Run, tmp_path: Path) -> None:
    assert run("generate", "--seed", "1", "--token-count", "300", "--dim", "2", "-o", "big.yaml").returncode == 0
    ran = shell("attn compute big.yaml --json | head -n 1", tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "{\n", "")


@DEEP
def test_a_file_needs_no_standard_streams(tutorial: str, tmp_path: Path) -> None:
    assert shell("attn compute t.yaml -o x.json <&- >&- 2>&-", tmp_path).returncode == 0
    assert (tmp_path / "x.json").read_text().startswith("{")


@DEEP
@pytest.mark.parametrize("to", ["&-", "/dev/full", " >(true)"])
def test_a_standard_error_that_nobody_reads_changes_nothing_else(to: str, tmp_path: Path) -> None:
    """Closed, Python would print a warning among the results."""
    ran = shell(f"attn {NOTHING_ATTENDED} 2>{to}", tmp_path)
    assert (ran.returncode, ran.stdout[:2], ran.stderr) == (0, "{\n", "")
    ran = shell(f"attn compute no.yaml 2>{to}", tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", "")


@DEEP
def test_a_closed_standard_input_is_an_error(tmp_path: Path) -> None:
    ran = shell("attn compute - <&-", tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.startswith("attn: standard input: is closed")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "begins"),
    [
        ("attn compute t.yaml -o /dev/stdout >> x", "before\nscaled_dot → softmax"),
        pytest.param("attn compute t.yaml --json -o /dev/stdout >> x", "before\n{\n", marks=DEEP),
        pytest.param("attn compute t.yaml --json -o /dev/fd/3 3>> x", "before\n{\n", marks=DEEP),
        pytest.param("attn compute t.yaml -f csv -o >(cat >> x; touch done); until [ -e done ]; do :; done",
                     "before\n# scores\n", marks=DEEP),
        pytest.param("attn compute t.yaml -f csv -o /dev/stdout | cat >> x", "before\n# scores\n", marks=DEEP),
        pytest.param("attn generate t.yaml -o /dev/stdout >> x", "before\ntitle:", marks=DEEP),
        pytest.param("attn demo tutorial --save /dev/stdout | cat >> x", "before\ntitle:", marks=DEEP),
        pytest.param("attn compute t.yaml -o /dev/null", "before\n", marks=DEEP),
    ],
)  # fmt: skip
def test_an_output_that_is_open_or_no_file_is_written_in_place(
    command: str, begins: str, tutorial: str, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text("before\n")
    ran = shell(command, tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (tmp_path / "x").read_text(encoding="utf-8").startswith(begins)


@pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors"])
def test_arrays_can_be_written_to_a_pipe(suffix: str, tutorial: str, tmp_path: Path, run: Run) -> None:
    os.mkfifo(pipe := tmp_path / f"pipe.{suffix}")
    with ThreadPoolExecutor(1) as reader:
        piped = reader.submit(pipe.read_bytes)
        assert run("compute", "t.yaml", "--select", "output", "-o", pipe.name).stderr == ""
        (tmp_path / f"x.{suffix}").write_bytes(piped.result(60))
    assert run("compute", "t.yaml", "--select", "output", "-o", f"y.{suffix}").returncode == 0
    read = [run("compute", "--embeddings", f"{name}.{suffix}", "-f", "csv").stdout for name in "xy"]
    assert read[0] == read[1] != ""


class TextTaker:
    """What another program may have put in the place of a stream: it takes text, and is nothing else."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def getvalue(self) -> str:
        return self.text


@pytest.mark.parametrize("make", [io.StringIO, TextTaker])
@pytest.mark.parametrize(
    ("words", "status"),
    [
        *((words, 0) for words in WRITING if words not in ("check t.yaml --slips", "demo")),
        ("compute", 2),
        ("compute --query [[1]] --key [[2]] --heatmap", 0),
    ],
)
def test_streams_that_take_text_alone_are_written_to(
    make: type[io.StringIO], words: str, status: int, tutorial: str, tmp_path: Path
) -> None:
    stdout, stderr = make(), make()
    argv = ["attn", *words.split()]
    with patch.dict(os.environ), chdir(tmp_path), patch.multiple(sys, stdout=stdout, stderr=stderr, argv=argv):
        assert attncli.cli.main() == status
        assert (sys.stdout, sys.stderr) == (stdout, stderr)
    assert bool(stdout.getvalue()) == (status == 0)
    assert bool(stderr.getvalue()) == (status == 2)

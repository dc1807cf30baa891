"""Standard streams that are closed, full, or read by nobody: for results, help and errors alike."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import Ran, Run

DEEP = pytest.mark.deep
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
# Words that write to standard output: two of them in the quick tests, for each way to write.
WRITING = [
    "--version",
    "compute t.yaml",
    *(pytest.param(words, marks=DEEP) for words in ("", "--help", "compute --help", "compute t.yaml --json")),
    *(pytest.param(words, marks=DEEP) for words in ("list", "show cosine", "demo", "demo --list", "generate t.yaml")),
]
NOTHING_ATTENDED = "compute --query [[-1]] --key [[1]] --normalize relu --json"


def shell(command: str, folder: Path) -> Ran:
    """Run a command of bash, in which attn is the program; the status is that of attn also in a pipe."""
    script = f'attn() {{ {sys.executable} -m attncli "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("words", WRITING)
def test_a_closed_pipe_ends_the_program_without_an_error(words: str, tutorial: str, tmp_path: Path) -> None:
    ran = shell(f"attn {words} | true", tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("words", WRITING)
def test_a_closed_standard_output_is_an_error(words: str, tutorial: str, tmp_path: Path) -> None:
    ran = shell(f"attn {words} >&-", tmp_path)
    assert (ran.returncode, ran.stderr) == (2, "attn: standard output: is closed\n")


@FULL
@pytest.mark.parametrize("words", WRITING)
def test_a_full_disk_is_an_error(words: str, tutorial: str, tmp_path: Path) -> None:
    ran = shell(f"attn {words} > /dev/full", tmp_path)
    assert ran.returncode == 2
    assert ran.stderr == "attn: standard output: can't be written (No space left on device)\n"


def test_a_closed_pipe_in_the_middle_of_a_result_ends_the_program(run: Run, tmp_path: Path) -> None:
    assert run("generate", "--seed", "1", "--token-count", "300", "--dim", "2", "-o", "big.yaml").returncode == 0
    ran = shell("attn compute big.yaml --json | head -n 1", tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "{\n", "")


@DEEP
def test_a_file_needs_no_standard_streams(tutorial: str, tmp_path: Path) -> None:
    assert shell("attn compute t.yaml -o x.json <&- >&- 2>&-", tmp_path).returncode == 0
    assert (tmp_path / "x.json").read_text().startswith("{")


@DEEP
@pytest.mark.parametrize("to", ["&-", pytest.param("/dev/full", marks=FULL), " >(true)"])
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


@pytest.mark.parametrize("suffix", ["npy", pytest.param("npz", marks=DEEP), pytest.param("safetensors", marks=DEEP)])
def test_arrays_can_be_written_to_a_pipe(suffix: str, tutorial: str, tmp_path: Path, run: Run) -> None:
    if suffix == "safetensors":
        pytest.importorskip("safetensors")
    (tmp_path / "pipe").mkdir()
    words = f"attn compute t.yaml --select output -o pipe/x.{suffix}"
    ran = shell(f"mkfifo pipe/x.{suffix} && {{ cat pipe/x.{suffix} > x.{suffix} & }} && {words} && wait", tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert run("compute", "t.yaml", "--select", "output", "-o", f"y.{suffix}").returncode == 0
    read = [run("compute", "--embeddings", f"{name}.{suffix}", "-f", "csv").stdout for name in "xy"]
    assert read[0] == read[1] != ""

"""A process that a signal ends: as a shell expects it, with nothing left beside the output."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

DEEP = pytest.mark.deep
# The program, which says when it has opened its output, and then waits in place of computing.
WAITING_PROGRAM = """
import os, sys, time
import attncli.cli.output

def wait(*_):
    print("computing", flush=True)
    for _ in range(6000):
        time.sleep(0.01)  # in one long sleep Python would not see a signal that came just before it

attncli.cli.output.compute_view = wait
if "--named" in sys.argv:  # as on a system that has no files without a name
    sys.argv.remove("--named")
    del os.O_TMPFILE

import attncli.__main__
attncli.__main__.main()
"""


def start_computing(*words: str, folder: Path) -> subprocess.Popen[str]:
    """The program, which has opened its output and computes."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING_PROGRAM, "compute", *words],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "computing\n"
    return process


# Each signal, each way to write, and a file that is there already or not, on each system.
@pytest.mark.parametrize(
    ("name", "file", "system"),
    [
        ("SIGTERM", "t.json", "--named"),
        pytest.param("SIGTERM", "x.npy", "", marks=DEEP),
        pytest.param("SIGHUP", "x.csv", "--named", marks=DEEP),
        pytest.param("SIGXCPU", "x.npz", "--named", marks=DEEP),
    ],
)
def test_a_signal_leaves_no_file(name: str, file: str, system: str, tutorial: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("old")
    options = [system] if system else []
    process = start_computing(tutorial, "--select", "output", "-o", file, *options, folder=tmp_path)
    for _ in range(2):  # `timeout` sends two
        process.send_signal(getattr(signal, name))
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (-getattr(signal, name), "")
    assert {path.name for path in tmp_path.iterdir()} == {"t.yaml", "t.json"}
    assert (tmp_path / "t.json").read_text() == "old"


@DEEP
@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="no file without a name can be made here")
def test_not_even_sigkill_leaves_a_file(tutorial: str, tmp_path: Path) -> None:
    process = start_computing(tutorial, "-o", "x.csv", folder=tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["t.yaml"]


@DEEP
def test_an_ignored_signal_stays_ignored(tutorial: str, tmp_path: Path) -> None:
    """As under nohup, which ignores SIGHUP."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = start_computing(tutorial, "-o", "x.csv", folder=tmp_path)
    finally:
        signal.signal(signal.SIGHUP, before)
    process.send_signal(signal.SIGHUP)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize("system", [pytest.param("--named", marks=DEEP), ""])
def test_control_c_leaves_no_file_and_ends_with_130(system: str, tutorial: str, tmp_path: Path) -> None:
    process = start_computing(tutorial, "-o", "x.csv", *([system] if system else []), folder=tmp_path)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")
    assert [path.name for path in tmp_path.iterdir()] == ["t.yaml"]


@DEEP
def test_control_c_while_it_reads_ends_with_130(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "attncli", "compute", "-"],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until_it_reads(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err


def test_control_c_while_the_program_loads_ends_with_130(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")  # as if interrupted while it is imported
    ran = subprocess.run(
        [sys.executable, "-m", "attncli", "--version"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


FINALIZER_PROGRAM = """
import sys, time
import attncli.cli

class Slow:
    def __del__(self):
        print("finalizing", flush=True)
        for _ in range(6000):
            time.sleep(0.01)

attncli.cli.main = lambda: Slow() and 0

import attncli.__main__
attncli.__main__.main()
"""


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", -signal.SIGTERM), ("SIGINT", 130)])
def test_a_signal_ends_the_process_also_in_a_finalizer(name: str, status: int) -> None:
    """Where Python prints an exception and continues."""
    process = subprocess.Popen(
        [sys.executable, "-c", FINALIZER_PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "finalizing\n"
    process.send_signal(getattr(signal, name))
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (status, "")


LOGGING_PROGRAM = """
import sys, time, types

def wait():
    sys.modules["logging"] = types.ModuleType("logging")  # as while a thread imports it
    print("waiting", flush=True)
    for _ in range(6000):
        time.sleep(0.01)

import attncli.cli
attncli.cli.main = wait

import attncli.__main__
attncli.__main__.main()
"""


def test_a_signal_ends_the_process_also_while_a_thread_imports_logging() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LOGGING_PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (-signal.SIGTERM, "")


def wait_until_it_reads(process: int) -> None:
    """Until the process sleeps in a read of its standard input; where /proc does not say, a second."""
    system_call = Path(f"/proc/{process}/syscall")
    for _ in range(1200 if os.access(system_call, os.R_OK) else 20):
        time.sleep(0.05)
        with suppress(OSError):
            if system_call.read_text().startswith("0 0x0 "):
                return

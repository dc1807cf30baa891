"""Large problems on the command line: progress, interrupts, output files and imports."""

import ast
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attncli import attention
from attncli.cli.terminal import ProgressBar
from attncli.io import examples
from docs.generation.packages import packages
from tests.arrays import normal
from tests.cli.running import STYLE, Run, Terminal, read_terminal

# Several seconds of work on the quickest machine, of which the bar or the file that is open says when they have begun.
LONG = {
    "attending": "--score laplacian --query wide.npy --key wide.npy --select output -o out.npy",
    "attending to a table": "--score laplacian --query wide.npy --key wide.npy --select weights -o out.npy",
    "writing": "--query q.npy --key q.npy --select weights,scores -o out.csv",
    "writing JSON": "--query q.npy --key q.npy --select weights,scores -o out.json",
    "reading": "--query long.csv --key q.npy --select output -o out.npy",
}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_weights_are_computed_straight_into_their_file(run: Run, tmp_path: Path) -> None:
    query = normal(500, 8)
    np.save(tmp_path / "q.npy", query)
    ran = run("compute", "--query", "q.npy", "--key", "q.npy", "--causal", "--select", "weights", "-o", "w.npy")
    assert (ran.returncode, ran.stderr) == (0, "")
    np.testing.assert_allclose(
        np.load(tmp_path / "w.npy"), attention(query, query, causal=True, select=("weights",)).weights, rtol=1e-12
    )
    assert names(tmp_path) == ["q.npy", "w.npy"]


@pytest.mark.parametrize("more", ["output", "output --causal", "weights"])
def test_the_last_digits_do_not_depend_on_the_executor(more: str, run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", normal(1100, 16, seed=1))
    for name in ("threads", "serial"):
        words = f"compute --query q.npy --key q.npy --select {more} --executor {name} -o {name}.npy"
        assert run(*words.split()).returncode == 0
    assert (tmp_path / "threads.npy").read_bytes() == (tmp_path / "serial.npy").read_bytes()


@pytest.mark.deep
@pytest.mark.parametrize("work", LONG)
def test_an_interrupt_ends_it_and_leaves_nothing_behind(work: str, tmp_path: Path) -> None:
    """A terminal shows before how much of it is done."""
    np.save(tmp_path / "q.npy", normal(6000, 8).astype(np.float32))
    np.save(tmp_path / "wide.npy", normal(8000, 500).astype(np.float32))
    if work == "reading":
        rows = "".join(f"{','.join(map(str, row))}\n" for row in normal(1000, 8).tolist())
        (tmp_path / "long.csv").write_text(rows * 500)
    file = tmp_path / LONG[work].rsplit(maxsplit=1)[-1]
    file.write_text("old")
    before = names(tmp_path)
    import pty  # not on Windows

    reading_end, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "attncli", "compute", *LONG[work].split()],
        cwd=tmp_path, env=os.environ | {"TERM": "xterm", "COLUMNS": "80"}, stdout=subprocess.DEVNULL, stderr=terminal,
    ) as process:  # fmt: skip
        os.close(terminal)
        shown = b""
        if work == "reading":
            wait_until_it_has_open(tmp_path / "long.csv", process)
        else:
            bar = re.compile(work.partition(" ")[0] + r" [^a-z]* \d+% ")
            while not bar.search(STYLE.sub("", shown.decode(errors="ignore"))):
                shown += os.read(reading_end, 1000)  # raises OSError where it is over before
        process.send_signal(signal.SIGINT)
        shown += read_terminal(reading_end)
    os.close(reading_end)
    assert process.returncode == 130
    assert b"Traceback" not in shown
    assert shown.rfind(b"\x1b[?25h") >= shown.rfind(b"\x1b[?25l"), "the cursor is still hidden"
    assert names(tmp_path) == before
    assert file.read_text() == "old"


def wait_until_it_has_open(file: Path, process: subprocess.Popen[bytes]) -> None:
    """Until a process has opened a file; it fails where the process ends before."""
    files = Path(f"/proc/{process.pid}/fd")
    while process.poll() is None:
        with suppress(OSError):  # one was closed meanwhile
            if any(link.readlink() == file for link in files.iterdir()):
                return
        time.sleep(0.01)
    raise AssertionError("it was over before it could be interrupted")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that progress bars read, which stay until a test sets them."""
    seconds = [0.0]
    monkeypatch.setattr("attncli.cli.terminal.time", SimpleNamespace(monotonic=lambda: seconds[0]))
    monkeypatch.setattr("rich.console.monotonic", lambda: seconds[0])
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return seconds


def test_a_bar_shows_the_percentage_and_the_time_that_remains(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first and the second of four blocks are 30 seconds: two more take a minute."""
    monkeypatch.setattr("sys.stderr", Terminal(stream := io.BytesIO(), encoding="utf-8"))
    with ProgressBar("attending") as bar:
        for seconds, done in ((0.9, 0), (2.0, 1), (32.0, 2)):
            clock[0] = seconds
            bar(done, 4)
            assert bool(stream.getvalue()) == (seconds > 1), "it appears after a second"
    shown = STYLE.sub("", stream.getvalue().decode())
    assert re.search(r"attending [━╸╺ ]+ 50% 0:01:00", shown)
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is still hidden"


@pytest.mark.parametrize(
    ("work", "words"),
    [
        ("attending", "--select output -o out.npy"),
        ("writing", "--select weights,scores -o out.csv"),
        ("writing", "--select weights,scores -f csv"),
    ],
    ids=["attending", "writing a file", "writing to a pipe"],
)
@pytest.mark.usefixtures("clock")
def test_a_terminal_shows_what_is_done_and_a_pipe_gets_nothing_of_it(
    work: str, words: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attncli.cli.terminal.DELAY", 0)
    np.save(tmp_path / "q.npy", normal(401, 4))  # more scores than are computed whole
    command = ("compute", "--query", "q.npy", "--key", "q.npy", *words.split())
    shown = run(*command, errors_to=Terminal).stderr
    assert re.search(work + r" [━╸╺ ]+ \d+% [\d-]:", STYLE.sub("", shown))
    assert run(*command).stderr == ""


# What a command has no use for, in whole packages or in modules that import many others.
HEAVY = {
    *("numpy", "yaml", "rich", "pydantic", "concurrent.futures", "distributed", "threadpoolctl"),
    *("numpy.ma", "numpy.random", "attncli.io.problem_text"),
    *(f"attncli.{part}" for part in ("api", *packages("wing"))),
    *(f"attncli.render.{part}" for part in ("heatmap", "statistics", "data_fit", "tables")),
}
# Commands of one process, and what each is the first to import.
FIRST_USES: dict[str, set[str]] = {
    "--version": set(),
    "--help": set(),
    "compute --help": set(),
    "list scores": set(),
    "completion": set(),
    "compute t.json --select output -o o.npy": {"numpy"},
    "compute --query [[1]] --key [[1]] --json": {"yaml"},  # what stands on the command line is YAML
    "compute t.yaml --json": set(),
    "compute t.yaml": {"attncli.render.tables"},
    "compute t.yaml --explain": set(),
    "compute t.yaml --json --stats": {"attncli.render.statistics"},
}
REPORT = """
import os, sys
from attncli.cli import main

commands, heavy = eval(sys.argv[1])
known = set()
for words in commands:
    if words == "completion":
        os.environ |= {"_ATTN_COMPLETE": "complete_bash", "COMP_WORDS": "attn compute --score ga", "COMP_CWORD": "3"}
    sys.argv = ["attn", *words.split()] if words != "completion" else ["attn"]
    assert main() == 0
    os.environ.pop("_ATTN_COMPLETE", None)
    imported = heavy & set(sys.modules)
    print(repr((words, imported - known)), file=sys.stderr)
    known |= imported

import threadpoolctl
blas = [found for found in threadpoolctl.threadpool_info() if found["user_api"] == "blas"]
print({found["num_threads"] for found in blas}, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What each command imports, in one process, and then the numbers of threads of libraries of products."""
    folder = tmp_path_factory.mktemp("imports")
    (folder / "t.yaml").write_text(examples.text("tutorial"), encoding="utf-8")
    (folder / "t.json").write_text('{"embeddings": [[1, 2], [3, 4]]}')
    command = [sys.executable, "-c", REPORT, repr((list(FIRST_USES), HEAVY))]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert "gaussian" in ran.stdout  # which is completed
    return [ast.literal_eval(line) for line in ran.stderr.splitlines()]


def test_nothing_is_imported_that_is_not_used(reported: list[Any]) -> None:
    assert dict(reported[:-1]) == FIRST_USES


def test_the_command_holds_the_library_of_products_to_one_thread(reported: list[Any]) -> None:
    assert reported[-1] == {1}


MANY = ("compute", "--seed", "1", "--token-count", "363", "--dim", "2", "--init", "normal")


@pytest.mark.parametrize("output_format", ["table", "markdown", "latex"])
def test_tables_of_a_large_problem_show_the_answer_alone_and_how_to_see_the_rest(output_format: str, run: Run) -> None:
    shown = run(*MANY, "-f", output_format).stdout
    selected = run(*MANY, "-f", output_format, "--select", "output").stdout
    lines, selected_lines = ([line for line in text.splitlines() if line] for text in (shown, selected))
    assert lines[:-1] == selected_lines
    assert "scores and weights, 363" in lines[-1]
    advice = "--select scores,weights,output shows them, -o FILE writes them"
    assert (advice in lines[-1]) is (output_format == "table")  # other documents have no options in them


@pytest.mark.parametrize("words", [("--json",), ("-f", "yaml"), ("-f", "csv"), ("-o", "x.txt"), ("-o", "x.md")])
def test_programs_and_files_get_the_default_selection_of_a_large_problem(
    words: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    ran = run(*MANY, *words)
    text = ran.stdout or (tmp_path / words[1]).read_text()
    for name in ("scores", "weights", "output"):
        assert re.search(rf"^\W*{name}\b", text, re.MULTILINE), name


def test_what_is_selected_of_a_large_problem_is_shown(run: Run) -> None:
    assert "left out" not in run(*MANY, "--select", "scores,output").stdout


def test_where_few_scores_have_many_hidden_units_every_result_is_shown(run: Run, tmp_path: Path) -> None:
    """These are computed in blocks, as are large problems, but their tables are not too large to read."""
    units = {"w1": [[1] * 40] * 2, "w2": [[0.5] * 40] * 2, "v": [0.1] * 40}
    (tmp_path / "hidden.yaml").write_text(f"score: {{additive: {json.dumps(units)}}}\n")
    drawn = ("--seed", "1", "--token-count", "120", "--dim", "2", "--init", "normal")
    shown = run("compute", "hidden.yaml", *drawn).stdout
    assert [line for line in shown.split("\n") if line in ("scores", "weights", "output")] == [
        "scores",
        "weights",
        "output",
    ]
    assert "left out" not in shown

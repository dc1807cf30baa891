"""Large problems on the command line: progress, interrupts, output files and imports."""

import ast
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from attncli import attention
from tests.cli.running import Run

LONG = {  # a second or two until it starts, then a minute of work
    "attending": "--score laplacian --query wide.npy --key wide.npy --select output -o out.npy",
    "attending to a table": "--score laplacian --query wide.npy --key wide.npy --select weights -o out.npy",
    "writing": "--query q.npy --key q.npy --select weights,scores -o out.csv",
    "writing JSON": "--query q.npy --key q.npy --select weights,scores -o out.json",
    "reading": "--query long.csv --key q.npy --select output -o out.npy",
}

STYLES = re.compile(rb"\x1b\[[0-9;]*m")


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    """A folder with 6,000 vectors in `q.npy`, and 10,000 long ones in `wide.npy`."""
    np.save(tmp_path / "q.npy", np.random.default_rng(0).standard_normal((6000, 8)).astype(np.float32))
    np.save(tmp_path / "wide.npy", np.random.default_rng(0).random((10_000, 2000), np.float32))
    return tmp_path


def start(words: str, folder: Path, terminal: int | None = None) -> subprocess.Popen[bytes]:
    """Begin a command; where there is a terminal it is its standard error, and its output is discarded."""
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    command = [sys.executable, "-m", "attncli", "compute", *words.split()]
    streams = (subprocess.PIPE, subprocess.PIPE) if terminal is None else (subprocess.DEVNULL, terminal)
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=streams[0], stderr=streams[1])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_weights_are_computed_straight_into_their_file(run: Run, tmp_path: Path) -> None:
    query = np.random.default_rng(1).standard_normal((500, 8))
    np.save(tmp_path / "q.npy", query)
    ran = run("compute", "--query", "q.npy", "--key", "q.npy", "--causal", "--select", "weights", "-o", "w.npy")
    assert (ran.returncode, ran.stderr) == (0, "")
    np.testing.assert_allclose(
        np.load(tmp_path / "w.npy"), attention(query, query, causal=True, select=("weights",)).weights, rtol=1e-12
    )
    assert names(tmp_path) == ["q.npy", "w.npy"]


@pytest.mark.deep
@pytest.mark.parametrize("more", ["--select output", "--select output --causal", "--select weights"])
def test_the_last_digits_do_not_depend_on_the_executor(more: str, run_process: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", np.random.default_rng(1).standard_normal((1100, 16)))
    for name in ("threads", "serial"):
        words = f"compute --query q.npy --key q.npy {more} --executor {name} -o {name}.npy"
        assert run_process(*words.split()).returncode == 0
    assert (tmp_path / "threads.npy").read_bytes() == (tmp_path / "serial.npy").read_bytes()


@pytest.mark.deep
@pytest.mark.parametrize("words", LONG.values(), ids=LONG)
def test_an_interrupt_ends_it_and_leaves_nothing_behind(words: str, arrays: Path) -> None:
    if "long.csv" in words:
        rows = "\n".join(",".join(map(repr, row)) for row in np.load(arrays / "q.npy").tolist())
        (arrays / "long.csv").write_text("\n".join([rows] * 300))
    file = arrays / words.rsplit(maxsplit=1)[-1]
    file.write_text("old")
    before = names(arrays)
    process = start(words, arrays)
    time.sleep(2)
    assert process.poll() is None, "it was over before it could be interrupted"
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=10)  # how long it takes is for the benchmark
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in error
    assert names(arrays) == before
    assert file.read_text() == "old"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("work", "words"),
    [
        ("attending", LONG["attending"]),
        ("writing", LONG["writing"]),
        ("writing", "--query q.npy --key q.npy --select weights,scores --json"),
    ],
    ids=["attending", "writing a file", "writing to a pipe"],
)
def test_a_terminal_shows_the_work_its_percentage_and_the_remaining_time(work: str, words: str, arrays: Path) -> None:
    reading_end, terminal = pty.openpty()
    process = start(words, arrays, terminal)
    os.close(terminal)
    shown = b""
    while not re.search(work.encode() + rb" [^a-z]* \d+% \d:\d\d:\d\d", STYLES.sub(b"", shown)):
        shown += os.read(reading_end, 1000)
    process.send_signal(signal.SIGINT)
    while True:
        try:
            shown += os.read(reading_end, 1000)
        except OSError:  # the process has ended
            break
    os.close(reading_end)
    assert process.wait(timeout=10) == 130
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l"), "the cursor is still hidden"


@pytest.mark.deep
def test_no_progress_is_written_to_a_pipe(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "q.npy", np.random.default_rng(0).standard_normal((2500, 8)))
    ran = run(
        "compute", "--query", "q.npy", "--key", "q.npy", "--normalize", "sparsemax", "--select", "output", "--json"
    )
    assert ran.stderr == ""


def test_the_command_holds_the_library_of_products_to_one_thread(tmp_path: Path) -> None:
    pytest.importorskip("threadpoolctl")
    report = (
        "import sys, threadpoolctl\nfrom attncli.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([found['num_threads'] for found in threadpoolctl.threadpool_info() if found['user_api'] == 'blas'])"
    )
    command = [sys.executable, "-c", report, "compute", "--query", "[[1]]", "--key", "[[1]]", "-o", "o.npz"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "[1]\n"


# What a command has no use for, in whole packages or in modules that import many others.
OWN_PARTS = {
    *(f"attncli.{part}" for part in ("api", "analysis.check", "analysis.slips", "analysis.compare", "io.checkpoint")),
    *(
        f"attncli.render.{part}"
        for part in ("figure", "heatmap", "page.page_object", "statistics", "data_fit", "mask_signs")
    ),
    "attncli.io.writers.problem_text",
}
QUICK = ("--version", "compute t.yaml --json")
USES = {
    "--version": set(),
    "--help": set(),
    "compute --help": set(),
    "compute t.yaml --json": {"numpy", "yaml"},
    "compute --query [[1]] --key [[1]] --json": {"numpy", "yaml"},  # what stands on the command line is YAML
    "compute t.yaml": {"numpy", "yaml", "attncli.render.mask_signs"},
    "compute t.yaml --explain": {"numpy", "yaml", "attncli.render.mask_signs"},
    "compute t.yaml --json --stats": {"numpy", "yaml", "attncli.render.statistics"},
    "compute t.json --select output -o o.npy": {"numpy"},
    "list scores": set(),
}


@pytest.mark.parametrize("words", [pytest.param(w, marks=() if w in QUICK else pytest.mark.deep) for w in USES])
def test_nothing_is_imported_that_is_not_used(words: str, run: Run, tutorial: str, tmp_path: Path) -> None:
    run("compute", tutorial, "--json", "--select", "embeddings,w_q", "-o", "t.json")
    (tmp_path / "t.json").write_text('{"embeddings": [[1, 2], [3, 4]]}')
    heavy = {"numpy", "yaml", "rich", "pydantic", "concurrent.futures", "distributed", "orjson", "threadpoolctl"}
    heavy |= {"numpy.ma", "numpy.random", *OWN_PARTS}
    report = (
        "import sys\nfrom attncli.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        f"sys.stderr.write(repr(set(sys.modules) & {heavy}))"
    )
    command = [sys.executable, "-c", report, *words.split()]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    imported = ast.literal_eval(ran.stderr.replace("set()", "()"))
    assert set(imported) - {"orjson"} == USES[words]


MANY = ("compute", "--seed", "1", "--token-count", "400", "--dim", "2", "--init", "normal")


@pytest.mark.parametrize("output_format", ["table", "markdown", "latex"])
def test_tables_of_a_large_problem_show_the_answer_alone_and_how_to_see_the_rest(output_format: str, run: Run) -> None:
    shown = run(*MANY, "-f", output_format).stdout
    selected = run(*MANY, "-f", output_format, "--select", "output").stdout
    lines, selected_lines = ([line for line in text.splitlines() if line] for text in (shown, selected))
    assert lines[:-1] == selected_lines
    assert "scores and weights, 400" in lines[-1]
    assert "select scores,weights,output shows them, -o FILE writes them" in lines[-1]


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

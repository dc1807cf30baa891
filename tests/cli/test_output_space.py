"""What does not fit in memory or on the disk is refused before the work, with its size and what to do instead."""

from pathlib import Path

import pytest

import attncli.base.memory
import attncli.engine.run
from attncli.io import output_files
from tests.cli.running import Run

TOKENS = ("compute", "--seed", "1", "--token-count", "400", "--dim", "8")  # more cells than are computed whole
MORE_TOKENS = ("compute", "--seed", "1", "--token-count", "600", "--dim", "8")


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 3 MB of free memory: a table of scores needs 1.3."""
    for module in (attncli.base.memory, attncli.engine.run):
        monkeypatch.setattr(module, "ALWAYS_FITS", 0)
    monkeypatch.setattr(attncli.base.memory, "available_memory", lambda: 3_000_000)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk with 2 MB of free space."""
    monkeypatch.setattr(output_files, "_free_bytes", lambda _target: 2_000_000)


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("words", "need"),
    {
        ("--json", "--explain"): "the run needs 5.",
        ("-o", "out.npz", "--explain"): "the run needs 5.",
        ("-f", "table", "--select", "scores,weights,output"): "writing them 22.",
        ("-f", "latex", "--select", "weights"): "writing them 8.0 MB",
    }.items(),
)
def test_a_run_larger_than_the_memory_is_refused(words: tuple[str, ...], need: str, run: Run, tmp_path: Path) -> None:
    ran = run(*TOKENS, *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert need in ran.stderr
    assert "and 3.0 MB are free" in ran.stderr
    assert "select only output, without every step (" in ran.stderr
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("words", [("--json",), ("--select", "output"), ("-o", "out.npz"), ("-f", "csv", "--strict")])
def test_what_is_written_a_few_rows_at_a_time_fits(words: tuple[str, ...], run: Run) -> None:
    assert run(*TOKENS, *words).returncode == 0


@pytest.mark.usefixtures("memory")
def test_vectors_that_can_not_be_drawn_are_refused_by_their_size(run: Run) -> None:
    ran = run("generate", "--seed", "1", "--token-count", "100000", "--dim", "64")
    assert ran.returncode == 2
    expected = "--token-count: embeddings of 100000 × 64 numbers needs 51.2 MB of memory and 3.0 MB are free"
    assert expected in ran.stderr


@pytest.mark.usefixtures("disk")
def test_a_result_larger_than_the_disk_is_refused_with_what_fits(run: Run, tmp_path: Path) -> None:
    ran = run(*MORE_TOKENS, "-o", "out.json")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "attn: --output out.json: the result takes about 11.8 MB (scores 5.9 MB, weights 5.9 MB) "
        "and the disk has 2.0 MB left; select output alone (78.3 kB)\n"
    )
    assert not list(tmp_path.glob("*out*"))
    assert run(*MORE_TOKENS, "-o", "out.json", "--select", "output").returncode == 0


@pytest.mark.usefixtures("disk")
def test_where_short_numbers_would_fit_there_is_a_warning(run: Run, tmp_path: Path) -> None:
    whole = (*TOKENS, "--score", "dot", "--select", "scores", "-o", "out.csv")
    message = "--output out.csv: the result takes about 2.6 MB (scores 2.6 MB) and the disk has 2.0 MB left"
    strict = run(*whole, "--strict")
    assert strict.returncode == 2
    assert message in strict.stderr
    assert not list(tmp_path.glob("*out*"))
    ran = run(*whole)
    assert ran.returncode == 0
    assert ran.stderr.startswith(f"attn: warning: {message}")
    assert (tmp_path / "out.csv").stat().st_size < 2_000_000


@pytest.mark.usefixtures("disk")
def test_where_the_inputs_are_not_whole_the_numbers_of_results_are_long(run: Run, tmp_path: Path) -> None:
    ran = run(*TOKENS, "--init", "normal", "--score", "dot", "--select", "scores", "-o", "out.csv")
    assert ran.returncode == 2
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.usefixtures("disk")
def test_a_binary_file_is_proposed_where_it_fits(run: Run) -> None:
    assert "or name a .npz file (1.3 MB)" in run(*TOKENS, "--select", "scores", "-o", "out.csv").stderr
    assert run(*TOKENS, "--select", "scores", "-o", "out.npz").returncode == 0


@pytest.mark.usefixtures("disk")
@pytest.mark.parametrize("file", ["out.yaml", "out.json", "out"])
def test_a_problem_larger_than_the_disk_is_refused(file: str, run: Run, tmp_path: Path) -> None:
    ran = run("generate", "--seed", "1", "--init", "normal", "--token-count", "2000", "--dim", "64", "-o", file)
    assert ran.returncode == 2
    assert f"--output {file}: the result takes about 2." in ran.stderr
    assert not (tmp_path / file).exists()


@pytest.mark.usefixtures("disk")
def test_one_cell_takes_no_space(run: Run) -> None:
    assert run(*TOKENS, "--cell", "token_1,token_2").returncode == 0


VARIED = ("compare", *TOKENS[1:], "--vary", "scale=1..5", "--select", "weights")


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("words", "need"),
    [
        (VARIED, "to compare 5 variants needs 6.4 MB"),  # 5 × 400 × 400 × 8 bytes
        # 192 × (400 × 8 + 3 × 8 × 8) × 8 bytes
        (("compare", *TOKENS[1:-2], "--vary", "dim=8..200"), "to draw the numbers of 192 more variants needs 5.2 MB"),
    ],
)
def test_variants_that_do_not_fit_together_are_refused(words: tuple[str, ...], need: str, run: Run) -> None:
    ran = run(*words, "--json")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"{need} of memory and 3.0 MB are free; vary less" in ran.stderr


@pytest.mark.usefixtures("disk")
def test_a_comparison_that_the_disk_can_not_take_is_refused(run: Run, tmp_path: Path) -> None:
    ran = run(*VARIED, "-o", "out.csv")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--output out.csv: the result takes about 3.2 MB (weights 3.2 MB) and the disk has 2.0 MB left" in ran.stderr
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(("select", "status"), [("weights", 0), ("scores,weights,output", 2)])
def test_a_table_before_and_after_an_edit_needs_memory_once_each(select: str, status: int, run: Run) -> None:
    ran = run(*TOKENS, "--set", "embeddings[0,0]=1", "--json", "--stats", "--select", select)
    assert ran.returncode == status, ran.stderr

"""--set: the numbers before and after in each output of `compute`, and the verdicts of `check`."""

import json
from pathlib import Path

import numpy as np
import pytest

from attncli.io.parse import read_text_array
from attncli.io.problem_files import Origin
from tests.cli.running import Run
from tests.problems import write_file

PROBLEM = """
embeddings: [[1, 0], [0, 1], [1, 1]]
tokens: [the, cat, sat]
w_q: [[1, 0], [0, 1]]
score: dot
expected:
  scores: [[2, 0, 2], [0, 1, 1], [2, 1, 3]]
"""
SET = ("p.yaml", "--set", "w_q[0,0]=2")  # the scores that are expected


@pytest.fixture(autouse=True)
def problem(tmp_path: Path) -> None:
    write_file(tmp_path, PROBLEM)


def test_the_result_is_that_of_the_changed_problem(run: Run) -> None:
    result = json.loads(run("compute", *SET, "--json").stdout)
    assert result["scores"] == [[2, 0, 2], [0, 1, 1], [2, 1, 3]]
    assert result["before"]["scores"] == [[1, 0, 1], [0, 1, 1], [1, 1, 2]]
    assert result["set"] == [{"cell": "w_q[0,0]", "before": 1, "after": 2}]
    assert list(result["before"]) == ["scores", "weights", "output"]


def test_nothing_is_said_of_a_result_before_without_edits(run: Run) -> None:
    assert {"set", "before"}.isdisjoint(json.loads(run("compute", "p.yaml", "--json").stdout))


@pytest.mark.parametrize("options", [(), ("--select", "weights"), ("--explain",), ("--cell", "the,sat")])
@pytest.mark.parametrize("name", ["table", "markdown", "latex"])
def test_a_page_says_first_what_was_set(name: str, options: tuple[str, ...], run: Run) -> None:
    ran = run("compute", *SET, "--format", name, *options)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.index("set w") < ran.stdout.index("changed:") < ran.stdout.index("before")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "npy", "npz"])
def test_files_of_arrays_have_the_result_alone(suffix: str, run: Run, tmp_path: Path) -> None:
    ran = run("compute", *SET, "--select", "scores", "-o", f"out.{suffix}")
    assert (ran.returncode, ran.stderr) == (0, "")
    written = read_text_array(f"out.{suffix}", ("bias",), Origin(folder=tmp_path))
    np.testing.assert_array_equal(written.array, [[2, 0, 2], [0, 1, 1], [2, 1, 3]])


def test_a_file_of_a_page_has_both(run: Run, tmp_path: Path) -> None:
    run("compute", *SET, "-o", "out.md")
    assert (tmp_path / "out.md").read_text() == run("compute", *SET, "--format", "markdown").stdout


def test_a_terminal_without_unicode_gets_marks_in_ascii(run: Run) -> None:
    shown = run("compute", *SET, "--select", "scores", env={"PYTHONIOENCODING": "ascii"}).stdout
    assert "the    2^     0    2^\n" in shown
    assert "^ rose" in shown


def test_of_a_large_problem_the_output_is_shown_before_and_after(run: Run) -> None:
    drawn = ("--seed", "1", "--token-count", "400", "--dim", "2", "--init", "normal")
    ran = run("compute", *drawn, "--set", "w_v[*,0]=0", "--set", "w_v[*,1]=1")
    titles = [
        line.split("  ")[0] for line in ran.stdout.split("\n") if line.startswith(("scores", "weights", "output"))
    ]
    assert titles == ["output"]
    assert "set w_v[*,0]: " in ran.stdout
    assert "scores and weights, 400 × 400 numbers each, are left out" in ran.stdout


def test_a_number_that_is_not_finite_is_traced_back_to_the_option(run: Run) -> None:
    ran = run("compute", "p.yaml", "--set", "embeddings[cat,x1]=inf", "--select", "weights")
    assert "from embeddings[cat, x1], which is inf (--set embeddings[cat,x1]=inf)" in ran.stderr


def test_a_mask_that_is_set_where_there_is_none_is_from_the_option(run: Run) -> None:
    result = json.loads(run("compute", "p.yaml", "--set", "mask[0,1]=0", "--set", "mask[1,1]=0", "--json").stdout)
    mask = result["problem"]["mask"]
    assert (mask["option"], mask["shape"]) == ("--set mask[0,1]=0", [3, 3])
    assert mask["value"] == [[True, False, True], [True, False, True], [True, True, True]]
    assert result["problem"]["w_q"]["file"] == "p.yaml"


def test_a_plan_is_that_of_the_changed_problem(run: Run) -> None:
    assert "visible" in run("compute", "p.yaml", "--set", "mask[0,1]=0", "--plan").stdout


@pytest.mark.parametrize("command", ["compute", "check"])
def test_an_error_names_the_option(command: str, run: Run) -> None:
    ran = run(command, "p.yaml", "--set", "w_q[0,5]=3")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "attn: --set w_q[0,5]=3: w_q has no column 5; expected 0 to 1, or d1 to d2\n"


def test_check_says_what_it_finds_before_and_after(run: Run) -> None:
    ran = run("check", *SET)
    assert ran.returncode == 0
    before = "before: 4 of 9 numbers differ, first in scores"
    edits = f"set w_q[0,0]: 1 → 2\n  {before}\n  after: all 9 numbers agree\n"
    assert ran.stdout.startswith(f"All 9 numbers agree.\n\n{edits}\n✓ scores: ")


def test_the_object_of_a_check_has_what_was_found_before(run: Run) -> None:
    report = json.loads(run("check", *SET, "--json").stdout)
    assert (report["agrees"], report["before"]["agrees"]) == (True, False)
    assert report["set"] == [{"cell": "w_q[0,0]", "before": 1, "after": 2}]
    assert report["before"]["first_difference"] == "scores"
    assert [result["differ"] for result in report["before"]["results"]] == [4]


def test_each_line_of_several_checks_says_what_was_found_before(run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, PROBLEM, "q.yaml")
    lines = run("check", "p.yaml", "q.yaml", "--set", "w_q[0,0]=2").stdout.splitlines()
    before = "before it was set: 4 of 9 numbers differ, first in scores"
    assert lines[1] == f"✓ p.yaml: all 9 numbers agree; {before}"


def test_a_part_that_can_not_be_edited_is_named(run: Run, tmp_path: Path) -> None:
    second = "w_q: [[1, 0, 0], [0, 1, 0]], w_k: [[1, 0, 0], [0, 1, 0]], expected: {query: [[1, 0, 2]]}, only: [the]"
    write_file(tmp_path, f"{PROBLEM}parts: [{{title: first}}, {{title: second, {second}}}]\n", "parts.yaml")
    ran = run("check", "parts.yaml", "--set", "w_q[0,2]=2")
    assert "parts.yaml, part 'first', --set w_q[0,2]=2: w_q has no column 2" in ran.stderr
    assert "part second" in ran.stdout

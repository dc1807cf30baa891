"""A generated problem computes the same numbers as its options."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Run

PROBLEMS = {
    "small": "--seed 1 --token-count 4 --dim 3",
    "heads": "--seed 2 --token-count 3 --dim 4 --heads 2 --init xavier_uniform:gain=2",
    "legacy": "--seed 42 --generator legacy --token-count 5 --dim 2 --init randint:low=0,high=3",
    "sizes": "--seed 3 --token-count 3 --dim 2 --d-k 5 --d-v 7 --init normal:std=0.5",
    "stages": "--seed 4 --token-count 3 --dim 2 --init uniform --score cosine:beta=3 --normalize sparsemax --only 1",
    "tokens": "--seed 5 --dim 2 --tokens the,1e3,#c,no --init xavier_normal",
    "a score's own matrices": "--seed 6 --token-count 3 --dim 2 --score additive:w1=normal,w2=normal,v=[1,2]",
    "stored the other way": "--seed 7 --token-count 3 --dim 2 --d-k 3 --weight-layout out_in --score general:w=normal",
}


def without_problem(result: str) -> dict[str, Any]:
    """The object of a result without where its arrays are from."""
    return {key: value for key, value in json.loads(result).items() if key != "problem"}


@pytest.mark.parametrize("options", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize(("file", "problem"), [("p.yaml", "p.yaml"), ("p.json", "p.json"), ("p", "p/problem.yaml")])
def test_a_generated_problem_computes_the_same_numbers(options: str, file: str, problem: str, run: Run) -> None:
    ran = run("generate", *options.split(" "), "-o", file)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    again, at_once = run("compute", problem, "--json"), run("compute", *options.split(" "), "--json")
    assert again.returncode == 0, again.stderr
    assert without_problem(again.stdout) == without_problem(at_once.stdout)


def test_without_a_file_it_is_printed_and_may_be_piped(run: Run) -> None:
    options = ("--seed", "1", "--token-count", "3", "--dim", "2")
    text = run("generate", *options).stdout
    piped, at_once = run("compute", "-", "--json", input=text), run("compute", *options, "--json")
    assert without_problem(piped.stdout) == without_problem(at_once.stdout)


def test_a_folder_has_a_table_for_each_matrix_and_a_file_that_names_them(run: Run, tmp_path: Path) -> None:
    run("generate", "--seed", "1", "--token-count", "3", "--dim", "2", "-o", "made")
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
        "embeddings.csv", "problem.yaml", "w_k.csv", "w_q.csv", "w_v.csv",
    ]  # fmt: skip
    lines = (tmp_path / "made" / "embeddings.csv").read_text().splitlines()
    assert lines[0] == ",x1,x2"
    assert [line.split(",")[0] for line in lines[1:]] == ["token_1", "token_2", "token_3"]


def test_a_problem_to_do_by_hand_needs_no_other_option(run: Run) -> None:
    ran = run("generate", "--by-hand")
    assert ran.stderr == ""
    assert ran.stdout == run("generate", "--by-hand", "--seed", "1").stdout
    weights = json.loads(run("compute", "-", "--json", input=ran.stdout).stdout)["weights"]
    assert min(number for row in weights for number in row) >= 0.02


def test_what_cannot_be_drawn_by_hand_is_an_error(run: Run) -> None:
    ran = run("generate", "--by-hand", "--dim", "3")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "attn: --by-hand: each head has 3 features, and √3 is not a whole number; "
        "give 1, 4 or 9 for each head with --dim or --d-k, or a --scale\n"
    )


def test_a_worked_example_stays_one(run: Run, tutorial: str) -> None:
    assert run("generate", tutorial, "-o", "g.yaml").returncode == 0
    demo, again = run("demo", tutorial).stdout, run("demo", "g.yaml").stdout
    assert again.splitlines()[-1] == demo.splitlines()[-1]
    assert again.splitlines()[0] == demo.splitlines()[0]


def test_a_check_of_a_telling_problem_would_notice_every_slip(run: Run) -> None:
    options = ["--token-count", "8", "--dim", "16", "--heads", "2", "--causal", "--dtype", "float32"]
    ran = run("generate", "--telling", *options, "-o", "p.yaml")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    run("compute", "p.yaml", "--select", "output", "-o", "output.npy")
    checked = run("check", "p.yaml", "--against", "output=output.npy", "--slips")
    assert checked.returncode == 0
    assert "These inputs would reveal every mistake that applies to this problem." in checked.stdout


def test_a_problem_is_not_both_telling_and_to_do_by_hand(run: Run) -> None:
    ran = run("generate", "--telling", "--by-hand")
    expected = "attn: --by-hand and --telling: both choose the numbers; give one of them\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", expected)

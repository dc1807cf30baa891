"""`attn fit`: what it prints and writes, and how it ends."""

import json
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.cli.terminal import ProgressBar
from tests.cli.running import Run
from tests.problems import write_file

PROBLEM = "query: [[0], [1]]\nkey: [[0], [1]]\nvalue: [[0], [1]]\nscore: gaussian\n"
SIGMA = ("fit", "p.yaml", "--learn", "score.sigma", "--target", "output=0.2; 0.8")
WIDTH = 0.6006  # exp(−1/2σ²) = 0.2/0.8


@pytest.fixture(autouse=True)
def file_of_problem(tmp_path: Path) -> None:
    write_file(tmp_path, PROBLEM, "p.yaml")


def test_it_says_how_far_the_loss_fell_and_what_was_learned(run: Run) -> None:
    ran = run(*SIGMA)
    lines = ran.stdout.splitlines()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert lines[0].startswith("Mean squared error of output: 0.03152 → ")
    assert lines[0].endswith(", and no further.")
    assert lines[1].split() == ["score.sigma", "1", "→", str(WIDTH)]
    assert lines[-1] == "● lowest   ⠒⠒⠒ loss of each step"
    assert len(lines) < 24


def test_arrays_that_were_learned_are_shown_unless_a_file_has_them(run: Run) -> None:
    words = ("fit", "p.yaml", "--learn", "value", "--target", "output=0.2; 0.8", "--steps", "50")
    assert "value\nm\\e" in run(*words).stdout
    assert "value\nm\\e" not in run(*words, "-o", "f.yaml").stdout


@pytest.mark.parametrize(("file", "problem"), [("f.yaml", "f.yaml"), ("f.json", "f.json"), ("f", "f/problem.yaml")])
def test_the_fitted_problem_is_a_file_that_runs(file: str, problem: str, run: Run, tmp_path: Path) -> None:
    assert run(*SIGMA, "--steps", "200", "-o", file).returncode == 0
    again = run("compute", problem, "--select", "output", "--json")
    np.testing.assert_allclose(json.loads(again.stdout)["output"], [[0.2], [0.8]], atol=1e-4)
    fitted = attncli.load(tmp_path / problem)
    assert round(fitted.score.given["sigma"], 4) == WIDTH
    refused = run(*SIGMA, "--steps", "1", "-o", file)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert run(*SIGMA, "--steps", "1", "-o", file, "--force").returncode == 0


def test_json_has_the_losses_what_was_learned_and_why_it_stopped(run: Run) -> None:
    found = json.loads(run(*SIGMA, "--json").stdout)
    assert found["format"] == "attn.fit/1"
    assert (found["problem"], found["targets"], found["stopped"]) == ("p.yaml", ["output"], "converged")
    assert round(found["learned"]["score.sigma"], 4) == WIDTH
    assert len(found["losses"]) == found["steps"] + 1
    assert found["loss"] == min(found["losses"])
    value = run("fit", "p.yaml", "--learn", "value", "--target", "output=0.2; 0.8", "--steps", "1", "--json")
    assert np.shape(json.loads(value.stdout)["learned"]["value"]) == (2, 1)


def test_a_random_start_is_drawn_from_a_seed(run: Run) -> None:
    words = ("--embeddings", "1 0; 0 1", "--learn", "w_q", "--target", "weights=1 0; 0 1", "--w-q", "normal")
    learned = [
        json.loads(run("fit", *words, "--steps", "3", "--json", "--seed", seed).stdout)["learned"]["w_q"]
        for seed in "112"
    ]
    assert learned[0] == learned[1] != learned[2]


def test_ctrl_c_writes_what_it_has(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_bar: ProgressBar, done: int, _total: int, _said: str = "") -> None:
        if done == 20:
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressBar, "__call__", interrupt)
    ran = run(*SIGMA, "-o", "f.yaml")
    assert ran.returncode == 130
    assert " in 20 steps, interrupted." in ran.stdout
    assert 0.5 < attncli.load(tmp_path / "f.yaml").score.given["sigma"] < 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("p.yaml --target output=1;2", "attn: --learn: nothing is learned; name keys: --learn w_q,score.sigma"),
        ("p.yaml --learn sigma", "attn: --target: there is no target; name a result and its numbers: output=FILE"),
        ("p.yaml --learn sigmo --target output=1;2", "attn: --learn: unknown key to learn 'sigmo'; did you mean"),
        ("p.yaml --learn heads --target output=1;2", "attn: --learn: heads has no gradient; expected one of query, "),
        ("p.yaml --learn w_q --target output=1;2", "attn: --learn: w_q is not given; give a start: --w-q normal"),
        ("p.yaml --learn value --target weights=1,0;0,1", "attn: --learn: weights does not depend on value"),
        ("p.yaml --learn sigma --target output=1;2;3", "attn: --target, output: has 3 × 1 numbers; expected 2 queries"),
        ("p.yaml --learn sigma --target outptu=1;2", "attn: --target: unknown result 'outptu'; did you mean 'output'?"),
        ("p.yaml --learn sigma --target output=no.csv", "attn: no.csv: there is no such file"),
        ("p.yaml --learn sigma --target output=1;2 --steps 0", "attn: --steps: 0 is out of range; expected 1 or more"),
        ("p.yaml --learn sigma --target output=1;2 --rate -1", "attn: --rate: -1 is not above 0"),
        ("p.yaml --learn sigma --target output=1;2 -o -", "attn: --output: standard output has the report"),
        ("p.yaml --learn sigma --target output=1;2 -o p.yaml --force", "attn: --output p.yaml: is the input p.yaml"),
        ("--learn sigma --target output=1;2", "attn: no input; type attn fit "),
    ],
)
def test_errors_say_what_is_wrong_by_its_name(words: str, message: str, run: Run) -> None:
    ran = run("fit", *words.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(message)
    assert ran.stderr.count("\n") == 1

"""Operators of the user's own, named on the command line by module or file and function."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.problems import write_file

MODULE = '''
from attncli import mask, score

@score(
    formula="Sᵢⱼ = t Qᵢ·Kⱼ",
    shapes="query[n d], key[m d] -> [n m]",
    source="my own",
    example={"query": [[1, 2]], "key": [[3, 4]], "times": 2, "gives": [[22]]},
)
def multiple(query, key, *, times: float = 2.0):
    """A multiple of the dot product."""
    return query @ key.mT * times

@mask(
    formula="visible where j is even",
    shapes="key_positions[m] -> [n m]",
    source="my own",
    example={"key_positions": [0, 1], "gives": [[True, False]]},
)
def even(key_positions):
    """Every second key."""
    return (key_positions % 2 == 0)[None]

def plain(query, key):
    return query @ key.mT
'''
WORDS = ("compute", "--query", "1 0", "--key", "1 0; 0 1; 3 1", "--format", "csv", "--select")


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, restored_registry: None) -> Iterator[None]:
    """Modules in the working folder; what is registered and imported is taken back afterwards."""
    write_file(tmp_path, MODULE, "own_scores.py")
    write_file(tmp_path, "raise SystemExit(3)\n", "leaving.py")
    path, names = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in {*sys.modules} - names:
        if not name.startswith("attncli."):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("score", "scores"),
    [
        ("own_scores:multiple", "2.0,0.0,6.0"),
        ("own_scores.py:multiple", "2.0,0.0,6.0"),
        ("own_scores:multiple:times=3", "3.0,0.0,9.0"),
    ],
)
def test_a_score_is_named_by_its_module_or_file(score: str, scores: str, run: Run) -> None:
    ran = run(*WORDS, "scores", "--score", score)
    assert (ran.stderr, ran.stdout) == ("", f",key_1,key_2,key_3\nquery_1,{scores}\n")


def test_a_function_needs_no_decorator(run: Run) -> None:
    ran = run(*WORDS, "scores", "--score", "own_scores.py:plain")
    assert (ran.stderr, ran.stdout) == ("", ",key_1,key_2,key_3\nquery_1,1.0,0.0,3.0\n")


def test_a_mask_is_too(run: Run) -> None:
    ran = run(*WORDS, "weights", "--score", "dot", "--mask", "own_scores:even")
    assert ran.stdout.splitlines()[1].split(",")[2] == "0.0"


def test_a_problem_that_is_written_says_which_option_brings_the_function(run: Run) -> None:
    words = ("--score", "own_scores:multiple:times=3")
    ran = run("generate", *WORDS[1:5], *words, "-o", "made.yaml")
    option = "--score own_scores:multiple:times=3"
    assert f"made.yaml names the score multiple and has no code: give {option} with it" in ran.stderr
    ran = run("compute", "made.yaml", *option.split(), *WORDS[5:], "scores")
    assert ran.stdout == ",key_1,key_2,key_3\nquery_1,3.0,0.0,9.0\n"


def test_it_is_varied_with_others(run: Run) -> None:
    ran = run("compare", *WORDS[1:], "scores", "--score", "own_scores:multiple:times=3,own_scores:multiple,dot")
    assert [row.split(",")[-1] for row in ran.stdout.splitlines()[1::3]] == ["3.0", "2.0", "1.0"]


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("own_scores:odd", "--score: own_scores has no score 'odd'; it has multiple, even, plain"),
        ("own_scores:even", "--score: own_scores has no score 'even'; it is a mask"),
        ("leaving:f", "--score: leaving can't be imported (SystemExit: 3); give MODULE:FUNCTION, or FILE.py:FUNCTION"),
        ("nowhere:f", "--score: nowhere can't be imported (ModuleNotFoundError: No module named 'nowhere'); give"),
        ("gaussian:sigma", "--score: 'sigma' is not key=value"),
    ],
)
def test_what_is_wrong_is_one_line(score: str, message: str, run: Run) -> None:
    ran = run(*WORDS, "scores", "--score", score)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {message}")


def test_a_problem_file_imports_nothing(run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, "query: [[1]]\nkey: [[1]]\nscore: leaving:f\n", "p.yaml")
    assert run("compute", "p.yaml").stderr.startswith("attn: p.yaml, score: 'f' is not key=value")
    assert "leaving" not in sys.modules

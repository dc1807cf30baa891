"""`attn p.yaml` is `attn compute p.yaml`; any other word is a command, or is near one."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import Run
from tests.problems import write_file

TEXT = "embeddings: [[1, 0], [0, 1]]\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    for name in ("p.yaml", "p.json", "problem", "list"):
        write_file(tmp_path, '{"embeddings": [[1, 0], [0, 1]]}' if name == "p.json" else TEXT, name)


@pytest.mark.parametrize("name", ["p.yaml", "p.json", "problem", "./list"])
def test_a_problem_is_computed(name: str, run: Run) -> None:
    expected = run("compute", name, "--causal", "--json")
    assert run(name, "--causal", "--json").stdout == expected.stdout
    assert run(name, "--help").stdout == run("compute", "--help").stdout


def test_standard_input_is_computed(run: Run) -> None:
    assert run("-", "--json", input=TEXT).stdout == run("compute", "-", "--json", input=TEXT).stdout != ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no.yaml"], "attn: no.yaml: there is no such file"),
        (["p.csv"], "attn: p.csv: there is no such file"),
        (["comput"], "attn: unknown command 'comput'; did you mean 'compute'?"),
        (["tests/"], "attn: unknown command 'tests/'"),
        (["."], "attn: unknown command '.'"),
        (["p.yaml", "--casual"], "attn: unknown option --casual; did you mean '--causal'?"),
        (["a\0b"], "attn: unknown command"),
    ],
)
def test_other_words_keep_their_errors(words: list[str], message: str, run: Run) -> None:
    ran = run(*words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(message)


def test_a_command_has_precedence_over_a_file_of_its_name(run: Run) -> None:
    assert run("list").stdout.startswith("score")


def test_its_options_are_completed(run: Run) -> None:
    env = {"_ATTN_COMPLETE": "complete_bash", "COMP_WORDS": "attn p.yaml --score ga", "COMP_CWORD": "3"}
    assert run(env=env).stdout.split() == ["gaussian"]


MAPPING = "{query: [[1, 0]], key: [[1, 0], [0, 1]], tokens: [a, b]}"


@pytest.mark.parametrize("text", [MAPPING, '{"query":[[1,0]],"key":[[1,0],[0,1]],"tokens":["a","b"]}'])
def test_a_problem_is_one_argument(text: str, run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, MAPPING, "m.yaml")
    expected = run("compute", "m.yaml", "--scale", "2").stdout
    assert run("compute", text, "--scale", "2").stdout == run(text, "--scale", "2").stdout == expected != ""


def test_a_result_of_such_a_problem_is_computed_again(run: Run) -> None:
    result = run("compute", MAPPING, "--json").stdout
    assert (
        run("compute", "-", input=result).stdout.partition("\n")[2] == run("compute", MAPPING).stdout.partition("\n")[2]
    )


def test_problems_in_arguments_are_compared(run: Run) -> None:
    assert "scale=1" in run("compare", MAPPING, "--scale", "1,2", "--select", "weights").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{query: [[1, x]], key: [[1, 0]]}", 'attn: PROBLEM, line 1, query, row 1, number 2: "x" is not a number'),
        ("{query: [[1, 0]], kye: [[1, 0]]}", "attn: PROBLEM, line 1: unknown key 'kye'; did you mean 'key'?"),
        ("{query: [[1, 0", "attn: PROBLEM, line "),
    ],
)
def test_an_error_in_an_argument_names_it(text: str, message: str, run: Run) -> None:
    ran = run("compute", text)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(message)
    assert ran.stderr.count("\n") == 1


def test_entries_of_standard_input_are_named(run: Run, tmp_path: Path) -> None:
    query, key = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 1.0]])
    np.savez(tmp_path / "p.npz", query=query, key=key)
    whole = run("compute", "p.npz", "--json", "--select", "scores").stdout
    content = (tmp_path / "p.npz").read_bytes()
    named = run("compute", "--query", "-#query", "--key", "-#key", "--json", "--select", "scores", input=content).stdout
    assert json.loads(named)["scores"] == json.loads(whole)["scores"]
    part = run("compute", "--query", "-#query[1:2]", "--key", "-#key", "--json", "--select", "scores", input=content)
    assert json.loads(part.stdout)["scores"] == json.loads(whole)["scores"][1:]

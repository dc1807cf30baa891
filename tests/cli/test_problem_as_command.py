"""`attn p.yaml` is `attn compute p.yaml`; any other word is a command, or is near one."""

from pathlib import Path

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

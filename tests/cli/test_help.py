"""The help: short and for people, with commands that work, and every option where it is asked for."""

import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import attncli
from attncli.cli.commands import COMMANDS
from attncli.cli.help import title_of_option
from attncli.numbers.arithmetic import MAX_TERMS
from attncli.ops import operators
from attncli.problem.fields import option_name
from attncli.problem.spec import FIELDS
from attncli.render.view import DECIMALS
from tests.checkpoints import LLAMA, llama_tensors, write_checkpoint
from tests.cli.running import Run
from tests.problems import write_file

WITH_PROBLEM = [name for name, ref in COMMANDS.items() if ref.has_problem]
LISTS_KEYS = [
    name for name in WITH_PROBLEM if name not in ("compare", "fit", "try", "worksheet")
]  # they have other options to list
OPTIONS = {
    option_name(name).replace("--", "--[no-]") if field.kind == "flag" else option_name(name): field
    for name, field in FIELDS.items()
}
SLOW = ("capture", "try", "vectors")  # commands whose examples other tests run
MAX_LINES, MAX_LINES_OF_ALL, WIDTH = 60, 24, 80


@pytest.mark.parametrize("env", [{}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "ascii"}], ids=["pipe", "dumb", "ascii"])
@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)], ids=" ".join)
def test_the_help_is_short_and_narrow(words: tuple[str, ...], env: dict[str, str], run: Run) -> None:
    ran = run(*words, "--help", env=env)
    lines = ran.stdout.splitlines()
    assert (ran.returncode, ran.stderr) == (0, "")
    most = MAX_LINES if words else MAX_LINES_OF_ALL
    assert 5 < len(lines) <= most, "leave out an option with is_listed=False, a format with is_choice=False"
    assert max(map(len, lines)) <= WIDTH
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize("names", [["--help", "-h"], ["-h", "--help"]])
def test_the_long_name_of_an_option_stands_first(names: list[str]) -> None:
    assert title_of_option(SimpleNamespace(opts=names, secondary_opts=[], is_flag=True)) == "--help, -h"


@pytest.mark.parametrize("command", LISTS_KEYS)
def test_it_has_the_options_used_most_and_how_values_are_written(command: str, run: Run) -> None:
    shown = run(command, "--help").stdout
    words = shown.split()
    for option, field in OPTIONS.items():
        assert (option in words) == field.is_common
    for form in ("'1 0; 0 1'", "words.csv", "model.npz#w_q", "normal:std=2", "gaussian:sigma=2"):
        assert form in shown


def test_the_help_of_compare_lists_what_varies_and_no_keys(run: Run) -> None:
    lines = run("compare", "--help").stdout.splitlines()
    listed = {line.split()[0] for line in lines if line.startswith("  --")}
    assert {"--vary", "--as", "--set", "--all-pairs", "--help-all"} <= listed
    assert {*OPTIONS}.isdisjoint(listed)


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {*WITH_PROBLEM} - {"help", "init", "model"}))
def test_a_help_that_is_short_anyway_leaves_nothing_out(command: str, run: Run) -> None:
    assert "--strict" in run(command, "--help").stdout.split()


@pytest.mark.parametrize("command", WITH_PROBLEM)
def test_every_option_and_every_operator_is_shown_where_it_is_asked_for(command: str, run: Run) -> None:
    ran = run(command, "--help-all", env={"COLUMNS": "400"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert set(OPTIONS) <= set(ran.stdout.split())
    assert {"--strict", "--max-size"} <= set(ran.stdout.split())
    for kind in ("score", "normalize", "context", "generator"):
        assert ", ".join(operators(kind)) in ran.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_as_a_command_is_the_same(command: str, run: Run) -> None:
    assert run("help", command).stdout == run(command, "--help").stdout
    assert run("help").stdout == run("--help").stdout


def test_it_names_the_defaults_that_are_in_force(run: Run) -> None:
    shown = " ".join(run("compute", "--help-all", env={"COLUMNS": "400"}).stdout.split())
    assert f"Most terms in a worked sum, default {MAX_TERMS};" in shown
    assert f"Decimals; default {DECIMALS}, in CSV every digit." in shown


def test_the_first_help_says_what_to_type_first(run: Run) -> None:
    assert run().stdout == run("--help").stdout
    assert "Start with attn demo." in run().stdout


@pytest.mark.parametrize("words", [("the cat sat",), ("compute", "the cat sat")], ids=" ".join)
def test_a_sentence_stands_in_place_of_a_problem(words: tuple[str, ...], run: Run) -> None:
    assert run(*words).stdout == run("compute", "--sentence", "the cat sat").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_has_every_example_of_its_command(command: str, run: Run) -> None:
    shown = [line.strip() for line in run(command, "--help").stdout.splitlines()]
    assert [example for example in COMMANDS[command].examples if example not in shown] == []


@pytest.mark.parametrize(
    "example", [example for name, ref in COMMANDS.items() for example in ref.examples if name not in SLOW]
)
def test_the_examples_run_as_they_are(example: str, run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, "embeddings: [[1, 2], [3, 4]]\nexpected: {value: [[1, 2], [3, 4]]}\n", "problem.yaml")
    (tmp_path / "cases").mkdir()
    write_file(tmp_path, "embeddings: [[1, 2], [3, 4]]\nexpected: {query: [[1, 2], [3, 4]]}\n", "cases/one.yaml")
    for name in ("before.yaml", "after.yaml"):
        write_file(tmp_path, "embeddings: [[1, 2], [3, 4]]\n", name)
    write_file(tmp_path, "1,2\n2,3\n", "y.csv")
    np.save(tmp_path / "maps.npy", np.tile(np.tri(6) / np.arange(1, 7)[:, None], (2, 2, 1, 1)))
    for name in ("q.npy", "k.npy", "v.npy"):
        np.save(tmp_path / name, np.eye(3, 4))
    if "checkpoint" in example:
        write_checkpoint(tmp_path / "checkpoint", {**LLAMA, "num_hidden_layers": 4}, [llama_tensors(4)])
    for name in "abc":
        np.savez(tmp_path / f"{name}.npz", output=np.eye(3, 4), lse=np.zeros(3))
    np.save(tmp_path / "merged.npy", np.eye(3, 4))
    np.save(tmp_path / "mine.npy", attncli.attention(np.eye(3, 4), np.eye(3, 4)).output)
    program, *words = shlex.split(example)
    ran = run(*words)
    assert (program, ran.returncode, ran.stderr) == ("attn", 0, "")


def test_styles_are_where_they_are_asked_for(run: Run) -> None:
    assert "\x1b[1mExamples" in run("compute", "--help", env={"FORCE_COLOR": "1"}).stdout


@pytest.mark.parametrize("columns", ["20", "30"])
def test_a_narrow_terminal_has_the_texts_below_the_names(columns: str, run: Run) -> None:
    lines = run("compute", "--help", env={"COLUMNS": columns}).stdout.splitlines()
    assert "  --w-q MATRIX" in lines
    assert any(line.startswith("    Query") for line in lines)

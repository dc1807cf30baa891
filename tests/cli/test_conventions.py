"""`--as` on the command line: what is read otherwise is said, in the heading, in JSON and in warnings."""

import json
from pathlib import Path

import numpy as np

from tests.cli.running import Run
from tests.problems import write_file

TABLE = "query: [[1, 0], [0, 1]]\nkey: [[1, 0], [0, 1], [1, 1], [2, 0]]\n"
CAUSAL = f"{TABLE}causal: true\n"


def lines(text: str) -> list[list[str]]:
    """The words of each line of a table."""
    return [line.split() for line in text.splitlines()]


def test_the_heading_says_what_is_read_otherwise(tmp_path: Path, run: Run) -> None:
    shown = run("compute", write_file(tmp_path, CAUSAL), "--as", "flash", "--select", "weights").stdout
    heading = "scaled_dot → softmax → weighted_sum, as flash (causal: bottom right, the last query is at the last"
    assert shown.startswith(heading)
    assert ["query_2", "0.1651", "0.3349", "0.3349", "0.1651"] in lines(shown)


def test_the_heading_of_words_that_are_read_alike_has_the_name_alone(tmp_path: Path, run: Run) -> None:
    shown = run("compute", write_file(tmp_path, CAUSAL), "--as", "torch-sdpa", "--select", "weights").stdout
    assert shown.splitlines()[0] == "scaled_dot → softmax → weighted_sum, as torch-sdpa"
    assert ["query_2", "0.3302", "0.6698", "╱", "╱"] in lines(shown)


def test_json_has_the_convention_and_the_keys_that_it_put_in_force(tmp_path: Path, run: Run) -> None:
    ran = run("compute", write_file(tmp_path, CAUSAL), "--softcap", "3", "--as", "torch-mha", "--json")
    problem = json.loads(ran.stdout)["problem"]
    assert problem["convention"] == {
        "name": "torch-mha",
        "version": "2.13",
        "changes": [],
        "remarks": ["torch-mha has no softcap: read as attn reads it"],
    }
    assert problem["empty_rows"] == "nan"


def test_json_without_a_convention_has_none(tmp_path: Path, run: Run) -> None:
    problem = json.loads(run("compute", write_file(tmp_path, CAUSAL), "--json").stdout)["problem"]
    assert {"convention", "empty_rows"}.isdisjoint(problem)


def test_a_word_that_the_framework_has_not_is_a_warning(tmp_path: Path, run: Run) -> None:
    words = ("compute", write_file(tmp_path, TABLE), "--softcap", "3", "--as", "torch-sdpa")
    assert run(*words).stderr == "attn: warning: torch-sdpa has no softcap: read as attn reads it\n"
    assert run(*words, "--strict").returncode == 2


def test_a_key_that_the_convention_has_set_is_no_option_without_effect(tmp_path: Path, run: Run) -> None:
    path = write_file(tmp_path, "weights: [[1, 0]]\nvalue: [[1], [2]]\n")
    assert run("compute", path, "--causal", "--as", "flash").stderr == (
        "attn: warning: --causal has no effect: weights are given\n"
    )


def test_a_file_that_names_a_convention_is_told_of_the_option(tmp_path: Path, run: Run) -> None:
    path = write_file(tmp_path, f"{TABLE}as: flash\n")
    message = "unknown key 'as'; give --as"
    assert run("compute", path).stderr == f"attn: {path}, line 3: {message}\n"


def test_a_check_reads_the_file_by_the_convention(tmp_path: Path, run: Run) -> None:
    text = "query: [[1]]\nkey: [[0], [0], [3]]\nmask: [[0, 0, 1]]\nexpected: {weights: [[0.5, 0.5, 0]]}\n"
    path = write_file(tmp_path, text)
    assert run("check", path).returncode == 1
    assert run("check", path, "--as", "torch-mha").returncode == 0


def test_the_shell_completes_the_steps_that_a_convention_adds(tmp_path: Path, run: Run) -> None:
    words = f"attn compute {write_file(tmp_path, CAUSAL)} --as jax --select normalized"
    ran = run(env={"_ATTN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "6"})
    assert ran.stdout.split() == ["normalized_scores"]


def test_the_shell_completes_conventions(run: Run) -> None:
    words = "attn compute --as torch"
    ran = run(env={"_ATTN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "3"})
    assert ran.stdout.split() == ["torch-sdpa", "torch-mha"]


def test_a_layout_is_in_the_heading_and_a_result_has_the_arrays_as_they_were_read(tmp_path: Path, run: Run) -> None:
    x = np.arange(2 * 3 * 5 * 4.0).reshape(2, 3, 5, 4)
    np.savez(tmp_path / "p.npz", query=x, key=x)
    heading = run("compute", "p.npz", "--layout", "bnhd", "--select", "output").stdout.splitlines()[0]
    assert heading == "scaled_dot → softmax → weighted_sum, layout bnhd (batch, tokens, heads, features)"
    first = run("compute", "p.npz", "--layout", "bnhd", "--json").stdout
    (tmp_path / "result.json").write_text(first)
    again = run("compute", "result.json", "--json").stdout
    assert json.loads(first)["output"] == json.loads(again)["output"]

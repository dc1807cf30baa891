"""Gradients on the command line: `--gradient` adds those of what was given, and explains how they come back."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import Run

# Three equal scores: weights of 1/3. The gradients of the weights are the values 1, 2 and 6, whose mean is 3.
EQUAL = ("compute", "--scores", "0 0 0", "--value", "1; 2; 6")
TOKENS = "tokens: [the, cat, sat]\nembeddings: [[1, 0], [0, 1], [1, 1]]\nw_q: [[1, 2], [0, 1]]\n"


@pytest.fixture
def problem(tmp_path: Path) -> str:
    (tmp_path / "p.yaml").write_text(TOKENS, encoding="utf-8")
    return "p.yaml"


def test_the_output_and_the_gradients_of_what_was_given_are_selected(run: Run) -> None:
    result = json.loads(run(*EQUAL, "--gradient", "--json").stdout)
    np.testing.assert_allclose(result["output"], [[3]])
    np.testing.assert_allclose(result["grad_scores"], [[-2 / 3, -1 / 3, 1]])
    np.testing.assert_allclose(result["grad_value"], [[1 / 3], [1 / 3], [1 / 3]])
    assert "grad_weights" not in result


def test_they_come_in_the_order_of_the_computation(run: Run, problem: str) -> None:
    ran = run("compute", problem, "--gradient", "--format", "csv")
    names = [line[2:] for line in ran.stdout.splitlines() if line.startswith("# ")]
    assert names == ["output", "grad_embeddings", "grad_w_q"]


@pytest.mark.parametrize(
    ("options", "factor"),
    [(("--gradient",), 1), (("--grad-output", "2"), 2), (("--grad-output", "ones"), 1)],
    ids=["without one ones", "a number", "ones by name"],
)
def test_gradients_are_those_by_grad_output(run: Run, options: tuple[str, ...], factor: int) -> None:
    result = json.loads(run(*EQUAL, *options, "--select", "grad_weights", "--json").stdout)
    np.testing.assert_allclose(result["grad_weights"], [[factor, 2 * factor, 6 * factor]])


def test_the_key_alone_adds_no_result(run: Run) -> None:
    assert run(*EQUAL, "--grad-output", "ones").stdout == run(*EQUAL).stdout


def test_the_backward_pass_is_explained_after_the_forward_one(run: Run, problem: str) -> None:
    lines = run("compute", problem, "--gradient", "--explain").stdout.splitlines()
    at = lines.index("backward pass")
    forward, backward = "\n".join(lines[:at]), "\n".join(lines[at:])
    assert "weights  A" in forward
    assert "grad_weights" not in forward
    for heading in (
        "grad_weights  dA  dAᵢⱼ = dCᵢ·Vⱼ",
        "grad_scores  dS  dSᵢⱼ = Aᵢⱼ (dAᵢⱼ − Σⱼ dAᵢⱼ Aᵢⱼ)",
        "grad_embeddings  dX  dX = dX₁ + dX₂ + dX₃",
    ):
        assert heading in backward
    assert "The loss depends on embeddings through value, key and query" in backward
    assert "grad_context = grad_output" in "\n".join(lines), "what changes nothing is no step"
    assert ". grad_context" not in backward


def test_a_worked_line_says_which_cell_it_is_of(run: Run) -> None:
    ran = run(*EQUAL, "--gradient", "--explain", "--step", "grad_scores", "--cell", "0,2")
    assert "  dS(query_1, key_3) = 0.33333·(6 − 3) = 1.0000" in ran.stdout


@pytest.mark.parametrize("format", ["table", "csv", "json", "yaml", "markdown", "latex"])
def test_every_format_has_them(run: Run, problem: str, format: str) -> None:
    for options in ((), ("--explain",)):
        ran = run("compute", problem, "--gradient", "--format", format, *options)
        assert ran.returncode == 0
        assert "grad_w_q" in ran.stdout.replace("\\_", "_")


@pytest.mark.parametrize("heads", ["all", "1"])
def test_heads_are_shown_as_elsewhere(run: Run, problem: str, heads: str) -> None:
    ran = run("compute", problem, "--heads", "2", "--gradient", "--select", "grad_weights", "--head", heads)
    assert ("head 0" in ran.stdout, "head 1" in ran.stdout) == (heads == "all", True)


def test_an_archive_and_a_page_have_them(run: Run, problem: str, tmp_path: Path) -> None:
    assert run("compute", problem, "--gradient", "-o", "g.npz").returncode == 0
    with np.load(tmp_path / "g.npz") as found:
        assert {name: found[name].shape for name in found} == {
            "output": (3, 2),
            "grad_embeddings": (3, 2),
            "grad_w_q": (2, 2),
        }
    assert run("compute", problem, "--gradient", "-o", "g.html").returncode == 0
    assert "grad_weights" in (tmp_path / "g.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--backward",), "unknown option --backward; give --gradient"),
        (("--requires-grad",), "unknown option --requires-grad; give --gradient"),
        (("--dout", "1"), "unknown option --dout; give --grad-output"),
        (("--select", "grad_value"), "grad_value is not computed: no gradient is asked for; add --gradient"),
        (("--gradient", "--select", "grad_values"), "unknown result 'grad_values'; did you mean 'grad_value'?"),
        (("--gradient", "--context", "argmax"), "grad_output: context argmax has no derivative"),
        (("--grad-output", "1 2"), "grad_output: has the shape 1 × 2; expected [n e] of 1 × 1, or [[1]]"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_there_is_no_gradient_of_is_said_in_one_line(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run(*EQUAL, *words)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert message in ran.stderr


def test_without_values_there_is_nothing_to_differentiate(run: Run) -> None:
    ran = run("compute", "--scores", "0 0 0", "--gradient")
    assert (ran.returncode, ran.stderr) == (
        2,
        "attn: there is no output to differentiate; give value, or leave out the gradient\n",
    )


@pytest.mark.parametrize("word", ["grad_output", "grad_weights", "grad_w_q"])
def test_show_knows_gradients(run: Run, word: str) -> None:
    assert run("show", word).stdout.startswith(word)


def test_a_gradient_of_the_output_has_the_layout_of_the_queries(run: Run) -> None:
    tokens = "[[[[1, 0]], [[0, 1]]]]"  # one batch item, two tokens of one head
    words = ("compute", "--query", tokens, "--key", tokens, "--select", "grad_query", "--json")
    apart = run(*words, "--layout", "bnhd", "--grad-output", "[[[[1, 0]], [[0, 0]]]]")
    np.testing.assert_array_equal(json.loads(apart.stdout)["grad_query"][0][0][1], [0, 0])


def test_a_large_problem_has_its_gradients_too(run: Run, tmp_path: Path) -> None:
    drawn = ("compute", "--seed", "1", "--token-count", "400", "--dim", "2", "--init", "normal", "--dtype", "float32")
    assert run(*drawn, "--gradient", "--select", "grad_embeddings", "-o", "g.npy").returncode == 0
    assert run(*drawn, "--grad-output", "ones", "--select", "output", "-o", "o.npy").returncode == 0
    assert np.load(tmp_path / "g.npy").shape == np.load(tmp_path / "o.npy").shape == (400, 2)

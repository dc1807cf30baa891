"""`--heatmap` and `--curve` of compute: where they act, where they warn, and what they show together with others."""

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.running import STYLE, Run, on_a_terminal
from tests.problems import write_file

TWO_HEADS = """
tokens: [a, b]
embeddings: [[1, 0], [0, 1]]
heads: 2
"""
FIT = """
query: [[0.5], [1]]
key: [[0], [1]]
value: [[3], [5]]
score: gaussian:sigma=1
"""


@pytest.fixture
def heads(tmp_path: Path) -> str:
    return write_file(tmp_path, TWO_HEADS, "who_is_it.yaml")


@pytest.fixture
def fit(tmp_path: Path) -> str:
    return write_file(tmp_path, FIT, "fit.yaml")


def test_a_pipe_and_a_file_get_characters(heads: str, run: Run, tmp_path: Path) -> None:
    words = ("compute", heads, "--heatmap", "--select", "weights")
    ran = run(*words)
    assert ran.stdout.splitlines()[2:] == [
        "weights",
        "    head 0              head 1",
        "n\\m        a        b          a        b",
        "a   ▓ 0.7311 ░ 0.2689   ▒ 0.5000 ▒ 0.5000",
        "b   ▒ 0.5000 ▒ 0.5000   ░ 0.2689 ▓ 0.7311",
        "  0 [ ░▒▓█] 1",
    ]
    assert run(*words, "-o", "weights.txt").returncode == 0
    assert (tmp_path / "weights.txt").read_text(encoding="utf-8") == ran.stdout


@pytest.mark.parametrize("words", [(), ("--explain",), ("--explain", "--cell", "a,b"), ("--head", "all")])
def test_all_heads_are_shown(words: tuple[str, ...], heads: str, run: Run) -> None:
    shown = run("compute", heads, "--heatmap", *words).stdout
    assert re.search("head 0 +head 1", shown)


@pytest.mark.parametrize("words", [(), ("--explain",)])
def test_one_head_is_shown_where_it_is_chosen(words: tuple[str, ...], heads: str, run: Run) -> None:
    shown = run("compute", heads, "--heatmap", "--head", "1", "--select", "weights", *words).stdout
    assert "head 1" in shown
    assert not re.search("head 0$|head 0 +head 1", shown, re.MULTILINE)


def test_the_worked_cell_of_an_explanation_is_marked_in_its_head(heads: str, run: Run) -> None:
    shown = run("compute", heads, "--heatmap", "--explain", "--cell", "b,a").stdout
    weights = shown[shown.index(" weights ") :].splitlines()
    assert weights[4:7] == [
        "n\\m       *a        b          a        b",
        " a  ▓ 0.7311 ░ 0.2689   ▒ 0.5000 ▒ 0.5000",
        "*b  ▒[0.5000]▒ 0.5000   ░ 0.2689 ▓ 0.7311",
    ]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--heatmap", "--json"), "--heatmap has no effect: json has no blocks of colour"),
        (("--heatmap", "-f", "csv"), "--heatmap has no effect: csv has no blocks of colour"),
        (("--heatmap", "-f", "markdown"), "--heatmap has no effect: markdown has no blocks of colour"),
        (("--heatmap", "--cell", "1,1"), "--heatmap has no effect: --cell without --explain shows no tables"),
        (("--curve", "--json"), "--curve has no effect: json has no plots"),
        (("--curve", "-f", "latex"), "--curve has no effect: latex has no plots"),
    ],
)
def test_where_they_have_no_effect_there_is_a_warning(words: tuple[str, ...], reason: str, fit: str, run: Run) -> None:
    ran = run("compute", fit, *words)
    without = [word for word in words if word not in ("--heatmap", "--curve")]
    assert (ran.returncode, ran.stderr) == (0, f"attn: warning: {reason}\n")
    assert ran.stdout == run("compute", fit, *without).stdout


def test_between_two_plots_is_an_empty_line(run: Run, tmp_path: Path) -> None:
    features = FIT.replace("[[3], [5]]", "[[3, 1], [5, 1]]")
    lines = run("compute", write_file(tmp_path, features, "features.yaml"), "--curve").stdout.splitlines()
    assert lines[lines.index("e2") - 2 : lines.index("e2")] == ["● value   ⠒⠒⠒ output", ""]


def test_a_curve_alone_has_no_decimals(fit: str, run: Run) -> None:
    reason = "--precision has no effect: a plot has ticks and no numbers of the result; --select adds tables"
    assert run("compute", fit, "--curve", "--precision", "2").stderr == f"attn: warning: {reason}\n"
    assert run("compute", fit, "--curve", "--precision", "2", "--select", "weights").stderr == ""


@pytest.mark.parametrize("words", [("--heatmap",), ("-o", "visible.txt")])
def test_a_mask_of_a_large_problem_is_shown(words: tuple[str, ...], run: Run) -> None:
    ran = run("compute", "--token-count", "363", "--dim", "1", "--seed", "1", "--causal", "--select", "visible", *words)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("width", [24, 80, 200])
def test_no_line_of_a_heat_map_is_wider_than_the_terminal(width: int, tmp_path: Path) -> None:
    words = ("compute", "--token-count", "30", "--dim", "8", "--heads", "4", "--seed", "1", "--causal", "--heatmap")
    shown = STYLE.sub("", on_a_terminal(*words, folder=tmp_path, width=width))
    assert max(map(cell_len, shown.splitlines())) <= width
    assert ("▀" in shown) == (width == 24)  # where there is no room for every label


def test_large_results_are_drawn_without_being_asked_for(run: Run) -> None:
    ran = run("compute", "--token-count", "400", "--dim", "4", "--seed", "1", "--causal", "--heatmap")
    assert [name for name in ("scores", "weights", "output") if f"\n{name}\n" in ran.stdout] == [
        "scores",
        "weights",
        "output",
    ]
    assert len(ran.stdout.splitlines()) < 200
    assert "  ╱ masked   a block shows the largest of " in ran.stdout
    assert sum(line.startswith("token_") for line in ran.stdout.splitlines()) > 60


def test_a_curve_stands_in_place_of_results(fit: str, run: Run) -> None:
    lines = run("compute", fit, "--curve").stdout.splitlines()
    assert lines[2] == "output over keys"
    assert lines[-1] == "● value   ⠒⠒⠒ output"
    assert "".join(lines).count("●") == 3  # with the legend
    assert "scores" not in lines


@pytest.mark.parametrize("words", [("--select", "output"), ("--heatmap",), ("--explain",), ("--stats",)])
def test_a_curve_stands_below_what_else_is_asked_for(words: tuple[str, ...], fit: str, run: Run) -> None:
    alone, shown = (run("compute", fit, *more, "--curve").stdout for more in ((), words))
    curve = alone[alone.index("output over keys") :]
    assert shown.endswith(curve)
    assert len(shown) > len(alone)


def test_of_an_edited_problem_there_are_both_curves(fit: str, run: Run) -> None:
    lines = run("compute", fit, "--curve", "--set", "value[0,0]=1").stdout.splitlines()
    assert lines[2:5] == ["set value[0,0]: 3 → 1", "", "output over keys"]
    assert lines[-1] == "● value   ⠒ ⠒ before   ⠒⠒⠒ after"


def test_where_there_is_no_curve_it_is_said_what_is_needed(heads: str, run: Run) -> None:
    ran = run("compute", "--query", "1 2", "--key", "1 2", "--curve")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "attn: --curve: queries have 2 features, keys have 2, and their tokens are not numbers; a curve needs queries "
        "and keys of one feature, or query_tokens and tokens that are numbers\n"
    )


def test_a_large_data_fit_is_drawn_too(run: Run) -> None:
    ran = run("compute", "--token-count", "400", "--dim", "1", "--seed", "1", "--curve")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "output over keys" in ran.stdout

"""--cell: which cells are worked out, from the command line to the screen."""

from collections.abc import Sequence

import pytest

from tests.cli.running import Run

SENTENCE = ("--sentence", "the cat the", "--vocabulary", "{the: [1, 0], cat: [0, 1]}")
COMPUTE = ("compute", "t.yaml", "--select", "scores")
CELLS = {
    "two": (("--cell", "word_2,word_3", "--cell", "0,-1"), ["2,3", "1,4"]),
    "a row": (("--cell", "word_2,*"), ["2,1", "2,2", "2,3", "2,4"]),
    "a column": (("--cell", "*, word_3"), ["1,3", "2,3", "3,3", "4,3"]),
    "all": (("--cell", "*"), [f"{query},{key}" for query in (1, 2, 3, 4) for key in (1, 2, 3, 4)]),
    "one twice": (("--cell", "0,0", "--cell", "word_1,word_1"), ["1,1"]),
}


@pytest.mark.usefixtures("tutorial")
@pytest.mark.parametrize("explain", [(), ("--explain",)], ids=["alone", "explained"])
@pytest.mark.parametrize(("options", "cells"), CELLS.values(), ids=CELLS)
def test_cells_are_worked_out(options: tuple[str, ...], cells: list[str], explain: tuple[str, ...], run: Run) -> None:
    ran = run(*COMPUTE, *options, *explain)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("  Q(word_")]
    pairs = [cell.split(",") for cell in cells]
    assert [line.partition(" = ")[0] for line in lines] == [f"  Q(word_{query})·K(word_{key})" for query, key in pairs]
    assert (ran.returncode, ran.stderr) == (0, "")


ERRORS = {
    "one label": ("word_1", "'word_1' is not a cell; expected QUERY,KEY, such as word_1,word_3, 'word_1,*' for a row"),
    "three labels": ("a,b,c", "'a,b,c' is not a cell; expected QUERY,KEY"),
    "nothing": ("", "'' is not a cell; expected QUERY,KEY"),
    "a label that is not there": ("word_1,word_9", "unknown token 'word_9'"),
    "a position that is not there": ("4,*", "there is no position 4; positions go from 0 to 3"),
}


@pytest.mark.usefixtures("tutorial")
@pytest.mark.parametrize(("cell", "message"), ERRORS.values(), ids=ERRORS)
def test_what_is_no_cell_is_an_error(cell: str, message: str, run: Run) -> None:
    ran = run("compute", "t.yaml", "--cell", "0,0", "--cell", cell)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"--cell: {message}" in ran.stderr


def test_equal_tokens_are_chosen_and_named_by_their_number(run: Run) -> None:
    shown = run("compute", *SENTENCE, "--cell", "the#2,cat").stdout
    assert "cell  query the#2, key cat" in shown
    assert "Q(the#2)·K(cat) = " in shown
    error = run("compute", *SENTENCE, "--cell", "the,cat").stderr
    assert "--cell: 'the' appears 2 times; say which one: the#1 is the first" in error


def test_the_number_of_an_equal_token_is_part_of_its_label_in_latex(run: Run) -> None:
    shown = run("compute", *SENTENCE, "--cell", "the#2,cat", "-f", "latex").stdout
    assert r"\quad query the\#2, key cat" in shown
    assert r"Q(\text{the\#2})\cdot K(\text{cat})" in shown


def test_a_warning_names_equal_tokens_by_their_number(run: Run) -> None:
    ran = run("compute", *SENTENCE, "--mask", "[[1,1,1],[1,1,1],[0,0,0]]", "--only", "the#2")
    assert ran.stderr.startswith("attn: warning: ")
    assert " the#2: " in ran.stderr


def test_csv_and_json_keep_the_tokens_as_they_are(run: Run) -> None:
    assert run("compute", *SENTENCE, "--select", "weights", "-f", "csv").stdout.startswith(",the,cat,the\nthe,")
    assert '"key_tokens": ["the", "cat", "the"]' in run("compute", *SENTENCE, "--json").stdout


@pytest.mark.parametrize(("form", "numbers"), [("table", "01"), ("markdown", "01"), ("latex", ("$0$", "$1$"))])
def test_every_head_is_worked_out_in_every_format_for_readers(form: str, numbers: Sequence[str], run: Run) -> None:
    drawn = ("--seed", "1", "--token-count", "2", "--dim", "4", "--heads", "2")
    shown = run("compute", *drawn, "--cell", "0,1", "--head", "all", "-f", form, "--strict").stdout
    assert all(f"head {number}:" in shown for number in numbers)


@pytest.mark.parametrize(
    ("words", "headings"),
    [
        (("--cell", "word_1,word_3", "--step", "weights"), ["weights"]),
        (("--cell", "word_1,word_3", "--step", "output, scores"), ["scores", "context"]),  # which is the output
        (("--cell", "word_1,word_3", "--select", "scores", "--step", "weights"), ["weights"]),
        (("--explain", "--step", "weights"), ["7. weights"]),
        (("--explain", "--step", "w_q"), ["w_q"]),
    ],
)
def test_the_steps_of_an_option_are_shown_alone(
    words: tuple[str, ...], headings: list[str], tutorial: str, run: Run
) -> None:
    ran = run("compute", tutorial, *words)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [block.partition("  ")[0] for block in ran.stdout.split("\n\n")[1:]] == headings


def test_a_step_alone_says_which_head_it_is_of(tutorial: str, run: Run) -> None:
    words = ("compute", "--seed", "1", "--token-count", "3", "--dim", "4", "--cell", "0,1", "--step", "weights")
    assert "cell  head 0, query token_1, key token_2\n" in run(*words, "--heads", "2").stdout
    assert "cell" not in run(*words).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--step", "wieghts"), "--step: unknown result 'wieghts'; did you mean 'weights'?"),
        (("--step", "weights,"), "--step: a name is empty in 'weights,'"),
        (("--step", "w_q"), "--step: w_q is given, not computed; name a step, such as weights"),
    ],
)
def test_what_is_no_step_is_an_error(words: tuple[str, ...], message: str, tutorial: str, run: Run) -> None:
    ran = run("compute", tutorial, "--cell", "word_1,word_3", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {message}")

"""--pager: the result page by page on a terminal, by the program that PAGER names."""

from pathlib import Path

import pytest

from tests.cli.running import STYLE, Run, on_a_terminal

DEEP = pytest.mark.deep
OUTPUT = ("compute", "t.yaml", "--select", "output")


@pytest.mark.usefixtures("tutorial")
@pytest.mark.parametrize(
    ("pager", "first_line"),
    [
        ("sed 's/^/> /'", "> scaled_dot → softmax → weighted_sum"),
        pytest.param("sh -c 'echo $LESS'", "FRX", marks=DEEP),
    ],
)
def test_the_pager_is_started_with_its_arguments(pager: str, first_line: str, tmp_path: Path) -> None:
    shown = on_a_terminal(*OUTPUT, "--pager", folder=tmp_path, env={"PAGER": pager}, is_process=True)
    assert STYLE.sub("", shown).startswith(f"{first_line}\n")


@pytest.mark.usefixtures("tutorial")
@pytest.mark.parametrize("pager", ["cat", ""])
def test_cat_and_nothing_are_no_pagers(pager: str, tmp_path: Path) -> None:
    shown = on_a_terminal(*OUTPUT, "--pager", folder=tmp_path, env={"PAGER": pager})
    assert STYLE.sub("", shown).startswith("scaled_dot → softmax → weighted_sum\n")


@pytest.mark.parametrize(("pager", "shown"), [("true", ""), pytest.param("head -n 1", "{\n", marks=DEEP)])
def test_a_pager_that_ends_early_is_no_error(pager: str, shown: str, tmp_path: Path) -> None:
    many = ("compute", "--seed", "1", "--token-count", "300", "--dim", "2", "--init", "normal", "--json", "--pager")
    assert on_a_terminal(*many, folder=tmp_path, env={"PAGER": pager}, is_process=bool(shown)) == shown


@pytest.mark.usefixtures("tutorial")
@pytest.mark.parametrize(
    ("pager", "error"),
    [
        ("no-such-pager -R", "attn: PAGER: 'no-such-pager' can't be started (No such file or directory);"),
        ("less '", 'attn: PAGER: "less \'" is not a command (No closing quotation); close the quotes'),
        ("false", "attn: PAGER: 'false' ended with status 1; leave out --pager to see the result without it"),
    ],
)
def test_a_pager_that_cannot_be_started_or_fails_is_an_error(pager: str, error: str, tmp_path: Path) -> None:
    shown = on_a_terminal(*OUTPUT, "--pager", folder=tmp_path, width=200, env={"PAGER": pager}, status=2)
    assert shown.startswith(error)


@pytest.mark.usefixtures("tutorial")
def test_without_the_option_nothing_is_paged(tmp_path: Path) -> None:
    assert "output" in on_a_terminal(*OUTPUT, folder=tmp_path, env={"PAGER": "false"})


@pytest.mark.usefixtures("tutorial")
def test_a_pipe_is_not_paged_and_with_a_file_the_option_has_no_effect(run: Run) -> None:
    paged = run(*OUTPUT, "--pager", env={"PAGER": "false"})
    assert (paged.stdout, paged.stderr) == (run(*OUTPUT).stdout, "")
    ran = run(*OUTPUT, "--pager", "-o", "x.md")
    assert ran.stderr == "attn: warning: --pager has no effect: the result is written to a file\n"


SHORT = ("compute", "--query", "1 2", "--key", "1 2; 3 4")  # its terminal has 50 lines
LONG = ("compute", "--sentence", "the cat sat on the mat and looked at me", "--dim", "4")
CHECK = ("check", *SHORT[1:], "--against")
COMPARE = ("compare", *LONG[1:], "--seed", "1..60")


@pytest.mark.parametrize(
    ("words", "is_long", "status"),
    [
        (SHORT, False, 0),
        ((*LONG, "--explain"), True, 0),
        ((*LONG, "--explain", "--pager"), False, 0),
        ((*LONG, "--json"), False, 0),
        ((*LONG, "--explain", "--format", "markdown"), False, 0),
        (COMPARE, True, 0),
        ((*COMPARE, "--pager"), False, 0),
        (("list", "bugs"), True, 0),
        (("list", "bugs", "--pager"), False, 0),
        (("show", "softmax"), False, 0),
        ((*CHECK, "weights=.0142 .9858"), False, 0),
    ],
)
def test_below_a_result_that_a_terminal_can_not_show_whole_is_what_does(
    words: tuple[str, ...], is_long: bool, status: int, tmp_path: Path
) -> None:
    shown = STYLE.sub("", on_a_terminal(*words, folder=tmp_path, env={"PAGER": "cat"}, status=status)).splitlines()
    assert (shown[-1] == f"{len(shown) - 1} lines: --pager shows them a page at a time") == is_long


def test_a_pipe_is_not_told_how_long_a_result_is(run: Run) -> None:
    assert "--pager" not in run(*LONG, "--explain").stdout

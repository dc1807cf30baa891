"""Pages from the command line: every step of a small problem, selected results of a larger one, and the title."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from attncli.cli.output_options import OutputOptions
from tests.cli.running import Run

SMALL = ("compute", "--weights", "1 0; .5 .5", "--value", "1; 2", "-o", "p.html")  # of few steps: quickly written
TOKENS = ("compute", "--seed", "1", "--dim", "2", "-o", "p.html", "--token-count")


def content(folder: Path) -> Any:
    """The object in the page that was written."""
    text = (folder / "p.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.parametrize(
    "options", [("--strict",), ("--cell", "query_2,key_1"), ("--select", "weights"), ("--head", "0")]
)
def test_a_small_page_has_every_step(options: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    ran = run(*SMALL, *options)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert content(tmp_path)["values"].keys() == {"weights", "value", "context", "output"}


def test_a_larger_page_has_the_selected_results_and_says_so(run: Run, tmp_path: Path) -> None:
    ran = run(*TOKENS, "300")
    assert ran.returncode == 0
    assert ran.stderr == (
        "attn: warning: only scores, weights and output can be seen: the steps have 363,612 numbers together, "
        "and a page has every step up to 200,000\n"
    )
    assert list(content(tmp_path)["values"]) == ["scores", "weights", "output"]


def test_a_larger_page_has_what_is_asked_for(run: Run, tmp_path: Path) -> None:
    ran = run(*TOKENS, "300", "--select", "weights", "--cell", "token_1,token_2", "--strict")
    assert (ran.returncode, ran.stderr) == (0, "")
    written = content(tmp_path)
    assert list(written["values"]) == ["weights"]
    assert written["start"]["cell"] == [0, 1]


@pytest.mark.parametrize("options", [(), ("--explain",)])
def test_results_that_are_too_large_are_refused_before_the_work(
    options: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    ran = run(*TOKENS, "800", "--heads", "2", *options)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "attn: --output p.html: scores, weights and output have 2,561,600 numbers together, "
        "and a page has room for 2,000,000; select output alone, or show one head, "
        "or compute some of the queries with only\n"
    )
    assert not (tmp_path / "p.html").exists()


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--explain", "a page has every step already"),
        ("--stats", "a page has no statistics"),
        ("--heatmap", "html has heat maps anyway"),
        ("--terms=all", "a page shortens sums to fit"),
    ],
)
def test_an_option_that_a_page_does_not_read_is_a_warning(option: str, reason: str, run: Run) -> None:
    ran = run(*SMALL, option)
    assert ran.returncode == 0
    assert f"warning: {option.partition('=')[0]} has no effect: {reason}" in ran.stderr


def test_what_was_set_is_there_with_the_numbers_before(run: Run, tmp_path: Path) -> None:
    assert run(*SMALL, "--set", "value[key_2,0]=9").returncode == 0
    written = content(tmp_path)
    assert written["edits"] == "set value[key_2,0]: 2 → 9"
    assert (written["before"]["output"]["data"], written["values"]["output"]["data"]) == ([1, 1.5], [1, 5])


@pytest.mark.parametrize(
    ("options", "title"),
    [((), "Two words"), (("--title", "Mine"), "Mine"), (("--title", ""), "weighted_sum")],
)
def test_the_title_is_that_of_the_file_where_none_is_given(
    options: tuple[str, ...], title: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text("title: Two words\nweights: [[1, 0]]\nvalue: [[1], [2]]\n", encoding="utf-8")
    assert run("compute", "p.yaml", "-o", "p.html", *options).returncode == 0
    assert content(tmp_path)["title"] == title


@pytest.mark.parametrize(
    ("words", "has_story"),
    [
        (SMALL, False),
        ((*SMALL, "--guide"), True),
        (("demo", "scaled_dot", "-o", "p.html"), True),
    ],
)
def test_a_page_begins_with_a_story_where_that_is_asked_for_and_of_a_demo(
    words: tuple[str, ...], has_story: bool, run: Run, tmp_path: Path
) -> None:
    ran = run(*words)
    assert ran.returncode == 0
    assert (content(tmp_path)["guide"] is not None) == has_story


def test_a_page_that_is_opened_begins_with_a_story_unless_none_is_wanted() -> None:
    assert OutputOptions(open=True, output="p.html").has_guide
    assert not OutputOptions(open=True, output="p.html", guide=False).has_guide


def test_a_story_of_what_nothing_computes_is_an_error(run: Run) -> None:
    ran = run("compute", "--weights", "1 0; .5 .5", "-o", "p.html", "--guide")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "attn: --guide: weights are given, and a story tells what is computed; give value, or leave out --guide\n"
    )


def test_a_demo_in_the_terminal_has_no_story(run: Run) -> None:
    ran = run("demo", "scaled_dot", "--guide")
    assert ran.stderr == "attn: warning: --guide has no effect: only a page (.html) begins with a story\n"

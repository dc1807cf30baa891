"""Results and explanations are saved as the command writes them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.page import SELECTED
from attncli.render.formats import FORMATS
from tests.cli.running import run_in_process
from tests.problems import write_file

FILE = "embeddings: [[1, 0, 1], [0, 2, 1]]\ntokens: [cat, sat]\nscore: dot\n"
SUFFIXES = [suffix for row in FORMATS for suffix in row.suffixes if not (row.is_figure or row.holds_one_array)]
RESULT = attncli.attention(np.eye(4), np.eye(4), heads=2, select=("weights", "output"))
EXPLANATION = RESULT.explain(("query_1", "key_2"))


def written(folder: Path, name: str, options: str = "") -> bytes:
    """The file that the command writes of the problem."""
    (folder / "command").mkdir()
    problem = write_file(folder, FILE)
    ran = run_in_process("compute", problem, "-o", f"command/{name}", *options.split(), folder=folder)
    assert ran.returncode == 0, ran.stderr
    whole = (folder / "command" / name).read_bytes()
    return re.sub(rb'("command": )\["attn", [^]]*\]', rb"\1[]", whole)  # which a page of Python can't name


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_result_is_saved_as_the_command_writes_it(suffix: str, tmp_path: Path) -> None:
    expected = written(tmp_path, f"x{suffix}")
    attncli.load(tmp_path / "p.yaml").compute().save(tmp_path / f"x{suffix}")
    assert (tmp_path / f"x{suffix}").read_bytes() == expected


@pytest.mark.parametrize(
    ("keywords", "options"),
    [
        ({"decimals": 2}, "--precision 2"),
        ({"head": 0, "batch": "all"}, "--head 0 --batch all"),
    ],
)
def test_keywords_are_options(keywords: dict[str, Any], options: str, tmp_path: Path) -> None:
    expected = written(tmp_path, "x.md", options)
    attncli.load(tmp_path / "p.yaml").compute().save(tmp_path / "x.md", **keywords)
    assert (tmp_path / "x.md").read_bytes() == expected


@pytest.mark.parametrize("name", ["x.tex", "x.json", "x.html", "x.npz"])
def test_an_explanation_is_saved_as_the_command_writes_it(name: str, tmp_path: Path) -> None:
    expected = written(tmp_path, name, "--explain").decode("utf-8", "replace")
    attncli.load(tmp_path / "p.yaml").explain().save(tmp_path / name)
    saved = (tmp_path / name).read_bytes().decode("utf-8", "replace")
    assert saved == expected
    assert "picks others" not in saved


def test_an_array_is_saved_by_itself(tmp_path: Path) -> None:
    result = attncli.attention(np.eye(2), np.eye(2), select="weights")
    result.save(tmp_path / "weights.npy")
    assert np.array_equal(np.load(tmp_path / "weights.npy"), result.weights)


def test_the_title_is_that_of_the_page(tmp_path: Path) -> None:
    RESULT.save(tmp_path / "page.html", title="Who <looks> at whom")
    assert "<title>Who &lt;looks&gt; at whom</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_changed_is_marked_in_the_file(tmp_path: Path) -> None:
    problem = attncli.Problem(scores=[[2, 0]])
    after = problem.replace(scores=[[2, 1]]).compute("scores").mark_changes_since(problem.compute("scores"))
    after.save(tmp_path / "scores.txt")
    assert "1▲" in (tmp_path / "scores.txt").read_text(encoding="utf-8")


def test_a_file_stays_as_it_is_where_another_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(b"old")
    with pytest.raises(attncli.AttnError, match="holds one array"):
        RESULT.save(tmp_path / "x.npy")
    assert list(tmp_path.iterdir()) == [tmp_path / "x.npy"]
    assert (tmp_path / "x.npy").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("save", "message"),
    [
        (lambda: RESULT.save("x.docx"), "x.docx: the suffix names no format; expected one of .txt, .json"),
        (lambda: RESULT.save("x.html", title=None), "title: None is not text"),
        (lambda: RESULT.save(3), 'path: 3 is not a path; give the name of a file, such as "page.html"'),
        (lambda: RESULT.save("no/folder/x.txt"), "no/folder/x.txt: can't be written"),
        (lambda: RESULT.save("x.npy"), "x.npy: the file holds one array, and these are weights and output; select one"),
        (lambda: RESULT.save("x.json", decimals=2), "decimals: has no effect: json has every digit; leave it out"),
        (lambda: RESULT.save("x.txt", title="A"), "title: has no effect: table has no title"),
        (lambda: RESULT.save("x.html", size="6x4"), "size: has no effect: html is not a figure"),
        (lambda: RESULT.save("x.svg", size="large"), "size: 'large' is not a size; expected a width and a height"),
        (
            lambda: RESULT.save("x.svg", size=6),
            'size: 6 is not a size; expected a width and a height in inches, such as (6, 4), or "15',
        ),
        (lambda: RESULT.save("x.svg", size=(6, 400)), "size: 6 × 400 inches are out of range"),
        (lambda: RESULT.save("x.txt", head=2), "head: there is no head 2"),
        (lambda: EXPLANATION.save("x.json"), "cells: has no effect: json has no worked lines"),
    ],
)
def test_what_can_not_be_saved_is_an_error(save: Any, message: str) -> None:
    with pytest.raises(attncli.AttnError) as caught:
        save()
    assert str(caught.value).startswith(message)


def test_a_page_has_no_room_for_any_number_of_results(tmp_path: Path) -> None:
    length = int(SELECTED**0.5) + 1
    result = attncli.attention(np.zeros((length, 1)), np.zeros((length, 1)), select="weights")
    with pytest.raises(attncli.AttnError, match=f"weights have {length**2:,} numbers together"):
        result.save(tmp_path / "large.html")

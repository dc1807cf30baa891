"""The picture of a terminal: the text of the tables in colour, whatever the terminal that writes it."""

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

import attncli
from attncli.render.formats import find_format, format_in_file
from attncli.render.target import TEXT_FILE
from attncli.render.view import View
from tests.cli.running import run_in_process

RESULT = attncli.attention(scores=[[2, 0], [1, 1]], tokens=["<a>", "b & c"], select=("scores", "weights"))


def picture(result: attncli.Result, title: str = "") -> str:
    """The picture of a result, as a file gets it."""
    return "".join(format_in_file(find_format("table"), "x.svg").render(View(result, title=title), TEXT_FILE))


def words(svg: str) -> Sequence[str]:
    """The words of an SVG, styles apart."""
    texts = [element for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")]
    return " ".join("".join(element.itertext()) for element in texts).split()


def test_it_shows_the_words_of_the_tables_under_its_title() -> None:
    svg = picture(RESULT, "$ attn compute")
    expected = ["$", "attn", "compute", *"".join(find_format("table").render(View(RESULT), TEXT_FILE)).split()]
    assert [word for word in words(svg) if "─" not in word] == [word for word in expected if "─" not in word]


def test_it_shades_weights_and_loads_nothing() -> None:
    svg = picture(RESULT)
    assert len(set(re.findall(r'<rect fill="(#\w+)"', svg))) > 1
    assert "http" not in svg.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_everything_is_inside_its_frame() -> None:
    svg = picture(RESULT)
    width = float(re.findall(r'viewBox="0 0 ([\d.]+)', svg)[0])
    texts = re.findall(r'x="([\d.]+)"[^>]*textLength="([\d.]+)"[^>]*>(?!\n)', svg)
    ends = [float(left) + float(length) for left, length in texts]
    assert 16 + max(ends) <= width


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"COLORTERM": "truecolor"}], ids=str)
def test_it_is_the_same_in_every_terminal(env: dict[str, str], tmp_path: Path) -> None:
    scores = ("--scores", "2 0; 1 1", "--tokens", "<a>,b & c")
    words = (*scores, "--select", "scores,weights", "--format", "table", "-o", "x.SVG", "--strict")
    ran = run_in_process("compute", *words, folder=tmp_path, env=env)
    assert (ran.returncode, ran.stderr) == (0, "")
    expected = attncli.attention(
        scores=[[2, 0], [1, 1]], tokens=["<a>", "b & c"], query_tokens=None, select=("scores", "weights")
    )
    assert (tmp_path / "x.SVG").read_text() == picture(expected)


def test_a_comparison_is_one_too(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("scores: [[2, 0]]\n")
    arguments = (
        "compare",
        "p.yaml",
        "--vary",
        "normalize=softmax",
        "--vary",
        "normalize=sparsemax",
        "-f",
        "table",
        "-o",
        "x.svg",
    )
    ran = run_in_process(*arguments, folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {"softmax", "sparsemax", "0.8808"} <= set(words((tmp_path / "x.svg").read_text()))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--json", "-o", "x.svg"], "json and the suffix .svg contradict each other; leave out the format, or name"),
        (
            ["-f", "csv", "-o", "x.HTML"],
            "csv and the suffix .html contradict each other; leave out the format, or name",
        ),
        (
            ["-f", "table", "-o", "x.png"],
            "table and the suffix .png contradict each other; table is drawn in a .svg file",
        ),
    ],
)
def test_a_file_of_a_picture_has_no_other_format(words: Sequence[str], message: str, tmp_path: Path) -> None:
    ran = run_in_process("compute", "--scores", "2 0", *words, folder=tmp_path)
    assert (ran.returncode, list(tmp_path.iterdir())) == (2, [])
    assert f"attn: --output {words[-1]}: {message}" in ran.stderr

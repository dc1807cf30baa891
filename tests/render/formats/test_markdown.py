"""Markdown: tables with a cell for every number, and labels that are no markup."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attncli.base.text import escape_control
from attncli.render.document import Grid, Section
from attncli.render.formats import markdown
from tests.render.explanations import text_of

EVIL = "a|b_c*[x]<y>&%$#{}~^\\"
GRID = Grid(np.array([[0.25, -np.inf]]), (EVIL,), ("one", "two"), corner="n\\m", slice_label="head 0")
SECTION = Section("weights", (GRID,), formula="Aᵢⱼ = x", arithmetic=("1 + 1 = 2",), remarks=("a_remark",))


def test_a_markdown_table_has_a_cell_for_every_number() -> None:
    lines = text_of([SECTION], render=markdown.render).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [4, 4, 4]
    assert rows[1] == "| --- | --: | --: |"
    assert rows[2].endswith("| 0.25 | −∞ |")
    assert "1 + 1 = 2" in lines[lines.index("```") + 1]


def test_markdown_reads_no_markup_in_a_label() -> None:
    (row,) = [line for line in text_of([SECTION], render=markdown.render).splitlines() if "0.25" in line]
    label = row.split(" | 0.25")[0].removeprefix("| ")
    assert re.sub(r"\\(.)", r"\1", label) == EVIL
    assert not re.search(r"(?<!\\)(?:\\\\)*[|_*\[\]<>#`]", label)


def test_what_is_marked_is_bold() -> None:
    grid = replace(GRID, rows=("[CLS]",), marked=frozenset({(0, 1)}))
    page = (
        MarkdownIt("commonmark").enable("table").render(text_of([Section("weights", (grid,))], render=markdown.render))
    )
    assert re.findall("<strong>(.*?)</strong>", page) == ["two", "[CLS]", "−∞"]


@given(st.text(alphabet=st.sampled_from("ab1 |\\`*_{}[]<>#&~$!()-=:;.\n猫")))
@example("&lt;b&gt;")
@example("~~x~~ $x$ ![x](y)")
def test_a_reader_of_markdown_sees_the_label(label: str) -> None:
    grid = Grid(np.array([[0.25]]), (label,), ("one",))
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    shown = page.render(text_of([Section("weights", (grid,))], render=markdown.render))
    (cell, _) = re.findall("<td[^>]*>(.*?)</td>", shown, re.DOTALL)
    assert unescape(cell) == escape_control(label).strip()

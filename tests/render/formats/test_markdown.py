"""Markdown: tables with a cell for every number, and labels that are no markup."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from attncli.base.text import escape_control
from attncli.ops import kinds, operators
from attncli.render.document import LABEL_END, LABEL_START, Document, Grid, Section
from attncli.render.formats import markdown
from attncli.render.formats.markdown import markdown_line, markdown_lines
from attncli.render.target import TEXT_FILE
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
    assert ["$A_{ij} = x$" in lines, "$1 + 1 = 2$" in lines] == [True, True]


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


MATHEMATICS = {
    "Sᵢⱼ = Qᵢ·Kⱼ / √d, where j < 3": r"$S_{ij} = Q_{i}\cdot K_{j} / \sqrt{d}$, where $j \lt 3$",
    "Q(word_1)·K(word_2) = 1": r"$Q(\mathrm{word\_1})\cdot K(\mathrm{word\_2}) = 1$",
    f"Q({LABEL_START}the{LABEL_END}#2) = 1": r"$Q(\mathrm{the}_{2}) = 1$",
    f"Q({LABEL_START}a b{LABEL_END}) = 1": r"$Q(\mathrm{a~b}) = 1$",
    f"Q({LABEL_START}50%{LABEL_END}) = 1": "`Q(50%) = 1`",  # what Markdown or MathJax would misread is code
    f"Q({LABEL_START}猫{LABEL_END}) = 1": "`Q(猫) = 1`",
    "−‖Qᵢ − Kⱼ‖²": r"$-\Vert Q_{i} - K_{j}\Vert ^{2}$",
    "head 1, query cat": "head 1, query cat",
    "a_b: *every* key": "`a_b: *every* key`",
}


@pytest.mark.parametrize(("line", "expected"), MATHEMATICS.items(), ids=map(str, range(len(MATHEMATICS))))
def test_mathematics_is_between_dollars(line: str, expected: str) -> None:
    assert markdown_line(line) == expected


def test_lines_that_can_not_all_be_typeset_are_one_block_of_code() -> None:
    assert markdown_lines(["1 + 1 = 2", "2·2 = 4"]) == "$1 + 1 = 2$\\\n$2\\cdot2 = 4$"
    assert markdown_lines(["1 + 1 = 2", f"Q({LABEL_START}猫{LABEL_END}) = 1"]) == "```\n1 + 1 = 2\nQ(猫) = 1\n```"


def test_no_formula_of_the_registry_has_what_markdown_takes_for_its_own() -> None:
    formulas = [record.formula for kind in kinds() for record in operators(kind).values()]
    written = [markdown_line(formula) for formula in formulas]
    assert sum(line.startswith("`") for line in written) <= len(written) // 20
    assert not [line for line in written if re.search(r"\$[^$]*(?:\\[^A-Za-z\s_]|[*`])[^$]*\$", line)]


def test_a_table_is_a_matrix_where_that_is_asked_for() -> None:
    grid = Grid(np.array([[1, -0.5], [0, 2]]), ("cat", "sat"), ("d1", "d2"), corner="n\\d")
    document = Document([Section("query", (grid,), "Q")], 4, are_matrices=True, title="A *title*")
    (text,) = markdown.render(document, TEXT_FILE)
    assert text.startswith("# A \\*title\\*\n\n## query  $Q$\n")
    assert "$$\nQ = \\begin{bmatrix}\n1.0 & -0.5 \\cr\n0 & 2.0\n\\end{bmatrix}\n$$" in text

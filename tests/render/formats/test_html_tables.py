"""HTML: tables with a cell for every number, in which no text is markup, and nothing is loaded or styled elsewhere."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.base.text import escape_control
from attncli.render.document import (
    LABEL_END,
    LABEL_START,
    Document,
    Grid,
    Lines,
    Pairs,
    Section,
    SideBySide,
    Statement,
)
from attncli.render.formats.html_tables import HtmlLimits, preformatted, render

WEIGHTS = Grid(
    np.array([[0.25, 0.5, 0.01], [1.0, np.nan, 0.0]]),
    ("cat", "sat"),
    ("a", "b", "c"),
    corner="n\\m",
    slice_label="head 0",
    is_heatmap=True,
)
LABELLED = f"{LABEL_START}to the{LABEL_END}#2"


class Page(HTMLParser):
    """The elements of a page: the text of each, by its name, and the styles of cells; tags have to be balanced."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.styles: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "td":
            self.styles.append(dict(attrs)["style"] or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1], data))

    def text(self, tag: str) -> list[str]:
        """The texts of the elements of a name."""
        return [text for name, text in self.texts if name == tag]


def page(*grids: Grid, limits: HtmlLimits | None = None, **fields: object) -> Page:
    """The page of a section with these tables."""
    section = Section("weights", grids, **fields)
    return Page(render(Document([section], 4), **({} if limits is None else {"limits": limits})))


def test_a_table_has_every_number_under_its_labels() -> None:
    found = page(WEIGHTS)
    assert found.text("td") == ["0.25", "0.50", "0.01", "1.00", "NaN", "0"]
    assert found.text("bdi") == ["a", "b", "c", "cat", "sat"]
    assert found.text("caption") == ["head 0"]


def test_weights_are_shaded_by_what_they_are() -> None:
    opacities = [style.partition("rgba(33,113,181,")[2].removesuffix(")") for style in page(WEIGHTS).styles]
    assert opacities == ["0.14", "0.28", "", "0.55", "", ""]
    assert not any("rgba" in style for style in page(replace(WEIGHTS, is_heatmap=False)).styles)


def test_masked_cells_are_hatched_and_have_no_weight() -> None:
    hidden = np.array([[False, False, False], [False, False, True]])
    found = page(replace(WEIGHTS, hidden=hidden))
    assert ["gradient" in style for style in found.styles] == hidden.ravel().tolist()
    assert found.text("td") == ["0.25", "0.50", "0.01", "1.00", "NaN"]


def test_marked_cells_are_framed_and_changed_ones_have_their_mark() -> None:
    changes = np.array([["", "▲", ""], ["▼", "◆", ""]])
    found = page(replace(WEIGHTS, marked=frozenset({(0, 1)}), changes=changes))
    assert found.text("td") == ["0.25", "0.50▲", "0.01", "1.00▼", "NaN◆", "0"]
    assert ["outline" in style for style in found.styles] == [False, True, False, False, False, False]


def test_of_a_large_table_the_middle_is_left_out_and_counted() -> None:
    grid = Grid(np.eye(9), tuple("abcdefghi"), tuple("abcdefghi"), marked=frozenset({(4, None)}))
    found = page(grid, limits=HtmlLimits(rows=3, columns=3))
    assert [text for text in found.text("th") if text] == ["… 6 more", "… 2 more", "… 3 more"]
    assert found.text("bdi") == ["a", "b", "i", "a", "b", "e", "i"]
    assert found.text("td")[:8] == ["1", "0", "…", "0", "0", "1", "…", "0"]


def test_of_many_tables_the_last_are_left_out_and_named() -> None:
    grids = [replace(WEIGHTS, slice_label=f"head {head}") for head in range(5)]
    found = page(*grids, limits=HtmlLimits(tables=2))
    assert found.text("caption") == ["head 0", "head 1"]
    assert found.text("p")[-1] == "… 3 more tables: head 2 to head 4"


@given(st.text(alphabet=st.sampled_from("a1 <>&\"'/\\`=;!-\n\t\x00\u202e\u05d0猫"), min_size=1))
def test_a_reader_sees_the_text_and_no_markup(text: str) -> None:
    grid = replace(WEIGHTS, rows=(text, "sat"), slice_label=text, corner=text, meanings={text: text})
    fields = {"formula": text, "shapes": text, "purpose": text, "arithmetic": (text,), "remarks": (text,)}
    found = page(grid, **fields)
    shown = {shown.strip() for _, shown in found.texts}
    assert escape_control(text).strip() in shown | {""}
    tables = {"div", "p", "b", "i", "code", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi"}
    mathematics = {"math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "wbr"}
    assert found.tags <= tables | mathematics
    assert found.attributes <= {"style", "scope", "displaystyle", "stretchy", "form", "lspace", "rspace", "width"}


def test_formulas_and_arithmetic_are_typeset_and_labels_are_words() -> None:
    section = Section("scores", symbol="S", formula="Sᵢⱼ = Qᵢ·Kⱼ / √d", arithmetic=(f"  Q({LABELLED})·K = 1/√3",))
    html = render(Document([section], 4))
    assert html.count("<math") == 3
    assert "<mfrac><mrow>" in html
    assert "<mtext>to the#2</mtext>" in html


def test_every_block_of_a_report_is_shown() -> None:
    blocks = (
        Statement("✗ weights", ": 2 numbers differ"),
        Pairs([("no_scale", "The scores are not scaled.")]),
        Lines(("a = 1/2",), kind="mathematics"),
        Lines(("x = y",), kind="code"),
        Section("inner", remarks=("one",)),
        SideBySide((Section("left"), Section("right"))),
    )
    found = Page(render(Document([Section("", blocks=blocks)], 4)))
    assert found.text("b") == ["✗ weights", "inner", "left", "right"]
    assert (found.text("th"), found.text("td")) == (["no_scale"], ["The scores are not scaled."])
    assert (found.text("pre"), "mfrac" in found.tags or "math" in found.tags) == (["x = y"], True)


def test_a_text_is_shown_line_by_line() -> None:
    assert Page(preformatted("a  <b\n\x1b[1m c")).text("pre") == ["a  <b\n\\x1b[1m c"]


@pytest.mark.parametrize("paper", [0, 255], ids=["dark", "light"])
def test_the_darkest_shade_can_be_read_in_both_themes(paper: int) -> None:
    """The contrast of black on white paper, or of white on black, is at least 4.5, as WCAG 2 asks."""

    def luminance(color: list[float]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (x / 255 for x in color)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    (style,) = {style for style in page(WEIGHTS).styles if "0.55)" in style}
    *blue, opacity = map(float, style.partition("rgba(")[2].removesuffix(")").split(","))
    shade = [opacity * color + (1 - opacity) * paper for color in blue]
    darker, lighter = sorted([luminance(shade), luminance([255.0 - paper] * 3)])
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5

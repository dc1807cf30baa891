"""The page as it is looked at and walked through, in a browser: steps, tables, cells, the trail, the address, paper."""

import itertools
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.engine.run import run
from attncli.io import examples
from attncli.render.color_map import SIGNED_ON_DARK, SIGNED_ON_LIGHT
from attncli.render.document import Grid
from attncli.render.explanation import explain
from attncli.render.view import View
from tests.arrays import normal
from tests.peers.conftest import PageOf, spec_of

WORDS = {
    "embeddings": [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]],
    "tokens": ["the", "cat", "sat", "down"],
    "w_q": [[2, 0, 2], [2, 0, 0], [2, 1, 2]],
    "w_k": [[2, 2, 2], [0, 2, 1], [0, 1, 1]],
    "w_v": [[1, 1, 0], [0, 1, 1], [0, 0, 0]],
}
HEADS = {
    "embeddings": normal(5, 4),
    "w_q": normal(4, 4, seed=1),
    "w_o": normal(4, 4, seed=2),
    "heads": 2,
    "causal": True,
}
LARGE: dict[str, Any] = {"query": normal(90, 2), "key": normal(90, 2, seed=1)}
HIDDEN = {
    "query": normal(2, 2),
    "key": normal(3, 2, seed=1),
    "mask": [[1, 0, 1], [0, 0, 0]],
    "bias": [[0, 0, 0], [0, 1, 0]],
}


def show(page: Any, step: str) -> None:
    """Choose a step from the list."""
    page.locator(f"#step-list a[data-step='{step}']").click()


def cell_at(page: Any, row: int, column: int, table: str = "figure.main") -> Any:
    """The cell of a table of the step in view, by the numbers that it has for those who read it aloud."""
    return page.locator(f"{table} tr[aria-rowindex='{row + 2}'] td[aria-colindex='{column + 2}']")


def texts(page: Any) -> list[list[str]]:
    """The texts of the cells of the step in view."""
    rows: list[list[str]] = page.locator(".main tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))"
    )
    return rows


def place(page: Any) -> tuple[str, Any]:
    """The step in view and the cell of it that is kept."""
    step, cell = page.evaluate("[attnPage.state.get().step, attnPage.state.get().cell]")
    return step, cell


def framed(page: Any, table: str) -> list[tuple[int, int]]:
    """The rows and columns of the cells that lie in the frames of a table."""
    cells: list[list[int]] = page.locator(table).evaluate(
        """(figure) => [...figure.querySelectorAll("td")].filter((cell) => {
            const box = cell.getBoundingClientRect();
            const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
            return [...figure.querySelectorAll(".frame")].some((frame) => {
                const { left, right, top, bottom } = frame.getBoundingClientRect();
                return left < x && x < right && top < y && y < bottom;
            });
        }).map((cell) => [cell.parentElement.ariaRowIndex - 2, cell.ariaColIndex - 2])"""
    )
    return [(row, column) for row, column in cells]


@pytest.fixture
def calm(page_of: PageOf) -> Any:
    """Opens pages whose frames do not move."""
    return lambda source, **context: page_of(source, context={"reduced_motion": "reduce", **context})


def expected_texts(grid: Grid) -> list[list[str]]:
    """The numbers of a grid; what a mask hides is hatched in the page, where it is 0."""
    texts = np.array([[text.strip().replace("-", "−") for text in row] for row in grid.cell_texts(4)])
    return np.where(grid.masked, "", texts).tolist()


@pytest.mark.parametrize("keys", [WORDS, HEADS], ids=["words", "heads"])
def test_every_step_shows_what_the_explanation_shows(page_of: PageOf, keys: dict[str, Any]) -> None:
    page = page_of(keys)
    sections = [section for section in explain(View(run(spec_of(keys), every_step=True))) if section.grids][1:]
    assert page.locator("#step-list li").count() >= len(sections)
    for section in sections:
        show(page, section.title.rpartition(" ")[2].rpartition(". ")[2])
        assert page.locator("#step-list [aria-current]").count() == 1
        assert page.locator(".purpose").inner_text() == section.purpose
        if section.grids[0].signs is None:
            assert texts(page) == expected_texts(section.grids[0])


def test_pointing_at_a_cell_frames_the_row_and_the_column_that_made_it_and_writes_its_arithmetic(calm: Any) -> None:
    page = calm(WORDS)
    show(page, "query")
    cell_at(page, 2, 0).hover()
    assert framed(page, "figure.main") == [(2, 0)]
    assert framed(page, "figure.operand-1") == [(2, 0), (2, 1), (2, 2)]
    assert framed(page, "figure.operand-2") == [(0, 0), (1, 0), (2, 0)]
    assert "1·2 + 1·2 + 0·2 = 4" in page.locator(".arithmetic").inner_text()
    assert page.locator(".arithmetic").get_attribute("aria-live") == "polite"
    page.locator("h1").hover()
    assert framed(page, "figure.main") == []
    cell_at(page, 2, 0).click()
    page.locator("h1").hover()
    assert framed(page, "figure.main") == [(2, 0)]


def test_arrow_keys_walk_over_the_cells(page_of: PageOf) -> None:
    page = page_of(WORDS)
    show(page, "scores")
    cell_at(page, 0, 0).focus()
    walk = [("ArrowRight", [0, 1]), ("ArrowDown", [1, 1]), ("End", [1, 3]), ("ArrowRight", [1, 3]), ("Home", [1, 0])]
    for key, cell in [*walk, ("Control+End", [3, 3]), ("Control+Home", [0, 0]), ("ArrowUp", [0, 0])]:
        page.keyboard.press(key)
        assert place(page) == ("scores", cell)
        assert cell_at(page, cell[0], cell[1]).evaluate("td => td === document.activeElement && td.tabIndex === 0")
    assert page.locator(".main td[tabindex='0']").count() == 1


def test_operands_lead_on_to_the_embeddings_and_the_trail_leads_back(page_of: PageOf) -> None:
    page = page_of(WORDS)
    show(page, "dot_products")
    cell_at(page, 2, 1).click()
    page.locator(".operand[data-step='key']").first.click()
    assert place(page) == ("key", [1, 0])
    page.locator(".operand[data-step='embeddings']").first.click()
    assert place(page) == ("embeddings", [1, 0])
    assert cell_at(page, 1, 0).evaluate("cell => cell === document.activeElement")
    page.keyboard.press("Backspace")
    assert place(page) == ("key", [1, 0])
    page.keyboard.press("Escape")
    assert place(page) == ("dot_products", [2, 1])
    page.go_back()
    assert place(page) == ("key", [1, 0])


def test_the_way_back_has_no_steps_that_a_change_took_away(page_of: PageOf) -> None:
    page = page_of(HEADS)
    show(page, "weights")
    cell_at(page, 1, 0).click()
    for _ in range(3):
        page.locator("button.operand").first.click()
    assert place(page) == ("query_heads", [1, 0])
    page.locator("#set-causal").click()
    assert page.locator(".trail li").all_inner_texts() == [f"{symbol}(token_2, token_1) of head 0" for symbol in "AS"]
    page.go_back()
    page.locator(".back").click()
    assert place(page) == ("weights", [1, 0])


def test_a_cell_of_the_tables_beside_leads_on_to_its_step(page_of: PageOf) -> None:
    page = page_of(WORDS)
    show(page, "query")
    cell_at(page, 1, 2, "figure.operand-2").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert place(page) == ("w_q", [0, 2])


def test_merged_heads_are_framed_in_the_head_that_they_come_from(calm: Any) -> None:
    page = calm(HEADS)
    show(page, "merged")
    cell_at(page, 1, 3).click()
    assert "head 1" in page.locator("figure.operand-1 figcaption").inner_text()
    assert framed(page, "figure.operand-1") == [(1, 1)]


def test_the_address_names_the_step_the_head_and_the_cell(page_of: PageOf) -> None:
    page = page_of(HEADS)
    show(page, "weights")
    page.locator("#selectors select").select_option("1")
    cell_at(page, 4, 2).click()
    address = page.url
    assert address.endswith("#step=weights&cell=4,2&h=1")
    before = texts(page)
    page.reload()
    assert (place(page), texts(page)) == (("weights", [4, 2]), before)
    page.evaluate("location.hash = '#step=scores&cell=9,9&h=7'")  # as far as the page has it
    page.wait_for_function("attnPage.state.get().step === 'scores'")
    assert place(page) == ("scores", None)
    page.evaluate("location.hash = '#step=nothing'")
    assert place(page)[0] == "scores"


def test_of_a_large_table_only_the_part_in_view_is_in_the_document(page_of: PageOf) -> None:
    page = page_of(LARGE)
    show(page, "weights")
    assert page.locator(".main td").count() < 90 * 90 / 4
    assert page.locator(".main table").get_attribute("aria-rowcount") == "91"
    cell_at(page, 0, 0).focus()
    page.keyboard.press("Control+End")
    last = cell_at(page, 89, 89)
    assert last.evaluate("cell => cell === document.activeElement")
    assert last.inner_text() == f"{attncli.Problem(**LARGE).compute(select=['weights']).weights[89, 89]:.4f}"
    page.locator(".main .table-scroller").evaluate("scroller => scroller.scrollTo(0, 0)")
    cell_at(page, 0, 0).wait_for(state="attached")


def test_the_overview_of_a_large_table_scrolls_it(page_of: PageOf) -> None:
    page = page_of(LARGE)
    show(page, "weights")
    picture = page.locator(".table-overview")
    box = picture.bounding_box()
    picture.click(position={"x": box["width"] - 4, "y": box["height"] - 4})
    cell_at(page, 89, 89).wait_for(state="attached")
    show(page, "context")
    assert page.locator(".table-overview").count() == 1  # it has 90 rows


@pytest.mark.parametrize("name", ["bahdanau", "sentence", "decoder"])
def test_every_step_of_an_example_is_drawn(page_of: PageOf, name: str) -> None:
    page = page_of(examples.load(name).parts[-1].problem)
    steps = page.locator("#step-list a").evaluate_all("links => links.map((link) => link.dataset.step)")
    for step in steps:
        page.evaluate("(step) => attnPage.state.update({ step, cell: [0, 0], trail: [] })", step)
        assert page.locator("#step h2 .step-name").inner_text().split(", ")[0] == step
        assert page.locator(".main td").count() > 0
        assert page.locator(".line").count() > 0


def test_hidden_cells_infinities_and_signs_of_masks_are_told_apart(page_of: PageOf) -> None:
    page = page_of(HIDDEN)
    show(page, "masked_scores")
    assert page.locator(".main td.hidden-cell").count() == 4
    assert "hidden by a mask" in page.locator(".legend").text_content()
    show(page, "weights")
    assert page.locator(".main td.hidden-cell").all_inner_texts() == [""] * 4
    show(page, "visible")
    assert texts(page)[0][0] == "●"
    assert "● visible: 2" in page.locator(".legend").text_content()
    assert "no key is visible to query_2" in page.locator(".warning").inner_text()


def test_numbers_beside_infinities_and_nan_are_not_cut(page_of: PageOf) -> None:
    page = page_of({"scores": [[1 / 3, float("inf")], [float("nan"), -100 / 3]]})
    show(page, "scores")
    assert texts(page)[1] == ["NaN", "−33.3333"]
    too_wide = "cells => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)"
    assert page.locator("figure.main td").evaluate_all(too_wide) == []


def test_numbers_as_far_apart_as_floats_are_have_the_colours_of_both_ends(page_of: PageOf) -> None:
    page = page_of({"scores": [[-1e308, 1e308]]})
    show(page, "scores")
    colors = page.locator("figure.main td").evaluate_all("cells => cells.map((cell) => cell.style.backgroundColor)")
    ends = zip((SIGNED_ON_LIGHT[0], SIGNED_ON_LIGHT[-1]), (SIGNED_ON_DARK[0], SIGNED_ON_DARK[-1]), strict=True)
    assert colors == [f"light-dark(rgb{light}, rgb{dark})" for light, dark in ends]


def test_the_step_in_view_is_in_sight_in_the_list(page_of: PageOf) -> None:
    page = page_of(examples.load("decoder").parts[-1].problem, {"viewport": {"width": 1440, "height": 700}})
    box = page.locator("#step-list a[aria-current]").bounding_box()
    assert 0 <= box["y"] <= 700 - box["height"]


def test_a_number_of_an_input_is_edited_in_its_cell(page_of: PageOf) -> None:
    page = page_of(WORDS)
    show(page, "embeddings")
    cell_at(page, 0, 0).focus()
    page.keyboard.press("F2")
    field = page.locator(".cell-field")
    assert field.input_value() == "1"
    field.fill("one")
    page.keyboard.press("Enter")
    assert "not a number" in page.locator("td [role=alert]").inner_text()
    page.keyboard.press("Escape")
    assert texts(page)[0] == ["1", "0", "0"]
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    assert texts(page)[0] == ["5▲", "0", "0"]
    assert cell_at(page, 0, 0).evaluate("cell => cell === document.activeElement")
    assert "▲ more than before the change" in page.locator(".legend").text_content()
    show(page, "query")
    assert texts(page) == [["10▲", "0", "10▲"], ["2", "0", "0"], ["4", "0", "2"], ["2", "1", "2"]]
    assert page.locator("#step-list a:has(.change-mark)[data-step='context']").count() == 1
    cell_at(page, 0, 0).dblclick()
    assert field.count() == 0  # it is computed


def test_what_is_wrong_with_a_number_is_read_beside_a_narrow_table(page_of: PageOf) -> None:
    page = page_of({"embeddings": [[1, 0], [0, 1]]})
    show(page, "embeddings")
    cell_at(page, 0, 1).dblclick()
    page.keyboard.type("abc")
    page.keyboard.press("Enter")
    error = page.locator("td .field-error")
    assert "is not a number" in error.inner_text()
    box = error.bounding_box()
    corner = [box["x"] + box["width"] - 3, box["y"] + box["height"] / 2]
    assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).className", corner) == "field-error"


def test_all_steps_are_printed_and_nothing_to_press(page_of: PageOf) -> None:
    page = page_of(WORDS)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    titles = page.locator("#print h2").all_inner_texts()
    assert [title.split()[0] for title in titles[:4]] == ["embeddings", "w_q", "w_k", "w_v"]
    assert len(titles) == page.locator("#step-list li").count()
    assert page.locator("#print .formula math").count() >= 8
    assert page.locator("button:visible, select:visible, input:visible").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#print *").count() == 0


def test_tables_stand_in_two_columns_on_paper_and_do_not_overlap(page_of: PageOf) -> None:
    page = page_of({"embeddings": normal(3, 6), "w_q": normal(6, 6, seed=1), "heads": 2})
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    boxes = [table.bounding_box() for table in page.locator("#print table").all()]
    assert len({round(box["x"]) for box in boxes}) >= 2
    for one, other in itertools.combinations(boxes, 2):
        is_beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        assert is_beside or one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]


def test_results_without_their_steps_show_all_digits(page_of: PageOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attncli.page.EVERY_STEP", 9)
    page = page_of(WORDS)
    assert "all its digits" in page.locator(".hint").first.inner_text()
    show(page, "weights")
    cell_at(page, 1, 2).click()
    weight = attncli.Problem(**WORDS).compute(select=["weights"]).weights[1, 2]
    assert f"{weight}; the steps" in page.locator(".arithmetic").inner_text()


def test_the_switch_changes_between_light_and_dark(page_of: PageOf) -> None:
    page = page_of(WORDS, context={"color_scheme": "dark"})
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(ground) != dark
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(ground) == dark


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_fault_and_the_page_is_as_wide_as_the_screen(
    page_of: PageOf, color_scheme: str, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = page_of(HEADS, context={"color_scheme": color_scheme, "viewport": {"width": width, "height": 844}})
    for step, cell in (("embeddings", None), ("visible", [1, 1]), ("masked_scores", [3, 0]), ("weights", [2, 1])):
        page.evaluate("([step, cell]) => attnPage.state.update({ step, cell })", [step, cell])
        found = [fault for fault in axe.run(page).response["violations"] if fault["impact"] in ("serious", "critical")]
        assert not found, found
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_curve_through_values_over_keys_follows_a_change(page_of: PageOf) -> None:
    page = page_of({"query": [[0], [1], [2]], "key": [[0], [2]], "value": [[1], [5]], "score": "gaussian"})
    show(page, "context")
    assert page.locator(".data-fit .fit-point").count() == 2
    before = page.locator(".fit-curve").get_attribute("d")
    page.locator("#set-temperature").fill("9")
    page.keyboard.press("Enter")
    assert page.locator(".fit-curve").get_attribute("d") != before


def test_a_cell_that_the_address_names_is_not_under_the_panel(page_of: PageOf) -> None:
    page = page_of({"embeddings": normal(12, 4), "heads": 2, "causal": True})
    page.goto(page.url.partition("#")[0] + "#step=weights&cell=11,3")
    page.reload()
    page.wait_for_function("document.querySelector('.cell-panel.is-open') !== null")
    page.wait_for_timeout(100)  # the heading has its height after the first layout
    bottom = "document.querySelector('.main .frame.in-view').getBoundingClientRect().bottom"
    assert (
        page.evaluate(bottom) <= page.evaluate("document.querySelector('.cell-panel').getBoundingClientRect().top") + 1
    )

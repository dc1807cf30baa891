"""The pages of comparisons, checks and files with parts in a browser: linked cells, differences, sliders, errors."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.running import run_in_process
from tests.problems import write_file

Opened = Callable[..., Any]
PARTS = """
parts:
- {title: As it is, show: [weights, output]}
- {title: Sharper, scale: 3, about: Nearly one word., show: [weights]}
"""
PROBLEM = "embeddings: [[1, 0, 0], [0, 2, 1], [0, 1, 2]]\ntokens: [the, cat, sat]\ncausal: true\n"
WRONG = "weights={the: {the: 1}, cat: {the: .3, cat: .7}, sat: {the: .1, cat: .4, sat: .5}}"
PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Writes a page by a command and opens it; it may have no error, and ask for nothing."""
    contexts, faults = list[Any](), list[str]()
    write_file(tmp_path, PROBLEM, "problem.yaml")
    write_file(tmp_path, PROBLEM + PARTS, "parts.yaml")

    def open_page(*words: str, context: Mapping[str, Any] | None = None, address: str = "") -> Any:
        ran = run_in_process(*words, "-o", "page.html", folder=tmp_path)
        assert (ran.returncode, ran.stdout) == (1 if words[0] == "check" else 0, ""), ran.stderr
        contexts.append(browser.new_context(**(context or {})))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: faults.append(request.url) if request.url != page.url else None)
        page.goto((tmp_path / "page.html").as_uri() + address)
        return page

    yield open_page
    for each in contexts:
        each.close()
    assert [fault for fault in faults if not fault.startswith(tmp_path.as_uri())] == []


def findings(page: Any) -> list[str]:
    """What a checker of accessibility finds."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    return [found["id"] for found in axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]]


def texts(figure: Any) -> list[list[str]]:
    """The texts of the cells of a table."""
    rows: list[list[str]] = figure.locator("tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))"
    )
    return rows


def numbers(figure: Any) -> np.ndarray:
    """The numbers of the cells of a table, 0 where a cell has none."""
    return np.array([[float(text.replace("−", "-") or 0) for text in row] for row in texts(figure)])


def cell(figure: Any, row: int, column: int) -> Any:
    """A cell of a table."""
    return figure.locator(f"tr[aria-rowindex='{row + 2}'] td[aria-colindex='{column + 2}']")


def readout(page: Any) -> list[list[str]]:
    """The rows of the numbers of the cell in view."""
    rows: list[list[str]] = page.locator(".readout tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    return rows


def test_cells_of_variants_are_linked_and_their_difference_is_shown(opened: Opened) -> None:
    page = opened("compare", "problem.yaml", "--vary", "normalize=softmax", "--vary", "normalize=sparsemax")
    figures = page.locator(".linked").all()
    assert [figure.locator("figcaption span").first.inner_text() for figure in figures] == [
        "softmax", "sparsemax", "sparsemax − softmax",
    ]  # fmt: skip
    assert texts(figures[0])[0] == ["1.0000", "", ""]  # masked cells have no number
    before, after, apart = map(numbers, figures)
    np.testing.assert_allclose(after - before, apart, atol=1.01e-4)
    cell(figures[0], 1, 0).hover()
    assert page.locator(".readout h2").inner_text() == "weights: query cat, key the"
    first, second = readout(page)
    assert first == ["softmax", texts(figures[0])[1][0], "–"]
    assert second == ["sparsemax", "0", f"−{first[1]}"]
    assert page.locator(".linked .frame").count() == 3
    cell(figures[2], 2, 1).click()
    page.keyboard.press("ArrowRight")
    assert page.locator(".readout h2").inner_text() == "weights: query sat, key sat"
    assert "cell=2,2" in page.url
    assert findings(page) == []
    page.locator("#result").select_option(label="output")
    assert page.locator(".readout h2").inner_text().startswith("output: query")


def test_a_slider_goes_over_the_values_and_a_chart_has_them(opened: Opened) -> None:
    page = opened("compare", "problem.yaml", "--vary", "normalize.temperature=0.5,1,2,4", context=PHONE)
    slider = page.get_by_role("slider")
    assert slider.get_attribute("aria-valuetext") == "normalize.temperature 4"
    for value in ("2", "1"):
        slider.press("ArrowLeft")
        assert page.locator(".linked").nth(1).locator("figcaption span").first.inner_text() == value
        assert [row[0] for row in readout(page)] == ["0.5", value]
    chart = page.locator(".value-chart svg").get_attribute("aria-label")
    assert [f" 0.5: {readout(page)[0][1]}," in chart, f" 1: {readout(page)[1][1]}," in chart] == [True, True]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_label("All 4 side by side").check()
    assert page.locator(".linked").count() == 7
    tops = page.locator(".table-column").evaluate_all("all => all.map((each) => each.getBoundingClientRect().top)")
    assert (len(tops), len(set(tops))) == (4, 1)  # beside each other
    assert page.locator("#report .verdict").inner_text() == "temperature 4 differs most from 0.5"
    ends = page.locator(".value-chart text").all_text_contents()[-3:]
    assert sorted(ends) == ["cat", "sat", "the"]
    page.reload()
    assert page.locator(".linked").count() == 7


def test_a_check_shows_its_verdict_the_errors_and_the_worst_cell(opened: Opened) -> None:
    page = opened("check", "problem.yaml", "--against", WRONG, context={"color_scheme": "dark"})
    assert page.locator(".verdict").inner_text().startswith("✗ ")
    assert "the first step that differs is weights" in page.locator(".verdict").inner_text()
    errors, yours, correct = page.locator(".linked").all()
    assert texts(yours)[1] == ["0.3000", "0.7000", ""]
    assert texts(errors)[0][0] == "·"  # 1 is right
    chosen = errors.locator("td[aria-selected]")
    assert chosen.inner_text() in page.locator(".worst .cell-numbers").inner_text()
    assert page.locator(".worst .arithmetic p").count() > 0
    cell(correct, 0, 0).click()
    assert "it agrees" in page.locator(".worst .cell-numbers").inner_text()
    assert findings(page) == []


def test_a_file_with_parts_shows_them_all_and_opens_one(opened: Opened) -> None:
    page = opened("compute", "parts.yaml")
    assert page.locator(".part h2").all_inner_texts() == ["1. As it is", "2. Sharper"]
    assert page.locator(".part").nth(0).locator("figcaption").all_inner_texts() == ["weights", "output"]
    second = page.locator(".part").nth(1)
    shown = cell(second.locator("figure").first, 2, 1)
    number = shown.inner_text()
    shown.click()  # opens the part at this cell
    assert "part=2" in page.url
    assert page.evaluate("attnPage.state.get().cell") == [2, 1]
    assert page.locator("#step td[aria-selected]").first.inner_text() == number
    assert findings(page) == []
    page.locator(".part button").first.click()
    assert page.locator("#part-1 + #workbench").count() == 1
    page.go_back()
    assert page.locator("#part-2 + #workbench").count() == 1
    page.reload()
    assert page.evaluate("attnPage.state.get().cell") == [2, 1]
    second.locator("button").first.click()  # closes it
    assert page.url.endswith("#parts")
    assert page.locator("#workbench").is_hidden()

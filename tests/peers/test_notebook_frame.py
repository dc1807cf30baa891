"""What a notebook shows, in a browser: the page in its frame works, and formulas are as large as their text."""

from pathlib import Path
from typing import Any

import attncli
from tests.arrays import normal

HEIGHTS = range(420, 1101)  # of the frame, in pixels


def test_a_page_in_the_frame_of_a_notebook_computes_and_formulas_are_typeset(browser: Any, tmp_path: Path) -> None:
    result = attncli.attention(normal(3, 4), normal(5, 4), normal(5, 2), select=("weights", "output"))
    report = attncli.check(scores=[[1, 2]], against={"weights": [[0.5, 0.5]]})
    outputs = (result.page(title="Three queries"), result.explain(), report)
    html = "<!DOCTYPE html><meta charset=utf-8>" + "".join(shown._repr_html_() for shown in outputs)
    (tmp_path / "notebook.html").write_text(html, encoding="utf-8")
    page, faults = browser.new_page(viewport={"width": 900, "height": 700}), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    assert frame.locator("h1").inner_text() == "Three queries"
    assert f"{result.output[0, 0]:.4f}".replace("-", "−") in frame.locator("#step").inner_text()
    assert int(page.locator("iframe").bounding_box()["height"]) in HEIGHTS
    assert frame.get_by_role("button", name="Copy link").count() == 0  # a frame has no address
    frame.locator("#step-list :is(a, button)").first.click(timeout=3000)
    fractions = page.locator("mfrac").all()
    assert fractions
    assert all(fraction.bounding_box()["height"] > 15 for fraction in fractions)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not faults
    page.close()

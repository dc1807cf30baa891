"""The story of a page in a browser: what each stop shows, how one goes on, leaves it and comes back."""

from typing import Any

import pytest

from attncli.engine.run import run
from attncli.plan.trace import Trace
from tests.arrays import normal
from tests.peers.conftest import PageOf, spec_of

WORDS = {
    "embeddings": [[1, 0, 2], [0, 1, 1], [1, 1, 0]],
    "tokens": ["the", "cat", "sat"],
    "w_q": [[2, 0, 1], [1, 1, 0], [0, 2, 1]],
    "w_k": [[1, 0, 0], [0, 1, 1], [1, 0, 1]],
    "w_v": [[1, 2], [0, 1], [3, 0]],
    "w_o": [[1, 0.5], [2, 1]],
    "causal": True,
}
HEADS = {
    "token_count": 12,
    "dim": 8,
    "heads": 4,
    "init": "normal",
    "seed": 3,
    "score": "cosine",
    "position": "rope",
    "bias": normal(12, 12),
}
RECURRENCE = {"query": normal(5, 2), "key": normal(5, 2, seed=1), "value": normal(5, 2, seed=2), "recurrence": "linear"}
# The number that a stop shows of its own cell, and the sum that its arithmetic ends with.
SHOWN = """() => ({
    title: document.querySelector(".story-text h2").textContent,
    cell: document.querySelector(".story-table.own :is(.story-lens, .story-cell.is-lit:not(:empty))")?.textContent,
    heard: document.querySelector(".story-text .visually-hidden").textContent,
    sum: document.querySelector(".story-result")?.textContent,
    last: [...document.querySelectorAll(".story-sum-so-far")].at(-1)?.textContent,
    lit: [...document.querySelectorAll(".story-table.has-lit")].map((table) => table.ariaLabel),
    isHigher: document.documentElement.scrollHeight > innerHeight,
})"""


def number(text: str) -> float:
    """A number as the page writes it."""
    return float(text.replace("−", "-").replace("∞", "inf").lstrip("=≈ "))


def assert_tells(page: Any, trace: Trace, count: int) -> None:
    """Each stop of a page shows the number that the program computes, and its arithmetic ends with it."""
    guide = page.evaluate("attnPage.state.get().page.guide")
    names = [name for name, _ in guide["stories"][guide["plans"][0]]["stops"]]
    assert len(names) == count
    for stop, name in enumerate(names, 1):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("location.hash") == f"#stop={stop}"
        shown, expected = page.evaluate(SHOWN), trace[name].value[tuple(guide["cells"][name])]
        assert shown["title"].startswith(name.replace("_", " "))
        assert number(shown["cell"]) == pytest.approx(expected, abs=5e-5), name
        assert shown["heard"], name
        assert shown["lit"], name
        if shown["sum"] is not None:
            assert number(shown["sum"]) == pytest.approx(number(shown["last"]), abs=2e-4), name
        assert not shown["isHigher"], name


def test_each_stop_has_the_numbers_of_the_program(page_of: PageOf) -> None:
    context = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
    for keys, count in ((WORDS, 9), (HEADS, 9), (RECURRENCE, 3)):
        page = page_of(keys, context=context, guide=True)
        assert_tells(page, run(spec_of(keys), every_step=True).trace, count)
        assert page.evaluate("document.getAnimations().length") == 0


def test_the_story_is_walked_left_and_come_back_to(page_of: PageOf) -> None:
    page = page_of(WORDS, guide=True)
    assert page.locator("#workbench").is_hidden()
    assert "query cat, key the" in page.locator(".story-text").inner_text()
    page.get_by_role("button", name="Start").click()
    assert page.evaluate("document.getAnimations().length") > 0
    moved = page.evaluate("document.getAnimations().flatMap((one) => one.effect.getKeyframes().flatMap(Object.keys))")
    assert {*moved} <= {"offset", "computedOffset", "easing", "composite", "transform", "transformOrigin", "opacity"}
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Back").click()
    assert page.evaluate("location.hash") == "#stop=1"
    page.get_by_role("button", name="Stop 4 of 9").click()
    assert page.locator(".story-progress [aria-current]").get_attribute("aria-label") == "Stop 4 of 9: scores"
    assert page.evaluate("document.activeElement.ariaLabel") == "Stop 4 of 9: scores"
    page.locator(".story-strip button[data-step='weights']").click()
    assert page.locator(".story-text h2").inner_text().startswith("exponentials")
    page.reload()
    assert page.locator(".story-text h2").inner_text().startswith("exponentials")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    assert page.locator("#story").is_hidden()
    assert page.evaluate("[attnPage.state.get().step, attnPage.state.get().cell]") == ["weights", [1, 0]]
    assert page.locator("#workbench").is_visible()
    page.get_by_role("button", name="Story").click()
    assert page.locator(".story-text h2").inner_text().startswith("weights")
    page.go_back()
    assert page.locator("#workbench").is_visible()
    page.go_back()
    assert page.locator(".story-text h2").inner_text().startswith("weights")
    page.evaluate("attnPage.editCell(attnPage.state, 'embeddings', [0, 0], '3')")
    value = page.evaluate("attnPage.state.get().values.get('weights').data[3]")
    assert number(page.locator(".own .story-cell.is-lit").inner_text()) == pytest.approx(value, abs=5e-5)


def test_the_story_is_for_a_phone_and_is_heard(page_of: PageOf) -> None:
    page = page_of(WORDS, context={"viewport": {"width": 390, "height": 800}}, guide=True)
    for _ in range(9):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.keyboard.press("ArrowRight")
    assert page.locator(".story-text").get_attribute("aria-live") == "polite"
    parts = page.locator("#story :is(button, figure)")
    assert parts.evaluate_all("parts => parts.every((part) => part.ariaLabel || part.textContent.trim())")
    assert page.get_by_role("button", name="Explore →").is_visible()

"""Operators of one's own in the page: after any change its numbers are those of the program, and its lines hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.arrays import normal
from tests.equations import assert_equations_hold
from tests.peers.conftest import PageOf
from tests.peers.own_operators import register
from tests.peers.test_page_changes import edit, is_computed

EMBEDDINGS = normal(4, 4)
KEYS: Mapping[str, Any] = {"embeddings": EMBEDDINGS, "tokens": ["the", "cat", "sat", "down"], "heads": 2}
OWN: Mapping[str, Mapping[str, Any]] = {
    "score": {"score": "student"},
    "normalizer": {"normalize": "powers"},
    "context": {"context": "smooth_largest"},
    "position": {"position": "ramp"},
    "norm": {"qk_norm": "clipped"},
    "query scale": {"query_scale": "rising"},
    "gate": {"gate": "hard", "w_g": normal(4, 4, seed=2)},
    "mask": {"mask": "near"},
    "several": {"score": "student:nu=3", "normalize": "powers:power=1.5", "context": "smooth_largest", "causal": True},
}
of_each_kind = pytest.mark.parametrize("own", OWN.values(), ids=list(OWN))


@pytest.fixture(autouse=True)
def operators(restored_registry: None) -> None:
    """The operators are registered for each test."""
    register()


@of_each_kind
def test_edits_words_and_heads_give_the_numbers_of_the_program(page_of: PageOf, own: Mapping[str, Any]) -> None:
    page = page_of({**KEYS, **own})
    assert edit(page, "embeddings", [1, 0], "0.75") is None
    changed = EMBEDDINGS.copy()
    changed[1, 0] = 0.75
    assert is_computed(page, {**KEYS, **own, "embeddings": changed})
    page.get_by_text("Words", exact=True).click()
    page.get_by_label("Leave out sat").click()
    fewer = {"embeddings": changed[[0, 1, 3]], "tokens": ["the", "cat", "down"]}
    assert is_computed(page, {**KEYS, **own, **fewer})
    page.locator("#set-heads").select_option("4")
    assert is_computed(page, {**KEYS, **own, **fewer, "heads": 4})


@of_each_kind
def test_gradients_follow_what_is_changed_and_every_line_holds(page_of: PageOf, own: Mapping[str, Any]) -> None:
    keys = {**KEYS, **own, "grad_output": normal(4, 4, seed=1)}
    page = page_of(keys)
    assert edit(page, "embeddings", [1, 0], "0.75") is None
    page.evaluate(Path(__file__).with_name("page_numbers.js").read_text(encoding="utf-8"))
    text = page.locator("#content").text_content()
    found = page.evaluate("text => pageTests.arithmetic(JSON.parse(text), 3)", text)
    assert found["faults"] == []
    assert assert_equations_hold(found["lines"], 4).equal
    assert page.evaluate("text => pageTests.cellsWithOtherSources(JSON.parse(text), 5)", text) == []
    changed = EMBEDDINGS.copy()
    changed[1, 0] = 0.75
    assert is_computed(page, {**keys, "embeddings": changed})


def show(page: Any, address: str) -> None:
    """Open the page anew at an address in it."""
    page.goto(f"{page.url.partition('#')[0]}#{address}")
    page.reload()


def test_what_is_not_followed_has_its_table_and_the_reason(page_of: PageOf) -> None:
    page = page_of({**KEYS, "score": "looped"})
    show(page, "step=scores&cell=0,1")
    assert page.locator("#step .main td").count() == 16
    assert "no arithmetic: taking a number out of its array" in page.locator("#step").inner_text()
    show(page, "step=scores&cell=0,1&set=embeddings@1,0~0.75")
    assert "follow from a change and can't be computed in this page" in page.locator("#step").inner_text()
    assert "scores: score looped, taking a number out" in page.locator("body").inner_text()


def test_each_cell_of_an_own_mask_says_what_the_program_says(page_of: PageOf) -> None:
    page = page_of({**KEYS, "mask": "near"})
    for query, key, line in ((0, 1, "|0 − 1| ≤ 1: visible"), (3, 1, "|3 − 1| > 1: hidden")):
        show(page, f"step=visible&cell={query},{key}")
        assert line in page.locator("#step").inner_text().splitlines()


def test_the_number_of_an_own_normalizer_has_a_field(page_of: PageOf) -> None:
    keys = {**KEYS, "normalize": "powers", "grad_output": normal(4, 4, seed=1)}
    page = page_of(keys)
    page.get_by_label("Power", exact=True).fill("3")
    page.get_by_label("Power", exact=True).press("Enter")
    assert is_computed(page, {**keys, "normalize": "powers:power=3"})


def test_a_painted_mask_hides_keys_from_an_own_normalizer(page_of: PageOf) -> None:
    page = page_of({**KEYS, "normalize": "powers", "causal": True})
    page.get_by_role("button", name="Paint a mask").first.click()
    page.locator("#step .main td").nth(4).click()
    weights = page.evaluate("[...attnPage.state.get().values.get('weights').data]")
    assert np.reshape(weights, (2, 4, 4))[:, 1, 0].tolist() == [0, 0]
    assert np.reshape(weights, (2, 4, 4))[:, 1, 1].all()

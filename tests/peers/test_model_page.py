"""The page of a model in a browser: its numbers are those of transformers; clicks, keys and links open heads."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.io.inputs import Inputs
from attncli.io.maps import LayerMaps
from attncli.models.captured_maps import ModelFile, read_model_maps
from attncli.models.page import render_model
from tests.captures import write_tiny_capture
from tests.cli.running import Run
from tests.peers.test_captures import TEXT, run, save, tokenizer

__all__ = ["run", "save", "tokenizer"]  # fixtures

Opened = Callable[..., Any]
WORDS = ("the", "cat", ".", "the", "cat")
TRIANGLE = np.tri(5) / np.arange(1, 6)[:, None]
BACK = np.eye(5, k=-1) + np.diag([1.0, 0, 0, 0, 0])
FIRST = np.eye(5)[[0] * 5]
MAPS = np.stack([[TRIANGLE, BACK], [FIRST, (FIRST + 3 * TRIANGLE) / 4]])
PHONE = {"viewport": {"width": 390, "height": 844}}
PICTURES = ".model-head"
# The weights of the head that is open, as the engine of the page has them.
WEIGHTS = """() => {
  const { page, values, positions } = attnPage.state.get();
  const { shape, data } = values.get(page.results[page.plans[0].results].weights);
  const size = shape.at(-2) * shape.at(-1);
  return Array.from(data.slice(positions.h * size, (positions.h + 1) * size));
}"""


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Opens a page, which may have no error and ask for nothing."""
    contexts, faults = list[Any](), list[str]()

    def open_page(path: Path, context: Mapping[str, Any] | None = None, address: str = "") -> Any:
        contexts.append(browser.new_context(reduced_motion="reduce", **(context or {})))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: faults.append(request.url) if request.url != page.url else None)
        page.goto(path.as_uri() + address)
        return page

    yield open_page
    for each in contexts:
        each.close()
    assert [fault for fault in faults if not fault.startswith(tmp_path.as_uri())] == []


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The page of saved maps of two layers of two heads."""
    layers = tuple(LayerMaps(str(at), maps, WORDS) for at, maps in enumerate(MAPS))
    path = tmp_path / "saved.html"
    path.write_text("".join(render_model(ModelFile(layers, "maps.npy"))), encoding="utf-8")
    return path


def names(page: Any) -> list[str]:
    found: list[str] = page.locator(PICTURES).evaluate_all("all => all.map((each) => each.getAttribute('aria-label'))")
    return found


def title(page: Any) -> str:
    return str(page.locator(".head-title h2").inner_text())


@pytest.mark.parametrize("family", ["bert", "gpt_oss"])
def test_its_numbers_are_the_attentions_of_transformers(
    family: str, save: Callable[[str], Any], run: Run, opened: Opened, tmp_path: Path
) -> None:
    import torch

    model = save(family)
    assert run("capture", "model", TEXT, "-o", "model.html").returncode == 0
    words = torch.tensor([[4, 5, 6, 7, 4, 8, 9, 10, 11, 12, 13]])
    wanted = [head for layer in model(words, output_attentions=True).attentions for head in layer[0].detach().numpy()]
    page = opened(tmp_path / "model.html")
    assert page.locator(PICTURES).count() == len(wanted)
    for at, weights in enumerate(wanted):
        page.locator(PICTURES).nth(at).evaluate("(button) => button.click()")
        assert np.allclose(page.evaluate(WEIGHTS), weights.ravel(), rtol=0, atol=1e-5)


def test_heads_are_sorted_and_chosen_by_what_they_do(saved: Path, opened: Opened) -> None:
    page = opened(saved)
    in_order = ["layer 0, head 0", "layer 0, head 1", "layer 1, head 0", "layer 1, head 1"]
    assert [name.split(":")[0] for name in names(page)] == in_order
    assert names(page)[1] == "layer 0, head 1: previous token 1.00"
    page.get_by_label("Sort by").select_option("previous token")
    assert names(page)[0] == "layer 0, head 1: previous token 1.00, previous 1.00"
    assert page.locator(".model-numbers tbody tr").first.text_content().startswith("0.1previous")
    page.locator("#model-kind").select_option(label="uniform (1)")
    assert len(names(page)) == 1


def test_a_click_opens_a_head_with_its_sentence_and_lines(saved: Path, opened: Opened) -> None:
    page = opened(saved)
    page.get_by_role("button", name="layer 0, head 1").click()
    assert title(page) == "Layer 0, head 1: previous token 1.00"
    assert page.evaluate("document.activeElement.textContent") == title(page)
    page.locator(".word").nth(2).hover()
    assert page.locator(".sentence-says").inner_text().startswith("Head 1: . looks at cat#1 1.000")
    assert page.locator(".lines path").count() == 1
    page.get_by_role("button", name="Next head").or_(page.get_by_role("button", name="Previous head")).first.click()
    assert title(page).startswith("Layer 0, head 0")  # the selector beside the steps opens a head too
    assert page.locator(f"{PICTURES}[aria-pressed=true]").get_attribute("title").startswith("layer 0, head 0")


def test_keys_walk_through_the_maps_and_a_link_opens_one(saved: Path, opened: Opened) -> None:
    page = opened(saved, address="#head=1.0")
    assert title(page) == "Layer 1, head 0: first token 1.00"
    page.get_by_role("button", name="↑ All heads").press("Enter")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.title") == "layer 0, head 1: previous token 1.00"
    page.keyboard.press("Enter")
    assert title(page).startswith("Layer 0, head 1")
    assert page.url.endswith("#head=0.1")


def test_a_captured_head_has_its_arithmetic_and_keeps_its_step(opened: Opened, tmp_path: Path) -> None:
    write_tiny_capture(tmp_path / "captured.safetensors")
    path = tmp_path / "captured.html"
    found = read_model_maps(str(tmp_path / "captured.safetensors"), Inputs())
    path.write_text("".join(render_model(found)), encoding="utf-8")
    page = opened(path)
    page.locator("#step td").first.click()
    assert "=" in page.locator(".cell-panel").inner_text()
    for at, layer in enumerate(found.maps):
        for head in range(4):
            page.locator(PICTURES).nth(4 * at + head).evaluate("(button) => button.click()")
            assert np.allclose(page.evaluate(WEIGHTS), layer.weights[head].ravel(), rtol=0, atol=1e-6)


def test_it_fits_a_phone_in_the_dark(saved: Path, opened: Opened) -> None:
    page = opened(saved, context={**PHONE, "color_scheme": "dark"})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]
    assert page.locator(PICTURES).first.bounding_box()["width"] >= 24  # as large as a finger needs at least


def test_the_same_head_of_another_layer_is_opened_from_a_list(saved: Path, opened: Opened) -> None:
    page = opened(saved, address="#head=0.1")
    page.get_by_label("Layer", exact=True).select_option("1")
    assert title(page).startswith("Layer 1, head 1")

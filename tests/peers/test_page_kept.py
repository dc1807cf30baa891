"""What was changed in the page is kept in its address, and taken from it as a command, as YAML and as a picture."""

import json
import os
import random
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from attncli.base.lazy_numpy import Array
from attncli.render.blank_request import BlankRequest
from tests.arrays import normal
from tests.cli.running import run_in_process
from tests.peers.conftest import PageOf

SEQUENCES = int(os.environ.get("ATTN_PAGE_SEQUENCES", "24"))  # of random changes
NUMBERS = ("1/3", "-2*sqrt(2)/7", "0.5", "-1e-7", "2", "(1 + sqrt(5))/2", ".25", "-0.1", "3e2", "-1/7")
STRUCTURE = ("word", "heads", "paint", "cell")
PARAMETERS = ("5/4", "0.5", "2", "1.75", "sqrt(3)")  # of normalizers: with an α of 300 no two programs agree
PROBLEMS: Mapping[str, Mapping[str, Any]] = {
    "words": {
        "embeddings": normal(4, 3).tolist(),
        "tokens": ["the", "cat, fat", "it's", "the"],
        "w_q": normal(3, 4, seed=1).tolist(),
        "w_k": normal(3, 4, seed=2).tolist(),
        "w_v": normal(3, 4, seed=3).tolist(),
        "weight_layout": "in_out",
        "heads": 2,
        "scale": 0.25,
        "title": 'A "title": 1, with signs',
    },
    "masked": {
        "embeddings": normal(3, 4).tolist(),
        "w_q": normal(2, 4, seed=1).tolist(),
        "w_k": normal(2, 4, seed=3).tolist(),
        "weight_layout": "out_in",
        "mask": [[1, 0, 1], [1, 1, 1], [0, 1, 1]],
        "score": {"additive": {"w1": normal(3, 2).tolist(), "w2": normal(3, 2, seed=1).tolist(), "v": [1, -2, 0.5]}},
        "normalize": {"entmax": {"alpha": 1.25}},
    },
}


def values_of(page: Any) -> dict[str, list[float]]:
    """The numbers in force of every step of the page, by name, in the order of rows."""
    found: dict[str, list[float]] = page.evaluate(
        "Object.fromEntries([...attnPage.state.get().values].map(([name, { data }]) => [name, [...data]]))"
    )
    return found


def change(page: Any, rng: random.Random) -> None:
    """Change something at random: a number, a setting; or take the last change back."""
    inputs = page.evaluate(
        """attnPage.state.get().nodes.filter(({ edit_key }) => edit_key !== null)
        .map(({ name }) => [name, attnPage.state.get().values.get(name).shape])"""
    )
    text = rng.choice(NUMBERS)
    kind = rng.choice(["number"] * 5 + ["scale", "causal", "normalizer", "parameter", "undo", *STRUCTURE])
    if kind == "number":
        name, shape = rng.choice(inputs)
        index = [rng.randrange(length) for length in shape]
        assert page.evaluate("(all) => attnPage.editCell(attnPage.state, ...all)", [name, index, text]) is None
    elif kind in STRUCTURE:
        page.evaluate("([kind, share]) => structure[kind](share)", [kind, rng.random()])
    elif kind == "undo":
        page.evaluate("document.querySelector('.log-buttons button').click()")
    elif kind == "normalizer":
        name = rng.choice(["softmax", "entmax", "sparsemax"])
        page.evaluate("(name) => choose('set-normalizer', name)", name)
    elif kind == "causal":
        page.evaluate("document.getElementById('set-causal').click()")
    else:
        text = text.strip("-") if kind == "scale" else rng.choice(PARAMETERS)
        fields = ["set-scale"] if kind == "scale" else ["set-temperature", "set-alpha"]
        page.evaluate("([fields, text]) => fields.forEach((id) => choose(id, text))", [fields, text])


CHOOSE = """window.choose = (id, value) => {
  const field = document.getElementById(id);
  if (field === null) return;
  field.value = value;
  field.dispatchEvent(new Event("change"));
};
const oneOf = (elements, share) => elements[Math.floor(share * elements.length)];
window.structure = {
  word(share) { oneOf(document.querySelectorAll(".words-control button:not(:disabled)"), share)?.click(); },
  heads(share) { choose("set-heads", oneOf([2, 4], share)); },
  paint() { document.querySelector(".mask-control button").click(); },
  cell(share) {
    if (attnPage.state.get().mask === null) return;
    attnPage.state.update({ step: "visible", cell: null });
    oneOf(document.querySelectorAll("#step .main td"), share).click();
  },
};"""


def saved(page: Any, what: str, folder: Path) -> Path:
    """The file that a button saves."""
    with page.expect_download() as download:
        page.evaluate("(name) => document.querySelector(`[aria-label='Save ${name}']`).click()", what)
    path = folder / str(download.value.suggested_filename)
    download.value.save_as(path)
    return path


def computed(*words: str, folder: Path) -> dict[str, Array]:
    """The results of a command."""
    ran = run_in_process(*words, "--json", folder=folder)
    assert ran.returncode == 0, ran.stderr
    return {name: np.array(value) for name, value in json.loads(ran.stdout).items() if isinstance(value, list)}


@pytest.mark.parametrize("name", PROBLEMS)
def test_random_changes_are_the_same_in_the_address_as_yaml_and_as_a_command(
    page_of: PageOf, tmp_path: Path, name: str
) -> None:
    source, rng = tmp_path / "problem.json", random.Random(55)
    source.write_text(json.dumps(PROBLEMS[name]), encoding="utf-8")
    page = page_of(source, command=("attn", "compute", "problem.json"))
    other = page_of(source, command=("attn", "compute", "problem.json"))
    for tab in (page, other):
        tab.evaluate(CHOOSE)
    for _ in range(SEQUENCES // len(PROBLEMS)):
        page.evaluate("document.querySelectorAll('.log-buttons button')[1].click()")
        for _ in range(rng.randrange(1, 21)):
            change(page, rng)
        address = page.evaluate("attnPage.addressOf(attnPage.state.get())")
        assert len(address) < 2_000
        other.evaluate("(hash) => { location.hash = hash; }", address)
        values = values_of(page)
        other.wait_for_function("(hash) => attnPage.addressOf(attnPage.state.get()) === hash", arg=address)
        assert values_of(other) == values
        (tmp_path / "changed.yaml").write_text(page.evaluate("attnPage.problemFile(attnPage.state.get())"))
        command = shlex.split(page.evaluate("attnPage.commandOf(attnPage.state).text"))
        from_yaml = computed("compute", "changed.yaml", folder=tmp_path)
        from_command = from_yaml if "page0-changed.yaml" in command else computed(*command[1:], folder=tmp_path)
        for result in ("scores", "weights", "output"):
            np.testing.assert_array_equal(from_command[result], from_yaml[result])
            np.testing.assert_allclose(np.ravel(from_yaml[result]), values[result], 1e-9, 1e-12, err_msg=address)


def test_what_is_changed_stays_and_can_be_taken(page_of: PageOf, tmp_path: Path) -> None:
    source = tmp_path / "problem.json"
    source.write_text(json.dumps(PROBLEMS["words"]), encoding="utf-8")
    page = page_of(source, command=("attn", "compute", "problem.json"), title=PROBLEMS["words"]["title"])
    scale = page.get_by_label("Scale", exact=True)
    scale.fill("1/3")
    scale.press("Enter")
    page.evaluate("attnPage.editCell(attnPage.state, 'embeddings', [1, 2], '1/3')")
    page.get_by_label("Causal").check()
    page.locator("#step-list a[data-step='weights']").click()
    page.get_by_label("Next head").click()
    page.locator(".main td").nth(4).click()
    page.wait_for_timeout(350)
    kept = "step=weights&cell=1,0&h=1&set=embeddings@1,2~1/3!scale~1/3!causal~1"
    assert page.evaluate("location.hash") == f"#{kept}"
    values = values_of(page)
    page.reload()
    assert values_of(page) == values
    assert scale.input_value() == "1/3"
    assert page.get_by_label("Causal").is_checked()
    page.locator("#step-list a[data-step='embeddings']").click()
    page.locator(".main td").nth(5).dblclick()
    assert page.locator(".cell-field").input_value() == "1/3"  # and not the four digits of it
    page.keyboard.press("Enter")
    page.go_back()
    assert page.evaluate("location.hash") == f"#{kept}"
    assert values_of(page) == values  # a step back is one of places
    page.evaluate("location.hash = '#step=scores'")  # a link without changes
    page.wait_for_function("attnPage.state.get().edits.length === 0")
    page.get_by_role("button", name="Undo").click()
    assert values_of(page) == values
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    for noun, text in [("link", page.url.split("#")[0]), ("command", "attn compute problem.json --set 'embeddings[")]:
        page.get_by_role("button", name=f"Copy {noun}").click()
        field = page.get_by_label(f"The {noun}")
        assert field.input_value().startswith(text)
        assert page.evaluate("getSelection().toString()") == field.input_value()
    page.locator("#step-list a[data-step='weights']").click()
    picture = ElementTree.parse(saved(page, "picture", tmp_path)).getroot()
    texts = [str(element.text) for element in picture.iter() if element.text]
    assert {PROBLEMS["words"]["title"], "weights, head 1", "cat, fat", "the#2"} <= set(texts)
    assert any(element.get("fill") == "url(#hatch)" for element in picture.iter())


def edit(page: Any, index: list[int], text: str) -> str | None:
    """Change a number of the embeddings; what is wrong with the text."""
    found: str | None = page.evaluate(
        "([index, text]) => attnPage.editCell(attnPage.state, 'embeddings', index, text)", [index, text]
    )
    return found


def verdicts(page: Any) -> list[str]:
    """What is marked at each field, in the order of rows."""
    return [str(mark.get_attribute("data-verdict")) for mark in page.locator(".fill").all()]


def test_an_exercise_tells_right_from_wrong_and_hides_what_follows(page_of: PageOf) -> None:
    keys = {"embeddings": [[1, 0], [0, 1], [1, 1]], "tokens": ["the", "cat", "sat"], "scale": 1}
    page = page_of(keys, blanks=BlankRequest(("output",), (("weights", ("the", "*")),)))
    hidden = {"exponentials", "weights", "context", "output"}
    content = json.loads(page.locator("#content").inner_text())
    assert not hidden & content["values"].keys()
    assert not hidden & values_of(page).keys()
    fields = page.locator(".fill input")
    exact = np.exp([1, 0, 1]) / np.exp([1, 0, 1]).sum()
    right = f"{exact[0]:.4f}"
    tries = {right: "right", right[:4]: "short", f"{exact[0] + 1e-4:.4f}": "wrong", "½": "unread", "1/3": "wrong"}
    tries |= {right.replace(".", ","): "right", f"{exact[0]:.7f}": "right", "": "empty"}
    for text, verdict in tries.items():
        fields.first.fill(text)
        fields.first.press("Tab")
        assert verdicts(page)[0] == verdict, text
    fields.first.fill(right)
    assert page.locator(".exercise-count").inner_text() == "1 of 12 right"  # as it is typed
    page.wait_for_timeout(350)
    page.reload()
    assert verdicts(page)[0] == "right"
    page.get_by_role("button", name="output 0/6").click()
    assert page.locator(".fill").count() == 6
    page.get_by_role("button", name="Show the key").click()
    assert hidden <= values_of(page).keys()
    assert page.locator(".fill").count() == 0
    page.get_by_role("button", name="Hide the key").click()
    assert page.locator(".fill").count() == 6


def test_an_exercise_explains_what_is_not_right_and_gives_a_hint(page_of: PageOf) -> None:
    keys = {"embeddings": [[1, 0], [0, 1]], "tokens": ["the", "cat"], "scale": 1}
    page = page_of(keys, blanks=BlankRequest(("weights",)))
    right = [f"{1 / (1 + np.exp(sign)):.4f}" for sign in (-1, 1, 1, -1)]  # softmax of [1, 0] and of [0, 1]
    fields, panel, count = page.locator(".fill input"), page.locator(".cell-panel"), page.locator(".exercise-count")
    for text, says in {
        "0.73": "give 4 decimals",
        "e^0": "not a number",
        "0.7312": "rounding",
        "1/3": "not right",
    }.items():
        fields.first.fill(text)
        fields.first.press("Tab")
        assert says in panel.inner_text()  # of the field that was left
        assert says in fields.first.get_attribute("title")
    page.get_by_role("button", name="Hint").click()
    assert "exp(0 − 1) = ?" in panel.inner_text()
    page.get_by_role("button", name="Show the key").click()
    assert page.locator("td s").all_inner_texts() == ["1/3"]
    page.get_by_role("button", name="Hide the key").click()
    for at, text in enumerate(right):
        fields.nth(at).fill(text)
    assert count.inner_text() == "All 4 are right."
    assert right[0] in panel.inner_text()
    page.get_by_text("Make another exercise").click()
    page.locator("#set-temperature").fill("10")
    page.locator("#set-temperature").press("Enter")
    assert "temperature: 1 → 10" in page.locator("#exercise").inner_text()
    assert count.inner_text() == "0 of 4 right"
    page.locator("#exercise").get_by_role("button", name="Undo").click()
    assert count.inner_text() == "All 4 are right."
    fields.first.fill("0.3")
    assert count.inner_text() == "3 of 4 right"  # while it is typed


def test_words_are_changed_and_a_mask_is_painted(page_of: PageOf) -> None:
    page = page_of({"embeddings": np.eye(3, 4), "tokens": ["the", "cat", "sat"], "heads": 2})
    assert edit(page, [1, 0], "1/3") is None
    page.get_by_text("Words", exact=True).click()
    word = page.get_by_label("Word 3", exact=True)
    word.fill("the")
    word.press("Enter")
    page.get_by_label("Move cat up").click()
    page.get_by_label("Add a word of zeros").click()
    page.get_by_label("Leave out the").first.click()
    assert page.locator(".word-fields input").count() == 3
    assert values_of(page)["embeddings"][0] == 1 / 3  # it moved along
    assert page.locator(".about").inner_text().startswith("scaled_dot → softmax → weighted_sum · 3 queries")
    page.locator("#set-heads").select_option("4")
    assert page.locator("#select-h option").count() == 4
    assert page.get_by_label("Scale", exact=True).get_attribute("placeholder") == "1"
    page.get_by_role("button", name="Paint a mask").first.click()
    page.locator("#step .main td").nth(1).click()
    assert page.evaluate("attnPage.state.get().values.get('masked_scores').data[1]") == -np.inf
    page.evaluate("attnPage.state.update({ step: 'weights' })")
    assert page.locator("#step .main td.hidden-cell").count() == 1
    assert list(page.locator(".log li").all_inner_texts()) == [
        "words: the cat sat → cat the new",
        "heads: 2 → 4",
        "embeddings[cat, x1]: 0 → 1/3",
        "mask: painted, 1 of 9 cells hidden",
    ]
    for _ in range(4):
        page.get_by_role("button", name="Undo").click()
    assert page.locator(".word-fields input").count() == 4
    page.get_by_role("button", name="Reset all").click()
    assert page.locator(".log li").inner_text() == "Nothing is changed."

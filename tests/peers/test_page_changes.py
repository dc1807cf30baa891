"""What is changed in the page: its numbers are those that the program computes of the changed problem."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from attncli.base.lazy_numpy import Array, np
from attncli.engine.run import run
from attncli.io.parse.edit import parse_edit
from attncli.problem.edits import edit_problem
from tests.arrays import normal
from tests.peers.conftest import PageOf
from tests.problems import problem

pytestmark = pytest.mark.peer

TOKENS = ("the", "cat", "sat")
SELF = {"embeddings": normal(3, 4), "w_q": normal(4, 2), "w_k": normal(4, 2, seed=1), "w_v": normal(4, 5), "tokens": TOKENS}  # fmt: skip
HEADS = {"embeddings": normal(5, 4), "w_q": normal(4, 8), "w_k": normal(4, 4), "w_v": normal(4, 6), "heads": 4, "kv_heads": 2}  # fmt: skip
SCALED = {**SELF, "scale": 0.25, "causal": True, "normalize": {"softmax": {"temperature": 2}}}

Act = Callable[[Any], None]


def values_of(page: Any) -> dict[str, Array]:
    """The numbers in force of every step of the page."""
    values = page.evaluate("() => [...attnPage.state.get().values].map(([name, { shape, data }]) => [name, shape, [...data]])")
    return {name: np.array(data).reshape(shape) for name, shape, data in values}


def is_computed(page: Any, keys: Mapping[str, Any], *edits: str) -> bool:
    """Whether the page has every step of a problem, each with the numbers of the program."""
    spec = edit_problem(problem(**keys), [parse_edit(edit) for edit in edits]).after if edits else problem(**keys)
    expected = {step.name: step.value for step in run(spec, every_step=True).trace.steps}
    values = values_of(page)
    assert values.keys() == expected.keys()
    for name, value in expected.items():
        scale = np.abs(value[np.isfinite(value)]).max(initial=1e-300)
        np.testing.assert_allclose(values[name], value, rtol=1e-12, atol=1e-12 * scale, err_msg=name)
    return True


def changed(page: Any) -> list[str]:
    """The changes that the page tells of."""
    return list(page.locator(".log li").all_inner_texts())


def command(page: Any) -> str:
    """The options that make the same changes on the command line."""
    return str(page.locator(".command code").inner_text()).removeprefix("attn compute … ")


def edit(page: Any, step: str, index: list[int], text: str) -> str | None:
    """Change a number of an input, as the tables do; what is wrong with the text."""
    return page.evaluate("([...all]) => attnPage.editCell(attnPage.state, ...all)", [step, index, text])  # type: ignore[no-any-return]


def type_into(page: Any, label: str, text: str) -> None:
    """Type into a field, and leave it."""
    page.get_by_label(label, exact=True).fill(text)
    page.get_by_label(label, exact=True).press("Enter")


def choose(page: Any, normalizer: str) -> None:
    """Choose a normalizer."""
    page.get_by_label("Normalizer", exact=True).select_option(normalizer)


@pytest.mark.parametrize("keys", [SELF, HEADS, SCALED], ids=["one head", "grouped heads", "scale given"])
def test_each_control_computes_what_the_program_computes(page_of: PageOf, keys: dict[str, Any]) -> None:
    page = page_of(keys)
    own = {name: keys[name] for name in ("causal", "scale", "normalize") if name in keys}
    type_into(page, "Scale", "1/3")
    assert is_computed(page, {**keys, **own, "scale": 1 / 3})
    page.get_by_label("Causal").set_checked(not keys.get("causal", False))
    own |= {"scale": 1 / 3, "causal": not keys.get("causal", False)}
    assert is_computed(page, {**keys, **own})
    type_into(page, "Temperature", "0.5")
    assert is_computed(page, {**keys, **own, "normalize": {"softmax": {"temperature": 0.5}}})
    for normalizer in ("sparsemax", "entmax", "hardmax"):
        choose(page, normalizer)
        assert is_computed(page, {**keys, **own, "normalize": normalizer})
    choose(page, "entmax")
    type_into(page, "Alpha", "1.25")
    assert is_computed(page, {**keys, **own, "normalize": {"entmax": {"alpha": 1.25}}})
    choose(page, "topk")
    type_into(page, "k", "1")
    assert is_computed(page, {**keys, **own, "normalize": {"topk": {"k": 1}}})
    type_into(page, "Scale", "")
    assert is_computed(page, {**keys, **own, "scale": None, "normalize": {"topk": {"k": 1}}})
    page.get_by_role("button", name="Reset all").click()
    assert is_computed(page, keys)


def test_numbers_of_inputs_are_changed_one_by_one(page_of: PageOf) -> None:
    page = page_of(SELF)
    assert edit(page, "embeddings", [1, 1], "1/3") is None
    assert edit(page, "w_q", [0, 1], "-2*sqrt(2)") is None
    assert is_computed(page, SELF, "embeddings[cat,x2]=1/3", "w_q[0,1]=-2*sqrt(2)")
    first, second = SELF["embeddings"][1, 1], SELF["w_q"][0, 1]
    assert changed(page) == [
        f"embeddings[cat, x2]: {first} → {1 / 3}".replace("-", "−"), f"w_q[x1, d2]: {second} → {-2 * 2**0.5}".replace("-", "−")
    ]  # fmt: skip
    options = re.findall(r"--set '([^']*)'", command(page))
    assert is_computed(page, SELF, *options)
    page.get_by_role("button", name="Undo").click()
    assert is_computed(page, SELF, "embeddings[cat,x2]=1/3")
    assert edit(page, "embeddings", [1, 1], repr(float(first))) is None  # the program's own number is no change
    assert changed(page) == ["Nothing is changed."]
    assert is_computed(page, SELF)


@pytest.mark.parametrize(
    ("label", "text", "mistake"),
    [
        ("Scale", "half", "Write a number: 0.5, 2, 1/3 or sqrt(2)."),
        ("Scale", "1/0", "Write a number: 0.5, 2, 1/3 or sqrt(2)."),
        ("Temperature", "0", "Write a number above 0."),
        ("Temperature", "", "Write a number: 0.5, 2, 1/3 or sqrt(2)."),
    ],
)
def test_a_mistake_is_told_at_its_field_and_changes_nothing(page_of: PageOf, label: str, text: str, mistake: str) -> None:
    page = page_of(SELF)
    type_into(page, label, text)
    field = page.get_by_label(label, exact=True)
    assert page.locator(f"#{field.get_attribute('aria-describedby')}").inner_text().startswith(mistake)
    assert field.get_attribute("aria-invalid") == "true"
    assert changed(page) == ["Nothing is changed."]
    type_into(page, label, "3")
    assert field.get_attribute("aria-invalid") == "false"
    assert changed(page) != ["Nothing is changed."]

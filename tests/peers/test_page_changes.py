"""What is changed in the page: its numbers are those that the program computes of the changed problem."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.base.lazy_numpy import Array, np
from attncli.engine.run import run
from attncli.numbers.parsing import evaluate
from attncli.problem.edits import edit_problem, parse_edit
from tests.arrays import normal
from tests.cli.running import run_in_process
from tests.peers.conftest import PageOf
from tests.problems import problem

TOKENS = ("the", "cat", "sat")
SELF = {
    "embeddings": normal(3, 4),
    "w_q": normal(4, 2),
    "w_k": normal(4, 2, seed=1),
    "w_v": normal(4, 5),
    "tokens": TOKENS,
}
HEADS = {
    "embeddings": normal(5, 4),
    "w_q": normal(4, 8),
    "w_k": normal(4, 4),
    "w_v": normal(4, 6),
    "heads": 4,
    "kv_heads": 2,
}
SELF_4 = normal(4, 4)
SCALED = {**SELF, "scale": 0.25, "causal": True, "normalize": {"softmax": {"temperature": 2}}}


def values_of(page: Any) -> dict[str, Array]:
    """The numbers in force of every step of the page."""
    values = page.evaluate(
        "() => [...attnPage.state.get().values].map(([name, { shape, data }]) => [name, shape, [...data]])"
    )
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
    """The command that makes the same changes."""
    return str(page.locator(".command code").inner_text())


def edit(page: Any, step: str, index: list[int], text: str) -> str | None:
    """Change a number of an input, as the tables do; what is wrong with the text."""
    return page.evaluate("([...all]) => attnPage.editCell(attnPage.state, ...all)", [step, index, text])


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
    texts = [f"embeddings[cat, x2]: {first} → 1/3", f"w_q[x1, d2]: {second} → -2*sqrt(2)"]
    assert changed(page) == [text.replace("-", "−") for text in texts]
    page.get_by_role("button", name="Undo").click()
    assert is_computed(page, SELF, "embeddings[cat,x2]=1/3")
    assert edit(page, "embeddings", [1, 1], repr(float(first))) is None  # the program's own number is no change
    assert changed(page) == ["Nothing is changed."]
    assert is_computed(page, SELF)


@pytest.mark.parametrize(
    ("label", "text", "mistake"),
    [
        ("Scale", "half", "Write a number: 0.5, 1/3, sqrt(2) or exp(0)."),
        ("Scale", "1/0", "Write a number: 0.5, 1/3, sqrt(2) or exp(0)."),
        ("Temperature", "0", "Write a number above 0."),
        ("Temperature", "", "Write a number: 0.5, 1/3, sqrt(2) or exp(0)."),
    ],
)
def test_a_mistake_is_told_at_its_field_and_changes_nothing(
    page_of: PageOf, label: str, text: str, mistake: str
) -> None:
    page = page_of(SELF)
    type_into(page, label, text)
    field = page.get_by_label(label, exact=True)
    assert page.locator(f"#{field.get_attribute('aria-describedby')}").inner_text().startswith(mistake)
    assert field.get_attribute("aria-invalid") == "true"
    assert changed(page) == ["Nothing is changed."]
    type_into(page, label, "3")
    assert field.get_attribute("aria-invalid") == "false"
    assert changed(page) != ["Nothing is changed."]


def test_the_command_line_makes_the_same_changes(page_of: PageOf, tmp_path: Path) -> None:
    source = tmp_path / "problem.json"
    tokens = ["the", "cat, fat", "it's", "the"]
    source.write_text(
        json.dumps(
            {
                "embeddings": SELF_4.tolist(),
                "tokens": tokens,
                "w_q": normal(4, 4, seed=1).tolist(),
                "weight_layout": "out_in",
            }
        )
    )
    page = page_of(source, command=("attn", "compute", "problem.json"))
    assert edit(page, "embeddings", [1, 0], "-0.5") is None
    assert edit(page, "embeddings", [2, 3], "1e-7") is None
    assert edit(page, "embeddings", [3, 2], "2") is None
    assert edit(page, "w_q", [2, 1], "4") is None
    type_into(page, "Scale", "1/3")
    page.get_by_label("Causal").check()
    choose(page, "entmax")
    type_into(page, "Alpha", "1.25")
    words = shlex.split(command(page))
    assert words[:5] == ["attn", "compute", "problem.json", "--set", 'embeddings["cat, fat",x1]=-0.5']
    ran = run_in_process(*words[1:], "--json", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_allclose(values_of(page)["output"], json.loads(ran.stdout)["output"], rtol=1e-12)


def test_numbers_that_the_command_set_are_named_and_stay(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "problem.json").write_text(json.dumps({"embeddings": [[1, 2], [3, 4]], "causal": True}))
    run_in_process("compute", "problem.json", "--set", "embeddings[0,1]=-5", "-o", "page.html", folder=tmp_path)
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    assert page.get_by_text("On the command line: set embeddings[0,1]: 2 → ").count() == 1
    page.evaluate('attnPage.state.update({ step: "masked_scores" })')
    assert page.locator("#step .main td").all_inner_texts()[1] == "−∞"  # hidden before and after: it bears no mark
    assert edit(page, "embeddings", [0, 0], "7") is None
    assert is_computed(page, {"embeddings": [[7, -5], [3, 4]], "causal": True})
    page.get_by_role("button", name="Reset all").click()
    assert is_computed(page, {"embeddings": [[1, -5], [3, 4]], "causal": True})
    page.close()


def test_a_change_that_has_no_option_says_what_to_do(page_of: PageOf) -> None:
    page = page_of(SCALED, command=("attn", "compute", "problem.yaml"))
    assert page.locator(".command").inner_text() == ""
    type_into(page, "Scale", "")
    assert changed(page) == ["scale: 0.25 → the score's own"]
    reason, saved = "No option takes out the scale. ", "attn compute page0-changed.yaml"
    text = f"{reason}Save it as YAML first: this reads that file, and gives the same: {saved}"
    assert " ".join(page.locator(".command").inner_text().split()) == text


def test_changes_are_taken_back_one_by_one_and_all_at_once(page_of: PageOf) -> None:
    page = page_of(SELF)
    undo = page.get_by_role("button", name="Undo")
    assert undo.is_disabled()
    type_into(page, "Temperature", "2")
    page.get_by_label("Causal").check()
    assert changed(page) == ["causal: off → on", "temperature: 1 → 2"]  # in the order of the controls
    page.get_by_role("button", name="Reset all").click()
    assert is_computed(page, SELF)
    undo.click()
    assert is_computed(page, {**SELF, "causal": True, "normalize": {"softmax": {"temperature": 2}}})
    undo.click()
    assert changed(page) == ["temperature: 1 → 2"]
    assert page.get_by_label("Temperature", exact=True).input_value() == "2"
    undo.click()
    assert undo.is_disabled()
    assert not page.get_by_label("Causal").is_checked()
    assert is_computed(page, SELF)


def test_a_slider_that_moves_is_one_change(page_of: PageOf) -> None:
    page = page_of(SELF)
    slider = page.get_by_label("Temperature, slider")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    temperature = float(page.get_by_label("Temperature", exact=True).input_value())
    assert temperature == float(slider.get_attribute("aria-valuetext")) == 1.41  # 10 to the power of 0.15
    assert is_computed(page, {**SELF, "normalize": {"softmax": {"temperature": temperature}}})
    page.get_by_role("button", name="Undo").click()
    assert changed(page) == ["Nothing is changed."]


def test_a_step_that_another_normalizer_does_not_have_leaves_the_view(page_of: PageOf) -> None:
    page = page_of(SELF)
    page.evaluate("attnPage.state.update({ step: 'exponentials', cell: [0, 1] })")
    choose(page, "sparsemax")
    assert page.evaluate("attnPage.state.get().step") == "weights"


@pytest.fixture
def first_value(restored_registry: None) -> None:
    """A context of another package, registered for one test."""

    @attncli.context(
        formula="Cᵢ = Aᵢ₁ V₁",
        shapes="weights[n m], value[m e] -> [n e]",
        source="this test",
        example={"weights": [[0.25, 0.75]], "value": [[4, 0], [8, 4]], "gives": [[1, 0]]},
    )
    def first_value(weights: Array, value: Array) -> Array:
        """The first value times its weight."""
        return np.vectorize(float)(weights[..., :1]) * value[..., :1, :]


@pytest.mark.usefixtures("first_value")
def test_steps_that_the_page_cannot_compute_have_no_numbers(page_of: PageOf) -> None:
    keys = {**SELF, "context": "first_value"}
    page = page_of(keys)
    assert edit(page, "w_v", [0, 0], "7") is None
    said = page.locator(".fixed-steps").inner_text()
    assert said.startswith("After this change the page can't compute context, output: there is no number. context: ")
    assert "return np.vectorize(float)(weights[..., :1])" in said  # the line that can't be followed
    assert not values_of(page).keys() & {"context", "output"}
    for name in ("context", "output"):
        page.evaluate("step => attnPage.state.update({ step, cell: null })", name)
        assert page.locator("#step .not-computed").is_visible()
        assert page.locator("#step table").count() == 0
    page.get_by_role("button", name="Undo").click()
    assert is_computed(page, keys)


def test_a_normalizer_that_the_problem_cannot_have_is_not_offered(page_of: PageOf) -> None:
    page = page_of({**SELF, "context": "sample"})  # a sample needs weights that are probabilities
    disabled = page.get_by_label("Normalizer", exact=True).locator("option:disabled").all_inner_texts()
    assert "none" in disabled
    assert "sparsemax" not in disabled


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({**SELF, "dtype": "float16"}, "float16"),
        ({"embeddings": normal(500, 400)}, "large"),
    ],
    ids=["another type", "a large problem"],
)
def test_what_cannot_be_recomputed_says_why(page_of: PageOf, keys: dict[str, Any], reason: str) -> None:
    page = page_of(keys)
    assert reason in page.locator("#controls .hint").inner_text()
    assert page.locator("#controls input, #controls select, #controls .log-buttons").count() == 0
    step = page.evaluate("attnPage.state.get().step")
    assert reason in str(edit(page, step, [0, 0], "1"))


def test_what_is_computed_or_no_number_is_not_edited(page_of: PageOf) -> None:
    page = page_of({**SELF, "mask": [[1, 0, 1]]})
    assert edit(page, "scores", [0, 0], "1") == "scores is computed: change the numbers that it is made from."
    assert edit(page, "embeddings", [0, 0], "one") == "“one” is not a number: write 0.5, 1/3, sqrt(2) or exp(0)."
    assert edit(page, "embeddings", [0, 0], "") == "Nothing is not a number: write 0.5, 1/3, sqrt(2) or exp(0)."
    assert changed(page) == ["Nothing is changed."]


def test_numbers_are_typed_as_in_problem_files(page_of: PageOf) -> None:
    page = page_of(SELF)
    for text in ("1/3", "-2*sqrt(2)/3", "(1 + sqrt(5))/2", ".5", "−3", "1e-3", "2*pi", "-(2 - 0.5)"):
        assert edit(page, "embeddings", [0, 0], text) is None
        plain = text.replace("−", "-")
        number = evaluate(plain)
        assert values_of(page)["embeddings"][0, 0] == (float(plain) if number is None else number)
    for text in ("2-1", "1 2", "1,5", "sqrt 2", "1/0", "(1", "nan", "0x10", "1e999"):
        assert edit(page, "embeddings", [0, 0], text) is not None

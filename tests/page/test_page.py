"""What the page knows of a result."""

import functools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import attncli
from attncli import page as page_module
from attncli.engine.run import run
from attncli.page import DTYPES, page_object
from attncli.problem.edits import Edit, edit_problem
from attncli.problem.spec import ProblemSpec
from attncli.render.view import Cell, View
from tests.arrays import normal
from tests.page.plans import assert_is_plan_of, own_nodes, sections_of
from tests.problems import PROBLEMS, dense_trace, problem, steps_on_demand

ONE_PLAN = {"dtype": "float16"}  # numbers of this type are not computed anew: nothing makes 39 other plans
TOKENS = {"embeddings": [[1, 0], [0, 1], [1, 1]], "tokens": ["the", "cat", "the"], **ONE_PLAN}
HEADS = {"embeddings": normal(3, 4), "heads": 2, **ONE_PLAN}


def page(spec: ProblemSpec, select: Any = None, **view: Any) -> dict[str, Any]:
    """The page object of a problem."""
    return page_object(View(run(spec, select), **view))


@functools.cache
def page_of(name: str) -> tuple[ProblemSpec, Mapping[str, Any]]:
    """One of the problems of all tests, and its page."""
    dtype = PROBLEMS[name].get("dtype", "float64")
    spec = problem(**{**PROBLEMS[name], **({} if dtype not in DTYPES else ONE_PLAN)})
    return spec, page(spec, (*spec.default_selection, *steps_on_demand(spec)))


def section_names(content: Mapping[str, Any], plan: int = 0) -> list[tuple[int | None, list[str]]]:
    """The number and the names of each section of a plan."""
    return [(section["number"], section["names"]) for section in sections_of(content, plan)]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_step_of_every_problem_is_in_its_page(name: str) -> None:
    spec, content = page_of(name)
    trace, nodes = dense_trace(spec), own_nodes(content)
    assert list(content["values"]) == list(nodes)
    assert_is_plan_of(content, content["plans"][0], trace)
    for step in trace:
        value, node = content["values"][step.name], nodes[step.name]
        assert value["shape"] == node["shape"] == list(step.value.shape)
        assert node["value"] is None  # they are in the values of the page
        np.testing.assert_array_equal(value["data"], step.value.ravel())
        assert all(len(labels) in (0, *step.value.shape) for labels in node["labels"])
    letters = {letter for node in content["nodes"] for letter in node["axes"]}
    assert letters == set(content["axes"])


def test_a_node_has_what_its_function_is_called_with() -> None:
    nodes = own_nodes(page(problem(**TOKENS, normalize="softmax:temperature=2")))
    weights = nodes["weights"]
    assert (weights["function"], weights["inputs"], weights["options"]) == (
        "softmax",
        {"scores": "scores"},
        {"temperature": 2.0},
    )
    assert weights["taps"] == {"exponentials": "exponentials"}
    assert nodes["exponentials"]["tapped_from"] == "weights"
    assert weights["labels"] == [["the#1", "cat", "the#2"]] * 2
    assert (nodes["embeddings"]["function"], nodes["embeddings"]["edit_key"]) == (None, "embeddings")
    assert weights["edit_key"] is None


@pytest.mark.parametrize("name", PROBLEMS)
def test_set_finds_a_cell_by_the_labels_of_the_page(name: str) -> None:
    spec, content = page_of(name)
    editable = {step: node for step, node in own_nodes(content).items() if node["edit_key"] is not None}
    assert editable
    for step, node in editable.items():
        value = content["values"][step]
        last = [length - 1 for length in value["shape"]]
        labels = [labels[-1] for labels in node["labels"] if labels]
        index = (*map(str, last[: -len(labels)]), *labels)
        cell = edit_problem(spec, [Edit(node["edit_key"], index, 0.5, "the test")]).cells[0]
        assert cell.before == pytest.approx(value["data"][-1], rel=1e-2)  # before it is rounded to bfloat16


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_probe_is_left_in_a_formula(name: str) -> None:
    assert not any("73458" in f"{node['mathml']} {node['formulas']}" for node in page_of(name)[1]["nodes"])


def test_a_mask_has_no_numbers_to_set() -> None:
    assert own_nodes(page(problem(**TOKENS, mask=[[True, False, True]] * 3)))["mask"]["edit_key"] is None


def test_axes_have_their_labels_and_the_tokens_as_they_are() -> None:
    axes = page(problem(**TOKENS))["axes"]
    assert axes["m"] == {
        "noun": "key",
        "meaning": "keys",
        "length": 3,
        "labels": ["the#1", "cat", "the#2"],
        "tokens": ["the", "cat", "the"],
    }
    assert page(problem(**HEADS))["axes"]["h"]["labels"] == ["head 0", "head 1"]


def test_sections_are_those_of_an_explanation() -> None:
    content = page(problem(**TOKENS, causal=True))
    assert section_names(content) == [
        (None, ["embeddings"]),
        (1, ["query", "key", "value"]),
        (2, ["dot_products"]),
        (3, ["scores"]),
        (4, ["visible"]),
        (5, ["masked_scores"]),
        (6, ["exponentials"]),
        (7, ["weights"]),
        (8, ["context"]),
    ]
    copies, context = sections_of(content)[1], sections_of(content)[-1]
    assert copies["formula"] == "Q = K = V = X"
    assert "Nothing projects these vectors" in copies["purpose"]
    assert context["remarks"] == ["output = context: one head, no w_o"]


def test_select_shows_what_its_results_are_computed_from() -> None:
    content = page(problem(**TOKENS), "scores")
    assert section_names(content)[-1] == (3, ["scores"])
    assert content["start"]["step"] == "scores"


@pytest.mark.parametrize(
    ("select", "cell", "step", "at"),
    [
        (None, (), "weights", None),
        ("context", (), "context", None),
        (None, (Cell(0, 2),), "weights", [0, 2]),
        ("scores", (Cell(1, None),), "scores", [1, 0]),
        ("dot_products", (Cell(1, 1), Cell(0, 0)), "dot_products", [1, 1]),
    ],
)
def test_the_page_starts_at_what_was_asked_for(select: Any, cell: Any, step: str, at: Any) -> None:
    start = page(problem(**TOKENS), select, cells=cell)["start"]
    assert (start["step"], start["cell"], start["positions"]) == (step, at, {"b": 0, "h": 0})


def test_the_page_starts_with_the_head_that_was_asked_for() -> None:
    content = page(problem(**HEADS), positions={"h": 1})
    assert content["start"]["positions"] == {"b": 0, "h": 1}
    assert content["axes"]["h"]["length"] == 2


def test_masks_have_the_signs_of_their_rules_in_the_order_of_precedence() -> None:
    content = page(problem(**TOKENS, causal=True, window=(0, 1), key_lengths=[2]))
    signs = own_nodes(content)["visible"]["signs"]
    assert [sign["input"] for sign in signs] == ["visible_by_key_lengths", "visible_by_causal", "visible_by_window"]
    assert {"sign", "meaning", "input"} == set(signs[0])
    assert own_nodes(content)["weights"]["signs"] is None


def test_edits_are_there_with_the_numbers_before_of_the_steps_that_changed() -> None:
    edited = edit_problem(problem(**TOKENS), [Edit("embeddings", ("cat", "x1"), 5.0, "--set")])
    content = page(edited.after, before=run(edited.before), edited_cells=edited.cells)
    assert content["edits"] == "set embeddings[cat,x1]: 0 → 5"
    assert content["before"]["embeddings"]["data"].tolist() == [1, 0, 0, 1, 1, 1]
    assert content["values"]["embeddings"]["data"].tolist() == [1, 0, 5, 1, 1, 1]
    assert "weights" in content["before"]
    assert page(edited.before)["before"] == {}


def test_the_title_is_the_users_or_the_words_or_that_of_the_stages() -> None:
    assert page(problem(**HEADS))["title"] == "scaled_dot → softmax → weighted_sum"
    assert page(problem(**TOKENS))["title"] == "the cat the"
    content = page(problem(**TOKENS), title="Mine")
    assert (content["title"], content["pipeline"]) == ("Mine", "scaled_dot → softmax → weighted_sum")


def test_warnings_and_what_words_have_in_common_are_there() -> None:
    words = {"sentence": "the cat", "vocabulary": {"the": [1, 0], "cat": [0, 1]}}
    spec = problem(**words, **ONE_PLAN, mask=[[0, 0], [1, 1]])
    content = page(spec)
    assert content["warnings"] == list(dense_trace(spec).notes)
    assert len(content["warnings"]) == 1
    assert sections_of(content)[0]["remarks"] == ["rows of the vocabulary, counted from 0: the 0, cat 1"]


LARGE = {"embeddings": normal(260, 2), "heads": 2, "w_v": normal(2, 2)}


def test_a_larger_page_has_the_selected_results_alone() -> None:
    content = page(problem(**LARGE), ("weights", "output"))
    assert list(content["values"]) == ["weights", "output"]
    assert section_names(content) == [(None, ["weights"]), (None, ["output"])]
    assert content["left_out"] == [
        "Only weights and output can be seen: the steps have 546,004 numbers together, and a page has every step up to "
        "200,000."
    ]
    assert "large problem" in content["settings"]["can_compute"]
    assert [node["inputs"] for node in content["nodes"]] == [{}, {}]
    assert len(content["plans"]) == 1


def test_a_larger_page_has_the_chosen_head_alone() -> None:
    spec = problem(**LARGE)
    content = page(spec, "weights", positions={"h": 1})
    assert content["axes"]["h"] == {
        "noun": "head",
        "meaning": "query heads",
        "length": 1,
        "labels": ["head 1"],
        "tokens": [],
    }
    assert content["start"]["positions"]["h"] == 0
    np.testing.assert_array_equal(content["values"]["weights"]["data"], run(spec, "weights").weights[1].ravel())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "longdouble"])
def test_numbers_of_other_types_are_not_computed_anew(dtype: str) -> None:
    content = page(problem(**{**TOKENS, "dtype": dtype}))
    assert f"the numbers are {dtype}" in content["settings"]["can_compute"]
    assert len(content["plans"]) == 1


def test_the_scale_of_numbers_of_more_digits_is_one_of_double_precision() -> None:
    content = page(problem(**{**TOKENS, "dtype": "longdouble"}, position={"shaw": {"table": [[0.5, 0.25]] * 3}}))
    options = own_nodes(content)["scores"]["options"]
    assert json.loads(json.dumps(options)) == {"scale": 2**-0.5}


@pytest.fixture
def no_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that computes nothing, as it can't what functions do that can't be recorded."""
    monkeypatch.setattr(page_module, "is_computed_by_page", lambda _trace, _step: False)


@pytest.mark.usefixtures("no_functions")
def test_steps_whose_function_the_page_lacks_have_their_lines() -> None:
    content = page(problem(**TOKENS, w_q=[[1, 2], [0, 1]]))
    query, scores = content["worked"]["query"], content["worked"]["scores"]
    assert query["axes"] == ["n"]
    assert query["lines"][2] == ["query(the#2) = 1·[1 2] + 1·[0 1] = [1 3]"]
    assert (scores["axes"], len(scores["lines"])) == (["n", "m"], 9)
    assert scores["lines"][5] == ["Q(cat)·K(the#2) = 0·1 + 1·1 = 1", "1/√2 = 0.7071, in float16 0.7070"]
    assert "embeddings" not in content["worked"]


@pytest.mark.usefixtures("no_functions")
def test_lines_are_those_of_the_head_of_their_cell() -> None:
    spec = problem(**ONE_PLAN, embeddings=[[1, 2]], w_k=[[3], [0]], heads=2, kv_heads=1, w_v=[[1], [0]], score="dot")
    assert page(spec)["worked"]["scores"]["lines"] == [
        ["Qₕ(token_1)·Kₕₛ(token_1) = 1·3 = 3"],
        ["Qₕ(token_1)·Kₕₛ(token_1) = 2·3 = 6"],
    ]


@pytest.mark.usefixtures("no_functions")
def test_too_many_worked_cells_are_left_out() -> None:
    content = page(problem(scores=normal(40, 40)))
    assert content["worked"] == {}
    assert content["left_out"] == ["The arithmetic of weights is left out: 1,600 cells, and a page has up to 1,500."]


@pytest.mark.usefixtures("restored_registry")
def test_the_function_of_another_package_is_none_of_ours() -> None:
    @attncli.normalizer(
        formula="A = S", shapes="scores[n m] -> [n m]", source="here", example={"scores": [[1]], "gives": [[1]]}
    )
    def softmax_of_a_test(scores: np.ndarray) -> np.ndarray:
        """The scores."""
        return scores

    content = page(problem(**TOKENS, normalize="softmax_of_a_test"))
    name = own_nodes(content)["weights"]["function"]
    assert name.endswith(".softmax_of_a_test")
    assert content["settings"]["normalizer"] == "softmax_of_a_test"

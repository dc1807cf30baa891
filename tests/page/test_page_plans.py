"""The plans that a page can go over to are those of the problems with these choices, as the program computes them."""

import functools
import itertools
import json
import math
from collections.abc import Mapping
from typing import Any

import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.page import page_object
from attncli.page.page_plans import plan_variants
from attncli.problem.spec import ProblemSpec
from attncli.render.view import View
from tests.page.plans import assert_is_plan_of, own_nodes
from tests.problems import PROBLEMS, problem

# A score without a scale, given scores, a mask and numbers beside the keys, a cache with rules.
QUICK = (
    "a score without a scale",
    "given scores alone",
    "a batch without heads",
    "chunks of keys, padding on the left",
)
VARIED = {
    "a score without a scale": {"query": [[1, 0], [2, 1]], "key": [[1, 0], [0, 1]], "score": "laplacian"},
    **{name: keys for name, keys in PROBLEMS.items() if "dtype" not in keys},
}
OFFERED = {"softmax", "sparsemax", "entmax", "hardmax", "topk"}
QUERIES = {"query": [[1, 0], [2, 1]], "key": [[1, 0], [0, 1], [1, 1]]}
MASK = {"mask": [[1, 1, 0], [0, 1, 1]]}


def page(spec: ProblemSpec) -> dict[str, Any]:
    """The page object of a problem."""
    return page_object(View(run(spec)))


@functools.cache
def masked_page() -> Mapping[str, Any]:
    """The page of a problem with a mask."""
    return page(problem(**QUERIES, **MASK))


def choices(content: Mapping[str, Any]) -> list[tuple[Any, Any, Any]]:
    """What distinguishes the plans of a page."""
    return [(plan["causal"], plan["has_scale"], plan["normalizer"]) for plan in content["plans"]]


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.deep) for name in list(VARIED)[1::2] if name not in QUICK)]
)
def test_each_plan_is_that_of_the_problem_with_its_choices(name: str) -> None:
    spec = problem(**VARIED[name])
    content, variants = page(spec), plan_variants(spec)
    assert len(variants) > 1 or spec.given_table == "weights"
    for plan, variant in zip(content["plans"], variants, strict=True):
        assert_is_plan_of(content, plan, run(variant.problem, every_step=True).trace)


def test_the_choices_are_those_of_the_keys() -> None:
    """As a user would give them, read once more from the beginning."""
    content = masked_page()
    required = {"topk": "topk:k=2"}
    assert len(set(choices(content))) == len(content["plans"])
    assert set(choices(content)) >= set(itertools.product([False, True], [False, True], OFFERED))
    for plan in content["plans"]:
        keys: dict[str, Any] = {"causal": plan["causal"], **MASK}
        keys |= {"scale": 1 / math.sqrt(2)} if plan["has_scale"] else {}
        normalizer = required.get(plan["normalizer"], plan["normalizer"])
        spec = attncli.Problem(**QUERIES, **keys, normalize=normalizer).spec
        assert_is_plan_of(content, plan, run(spec, every_step=True).trace)


def test_a_mask_that_no_number_reaches_has_its_values() -> None:
    causal = [node for node in masked_page()["nodes"] if node["function"] == "causal"]
    assert [node["value"]["data"].tolist() for node in causal] == [[1, 0, 0, 1, 1, 0]]


def test_the_first_plan_is_the_problems_own() -> None:
    content = page(problem(**QUERIES, causal=True, scale=3, normalize="entmax:alpha=1.2"))
    assert choices(content)[0] == (True, True, "entmax")
    settings = content["settings"]
    assert (settings["causal"], settings["normalizer"]) == (True, "entmax")
    assert settings["scale"] == {"value": 3.0, "own": 1 / math.sqrt(2)}
    own, *others = settings["normalizers"]
    assert own == {
        "name": "entmax",
        "parameters": [{"name": "alpha", "value": 1.2, "above": None, "least": 1, "is_integer": False}],
    }
    assert {normalizer["name"] for normalizer in others} >= OFFERED - {"entmax"}
    topk = next(normalizer for normalizer in others if normalizer["name"] == "topk")
    assert topk["parameters"] == [{"name": "k", "value": 2, "above": None, "least": 1, "is_integer": True}]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"weights": [[0.5, 0.5]], "value": [[1], [2]]}, (None, None, None)),
        ({"scores": [[1, 2]]}, (False, None, "softmax")),
        ({**QUERIES, "mask": "causal"}, (None, False, "softmax")),  # which the key causal would not take off
    ],
)
def test_where_there_is_nothing_to_choose_it_is_null(keys: Any, expected: Any) -> None:
    assert choices(page(problem(**keys)))[0] == expected


def test_a_convention_that_aligns_a_causal_mask_offers_none() -> None:
    for convention, keys, expected in (
        ("flash", {}, {None}),
        ("flash", {"causal": True}, {False, True}),
        ("torch-sdpa", {}, {False, True}),
    ):
        variants = plan_variants(problem(convention=convention, **QUERIES, **keys))
        assert {variant.choices.causal for variant in variants} == expected


def test_a_normalizer_that_the_context_does_not_take_is_not_offered() -> None:
    content = page(problem(**QUERIES, context="sample:seed=1"))
    with pytest.raises(AttnError):
        problem(**QUERIES, context="sample:seed=1", normalize="relu")
    assert "relu" not in {plan["normalizer"] for plan in content["plans"]}


def test_a_node_that_plans_share_has_one_position() -> None:
    content = masked_page()
    nodes = [json.dumps({**node, "value": None}) for node in content["nodes"]]
    assert len(set(nodes)) == len(nodes)
    weights = {(plan["normalizer"], plan["nodes"][-2]) for plan in content["plans"]}
    assert len({position for _, position in weights}) == 1  # of the context, which reads the weights by their name


def test_settings_are_what_options_follow() -> None:
    content = page(problem(**QUERIES, scale=0.25, normalize="softmax:temperature=2"))
    followed = [(node["name"], node["settings"]) for node in content["nodes"] if node["settings"]]
    assert ("scores", {"scale": "scale"}) in followed
    for setting in ("temperature", "alpha", "k"):
        assert ("weights", {setting: setting}) in followed
    shaw = page(problem(**QUERIES, dtype="float16", position={"shaw": {"table": [[1, 0], [0, 1], [1, 1]]}}))
    scaled = [node for node in own_nodes(shaw).values() if "scale" in node["options"]]
    assert [node["settings"] for node in scaled] == [{}]  # 1/√d stays where none is chosen

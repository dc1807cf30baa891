"""The plans that a page can go over to are those of the problems with these choices, as the program computes them."""

import itertools
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.io import examples
from attncli.ops.records import ParameterMapping
from attncli.problem.spec import ProblemSpec
from attncli.render.page.page_object import page_object
from attncli.render.page.plan_variants import plan_variants
from attncli.render.view import View
from attncli.trace.steps import Trace
from tests.problems import PROBLEMS, dense_trace, problem

PARTS = {f"{name}: {part.title}": part.problem for name in examples.names() for part in examples.load(name).parts}
RANDOM = {name: problem(**keys) for name, keys in PROBLEMS.items() if keys.get("dtype") is None}
OFFERED = {"softmax", "sparsemax", "entmax", "hardmax", "topk"}
QUERIES = {"query": [[1, 0], [2, 1]], "key": [[1, 0], [0, 1], [1, 1]]}


def page(spec: ProblemSpec) -> dict[str, Any]:
    """The page object of a problem."""
    return page_object(View(run(spec)))


def choices(content: Mapping[str, Any]) -> list[tuple[Any, Any, Any]]:
    """What distinguishes the plans of a page."""
    return [(plan["causal"], plan["has_scale"], plan["normalizer"]) for plan in content["plans"]]


def assert_is_plan_of(content: Mapping[str, Any], plan: Mapping[str, Any], trace: Trace) -> None:
    """The nodes of a plan have the names, inputs and options of a trace; those that have values have its values."""
    nodes = [content["nodes"][at] for at in plan["nodes"]]
    assert [node["name"] for node in nodes] == [step.name for step in trace]
    assert plan["results"] == trace.plan.results
    for node, step in zip(nodes, trace, strict=True):
        assert node["inputs"] == step.inputs
        options = {name: list(x) if isinstance(x, tuple) else x for name, x in step.options.items()}
        options = {name: x.as_mapping() if isinstance(x, ParameterMapping) else x for name, x in options.items()}
        assert node["options"] == options
        assert node["function"] == (step.function and step.function.__name__.rstrip("_"))
        if node["value"] is not None:
            np.testing.assert_array_equal(node["value"]["data"], step.value.ravel())


@pytest.mark.parametrize("name", [*PARTS, *RANDOM])
def test_each_plan_is_that_of_the_problem_with_its_choices(name: str) -> None:
    spec = PARTS.get(name) or RANDOM[name]
    content = page(spec)
    assert_is_plan_of(content, content["plans"][0], dense_trace(spec))
    for plan, variant in zip(content["plans"], plan_variants(spec), strict=True):
        assert_is_plan_of(content, plan, dense_trace(variant.problem))


def test_the_choices_are_those_of_the_keys() -> None:
    """As a user would give them, read once more from the beginning."""
    content = page(problem(**QUERIES, mask=[[1, 1, 0], [0, 1, 1]]))
    required = {"topk": "topk:k=2"}
    assert set(choices(content)) >= set(itertools.product([False, True], [False, True], OFFERED))
    for plan in content["plans"]:
        keys: dict[str, Any] = {"causal": plan["causal"], "mask": [[1, 1, 0], [0, 1, 1]]}
        keys |= {"scale": 1 / math.sqrt(2)} if plan["has_scale"] else {}
        normalizer = required.get(plan["normalizer"], plan["normalizer"])
        spec = attncli.Problem(**QUERIES, **keys, normalize=normalizer).spec
        assert_is_plan_of(content, plan, dense_trace(spec))


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
    assert page(attncli.Problem(convention="flash", **QUERIES).spec)["settings"]["causal"] is None
    assert page(attncli.Problem(convention="flash", causal=True, **QUERIES).spec)["settings"]["causal"] is True
    assert page(attncli.Problem(convention="torch-sdpa", **QUERIES).spec)["settings"]["causal"] is False


def test_a_normalizer_that_the_context_does_not_take_is_not_offered() -> None:
    content = page(problem(**QUERIES, context="sample:seed=1"))
    with pytest.raises(AttnError):
        problem(**QUERIES, context="sample:seed=1", normalize="relu")
    assert "relu" not in {plan["normalizer"] for plan in content["plans"]}


def test_a_node_that_plans_share_has_one_position() -> None:
    content = page(problem(**QUERIES))
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
    shaw = page(problem(**QUERIES, position={"shaw": {"table": [[1, 0], [0, 1], [1, 1]]}}))
    own = [shaw["nodes"][at] for at in shaw["plans"][0]["nodes"]]
    assert all(not node["settings"] for node in own if node["stage"] == "scale")  # 1/√d stays where none is chosen

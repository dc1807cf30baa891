"""Formulas in the page: the numbers of settings in them, and their forms."""

import re
from typing import Any

import pytest

from attncli.page.page_plans import node_formula
from attncli.plan.build import plan_of
from attncli.render.formats.mathml import mathml_line
from tests.problems import problem

QUERIES = {"query": [[1, 0]], "key": [[1, 0], [0, 1]]}
GRADIENT = {"value": [[1], [2]], "grad_output": [[1]]}
NUMBER = re.compile(r'<mn data-setting="(\w+)">([^<]*)</mn>')


def formula(name: str, **keys: Any) -> dict[str, Any]:
    """The formula of a step of a problem."""
    spec = problem(**QUERIES, **keys)
    plan = plan_of(spec)
    return node_formula(spec, plan, plan[name], has_scale=spec.scale is not None)


@pytest.mark.parametrize(
    ("name", "keys", "number"),
    [
        ("scores", {"scale": 0.5}, ("scale", "0.5")),
        ("scores", {"scale": -3}, ("scale", "-3")),
        ("scores", {"scale": 1e-12}, ("scale", "1e-12")),
        ("weights", {"normalize": "topk:k=2"}, ("k", "2")),
        ("grad_unscaled_scores", {"scale": 0.5, **GRADIENT}, ("scale", "0.5")),
    ],
)
def test_the_number_of_a_setting_is_marked(name: str, keys: Any, number: Any) -> None:
    assert NUMBER.findall(formula(name, **keys)["mathml"]) == [number]


@pytest.mark.parametrize(
    "keys",
    [{}, {"scale": 2}, {"normalize": "topk:k=2"}, {"normalize": "softmax:temperature=2"}, {"scale": 2, **GRADIENT}],
)
def test_a_formula_with_its_mark_is_that_of_the_terminal(keys: Any) -> None:
    spec = problem(**QUERIES, **keys)
    plan = plan_of(spec)
    for node in plan.nodes:
        found = node_formula(spec, plan, node, has_scale=spec.scale is not None)["mathml"]
        assert NUMBER.sub(r"<mn>\2</mn>", found) == mathml_line(node.formula)


def test_a_formula_has_a_form_for_each_number_that_changes_it() -> None:
    def values(formulas: Any) -> list[Any]:
        return [form["value"] for form in formulas["forms"]]

    softmax = formula("weights", normalize="softmax:temperature=0.5")
    special, general = softmax["formulas"]["forms"]
    assert softmax["formulas"]["setting"] == "temperature"
    assert values(softmax["formulas"]) == [1, None]
    assert softmax["mathml"] == general["mathml"] == mathml_line("Aᵢⱼ = exp(Sᵢⱼ/T) / Σⱼ exp(Sᵢⱼ/T)")
    assert special["mathml"] == formula("weights")["mathml"] == mathml_line("Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ)")
    assert values(formula("exponentials")["formulas"]) == [1, None]
    entmax = formula("weights", normalize="entmax")
    assert values(entmax["formulas"]) == [1, 1.5, 2, None]
    assert entmax["mathml"] == entmax["formulas"]["forms"][1]["mathml"]
    assert formula("dot_products")["formulas"] is None
    assert values(formula("grad_scores", **GRADIENT)["formulas"]) == [1, None]

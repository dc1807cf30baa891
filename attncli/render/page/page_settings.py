"""The settings of a page: what can be chosen, what is in force, and whether numbers can be changed."""

from typing import Any

from attncli.ops.records import Operator
from attncli.problem.spec import ProblemSpec
from attncli.render.page.page_steps import PageSteps
from attncli.render.page.plan_variants import changeable_parameters, normalizers, own_choices, own_scale

DTYPE = "float64"  # the type of the page's own numbers


def settings_object(problem: ProblemSpec, steps: PageSteps) -> dict[str, Any]:
    """The choices of a problem, None for each that it does not have."""
    choices = own_choices(problem)
    return {
        "can_compute": reason_of_no_changes(problem, steps) or True,
        "causal": choices.causal,
        "scale": None if choices.has_scale is None else {"value": problem.scale, "own": own_scale(problem)},
        "normalizer": choices.normalizer,
        "normalizers": [
            {"name": operator.record.name, "parameters": _parameters(operator)} for operator in normalizers(problem)
        ],
    }


def reason_of_no_changes(problem: ProblemSpec, steps: PageSteps) -> str:
    """Why a page computes nothing anew; empty where it does."""
    if not steps.are_all:
        return "Nothing can be changed here: the page has only selected results of a large problem."
    if problem.precision.name != DTYPE:
        return (
            f"Nothing can be changed here: the numbers are {problem.precision.name}, and a browser computes {DTYPE}. "
            f"With dtype: {DTYPE} the page computes."
        )
    return ""


def _parameters(operator: Operator) -> list[dict[str, Any]]:
    """The numbers of an operator that can be changed, with their values and ranges."""
    return [
        {
            "name": parameter.name,
            "value": operator.parameters[parameter.name],
            "above": parameter.range.above,
            "least": parameter.range.least,
            "is_integer": parameter.kind == "integer",
        }
        for parameter in changeable_parameters(operator.record)
    ]

"""The plans of a page, for tests: their nodes by name, and whether they are what the program computes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attncli.ops.records import ParameterMapping
from attncli.plan.trace import Trace


def own_nodes(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The nodes of the problem's own plan by name."""
    return {content["nodes"][at]["name"]: content["nodes"][at] for at in content["plans"][0]["nodes"]}


def sections_of(content: Mapping[str, Any], plan: int = 0) -> list[dict[str, Any]]:
    """The sections of a plan in order."""
    return [content["sections"][at] for at in content["plans"][plan]["sections"]]


def assert_is_plan_of(content: Mapping[str, Any], plan: Mapping[str, Any], trace: Trace) -> None:
    """The nodes of a plan have the names, inputs and options of a trace; those that have values have its values."""
    nodes = [content["nodes"][at] for at in plan["nodes"]]
    assert [node["name"] for node in nodes] == [step.name for step in trace]
    assert content["results"][plan["results"]] == trace.plan.results
    for node, step in zip(nodes, trace, strict=True):
        assert node["inputs"] == step.inputs
        assert node["purpose"] == step.node.purpose
        options = {name: list(x) if isinstance(x, tuple) else x for name, x in step.options.items()}
        options = {name: x.as_mapping() if isinstance(x, ParameterMapping) else x for name, x in options.items()}
        assert node["options"] == options
        assert node["function"] == (step.function and step.function.__name__.rstrip("_"))
        if node["value"] is not None:
            np.testing.assert_array_equal(node["value"]["data"], step.value.ravel())

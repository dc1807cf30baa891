"""Steps and traces for tests of what shows them, without the problem that would make them."""

from collections.abc import Mapping

import numpy as np

from attncli.base.axes import Letters
from attncli.plan.graph import Axis, Node, Plan
from attncli.plan.trace import Step, Trace
from attncli.problem.build import build


def make_step(
    name: str, letters: Letters, value: np.ndarray, stage: str, inputs: Mapping[str, str] | None = None
) -> Step:
    """A step of that name, axes and value."""
    return Step(
        Node(name, name[0].upper(), "", tuple(map(Axis, letters, value.shape)), stage, inputs=inputs or {}), value
    )


def make_trace(steps: list[Step], labels: Mapping[str, tuple[str, ...]]) -> Trace:
    """A trace of these steps."""
    plan = Plan(tuple(step.node for step in steps), {})
    values, warnings = {step.name: step.value for step in steps}, {step.name: step.notes for step in steps}
    return Trace(build({"query": [[1]], "key": [[1]]}), plan, values, warnings, labels)

"""The problem of a page: the keys of its file, whose numbers are those of the page's steps, and the command of it."""

from collections.abc import Mapping
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.io.documents import plain_value
from attncli.io.problem_text import values_to_write
from attncli.ops.records import Operator
from attncli.plan.trace import Step, Trace
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.render.view import View

STEP = "@step"  # in place of an array: the step that has its numbers


def problem_object(view: View, steps: Mapping[str, str | None]) -> dict[str, Any]:
    """The problem of a view as a page has it; `steps` has the key that each input is changed by, or None.

    - `command`: the words of the command line that gives the problem; none where it is from no command.
    - `keys`: those of its file as JSON has them, with `{"@step": name, "is_transposed": …}` in place of each array
      whose numbers a step has.
    - `takes_mask`: whether a table of 1 for what is visible is its `mask`.
    """
    trace = view.result.trace
    title = {"title": view.title} if view.title else {}
    values = values_to_write(trace.problem)
    by_key = {key: trace[name] for name, key in steps.items() if key is not None}
    keys = {key: _value(key, value, trace, by_key) for key, value in values.items()}
    takes_mask = trace.problem.convention is None  # those of a convention may have 1 for what is hidden
    return {"command": list(view.command), "keys": {**title, **keys}, "takes_mask": takes_mask}


def _value(key: str, value: Any, trace: Trace, by_key: Mapping[str, Step]) -> Any:
    """The value of a key, with steps in place of arrays."""
    if isinstance(value, Operator):
        given = {name: _value(f"{key}.{name}", one, trace, by_key) for name, one in value.given.items()}
        return {value.record.name: given} if given else value.record.name
    return _array(key, value, trace, by_key) or plain_value(value)


def _array(key: str, value: Any, trace: Trace, by_key: Mapping[str, Step]) -> dict[str, Any] | None:
    """The step with the numbers of an array; None where there is none, or the value is not an array."""
    if not isinstance(value, np.ndarray):
        return None
    if key in by_key:
        return {STEP: by_key[key].name, "is_transposed": _is_transposed(key, trace.problem)}
    same = (step for step in trace if step.node.is_input and np.array_equal(step.value, value, equal_nan=True))
    step = next(same, None)
    return None if step is None else {STEP: step.name, "is_transposed": False}


def _is_transposed(key: str, problem: ProblemSpec) -> bool:
    """Whether the file has an array's last two axes the other way round than its step."""
    name, _, parameter = key.partition(".")
    row = getattr(problem, name).record.parameter(parameter) if parameter else FIELDS[name]
    return row.is_weight and problem.weight_layout == "out_in"

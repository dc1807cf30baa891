"""The result as one object of names and arrays, which JSON and YAML write out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.program import __version__
from attncli.plan.trace import Step
from attncli.render.problem_object import problem_object
from attncli.render.selection import selected_labels, selected_value
from attncli.render.view import View

FORMAT = "attn.result/1"
FIRST_STEPS = ("query", "key", "value")


def result_object(view: View) -> dict[str, Any]:
    """How the result came about, the labels, the selected results, their statistics, with `explain` also every step."""
    trace = view.result.trace
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "problem": problem_object(trace),
        "pipeline": dict(trace.pipeline),
        "query_tokens": list(trace.labels["n"]),
        "key_tokens": list(trace.labels["m"]),
    }
    content |= {name: selected_value(view, trace[name]) for name in view.result.select}
    if view.statistics:
        content["statistics"] = _statistics(view)
    if view.edited_cells and view.before is not None:
        before = replace(view, result=view.before)
        content["set"] = [vars(cell) for cell in view.edited_cells]
        content["before"] = {name: selected_value(before, view.before.trace[name]) for name in _names_before(view)}
        content["before"] |= {"statistics": _statistics(before)} if view.statistics else {}
    if view.explain:
        # A script finds query, key and value first, even where positions were added to embeddings before.
        steps = sorted(view.steps, key=lambda step: step.name not in FIRST_STEPS)
        content["steps"] = [_step_object(view, step) for step in steps]
    return content


def _statistics(view: View) -> Mapping[str, Any]:
    """The statistics of a view."""
    from attncli.render.statistics import statistics_object  # noqa: PLC0415 - only `--stats` needs it

    return statistics_object(view)


def _names_before(view: View) -> Sequence[str]:
    """The names of what is written of the result before edits: as of that after, as far as there was such a step."""
    assert view.before is not None
    trace = view.before.trace
    return [name for name in dict.fromkeys((*view.result.select, *view.names)) if name in trace]


def _step_object(view: View, step: Step) -> dict[str, Any]:
    """One step, or what the view selects of it, with the labels of its last two axes."""
    value = selected_value(view, step)
    return {
        "name": step.name,
        "symbol": step.symbol,
        "formula": step.formula,
        "shape": list(value.shape),
        "rows": list(selected_labels(view, step, -2)),
        "columns": list(selected_labels(view, step, -1)),
        "value": value,
    }

"""What the page knows of a result: steps, axes and numbers as one object, which its scripts read as JSON."""

from typing import Any

from attncli import __version__
from attncli.base.axes import AXIS_NOUNS
from attncli.base.lazy_numpy import Array
from attncli.plan.graph import Node, Plan
from attncli.plan.purposes import purpose_of
from attncli.render.view import View
from attncli.trace.steps import Step, Trace

FORMAT = "attn.page/1"


def page_object(view: View) -> dict[str, Any]:
    """The object that the scripts of the page read.

    `axes` has what an axis counts, its length, and its labels where it has some, by its letter. `values` has the shape
    and the numbers in order of every step that was computed or given, by name. `nodes` has what is known of each step
    besides; a plan is a list of positions in it, in the order of computation.
    """
    trace = view.result.trace
    plan = trace.plan
    return {
        "format": FORMAT,
        "version": __version__,
        "title": view.heading,
        "decimals": view.decimals,
        "dtype": trace.precision.name,
        "axes": _axes(trace),
        "select": [plan.resolve(name) for name in view.result.select],
        "results": dict(plan.results),
        "nodes": [_node(plan, node) for node in plan.nodes],
        "plans": [{"nodes": list(range(len(plan.nodes)))}],
        "values": {step.name: _value(step.value) for step in trace.steps},
        "labels": {step.name: _labels(trace, step) for step in trace.steps},
        "warnings": list(trace.notes),
    }


def _axes(trace: Trace) -> dict[str, Any]:
    """The axes of a plan by letter: the noun of one entry, the length, and the labels where entries have some."""
    letters = dict.fromkeys(letter for node in trace.plan.nodes for letter in node.letters)
    return {
        letter: {
            "noun": AXIS_NOUNS.get(letter, letter),
            "length": trace.plan.axis_length(letter),
            "labels": list(trace.numbered_labels.get(letter, ())),
        }
        for letter in letters
    }


def _node(plan: Plan, node: Node) -> dict[str, Any]:
    """What is known of a step besides its numbers."""
    return {
        "name": node.name,
        "symbol": node.symbol,
        "formula": node.formula,
        "purpose": purpose_of(plan, node),
        "stage": node.stage,
        "axes": list(node.letters),
        "function": node.function.__name__.rstrip("_") if node.function is not None and not node.is_input else None,
        "inputs": dict(node.inputs),
        "options": {name: value for name, value in node.options.items() if isinstance(value, (int, float, str, list))},
        "tapped_from": node.tapped_from,
        "taps": dict(node.taps),
        "source": list(node.source),
    }


def _labels(trace: Trace, step: Step) -> list[list[str]]:
    """The labels of the rows and of the columns of a step."""
    return [list(trace.numbered_labels_of(step, axis)) for axis in (-2, -1)]


def _value(value: Array) -> dict[str, Any]:
    """An array as its shape and its numbers in the order of rows; booleans are 1 and 0."""
    numbers = value.astype("int64") if value.dtype.kind == "b" else value
    return {"shape": list(value.shape), "data": numbers.reshape(-1)}

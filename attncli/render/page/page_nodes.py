"""The nodes of a page's plans: what is known of each step besides the numbers of the problem."""

from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.records import ParameterMapping
from attncli.plan.steps import purpose_of
from attncli.plan.trace import Step, Trace
from attncli.problem.edits import find_array
from attncli.render.explanation import shapes_of
from attncli.render.formats.mathml import mathml_line
from attncli.render.hidden_cells import VISIBLE_STEP
from attncli.render.mask_signs import signs_of_rules
from attncli.render.page.functions import computing_function
from attncli.render.page.node_formulas import node_formula, settings_of
from attncli.render.step_text import format_shape


def node_object(trace: Trace, step: Step) -> dict[str, Any]:
    """What is known of a step: its text, the labels of its axes, and all that its function is called with."""
    node, has_scale = step.node, trace.problem.scale is not None
    return {
        **_description(trace, step, has_scale=has_scale),
        "shapes": shapes_of(trace, step),
        "edit_key": _edit_key(trace, step),
        "function": computing_function(node),
        "inputs": dict(node.inputs),
        "options": {} if node.is_input else {name: _plain(value) for name, value in node.options.items()},
        "tapped_from": node.tapped_from,
        "taps": dict(node.taps),
        "settings": settings_of(node, has_scale=has_scale),
        "signs": _signs(trace, step),
    }


def result_object(trace: Trace, step: Step) -> dict[str, Any]:
    """What is known of a step of a page that lacks the others: as if it were given, nothing leads from it to them."""
    return {
        **_description(trace, step, has_scale=False),
        "shapes": format_shape(step),
        "edit_key": None,
        "function": None,
        "inputs": {},
        "options": {},
        "tapped_from": None,
        "taps": {},
        "settings": {},
        "signs": None,
    }


def _description(trace: Trace, step: Step, *, has_scale: bool) -> dict[str, Any]:
    """The text of a step, and the labels of its axes."""
    node = step.node
    return {
        "name": node.name,
        "symbol": node.symbol,
        "symbol_mathml": mathml_line(node.symbol),
        **_formula(trace, step, has_scale=has_scale),
        "purpose": purpose_of(trace.plan, node),
        "stage": node.stage,
        "axes": list(node.letters),
        "shape": list(step.value.shape),
        "labels": [list(trace.numbered_labels_of(step, axis)) for axis in (-2, -1)],
    }


def _formula(trace: Trace, step: Step, *, has_scale: bool) -> dict[str, Any]:
    """The formula as text and as markup, and its forms."""
    formula = node_formula(trace.plan, step.node, has_scale=has_scale)
    forms = [{"value": form.value, "mathml": form.mathml} for form in formula.forms]
    return {
        "formula": step.formula,
        "mathml": formula.mathml,
        "formulas": {"setting": formula.setting, "forms": forms} if forms else None,
    }


def _edit_key(trace: Trace, step: Step) -> str | None:
    """The key by which --set changes the numbers of a step; None where they are not an array of the problem."""
    node = step.node
    if not node.is_input or node.function is not None:
        return None
    key = ".".join(node.source)
    try:
        array = find_array(trace.problem, key)
    except AttnError:  # such as weights that are cut out of a packed projection
        return None
    return None if array.is_boolean or array.values.size != step.value.size else key


def _signs(trace: Trace, step: Step) -> list[dict[str, str]] | None:
    """The signs of the rules that all masks together read, in the order of precedence."""
    if step.name != VISIBLE_STEP:
        return None
    rules = signs_of_rules(trace.plan, step.node)
    return [{"input": source, "sign": sign.sign, "meaning": sign.meaning} for source, sign in rules]


def value_object(value: Array) -> dict[str, Any]:
    """An array as its shape and its numbers in the order of rows; booleans are 1 and 0."""
    numbers = value.astype("uint8") if value.dtype.kind == "b" else value
    return {"shape": list(value.shape), "data": numbers.reshape(-1)}


def _plain(value: Any) -> Any:
    """The value of an option as JSON has it."""
    if isinstance(value, ParameterMapping):
        return value.as_mapping()
    if isinstance(value, np.longdouble):  # a page computes with double precision
        return float(value)
    return list(value) if isinstance(value, tuple) else value

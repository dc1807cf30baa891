"""The nodes of a page's plans: what is known of each step except the numbers of the problem."""

from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.records import OperatorRecord, Parameter, ParameterMapping, format_value
from attncli.plan.builder import formula_in_plan, parameters_in_force
from attncli.plan.graph import Node, Plan
from attncli.plan.trace import Step, Trace
from attncli.problem.edits import find_array
from attncli.render.explanation import format_shape, shapes_of
from attncli.render.formats.mathml import mathml_line
from attncli.render.masks import VISIBLE_STEP, signs_of_rules

SCALE = "scale"  # the setting, the option and the stage
# A number that no formula has, by the kind of a parameter: it marks where the number of a setting is.
_PROBES: Mapping[str, float] = {"number": 7.734582, "integer": 7734582}
_SPECIAL = (1.0, 1.5, 2.0)  # at these numbers a formula may have another form, as that of entmax at α = 1, 1.5 and 2
_OURS = "attncli."
# What a node has that is given, or whose inputs the page does not have.
_GIVEN: Mapping[str, Any] = {
    "edit_key": None,
    "function": None,
    "inputs": {},
    "options": {},
    "tapped_from": None,
    "taps": {},
    "settings": {},
    "signs": None,
}


def node_object(trace: Trace, step: Step) -> dict[str, Any]:
    """What is known of a step: its text, the labels of its axes, and all that its function is called with."""
    node, has_scale = step.node, trace.problem.scale is not None
    rules = signs_of_rules(trace.plan, node) if step.name == VISIBLE_STEP else ()  # in the order of precedence
    signs = [{"input": source, "sign": sign.sign, "meaning": sign.meaning} for source, sign in rules]
    return {
        **_description(trace, step, has_scale=has_scale),
        "shapes": shapes_of(trace, step),
        "edit_key": _edit_key(trace, step),
        "function": computing_function(node),
        "inputs": dict(node.inputs),
        "options": {} if node.is_input else {name: _plain(value) for name, value in node.options.items()},
        "tapped_from": node.tapped_from,
        "taps": dict(node.taps),
        "settings": _settings(node, has_scale=has_scale),
        "signs": signs if step.name == VISIBLE_STEP else None,
    }


def node_object_alone(trace: Trace, step: Step) -> dict[str, Any]:
    """What is known of a step on a page without the others: it looks like an array that was given."""
    return {**_description(trace, step, has_scale=False), "shapes": format_shape(step), **_GIVEN}


def value_object(value: Array) -> dict[str, Any]:
    """An array as its shape and its numbers in the order of rows; booleans are 1 and 0."""
    numbers = value.astype("uint8") if value.dtype.kind == "b" else value
    return {"shape": list(value.shape), "data": numbers.reshape(-1)}


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function of a plan; the name of another package's function begins with its module.

    >>> from attncli.ops.normalizers import sum_
    >>> function_name(sum_), function_name(len)
    ('sum', 'builtins.len')
    """
    module, name = str(function.__module__), function.__name__.rstrip("_")
    return name if module.startswith(_OURS) else f"{module}.{name}"


def computing_function(node: Node) -> str | None:
    """The name of the function that computes a node from others; None of an input and of an inner quantity."""
    return None if node.function is None or node.is_input else function_name(node.function)


def changeable_parameters(record: OperatorRecord) -> list[Parameter]:
    """The parameters of an operator that a page can change: those that are numbers."""
    return [parameter for parameter in record.parameters if parameter.kind in _PROBES]


def _description(trace: Trace, step: Step, *, has_scale: bool) -> dict[str, Any]:
    """The text of a step, and the labels of its axes."""
    node = step.node
    return {
        "name": node.name,
        "symbol": node.symbol,
        "symbol_mathml": mathml_line(node.symbol),
        "formula": step.formula,
        **node_formula(trace.plan, node, has_scale=has_scale),
        "purpose": node.purpose,
        "stage": node.stage,
        "axes": list(node.letters),
        "shape": list(step.value.shape),
        "labels": [list(trace.numbered_labels_of(step, axis)) for axis in (-2, -1)],
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


def _plain(value: Any) -> Any:
    """The value of an option as JSON has it."""
    if isinstance(value, ParameterMapping):
        return value.as_mapping()
    if isinstance(value, np.longdouble):  # a page computes with double precision
        return float(value)
    return list(value) if isinstance(value, tuple) else value


def _settings(node: Node, *, has_scale: bool) -> dict[str, str]:
    """The setting of the page that each option of a node follows: the scale, and the numbers of the normalizer.

    `has_scale` says that the problem has a scale of its own, and not that of the score.
    """
    if node.stage == SCALE:
        return {SCALE: SCALE} if has_scale else {}
    if node.record is None or node.record.kind != "normalize":
        return {}
    return {parameter.name: parameter.name for parameter in changeable_parameters(node.record)}


def node_formula(plan: Plan, node: Node, *, has_scale: bool) -> dict[str, Any]:
    """The formula of a node as markup, and its forms by the number of a setting, where it has several.

    Numbers that follow a setting are in elements with the attribute `data-setting`.
    """
    if node.stage == SCALE and has_scale:
        number, probe = format_value(node.options[SCALE]), format_value(_PROBES["number"])
        formula = node.formula.replace(number, probe, 1)
        return {"mathml": _with_setting(formula, probe, SCALE, number), "formulas": None}
    outer = node if node.tapped_from is None else plan.by_name[node.tapped_from]
    record = outer.record
    parameters = changeable_parameters(record) if record is not None and record.kind == "normalize" else []
    if record is None or not record.is_built_in or len(parameters) != 1:
        return {"mathml": mathml_line(node.formula), "formulas": None}
    (parameter,) = parameters
    forms, in_force = list(_forms(plan, node, outer, parameter)), outer.options[parameter.name]
    own = next(form["mathml"] for form in forms if form["value"] in (None, in_force))
    return {"mathml": own, "formulas": {"setting": parameter.name, "forms": forms} if len(forms) > 1 else None}


def _forms(plan: Plan, node: Node, outer: Node, parameter: Parameter) -> Iterator[dict[str, Any]]:
    """The forms of a formula that has a parameter: those at special numbers, and last, with None, that at any other."""
    name, number = parameter.name, format_value(outer.options[parameter.name])
    probe = _PROBES[parameter.kind]
    general = _formula_with(plan, node, outer, {name: probe})
    for value in _SPECIAL if parameter.kind == "number" else ():
        formula = _formula_with(plan, node, outer, {name: value})
        if formula != general.replace(format_value(probe), format_value(value)):
            yield {"value": value, "mathml": mathml_line(formula)}
    yield {"value": None, "mathml": _with_setting(general, format_value(probe), name, number)}


def _formula_with(plan: Plan, node: Node, outer: Node, parameters: Mapping[str, Any]) -> str:
    """The formula of a node, or of an inner quantity of one, with other parameters of the operator `outer`."""
    record = outer.record
    assert record is not None
    in_force = {**parameters_in_force(outer, record), **parameters}
    quantity = next((one for one in record.inner if outer.taps[one.name] == node.name), record)
    return formula_in_plan(quantity.formula_with(in_force), outer, plan.by_name)


def _with_setting(formula: str, probe: str, setting: str, number: str) -> str:
    """The markup of a formula in which the number of a setting, marked, is in the place of the probe."""
    marked = f'<mn data-setting="{setting}">{escape(number)}</mn>'
    return mathml_line(formula).replace(f"<mn>{probe}</mn>", marked)

"""The formulas of a node as markup, in which the numbers that a page can change are marked."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.ops.records import OperatorRecord, Parameter, format_value
from attncli.plan.builder import formula_in_plan, parameters_in_force
from attncli.plan.graph import Node, Plan
from attncli.render.formats.mathml import mathml_line
from attncli.render.page.plan_variants import changeable_parameters

SCALE = "scale"  # the setting, the option and the stage
# A number that no formula has: that of a setting stands in its place.
_PROBES: Mapping[str, float] = {"number": 7.734582, "integer": 7734582}
# Numbers at which a formula may have another form, as that of entmax at α = 1, 1.5 and 2.
_SPECIAL = (1.0, 1.5, 2.0)


@dataclass(frozen=True)
class Form:
    """A form of a formula as markup: where its setting has the value, or, with None, any other."""

    value: float | None
    mathml: str


@dataclass(frozen=True)
class NodeFormula:
    """The formula of a node as markup, and its forms by the number of a setting, where it has one."""

    mathml: str
    setting: str | None = None
    forms: tuple[Form, ...] = ()


def settings_of(node: Node, *, has_scale: bool) -> dict[str, str]:
    """The setting of the page that each option of a node follows: the scale, and the numbers of the normalizer.

    `has_scale` says that the problem has a scale of its own, and not that of the score.
    """
    if node.stage == SCALE:
        return {SCALE: SCALE} if has_scale else {}
    if node.record is None or node.record.kind != "normalize":
        return {}
    return {parameter.name: parameter.name for parameter in changeable_parameters(node.record)}


def node_formula(plan: Plan, node: Node, *, has_scale: bool) -> NodeFormula:
    """The formula of a node; numbers that follow a setting stand in elements with the attribute `data-setting`."""
    if node.stage == SCALE and has_scale:
        number = format_value(node.options[SCALE])
        probe = format_value(_PROBES["number"])
        return NodeFormula(_with_setting(node.formula.replace(number, probe, 1), probe, SCALE, number), SCALE)
    outer = node if node.tapped_from is None else plan.by_name[node.tapped_from]
    record = outer.record
    parameters = changeable_parameters(record) if record is not None and record.kind == "normalize" else []
    if record is None or not record.is_built_in or len(parameters) != 1:
        return NodeFormula(mathml_line(node.formula))
    (parameter,) = parameters
    forms = tuple(_forms(plan, node, outer, parameter))
    in_force = outer.options[parameter.name]
    own = next(form.mathml for form in forms if form.value in (None, in_force))
    return NodeFormula(own, parameter.name, forms if len(forms) > 1 else ())


def _forms(plan: Plan, node: Node, outer: Node, parameter: Parameter) -> Iterator[Form]:
    """The forms of a formula that has a parameter: those at special numbers, and last that at any other."""
    name, number = parameter.name, format_value(outer.options[parameter.name])
    probe = _PROBES[parameter.kind]
    general = _formula_with(plan, node, outer, {name: probe})
    for value in _SPECIAL if parameter.kind == "number" else ():
        formula = _formula_with(plan, node, outer, {name: value})
        if formula != general.replace(format_value(probe), format_value(value)):
            yield Form(value, mathml_line(formula))
    yield Form(None, _with_setting(general, format_value(probe), name, number))


def _formula_with(plan: Plan, node: Node, outer: Node, parameters: Mapping[str, Any]) -> str:
    """The formula of a node with other parameters of the operator that computes it."""
    record = outer.record
    assert record is not None
    in_force = {**parameters_in_force(outer, record), **parameters}
    return formula_in_plan(_general_formula(record, node, outer, in_force), outer, plan.by_name)


def _general_formula(record: OperatorRecord, node: Node, outer: Node, parameters: Mapping[str, Any]) -> str:
    """The formula of an operator, or of one of its inner quantities, as its record has it."""
    if node is outer:
        return record.formula_with(parameters)
    quantity = next(one for one in record.inner if outer.taps[one.name] == node.name)
    return quantity.formula_with(parameters)


def _with_setting(formula: str, probe: str, setting: str, number: str) -> str:
    """The markup of a formula in which the number of a setting, marked, stands in place of the probe."""
    marked = f'<mn data-setting="{setting}">{escape(number)}</mn>'
    return mathml_line(formula).replace(f"<mn>{probe}</mn>", marked)

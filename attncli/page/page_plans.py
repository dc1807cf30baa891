"""The plans of a page: the problem's own, those with other choices, and the facts about their nodes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import product
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.engine.dense import DenseEngine
from attncli.ops.records import Operator, OperatorRecord, Parameter, ParameterMapping, format_value
from attncli.ops.registry import registered
from attncli.page.guide import Story, story_of
from attncli.page.programs import SPECIAL, PageProgram, function_name, is_in_scripts, page_program
from attncli.plan.build import plan_of
from attncli.plan.builder import formula_in_plan, parameters_in_force
from attncli.plan.graph import GRADIENT, Node, Plan, gradient_name
from attncli.plan.trace import Step, Trace
from attncli.problem.build import replace_values
from attncli.problem.conventions import find_convention
from attncli.problem.edits import find_array, holds_booleans
from attncli.problem.fields import LSE, WEIGHTS
from attncli.problem.inputs import is_read
from attncli.problem.mask_expressions import operators_of_mask
from attncli.problem.spec import ProblemSpec
from attncli.render.explanation import explained_steps, format_shape, section_of_copies, shapes_of, step_remarks
from attncli.render.formats.mathml import mathml_line
from attncli.render.masks import VISIBLE_STEP, signs_of_rules

SCALE = "scale"  # the setting, the option and the stage
# A number that no formula has, by the kind of a parameter: it marks the number of a setting.
_PROBES: Mapping[str, float] = {"number": 7.734582, "integer": 7734582}
# Fields of a node that is given, or whose inputs the page lacks.
_GIVEN: Mapping[str, Any] = {
    "edit_key": None,
    "function": None,
    "inputs": {},
    "options": {},
    "tapped_from": None,
    "taps": {},
    "settings": {},
    "signs": None,
    "program": None,
    "why_no_program": "",
}


def node_object(trace: Trace, step: Step) -> dict[str, Any]:
    """The facts about a step: its text, the labels of its axes, and all arguments of its function."""
    node, has_scale = step.node, bool(own_choices(trace.problem).has_scale)
    rules = signs_of_rules(trace.plan, node) if step.name == VISIBLE_STEP else ()  # in the order of precedence
    made = program_of_node(trace.problem, trace.plan, node)
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
        "settings": _settings(trace.plan, node, has_scale=has_scale),
        "signs": signs if step.name == VISIBLE_STEP else None,
        "program": made.program,
        "why_no_program": f"{node.title}, {made.reason}" if made.reason and node.record else made.reason,
    }


def node_object_alone(trace: Trace, step: Step) -> dict[str, Any]:
    """The facts about a step on a page without the others: it looks like a given array."""
    return {**_description(trace, step, has_scale=False), "shapes": format_shape(step), **_GIVEN}


def value_object(value: Array) -> dict[str, Any]:
    """An array as its shape and its numbers in the order of rows; booleans are 1 and 0."""
    numbers = value.astype("uint8") if value.dtype.kind == "b" else value
    return {"shape": list(value.shape), "data": numbers.reshape(-1)}


def is_computed_by_page(trace: Trace, step: Step) -> bool:
    """Whether the page can compute a step from others, so that it needs no numbers."""
    node = step.node
    is_known = node.tapped_from is not None or is_in_scripts(node)
    return is_known or program_of_node(trace.problem, trace.plan, node).program is not None


def program_of_node(problem: ProblemSpec, plan: Plan, node: Node) -> PageProgram:
    """The program of a node in a problem's plan, if the page's scripts lack its function."""
    return page_program(plan, node, _settings(plan, node, has_scale=bool(own_choices(problem).has_scale)))


def computing_function(node: Node) -> str | None:
    """The name of the function that computes a node from others; None for an input and an inner quantity."""
    return None if node.function is None or node.is_input else function_name(node.function)


def changeable_parameters(record: OperatorRecord) -> list[Parameter]:
    """The parameters of an operator that a page can change: its numbers."""
    return [parameter for parameter in record.parameters if parameter.kind in _PROBES]


def _description(trace: Trace, step: Step, *, has_scale: bool) -> dict[str, Any]:
    """The text of a step, and the labels of its axes."""
    node = step.node
    return {
        "name": node.name,
        "symbol": node.symbol,
        "symbol_mathml": mathml_line(node.symbol),
        "formula": step.formula,
        **node_formula(trace.problem, trace.plan, node, has_scale=has_scale),
        "purpose": node.purpose,
        "stage": node.stage,
        "axes": list(node.letters),
        "shape": list(step.value.shape),
        "labels": [list(trace.numbered_labels_of(step, axis)) for axis in (-2, -1)],
    }


def _edit_key(trace: Trace, step: Step) -> str | None:
    """The key by which --set changes the numbers of a step; None if they are not an array of the problem."""
    node = step.node
    if not node.is_input or node.function is not None:
        return None
    key = ".".join(node.source)
    try:
        array = find_array(trace.problem, key)
    except AttnError:  # such as weights cut out of a packed projection
        return None
    return None if holds_booleans(key) or array.values.size != step.value.size else key


def _plain(value: Any) -> Any:
    """The value of an option as JSON has it."""
    if isinstance(value, ParameterMapping):
        return value.as_mapping()
    if isinstance(value, np.longdouble):  # a page computes with double precision
        return float(value)
    return list(value) if isinstance(value, tuple) else value


def _settings(plan: Plan, node: Node, *, has_scale: bool) -> dict[str, str]:
    """The setting that each option of a node follows: the scale, and the numbers of the normalizer.

    `has_scale` means that the problem sets its own scale, not the score's. The options of a derivative follow its
    function's.
    """
    forward = _differentiated(plan, node)
    if forward is not node:
        own = _settings(plan, forward, has_scale=has_scale)
        return {option: setting for option, setting in own.items() if option in node.options}
    if node.stage == SCALE:
        return {SCALE: SCALE} if has_scale else {}
    if node.stage == LSE:
        return {name: name for name in node.options if name != "extra"}
    if node.record is None or node.record.kind != "normalize":
        return {}
    return {parameter.name: parameter.name for parameter in changeable_parameters(node.record)}


def _differentiated(plan: Plan, node: Node) -> Node:
    """The node whose function's derivative computes a gradient; any other node itself."""
    gradient = node.inputs.get("grad") if node.stage == GRADIENT else None
    return next((other for other in plan.nodes if gradient_name(other.name) == gradient), node)


def node_formula(problem: ProblemSpec, plan: Plan, node: Node, *, has_scale: bool) -> dict[str, Any]:
    """The formula of a node as markup, and its forms by the number of a setting, if it has several.

    Numbers that follow a setting are in elements with the attribute `data-setting`.
    """
    forward = _differentiated(plan, node)
    if forward.stage == SCALE and has_scale and SCALE in node.options:
        number, probe = format_value(node.options[SCALE]), format_value(_PROBES["number"])
        formula = node.formula.replace(number, probe, 1)
        return {"mathml": _with_setting(formula, probe, SCALE, number), "formulas": None}
    outer = forward if node.tapped_from is None else plan.by_name[node.tapped_from]
    record = outer.record
    parameters = changeable_parameters(record) if record is not None and record.kind == "normalize" else []
    if record is None or not record.is_built_in or len(parameters) != 1:
        return {"mathml": mathml_line(node.formula), "formulas": None}
    (parameter,) = parameters
    forms, in_force = list(_forms(problem, plan, node, parameter)), outer.options[parameter.name]
    own = next(form["mathml"] for form in forms if form["value"] in (None, in_force))
    return {"mathml": own, "formulas": {"setting": parameter.name, "forms": forms} if len(forms) > 1 else None}


def _forms(problem: ProblemSpec, plan: Plan, node: Node, parameter: Parameter) -> Iterator[dict[str, Any]]:
    """The forms of a formula with a parameter: at special numbers, and last, with None, at any other."""
    name, probe = parameter.name, _PROBES[parameter.kind]
    number = format_value(problem.normalize.parameters[name])
    general = _formula_with(problem, plan, node, {name: probe})
    for value in SPECIAL if parameter.kind == "number" else ():
        formula = _formula_with(problem, plan, node, {name: value})
        if formula != general.replace(format_value(probe), format_value(value)):
            yield {"value": value, "mathml": mathml_line(formula)}
    yield {"value": None, "mathml": _with_setting(general, format_value(probe), name, number)}


def _formula_with(problem: ProblemSpec, plan: Plan, node: Node, parameters: Mapping[str, Any]) -> str:
    """The formula of a node with other normalizer parameters: its own, an inner quantity's or the gradient's."""
    if node.stage == GRADIENT:
        normalizer = problem.normalize
        changed = {normalizer.record.name: {**normalizer.given, **parameters}}
        return plan_of(replace_values(problem, {"normalize": changed})).by_name[node.name].formula
    outer = node if node.tapped_from is None else plan.by_name[node.tapped_from]
    record = outer.record
    assert record is not None
    in_force = {**parameters_in_force(outer, record), **parameters}
    quantity = next((one for one in record.inner if outer.taps[one.name] == node.name), record)
    return formula_in_plan(quantity.formula_with(in_force), outer, plan.by_name)


def _with_setting(formula: str, probe: str, setting: str, number: str) -> str:
    """The markup of a formula with the marked number of a setting in place of the probe."""
    marked = f'<mn data-setting="{setting}">{escape(number)}</mn>'
    return mathml_line(formula).replace(f"<mn>{probe}</mn>", marked)


@dataclass(frozen=True)
class Choices:
    """The differences between plans of a page; None if a problem lacks the choice."""

    causal: bool | None = None
    has_scale: bool | None = None
    normalizer: str | None = None


@dataclass(frozen=True)
class PlanVariant:
    """A problem with other choices. The first variant of a page is the problem itself."""

    choices: Choices
    problem: ProblemSpec


def own_choices(problem: ProblemSpec) -> Choices:
    """The choices of a problem, among those that it has."""
    return Choices(
        problem.causal if _can_be_causal(problem) else None,
        problem.scale is not None if problem.given_table is None else None,
        problem.normalize.record.name if is_read(problem, "normalize") else None,
    )


def plan_variants(problem: ProblemSpec) -> list[PlanVariant]:
    """The problem itself, then every valid problem with another combination of choices."""
    own = own_choices(problem)
    operators = {operator.record.name: operator for operator in normalizers(problem)}
    variants = [PlanVariant(own, problem)]
    for causal, has_scale, name in product(_both(own.causal), _both(own.has_scale), operators or [None]):
        choices = Choices(causal, has_scale, name)
        if choices == own:
            continue
        values: dict[str, Any] = {} if causal is None else {"causal": causal}
        if name is not None:
            values["normalize"] = {name: operators[name].given}
        scale = None if has_scale is False else problem.scale
        if has_scale and scale is None:
            scale = own_scale(problem)
        try:
            other = replace_values(replace(problem, scale=scale), values)
            plan_of(other)
        except AttnError:  # a context that draws by weights that are no probabilities, or no derivative
            continue
        variants.append(PlanVariant(choices, other))
    return variants


def own_scale(problem: ProblemSpec) -> float:
    """The default scale of a problem's score, 1/√d; 1 if it has none."""
    factorization = problem.score.record.factorization
    return 1.0 if factorization is None else factorization.scale(problem.scaled_features)


def normalizers(problem: ProblemSpec) -> list[Operator]:
    """The problem's own normalizer and this package's, with their parameters; none if no step reads one."""
    own = problem.normalize
    if not is_read(problem, "normalize"):
        return []
    records = (record for record in registered("normalize").values() if record.is_built_in and record is not own.record)
    return [own, *(Operator(record, _required_parameters(record)) for record in records)]


def _required_parameters(record: OperatorRecord) -> dict[str, Any]:
    """The parameters that an operator requires, from its example."""
    return {one.name: record.example[one.name] for one in record.parameters if one.required}


def _both(choice: bool | None) -> tuple[bool | None, ...]:
    """A choice and the other one; None alone."""
    return (None,) if choice is None else (choice, not choice)


def _can_be_causal(problem: ProblemSpec) -> bool:
    """Whether a causal mask can be added and removed.

    It can't if the key `mask` chooses a mask of that name, and if other keys affect it that `replace_values` does not
    know: the alignment of a convention.
    """
    is_rule = any(operator.record.name == "causal" for operator in operators_of_mask(problem.mask))
    if is_rule or not is_read(problem, "causal"):
        return False
    if problem.convention is None or problem.causal:
        return True
    reading = find_convention(problem.convention.name).reading("causal", True)
    return reading is None or not reading.keys


class PagePlans:
    """The nodes, sections, results and plans of a page; the list has shared ones once."""

    def __init__(self, own: Trace, select: Sequence[str], *, has_guide: bool = False) -> None:
        self.own = own
        self.select = select
        self.has_guide = has_guide
        self.stories: list[Story | None] = []  # for each plan
        self.told: dict[str, Node] = {}  # the nodes of stops of every plan, by name
        self.nodes: list[dict[str, Any]] = []
        self.sections: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self.plans: list[dict[str, Any]] = []
        self._positions: dict[str, int] = {}  # position of each of them, by its text as JSON

    def add_variant(self, variant: PlanVariant) -> None:
        """Add the plan of a variant, and its new nodes."""
        trace = _variant_trace(variant, self.own)
        constant = frozenset[str]() if trace is self.own else _constant_nodes(trace.plan)
        nodes = [self._position(node_object(trace, step), step, has_value=step.name in constant) for step in trace]
        sections = list(_sections(trace, self.select))
        self._add(variant.choices, nodes, trace.plan.results, sections)
        if self.has_guide:
            self.stories.append(self._story(trace))

    def _story(self, trace: Trace) -> Story | None:
        """The story of a plan; None if it computes nothing."""
        story = story_of(trace)
        if story is not None:
            self.told |= {stop.step: trace.plan.by_name[stop.step] for stop in story.stops}
        return story

    def add_results(self, steps: Sequence[Step]) -> None:
        """Add a plan of some steps without their inputs."""
        nodes = [self._position(node_object_alone(self.own, step), step, has_value=False) for step in steps]
        names = {step.name for step in steps}
        results = {result: name for result, name in self.own.plan.results.items() if name in names}
        self._add(Choices(), nodes, results, [_section(self.own, None, step) for step in steps])

    def _add(
        self, choices: Choices, nodes: list[int], results: Mapping[str, str], sections: list[dict[str, Any]]
    ) -> None:
        """Add a plan of the nodes at some positions."""
        self.plans.append({**vars(choices), "nodes": nodes, "results": self._place(self.results, {**results})})
        self.plans[-1]["sections"] = [self._place(self.sections, section) for section in sections]

    def _position(self, node: dict[str, Any], step: Step, *, has_value: bool) -> int:
        """The position of a node; it keeps its numbers if no number of the problem affects it."""
        return self._place(self.nodes, node, {"value": value_object(step.value) if has_value else None})

    def _place(self, listed: list[dict[str, Any]], entry: dict[str, Any], more: Mapping[str, Any] | None = None) -> int:
        """The position of an entry in a list, which gains it, with more, if it is new."""
        text = json.dumps(entry)
        if text not in self._positions:
            self._positions[text] = len(listed)
            listed.append({**entry, **(more or {})})
        return self._positions[text]


def _variant_trace(variant: PlanVariant, own: Trace) -> Trace:
    """The trace of a variant, with computed values for steps that do not depend on the problem's numbers.

    Steps shared with the problem's plan have their values; every other has zeros, which nothing reads.
    """
    plan, problem = plan_of(variant.problem), variant.problem
    plan = plan.for_results(name for name in own.plan.by_name if plan.find(name) is not None)  # with the same on demand
    if plan is own.plan:
        return own
    engine, constant = DenseEngine(plan, problem, problem.precision), _constant_nodes(plan)
    engine.run(node for node in plan.nodes if node.name in constant)
    found: Mapping[str, Any] = {
        node.name: own[node.name].value
        for node in plan.nodes
        if node.name in own and own[node.name].node == node and node.name not in engine.values
    }
    zeros = {node.name: np.broadcast_to(0.0, node.shape) for node in plan.nodes}
    return Trace(problem, plan, {**zeros, **found, **engine.values}, {})


def _constant_nodes(plan: Plan) -> frozenset[str]:
    """The names of the nodes that no number of the problem affects: indices, and rules on them."""
    constant: set[str] = set()
    for node in plan.nodes:
        is_computed = not node.is_input and node.tapped_from is None
        if is_computed and constant.issuperset(node.inputs.values()):
            constant.add(node.name)
    return frozenset(constant)


def _sections(trace: Trace, select: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The sections of a plan: inputs first, then the steps before the results, in their order."""
    found = [name for name in select if trace.plan.find(name) is not None]
    needed = trace.plan.needed_for(found or [trace.plan.results[WEIGHTS]])
    for entry in explained_steps(trace, needed):
        if not entry.are_copies:
            yield _section(trace, entry.number, entry.steps[0])
            continue
        section = section_of_copies(trace, entry)
        yield {
            "number": entry.number,
            "names": [step.name for step in entry.steps],
            "formula": section.formula,
            "mathml": mathml_line(section.formula),
            "purpose": section.purpose,
            "remarks": [],
        }


def _section(trace: Trace, number: int | None, step: Step) -> dict[str, Any]:
    """The section of one step, whose node has its formula and its purpose."""
    no_text = {"formula": None, "mathml": None, "purpose": None}
    return {"number": number, "names": [step.name], **no_text, "remarks": list(step_remarks(trace, step))}

"""The plans of a page: the problem's own, and those with other choices of causal, scale and normalizer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.engine.dense import DenseEngine
from attncli.ops.records import Operator, OperatorRecord
from attncli.ops.registry import registered
from attncli.plan.build import plan_of
from attncli.plan.graph import Plan
from attncli.plan.trace import Step, Trace
from attncli.problem.build import replace_values
from attncli.problem.conventions import find_convention
from attncli.problem.fields import WEIGHTS
from attncli.problem.inputs import is_read
from attncli.problem.spec import ProblemSpec
from attncli.render.explanation import explained_steps, section_of_copies, step_remarks
from attncli.render.formats.mathml import mathml_line
from attncli.render.page.document import page_functions
from attncli.render.page.page_nodes import function_name, node_object, node_object_alone, value_object


@dataclass(frozen=True)
class Choices:
    """What distinguishes the plans of a page; None where a problem has no such choice."""

    causal: bool | None = None
    has_scale: bool | None = None
    normalizer: str | None = None


@dataclass(frozen=True)
class PlanVariant:
    """A problem with other choices. The first variant of a page is the problem itself."""

    choices: Choices
    problem: ProblemSpec


def own_choices(problem: ProblemSpec) -> Choices:
    """The choices that a problem has made, of those that it has."""
    return Choices(
        problem.causal if _can_be_causal(problem) else None,
        problem.scale is not None if is_read(problem, "scale") else None,
        problem.normalize.record.name if is_read(problem, "normalize") else None,
    )


def plan_variants(problem: ProblemSpec) -> list[PlanVariant]:
    """The problem itself, then the same with every other combination of choices that is a problem."""
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
        scale = (problem.scale if problem.scale is not None else own_scale(problem)) if has_scale else None
        try:
            variants.append(PlanVariant(choices, replace_values(replace(problem, scale=scale), values)))
        except AttnError:  # such as a context that draws by weights that are not probabilities
            continue
    return variants


def own_scale(problem: ProblemSpec) -> float:
    """The scale that the score of a problem has of its own, 1/√d; 1 where it has none."""
    factorization = problem.score.record.factorization
    return 1.0 if factorization is None else factorization.scale(problem.lengths["d"])


def normalizers(problem: ProblemSpec) -> list[Operator]:
    """The problem's own normalizer and those that a page computes, with their parameters; none where none is read."""
    own = problem.normalize
    if not is_read(problem, "normalize"):
        return []
    records = (record for record in registered("normalize").values() if record is not own.record)
    computed = (record for record in records if function_name(record.function) in page_functions())
    return [own, *(Operator(record, _required_parameters(record)) for record in computed)]


def _required_parameters(record: OperatorRecord) -> dict[str, Any]:
    """The parameters that an operator requires, as its example has them."""
    return {one.name: record.example[one.name] for one in record.parameters if one.required}


def _both(choice: bool | None) -> tuple[bool | None, ...]:
    """A choice and the other one; None alone."""
    return (None,) if choice is None else (choice, not choice)


def _can_be_causal(problem: ProblemSpec) -> bool:
    """Whether a causal mask can be put on and taken off.

    It can't where a mask of that name is chosen by the key `mask`, and where it would be read with other keys, which
    `replace_values` does not know: the alignment of a convention.
    """
    is_rule = isinstance(problem.mask, Operator) and problem.mask.record.name == "causal"
    if is_rule or not is_read(problem, "causal"):
        return False
    if problem.convention is None or problem.causal:
        return True
    reading = find_convention(problem.convention.name).reading("causal", True)
    return reading is None or not reading.keys


class PagePlans:
    """The nodes and plans of a page; a node that several plans share is listed once."""

    def __init__(self, own: Trace, select: Sequence[str]) -> None:
        self.own = own
        self.select = select
        self.nodes: list[dict[str, Any]] = []
        self.plans: list[dict[str, Any]] = []
        self._positions: dict[str, int] = {}  # of each node, by its text as JSON

    def add_variant(self, variant: PlanVariant) -> None:
        """Add the plan of a variant, and the nodes that no plan before it has."""
        trace = _variant_trace(variant, self.own)
        constant = frozenset[str]() if trace is self.own else _constant_nodes(trace.plan)
        nodes = [self._position(node_object(trace, step), step, has_value=step.name in constant) for step in trace]
        sections = list(_sections(trace, self.select))
        self._add(variant.choices, nodes, trace.plan.results, sections)

    def add_results(self, steps: Sequence[Step]) -> None:
        """Add a plan of some steps alone, without those that they are computed from."""
        nodes = [self._position(node_object_alone(self.own, step), step, has_value=False) for step in steps]
        names = {step.name for step in steps}
        results = {result: name for result, name in self.own.plan.results.items() if name in names}
        self._add(Choices(), nodes, results, [_section(self.own, None, step) for step in steps])

    def _add(
        self, choices: Choices, nodes: list[int], results: Mapping[str, str], sections: list[dict[str, Any]]
    ) -> None:
        """Add a plan of the nodes at some positions."""
        self.plans.append({**vars(choices), "nodes": nodes, "results": dict(results), "sections": sections})

    def _position(self, node: dict[str, Any], step: Step, *, has_value: bool) -> int:
        """The position of a node, which is added where there is none like it."""
        text = json.dumps(node)
        if text not in self._positions:
            self._positions[text] = len(self.nodes)
            self.nodes.append({**node, "value": value_object(step.value) if has_value else None})
        return self._positions[text]


def _variant_trace(variant: PlanVariant, own: Trace) -> Trace:
    """The trace of a variant, in which steps that no number of the problem reaches are computed.

    Steps that are those of the own plan have their values; every other has zeros, which nobody reads.
    """
    plan, problem = plan_of(variant.problem), variant.problem
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
    """The names of the nodes that no number of the problem reaches: indices, and rules on them."""
    constant: set[str] = set()
    for node in plan.nodes:
        is_computed = not node.is_input and node.tapped_from is None
        if is_computed and constant.issuperset(node.inputs.values()):
            constant.add(node.name)
    return frozenset(constant)


def _sections(trace: Trace, select: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The sections of a plan: inputs first, then the steps that results are computed from, in their order."""
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

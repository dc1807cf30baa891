"""The plans that a page can go over to: with or without a causal mask and a scale, and with each normalizer."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.engine.dense import DenseEngine
from attncli.ops.records import Operator, OperatorRecord, Parameter
from attncli.ops.registry import registered
from attncli.plan.build import plan_of
from attncli.plan.graph import Node, Plan
from attncli.plan.trace import Trace
from attncli.problem.build import replace_values
from attncli.problem.conventions import find_convention
from attncli.problem.inputs import is_read
from attncli.problem.spec import ProblemSpec
from attncli.render.page.functions import function_name, page_functions

NUMBERS = ("number", "integer")  # the kinds of parameters that a page can change


@dataclass(frozen=True)
class Choices:
    """What distinguishes the plans of a page; None where a problem has no such choice."""

    causal: bool | None
    has_scale: bool | None
    normalizer: str | None


@dataclass(frozen=True)
class PlanVariant:
    """A problem with other choices, and its plan. The first variant of a page is the problem itself."""

    choices: Choices
    problem: ProblemSpec

    @property
    def plan(self) -> Plan:
        """The plan of the problem."""
        return plan_of(self.problem)


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
        except AttnError:  # such as a context that draws by weights that are no probabilities
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
    return [own, *(Operator(record, _parameters_of_example(record)) for record in computed)]


def changeable_parameters(record: OperatorRecord) -> list[Parameter]:
    """The parameters of an operator that are numbers."""
    return [parameter for parameter in record.parameters if parameter.kind in NUMBERS]


def _parameters_of_example(record: OperatorRecord) -> dict[str, Any]:
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


def variant_trace(variant: PlanVariant, own: Trace) -> Trace:
    """The trace of a variant, in which steps that no number of the problem reaches are computed.

    Steps that are those of the own plan have their values; every other has zeros, which nobody reads.
    """
    plan, problem = variant.plan, variant.problem
    if plan is own.plan:
        return own
    engine, constant = DenseEngine(plan, problem, problem.precision), constant_nodes(plan)
    engine.run(node for node in plan.nodes if node.name in constant)
    found: Mapping[str, Any] = {
        node.name: own[node.name].value
        for node in plan.nodes
        if node.name in own and own[node.name].node == node and node.name not in engine.values
    }
    zeros = {node.name: np.broadcast_to(0.0, node.shape) for node in plan.nodes}
    return Trace(problem, plan, {**zeros, **found, **engine.values}, {})


def constant_nodes(plan: Plan) -> frozenset[str]:
    """The names of the nodes that no number of the problem reaches: indices, and rules on them."""
    constant: set[str] = set()
    for node in plan.nodes:
        if _is_computed(node) and constant.issuperset(node.inputs.values()):
            constant.add(node.name)
    return frozenset(constant)


def _is_computed(node: Node) -> bool:
    """Whether a function computes a node from others."""
    return not node.is_input and node.tapped_from is None

"""Slips of the projections: transposed, forgotten, or one array taken for another."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from attncli.analysis.slips.plan_edit import with_inputs, with_nodes
from attncli.analysis.slips.records import Computation, Variant, plan_slip, problem_slip
from attncli.ops import structural
from attncli.plan.graph import Node, Plan
from attncli.problem.weights import CONCATENATED, has_packed

WEIGHTS = ("w_q", "w_k", "w_v", "w_o")
BIASES = ("b_q", "b_k", "b_v", "b_o", "b_qkv", "b_kv", "b_g", "b_qg")


@problem_slip("a matrix of the projections is square")
def projections_transposed(case: Computation) -> Iterator[Variant]:
    """The matrices of the projections are transposed: x Wᵀ instead of x W."""
    square = [name for name in _given(case, WEIGHTS) if getattr(case.problem, name).shape[0] in _columns(case, name)]
    for names in _all_and_each(square):
        transposed = {name: getattr(case.problem, name).swapaxes(-1, -2) for name in names}
        sentence = "" if names == square else f"{names[0]} is transposed: x Wᵀ instead of x W."
        yield Variant(replace(case.problem, **transposed), sentence)


@problem_slip("a projection has a bias")
def no_projection_bias(case: Computation) -> Iterator[Variant]:
    """The biases of the projections are forgotten."""
    given = _given(case, BIASES)
    for names in _all_and_each(given):
        sentence = "" if names == given and len(given) > 1 else f"The bias {names[0]} is forgotten."
        forgotten: dict[str, Any] = dict.fromkeys(names)
        yield Variant(replace(case.problem, **forgotten), sentence)


@problem_slip("projections of several heads are packed in one matrix")
def packing_misread(case: Computation) -> Iterator[Variant]:
    """The columns of packed projections are read in another order than they have."""
    problem, layout = case.problem, case.problem.layout
    if has_packed(vars(problem)):
        apart = "per_head" if layout.kv_heads == layout.heads else "per_group"
        packing = CONCATENATED if problem.packing != CONCATENATED else apart
        sentence = f"The columns of packed projections are read as {packing} instead of {problem.packing}."
        yield Variant(replace(problem, packing=packing), sentence)


@problem_slip("the output is projected, to as many features as the heads have together")
def no_output_projection(case: Computation) -> Iterator[Variant]:
    """The output projection w_o is forgotten: the output is the merged heads themselves."""
    w_o = case.problem.w_o
    if w_o is not None and w_o.shape[-2] == w_o.shape[-1]:
        yield Variant(replace(case.problem, w_o=None, b_o=None))


@plan_slip("keys have as many features as values, and are not the values")
def key_as_value(case: Computation) -> Iterator[Variant]:
    """The keys are used as values."""
    key, value, plan = case.plan.by_name.get("key"), case.plan.by_name.get("value"), case.plan
    context = _context_node(plan)
    if key is None or value is None or context is None or key.shape != value.shape or _are_equal(key, value):
        return
    copied = replace(value, function=structural.identity, inputs={"x": "key"}, options={}, source=())
    yield Variant(with_nodes(plan, copied))
    used = _key_of_scores(plan)
    if used is not None and used.shape == plan[context.inputs["value"]].shape and _is_changed(plan, used):
        sentence = "The keys are used as values, as they are when the scores are computed: rotated or normalized."
        yield Variant(with_inputs(plan, context.name, value=used.name), sentence)


@plan_slip("queries and keys are projected from one sequence, to the same shape")
def query_as_key(case: Computation) -> Iterator[Variant]:
    """The queries are used as keys: both are made with W_Q."""
    query, key = case.plan.by_name.get("query"), case.plan.by_name.get("key")
    if query is None or key is None or "x" not in key.inputs or query.inputs.get("x") != key.inputs["x"]:
        return
    if query.shape == key.shape and not _are_equal(query, key):
        yield Variant(with_nodes(case.plan, replace(key, function=query.function, inputs=query.inputs)))


def _given(case: Computation, names: Sequence[str]) -> list[str]:
    """Those of the arrays that the plan reads, and that are no part of a packed one."""
    return [name for name in names if name in case.plan.by_name and getattr(case.problem, name) is not None]


def _columns(case: Computation, name: str) -> tuple[int, ...]:
    """The number of columns of a matrix."""
    shape: tuple[int, ...] = getattr(case.problem, name).shape
    return shape[1:]


def _all_and_each(names: list[str]) -> Iterator[list[str]]:
    """All of the names together, then each alone."""
    if names:
        yield names
    if len(names) > 1:
        yield from ([name] for name in names)


def _are_equal(node: Node, other: Node) -> bool:
    """Whether two nodes have the same value: one is the other, or both are computed alike from the same."""
    if other.is_identity and other.inputs.get("x") == node.name:
        return True
    return bool(node.inputs) and (node.function, dict(node.inputs)) == (other.function, dict(other.inputs))


def _context_node(plan: Plan) -> Node | None:
    """The node of the context, if it reads values."""
    node = plan.by_name.get("context")
    return node if node is not None and "value" in node.inputs else None


def _key_of_scores(plan: Plan) -> Node | None:
    """The keys that the score reads."""
    for node in plan.nodes:
        if node.stage == "score" and "key" in node.inputs:
            return plan[node.inputs["key"]]
    return None


def _is_changed(plan: Plan, key: Node) -> bool:
    """Whether keys are normalized or rotated, and not only split, concatenated and repeated."""
    while key.name != "key" and key.inputs:
        if key.stage in ("position", "qk_norm"):
            return True
        key = plan[key.inputs.get("x", key.inputs.get("new", ""))]
    return False

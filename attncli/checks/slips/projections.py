"""Slips before the scores: of looked-up tokens, projections and heads."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.checks.slips.records import Computation, Function, Variant, plan_slip, problem_slip, without
from attncli.ops import structural
from attncli.plan.graph import Node, Plan
from attncli.problem.weights import CONCATENATED, has_packed

WEIGHTS = ("w_q", "w_k", "w_v", "w_o")
BIASES = ("b_q", "b_k", "b_v", "b_o", "b_qkv", "b_kv", "b_g", "b_qg")


@problem_slip("the residual stream is normalized")
def no_residual_norm(case: Computation) -> Iterator[Variant]:
    """The layer's norm is forgotten: queries, keys and values are projected from the residual stream itself."""
    if case.problem.embeddings_source != "embeddings":
        yield from without(case, "residual_norm")


@problem_slip("the vectors of tokens are multiplied by a number")
def no_token_scale(case: Computation) -> Iterator[Variant]:
    """The vectors of tokens are not multiplied by token_scale."""
    return without(case, "token_scale")


@problem_slip("vectors of positions are added to the vectors of tokens")
def no_token_positions(case: Computation) -> Iterator[Variant]:
    """The positions of tokens are forgotten: no row of token_positions is added."""
    return without(case, "token_positions")


@problem_slip("vectors of types are added to the vectors of tokens")
def no_token_types(case: Computation) -> Iterator[Variant]:
    """The types of tokens are forgotten: no row of token_types is added."""
    return without(case, "token_types")


@problem_slip("the vectors of tokens are normalized")
def no_token_norm(case: Computation) -> Iterator[Variant]:
    """The norm of the vectors of tokens is forgotten: they are the residual stream as they were added up."""
    if case.problem.embeddings_source == "token_table":
        yield from without(case, "token_norm")


@problem_slip("a matrix of the projections is square")
def projections_transposed(case: Computation) -> Iterator[Variant]:
    """The matrices of the projections are transposed: x Wᵀ instead of x W."""
    shapes = {name: getattr(case.problem, name).shape for name in _given(case, WEIGHTS)}
    square = [name for name, shape in shapes.items() if shape[0] in shape[1:]]
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


def _given(case: Computation, names: Sequence[str]) -> list[str]:
    """The given arrays that the plan reads, except slices of a packed one."""
    return [name for name in names if name in case.plan.by_name and getattr(case.problem, name) is not None]


def _all_and_each(names: list[str]) -> list[list[str]]:
    """All of the names together, then each alone."""
    return [names, *([name] for name in names)] if len(names) > 1 else [names] * len(names)


@problem_slip("projections of several heads are packed in one matrix")
def packing_misread(case: Computation) -> Iterator[Variant]:
    """The columns of packed projections are read in another order than they have."""
    problem, layout = case.problem, case.problem.leading
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
    plan = case.plan
    key, value, context = map(case.node, ("key", "value", "context"))
    if key is None or value is None or context is None or "value" not in context.inputs:
        return
    if key.shape != value.shape or _are_equal(key, value):
        return
    copied = replace(value, function=structural.identity, inputs={"x": "key"}, options={}, source=())
    yield Variant(case.with_nodes(copied))
    used = next((n.inputs["key"] for n in plan.nodes if n.stage == "score" and "key" in n.inputs), None)
    if used is not None and plan[used].shape == plan[context.inputs["value"]].shape and _is_changed(plan, plan[used]):
        sentence = "The keys are used as values, as they are when the scores are computed: rotated or normalized."
        yield Variant(case.with_inputs(context.name, value=plan[used].name), sentence)


def _projected_values(case: Computation) -> Node | None:
    """The node of the values, if they are projected."""
    value = case.node("value")
    return value if value is not None and value.function is structural.project else None


@plan_slip("values are projected by a square matrix", _projected_values)
def values_not_projected(case: Computation, value: Node) -> Iterator[Variant]:
    """The values are not projected: they are the input of their projection."""
    if case.plan[value.inputs["x"]].shape == value.shape:
        yield Variant(case.with_identity("value"))


@plan_slip("values are projected from as many features as keys have")
def values_of_projected_keys(case: Computation) -> Iterator[Variant]:
    """The values are projected from the keys, which are projected already, instead of from the input."""
    key, value = case.node("key"), _projected_values(case)
    if key is None or value is None or "x" not in key.inputs or case.plan[value.inputs["x"]].shape != key.shape:
        return
    yield Variant(case.with_inputs("value", x="key"))


@plan_slip("queries and keys are projected from one sequence, to the same shape")
def query_as_key(case: Computation) -> Iterator[Variant]:
    """The queries are used as keys: both are made with W_Q."""
    query, key = case.node("query"), case.node("key")
    if query is None or key is None or "x" not in key.inputs or query.inputs.get("x") != key.inputs["x"]:
        return
    if query.shape == key.shape and not _are_equal(query, key):
        yield Variant(case.with_nodes(replace(key, function=query.function, inputs=query.inputs)))


def _are_equal(node: Node, other: Node) -> bool:
    """Whether two nodes have the same value: the same node, or the same computation of the same inputs."""
    if other.is_identity and other.inputs.get("x") == node.name:
        return True
    return bool(node.inputs) and (node.function, dict(node.inputs)) == (other.function, dict(other.inputs))


def _is_changed(plan: Plan, key: Node) -> bool:
    """Whether keys are normalized or rotated, beyond splits, concatenation and repetition."""
    while key.name != "key" and key.inputs:
        if key.stage in ("position", "qk_norm"):
            return True
        key = plan[key.inputs.get("x", key.inputs.get("new", ""))]
    return False


@plan_slip("there are several key heads, and fewer than query heads", needs_all="h")
def kv_heads_tiled(case: Computation) -> Iterator[Variant]:
    """The key heads are tiled (0 1 0 1) instead of repeated (0 0 1 1): query head h reads key head h mod g."""
    repeated = [node for node in case.plan.nodes if node.function is structural.repeat_kv]
    if any(case.plan[node.inputs["x"]].axes[-3].length > 1 for node in repeated):
        yield Variant(_with_functions(case, structural.repeat_kv, _tile))


@plan_slip("there are several heads and several queries", needs_all="nh")
def heads_not_transposed(case: Computation) -> Iterator[Variant]:
    """The heads are merged in the wrong order: [heads, queries, features] is reshaped, with no transpose."""
    merged, output = case.node("merged"), case.node("context")
    if merged is not None and merged.axes[-2].length > 1:
        yield Variant(case.with_function("merged", _merge_without_transpose))
        return
    heads, queries = (1, 1) if output is None or output.letters[-3:-1] != ("h", "n") else output.shape[-3:-1]
    if output is not None and heads != queries and min(heads, queries) > 1:  # with as many, both axes are exchanged
        yield Variant(case.with_changed_value(output.name, _output_without_transpose))


@plan_slip("there are several heads and several rows", needs_all="nh")
def heads_split_not_transposed(case: Computation) -> Iterator[Variant]:
    """The heads are split in the wrong order: the array is reshaped to [heads, rows, features], with no transpose."""
    if _splits_heads(case.plan):
        yield Variant(_with_functions(case, structural.split_heads, _split_without_transpose))
        return
    names = [name for name in ("query", "key", "value") if name in case.plan.by_name]
    if all(len(shape := case.plan.by_name[name].shape) > 2 and min(shape[-3:-1]) > 1 for name in names):
        yield Variant(case.with_changed_values(names, _input_without_transpose))


@plan_slip("heads are split off the features, and have several features")
def heads_interleaved(case: Computation) -> Iterator[Variant]:
    """The features are dealt to the heads in turn: head h has the features h, h + heads, h + 2 heads and so on."""
    if _splits_heads(case.plan):
        yield Variant(_with_functions(case, structural.split_heads, _split_interleaved))


def _splits_heads(plan: Plan) -> bool:
    return any(node.function is structural.split_heads and node.axes[-3].length > 1 for node in plan.nodes)


def _with_functions(case: Computation, function: Function, other: Function) -> Computation:
    """The computation in which another function computes every node of one function."""
    for node in case.plan.nodes:
        if node.function is function:
            case = case.with_function(node.name, other)
    return case


def _tile(x: Array, *, heads: int) -> Array:
    """[… g m c] to [… h m c]."""
    repeats = [1] * x.ndim
    repeats[-3] = heads // x.shape[-3]
    return np.tile(x, repeats)


def _output_without_transpose(x: Array) -> Array:
    """[… h n e], reshaped to [… n h e] and then in the right order."""
    *before, heads, rows, features = x.shape
    return x.reshape(*before, rows, heads, features).swapaxes(-3, -2)


def _input_without_transpose(x: Array) -> Array:
    """[… h n d], made by reshaping [… n h d]."""
    return x.swapaxes(-3, -2).reshape(x.shape)


def _merge_without_transpose(x: Array) -> Array:
    """[… h n e] reshaped to [… n h·e]."""
    *leading, heads, rows, features = x.shape
    return x.reshape(*leading, rows, heads * features)


def _split_without_transpose(x: Array, *, heads: int) -> Array:
    """[… n h·d] reshaped to [… h n d]."""
    *leading, rows, features = x.shape
    return x.reshape(*leading, heads, rows, features // heads)


def _split_interleaved(x: Array, *, heads: int) -> Array:
    """[… n d·h] to [… h n d]."""
    *leading, rows, features = x.shape
    return np.moveaxis(x.reshape(*leading, rows, features // heads, heads), -1, -3)

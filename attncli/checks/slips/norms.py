"""Slips of norms, gates and limits: forgotten, misplaced, or with other numbers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from attncli.checks.slips.records import Computation, Variant, plan_slip, problem_slip, without
from attncli.ops import structural
from attncli.ops.norms import (
    AFTER_ROPE,
    ALL,
    BEFORE_ROPE,
    HEAD,
    OVER,
    USES,
    WHEN,
    arrays_by_role,
    is_after_rope,
    is_over_all,
)
from attncli.ops.records import Operator
from attncli.ops.registry import registered
from attncli.plan.graph import Node
from attncli.problem.spec import ProblemSpec
from attncli.problem.weights import has_projection

_SPANS = {HEAD: "each head", ALL: "all heads together"}


@problem_slip("queries and keys are normalized")
def no_qk_norm(case: Computation) -> Iterator[Variant]:
    """The norm of queries and keys is forgotten."""
    return without(case, "qk_norm")


@plan_slip("queries and keys are normalized")
def qk_norm_of_one(case: Computation) -> Iterator[Variant]:
    """Only the queries are normalized, or only the keys."""
    for what, other in (("queries", "key"), ("keys", "query")):
        name = f"normalized_{other}"
        if name in case.plan.by_name:
            changed = case.with_identity(name)
            yield Variant(changed, f"Only the {what} are normalized.")


@problem_slip("values are normalized")
def no_value_norm(case: Computation) -> Iterator[Variant]:
    """The norm of the values is forgotten."""
    return without(case, "value_norm")


@problem_slip("a latent is normalized")
def no_latent_norm(case: Computation) -> Iterator[Variant]:
    """The norm of a latent is forgotten."""
    for key, of in (("q_latent_norm", "the query latent"), ("kv_latent_norm", "the latent of keys and values")):
        changed: dict[str, Any] = {key: None}
        if getattr(case.problem, key) is not None:
            yield Variant(replace(case.problem, **changed), f"The norm of {of} is forgotten.")


@problem_slip("the context is normalized")
def no_context_norm(case: Computation) -> Iterator[Variant]:
    """The norm of the context, before w_o, is forgotten."""
    return without(case, "context_norm")


@problem_slip("there are several heads, and a norm has no arrays, or arrays for all their features", needs_all="h")
def norm_span(case: Computation) -> Iterator[Variant]:
    """A norm is taken over each head instead of over all heads together, or the other way."""
    layout = case.problem.leading
    for key, use in USES.items():
        norm = getattr(case.problem, key)
        if norm is None or not norm.record.is_built_in or OVER not in use.parameters:
            continue
        heads = {"h": layout.heads, "g": layout.kv_heads}
        counts = {role: heads[letters[0]] for role, letters in use.letters.items()}
        is_of_all, arrays = is_over_all(norm), list(arrays_by_role(key, norm))
        is_shared = not is_of_all and any(array.ndim == 1 < counts[role] for role, _, array in arrays)
        if max(counts.values()) == 1 or is_shared:  # a vector shared by all heads lacks numbers for all features
            continue
        shaped = {
            name: array.reshape(counts[role], -1) if is_of_all and counts[role] > 1 else array.reshape(-1)
            for role, name, array in arrays
        }
        wrong, right = (HEAD, ALL) if is_of_all else (ALL, HEAD)
        sentence = f"{key} normalizes {_SPANS[wrong]} instead of {_SPANS[right]}."
        yield Variant(_with_norm(case.problem, key, norm, {**norm.given, **shaped, OVER.name: wrong}), sentence)


@problem_slip("a norm has a gain or a bias")
def no_norm_gain(case: Computation) -> Iterator[Variant]:
    """The gain and the bias of a norm are forgotten: vectors are only divided by their size."""
    for key, norm in _norms_with_arrays(case.problem):
        others = {name: value for name, value in norm.given.items() if name not in (*norm.arrays, "gain_plus_one")}
        sentence = f"The gain and the bias of {key} are forgotten: vectors are only divided by their size."
        yield Variant(_with_norm(case.problem, key, norm, others), sentence)


@problem_slip("a norm has a gain")
def gain_misread(case: Computation) -> Iterator[Variant]:
    """A gain that is stored as gain − 1 is used as it is stored, or 1 is added to one that is stored as it is."""
    for key, norm in _norms_with_arrays(case.problem):
        if not any(name.endswith("gain") for name in norm.arrays):
            continue
        is_stored_less_one = bool(norm.given.get("gain_plus_one"))
        sentence = f"1 is added to the gain of {key}, as if it were stored as gain − 1."
        if is_stored_less_one:
            sentence = f"The gain of {key} is used as it is stored, which is gain − 1."
        given = {**norm.given, "gain_plus_one": not is_stored_less_one}
        yield Variant(_with_norm(case.problem, key, norm, given), sentence)


@problem_slip("queries and keys are rotated, and normalized with a gain or a bias")
def norm_beyond_rope(case: Computation) -> Iterator[Variant]:
    """Queries and keys are normalized after they were rotated instead of before, or the other way."""
    norm, position = case.problem.qk_norm, case.problem.position
    if norm is None or not norm.arrays or position is None or position.record.acts_on != "query_and_key":
        return  # without gains the rotation preserves the norm
    is_after = is_after_rope(norm)
    before, after = ("after", "before") if is_after else ("before", "after")
    sentence = f"Queries and keys are normalized {after} they are rotated instead of {before}."
    given = {**norm.given, WHEN.name: BEFORE_ROPE if is_after else AFTER_ROPE}
    yield Variant(_with_norm(case.problem, "qk_norm", norm, given), sentence)


def _norms_with_arrays(problem: ProblemSpec) -> Iterator[tuple[str, Operator]]:
    """The keys of norms with gains or biases, each with its norm."""
    for key in USES:
        norm = getattr(problem, key)
        if norm is not None and norm.record.is_built_in and norm.arrays:
            yield key, norm


def _with_norm(problem: ProblemSpec, key: str, norm: Operator, given: dict[str, Any]) -> ProblemSpec:
    """The problem with other parameters for the norm at a key."""
    changed: dict[str, Any] = {key: Operator(norm.record, given)}
    return replace(problem, **changed)


@plan_slip("the output has a gate", find="gated")
def no_gate(case: Computation, gated: Node) -> Iterator[Variant]:
    """The gate is forgotten: the merged heads are projected as they are."""
    yield Variant(case.with_identity(gated.name))


@plan_slip("the output has a gate", find="gate")
def gate_not_activated(case: Computation, gate: Node) -> Iterator[Variant]:
    """The projected gate itself is multiplied, without its function."""
    yield Variant(case.with_nodes(replace(gate, function=structural.identity)))


@problem_slip("the output has a gate")
def gate_function(case: Computation) -> Iterator[Variant]:
    """The gate has another function."""
    if has_projection(vars(case.problem), "g"):
        own = case.problem.gate.record
        for record in registered("gate").values():
            if record is not own:
                sentence = f"The function of the gate is {record.name} instead of {own.name}."
                yield Variant(replace(case.problem, gate=Operator(record)), sentence)


@problem_slip("queries, keys and values are limited")
def no_clip(case: Computation) -> Iterator[Variant]:
    """Queries, keys and values are not limited by clip_qkv."""
    return without(case, "clip_qkv")


@problem_slip("values are multiplied by a number")
def no_value_scale(case: Computation) -> Iterator[Variant]:
    """The values are not multiplied by value_scale."""
    return without(case, "value_scale")

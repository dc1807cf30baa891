"""Slips of norms: forgotten, at another place, of other features, or with another gain."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from attncli.analysis.slips.records import Computation, Variant, problem_slip
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
from attncli.problem.spec import ProblemSpec

_SPANS = {HEAD: "each head", ALL: "all heads together"}


@problem_slip("queries and keys are normalized")
def no_qk_norm(case: Computation) -> Iterator[Variant]:
    """The norm of queries and keys is forgotten."""
    if case.problem.qk_norm is not None:
        yield Variant(replace(case.problem, qk_norm=None))


@problem_slip("values are normalized")
def no_value_norm(case: Computation) -> Iterator[Variant]:
    """The norm of the values is forgotten."""
    if case.problem.value_norm is not None:
        yield Variant(replace(case.problem, value_norm=None))


@problem_slip("the context is normalized")
def no_context_norm(case: Computation) -> Iterator[Variant]:
    """The norm of the context, before w_o, is forgotten."""
    if case.problem.context_norm is not None:
        yield Variant(replace(case.problem, context_norm=None))


@problem_slip("there are several heads, and a norm has no arrays or those of all their features", needs_all_heads=True)
def norm_span(case: Computation) -> Iterator[Variant]:
    """A norm is taken over each head instead of over all heads together, or the other way."""
    for key, use in USES.items():
        norm = getattr(case.problem, key)
        if norm is None or not norm.record.is_built_in or OVER not in use.parameters:
            continue
        counts = _head_counts(case.problem, key)
        is_of_all, arrays = is_over_all(norm), list(arrays_by_role(key, norm))
        is_shared = not is_of_all and any(array.ndim == 1 < counts[role] for role, _, array in arrays)
        if max(counts.values()) == 1 or is_shared:  # a vector that all heads share has no numbers for all features
            continue
        shaped = {
            name: array.reshape(counts[role], -1) if is_of_all and counts[role] > 1 else array.reshape(-1)
            for role, name, array in arrays
        }
        wrong, right = (HEAD, ALL) if is_of_all else (ALL, HEAD)
        sentence = f"{key} normalizes {_SPANS[wrong]} instead of {_SPANS[right]}."
        yield Variant(
            _with_norm(case.problem, key, Operator(norm.record, {**norm.given, **shaped, OVER.name: wrong})), sentence
        )


@problem_slip("a norm has a gain or a bias")
def no_norm_gain(case: Computation) -> Iterator[Variant]:
    """The gain and the bias of a norm are forgotten: vectors are divided by their size, and no more."""
    for key, norm in _norms_with_arrays(case.problem):
        others = {name: value for name, value in norm.given.items() if name not in (*norm.arrays, "gain_plus_one")}
        sentence = f"The gain and the bias of {key} are forgotten: vectors are divided by their size, and no more."
        yield Variant(_with_norm(case.problem, key, Operator(norm.record, others)), sentence)


@problem_slip("a norm has a gain")
def gain_misread(case: Computation) -> Iterator[Variant]:
    """A gain that is stored as gain − 1 is used as it is stored, or 1 is added to one that is stored as it is."""
    for key, norm in _norms_with_arrays(case.problem):
        if not any(name.endswith("gain") for name in norm.arrays):
            continue
        is_stored_less_one = bool(norm.given.get("gain_plus_one"))
        sentence = (
            f"The gain of {key} is used as it is stored, which is gain − 1."
            if is_stored_less_one
            else f"1 is added to the gain of {key}, as if it were stored as gain − 1."
        )
        given = {**norm.given, "gain_plus_one": not is_stored_less_one}
        yield Variant(_with_norm(case.problem, key, Operator(norm.record, given)), sentence)


@problem_slip("queries and keys are rotated, and normalized with a gain or a bias")
def norm_beyond_rope(case: Computation) -> Iterator[Variant]:
    """Queries and keys are normalized after they were rotated instead of before, or the other way."""
    norm, position = case.problem.qk_norm, case.problem.position
    if norm is None or not norm.arrays or position is None or position.record.acts_on != "query_and_key":
        return  # without gains the rotation leaves the norm as it is
    is_after = is_after_rope(norm)
    before, after = ("after", "before") if is_after else ("before", "after")
    sentence = f"Queries and keys are normalized {after} they are rotated instead of {before}."
    given = {**norm.given, WHEN.name: BEFORE_ROPE if is_after else AFTER_ROPE}
    yield Variant(replace(case.problem, qk_norm=Operator(norm.record, given)), sentence)


def _head_counts(problem: ProblemSpec, key: str) -> dict[str, int]:
    """How many heads each role has that a key normalizes."""
    layout = problem.layout
    counts = {"h": layout.heads, "g": layout.kv_heads}
    return {role: counts[letters[0]] for role, letters in USES[key].letters.items()}


def _norms_with_arrays(problem: ProblemSpec) -> Iterator[tuple[str, Operator]]:
    """The keys of norms that have gains or biases, each with its norm."""
    for key in USES:
        norm = getattr(problem, key)
        if norm is not None and norm.record.is_built_in and norm.arrays:
            yield key, norm


def _with_norm(problem: ProblemSpec, key: str, norm: Operator) -> ProblemSpec:
    """The problem with another norm at a key."""
    changed: dict[str, Any] = {key: norm}
    return replace(problem, **changed)

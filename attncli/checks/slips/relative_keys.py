"""Slips of position schemes that multiply queries by vectors of distances: Shaw's, Transformer-XL's and DeBERTa's."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import sqrt
from typing import Any

from attncli.base.lazy_numpy import Array
from attncli.checks.slips.records import Computation, Variant, function_slip, plan_slip, problem_slip
from attncli.checks.slips.scale import own_scale
from attncli.ops.disentangled import disentangled
from attncli.ops.records import Operator
from attncli.ops.registry import look_up
from attncli.ops.transformer_xl import transformer_xl
from attncli.plan.graph import Node

VECTORS = "queries are multiplied by vectors of distances"


def _node(case: Computation, function: Any = None) -> Node | None:
    """The node of the position terms that a function computes; without a function, any."""
    node = case.node("relative_scores")
    return node if node is not None and function in (None, node.function) else None


def _with_parameters(case: Computation, **changed: Any) -> Iterator[Variant]:
    """The problem whose position scheme has other parameters, None for none, and its present scale."""
    position = case.problem.position
    if position is not None:
        given = {name: value for name, value in {**position.given, **changed}.items() if value is not None}
        scale = own_scale(case.problem) if position.scores_added > 1 else case.problem.scale
        yield Variant(replace(case.problem, position=Operator(position.record, given), scale=scale))


def _at_distances(
    query_positions: Array, key_positions: Array, *, of: str, shift: int, sign: int, **more: Any
) -> Array:
    """The terms of a position scheme at shifted distances, or at their negatives."""
    positions = {"query_positions": sign * query_positions + shift, "key_positions": sign * key_positions}
    terms: Array = look_up("position", of).function(**positions, **more)
    return terms


def _with_distances(case: Computation, shift: int, sign: int) -> Iterator[Variant]:
    """The computation with other distances."""
    node, position = _node(case), case.problem.position
    if node is not None and position is not None and position.record.is_built_in:
        options = {"of": position.record.name, "shift": shift, "sign": sign}
        yield Variant(case.with_function(node.name, _at_distances, **options))


@plan_slip(VECTORS)
def relative_shift(case: Computation) -> Iterator[Variant]:
    """Each distance has the vector of the next one: the shift of the table of relative positions is off by one."""
    for shift in (1, -1):
        for variant in _with_distances(case, shift, 1):
            what = "one more" if shift > 0 else "one less"
            yield Variant(variant.changed, f"Each distance has the vector of {what}: the shift is off by one.")


@plan_slip(VECTORS)
def relative_sign(case: Computation) -> Iterator[Variant]:
    """The distances have the other sign: keys before the query have the vectors of those after it."""
    yield from _with_distances(case, 0, -1)


@plan_slip("there are positions of Transformer-XL, with u and v")
def relative_biases_exchanged(case: Computation) -> Iterator[Variant]:
    """The biases of Transformer-XL are exchanged: u is multiplied by vectors of distances, v by keys."""
    node = _node(case, transformer_xl)
    if node is not None and {"content_bias", "position_bias"} <= set(node.inputs):
        swapped = {"content_bias": node.inputs["position_bias"], "position_bias": node.inputs["content_bias"]}
        yield Variant(case.with_inputs(node.name, **swapped))


@problem_slip("there are positions of Transformer-XL, with u or v")
def no_relative_bias(case: Computation) -> Iterator[Variant]:
    """A bias of Transformer-XL is left out: u, for the content, or v, for the positions."""
    position = case.problem.position
    if position is not None and position.record.function is transformer_xl:
        for name, symbol in (("content_bias", "u, that of the content"), ("position_bias", "v, that of the positions")):
            for variant in _with_parameters(case, **{name: None}) if name in position.given else ():
                yield Variant(variant.changed, f"A bias of Transformer-XL is left out: {symbol}.")


@function_slip("there are positions of Transformer-XL", partial(_node, function=transformer_xl))
def no_relative_keys(query: Array, **more: Any) -> Array:
    """The queries are not multiplied by the vectors of distances: that term of Transformer-XL is left out."""
    return transformer_xl(query * 0, **more)


@problem_slip("there are disentangled positions, with both terms")
def no_disentangled_term(case: Computation) -> Iterator[Variant]:
    """A term of disentangled positions is left out: content to position, or position to content."""
    position = case.problem.position
    if position is not None and position.record.function is disentangled and position.parameters["terms"] == "both":
        for kept, lost in (("p2c", "content to position"), ("c2p", "position to content")):
            for variant in _with_parameters(case, terms=kept):
                yield Variant(variant.changed, f"A term of disentangled positions is left out: {lost}.")


@problem_slip("there are disentangled positions, and scores are divided by √d and the root of the number of terms")
def scale_without_terms(case: Computation) -> Iterator[Variant]:
    """The scores of disentangled positions are divided by √d, without the number of terms: √(3 d)."""
    position, problem = case.problem.position, case.problem
    if position is not None and position.scores_added > 1 and problem.scale is None and own_scale(problem) is not None:
        terms = f"√({position.scores_added} d)"
        sentence = f"The scores are divided by √d, and not by {terms}, the root of the number of terms too."
        yield Variant(replace(problem, scale=1 / sqrt(problem.lengths["d"])), sentence)


def _p2c_node(case: Computation) -> Node | None:
    """The node of the terms of disentangled positions, if position to content is one of them."""
    node = _node(case, disentangled)
    return node if node is not None and node.options["terms"] != "c2p" else None


def _square_p2c_node(case: Computation) -> Node | None:
    """The same, if there are as many queries as keys."""
    return _p2c_node(case) if case.plan.pair_axes[-1].length == case.plan.pair_axes[-2].length else None


@function_slip("there are disentangled positions, with position to content", _p2c_node)
def p2c_reversed(*, query_positions: Array, key_positions: Array, terms: str, **more: Any) -> Array:
    """Position to content has the query of the distance j − i, δ(j, i), instead of i − j."""
    changed = disentangled(query_positions=-query_positions, key_positions=-key_positions, **more, terms="p2c")
    return _terms(changed, terms, query_positions=query_positions, key_positions=key_positions, **more)


@function_slip(
    "there are disentangled positions, with position to content, and as many queries as keys", _square_p2c_node
)
def p2c_not_transposed(*, terms: str, **more: Any) -> Array:
    """Position to content is not transposed: it multiplies the key with the query's number, not with its own."""
    return _terms(disentangled(**more, terms="p2c").mT, terms, **more)


def _terms(changed: Array, terms: str, **more: Any) -> Array:
    """The terms of disentangled positions, with a changed position-to-content term."""
    return changed if terms == "p2c" else disentangled(**more, terms="c2p") + changed

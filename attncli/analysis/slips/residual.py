"""Slips of tokens that are looked up: what is done to their vectors, forgotten; `norms.py` has the norm behind it."""

from collections.abc import Iterator
from dataclasses import replace

from attncli.analysis.slips.records import Computation, Variant, problem_slip


@problem_slip("the residual stream is normalized")
def no_residual_norm(case: Computation) -> Iterator[Variant]:
    """The layer's norm is forgotten: queries, keys and values are projected from the residual stream itself."""
    if case.problem.residual_norm is not None and case.problem.embeddings_source != "embeddings":
        yield Variant(replace(case.problem, residual_norm=None))


@problem_slip("the vectors of tokens are multiplied by a number")
def no_token_scale(case: Computation) -> Iterator[Variant]:
    """The vectors of tokens are not multiplied by token_scale."""
    if case.problem.token_scale is not None:
        yield Variant(replace(case.problem, token_scale=None))


@problem_slip("the vectors of tokens have those of their positions added")
def no_token_positions(case: Computation) -> Iterator[Variant]:
    """The positions of tokens are forgotten: no row of token_positions is added."""
    if case.problem.token_positions is not None:
        yield Variant(replace(case.problem, token_positions=None))

"""Likeness: what problems have in common that differ in nothing but the numbers of their arrays, and their labels."""

from collections.abc import Hashable
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.ops.registry import Operator
from attncli.problem.spec import FIELDS, ProblemSpec

NAMES = {"tokens", "query_tokens", "sentence", "vocabulary"}  # without `only` they choose nothing


def likeness(problem: ProblemSpec) -> Hashable | None:
    """Equal for problems that are computed by one recipe; None where that can't be told."""
    if problem.only is not None:
        return None
    found = tuple(
        (name, _alike(value)) for name in FIELDS if name not in NAMES and (value := getattr(problem, name)) is not None
    )
    try:
        hash(found)
    except TypeError:
        return None
    return found


def _alike(value: Any) -> Any:
    """What counts of a value: of an array its shape and type, of anything else all of it."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype
    if isinstance(value, Operator):
        return value.record, tuple((name, _alike(parameter)) for name, parameter in value.parameters.items())
    return repr(value) if isinstance(value, float) else value  # 0 and −0 are equal and not alike

"""Checked problems, kept by shapes and options: what does not depend on numbers is worked out once."""

from collections.abc import Hashable, Mapping
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.ops.records import Operator
from attncli.problem.arrays import ArrayOrigin
from attncli.problem.operators import PendingRandom
from attncli.problem.spec import FIELDS, ProblemSpec, signature_of

# The kinds of fields whose numbers are checked, or make other arrays of the problem: such a problem has no form.
KINDS_OF_NUMBERS = ("positions", "sequence_bounds", "vocabulary")
MAX_FORMS = 128

NO_ORIGINS: Mapping[str, ArrayOrigin] = {}  # a mapping that can be pickled

# What a problem has besides its arrays, by the form of its values, or of what is given, before it is converted.
_KEPT: dict[Hashable, Mapping[str, Any]] = {}


def cache_key(values: Mapping[str, Any]) -> Hashable | None:
    """The form of converted values, weights in_out: the same for problems that differ in the numbers of arrays alone.

    None where the problem is checked anew each time: where its numbers are checked too, or an array is still to be
    drawn or read.

    >>> import numpy as np
    >>> cache_key({"query": np.zeros((2, 3)), "scale": 0.5}) == cache_key({"query": np.ones((2, 3)), "scale": 0.5})
    True
    >>> cache_key({"positions": np.array([2])}) is None
    True
    """
    form: list[Hashable] = []
    for name, value in values.items():
        kind = type(value)
        if kind is np.ndarray:
            if FIELDS[name].kind in KINDS_OF_NUMBERS:
                return None
            form.append((name, value.shape))
        elif kind is Operator:
            if not _is_known_by_shapes(value) or (value.record.needs_distribution and "weights" in values):
                return None
            form.append((name, signature_of(value)))
        elif kind in (str, int, float, bool, tuple):
            form.append((name, signature_of(value)))
        else:
            return None
    return tuple(form)


def _is_known_by_shapes(operator: Operator) -> bool:
    """Whether every array of an operator is made, and no check reads the numbers in it."""
    if any(isinstance(value, PendingRandom) for value in operator.given.values()):
        return False
    return operator.record.check is None or not operator.arrays


def recall(
    form: Hashable | None, values: Mapping[str, Any], origins: Mapping[str, ArrayOrigin] = NO_ORIGINS
) -> ProblemSpec | None:
    """The problem of values whose form was kept; None where it was not, or its numbers are to be refused.

    It has the arrays among the values themselves.
    """
    kept = _KEPT.get(form) if form is not None else None
    if kept is None:
        return None
    if (key_lengths := values.get("key_lengths")) is not None and key_lengths.max() > kept["lengths"]["m"]:
        return None
    kinds = (np.ndarray, Operator)
    problem = ProblemSpec.__new__(ProblemSpec)
    vars(problem).update(kept)
    vars(problem).update({name: value for name, value in values.items() if type(value) in kinds}, origins=origins)
    return problem


def keep(form: Hashable | None, values: Mapping[str, Any], problem: ProblemSpec) -> None:
    """Keep what a checked problem has besides its arrays, where these are the values themselves."""
    own = {name for name in FIELDS if _has_arrays(getattr(problem, name))}
    own |= {name for name, value in values.items() if type(value) is np.ndarray}
    has_others = any(getattr(problem, name) is not values.get(name) for name in own)
    if form is None or has_others or any(FIELDS[name].kind in KINDS_OF_NUMBERS for name in own):
        return
    _ = problem.signature, problem.precision, problem.default_selection  # worked out by now, they are kept too
    if len(_KEPT) >= MAX_FORMS:
        _KEPT.clear()
    _KEPT[form] = {name: value for name, value in vars(problem).items() if name not in own}


def form_of_given(given: Mapping[str, Any]) -> Hashable | None:
    """The form of floating-point arrays, masks and numbers, as they are given; None where anything else is.

    What is None is not given.

    >>> import numpy as np
    >>> form_of_given({"query": np.zeros((2, 3)), "causal": True}) == form_of_given({"query": np.ones((2, 3))})
    False
    >>> form_of_given({"query": np.zeros((2, 3)), "score": "cosine"}) is None
    True
    """
    form: list[Hashable] = []
    for name, value in given.items():
        kind = type(value)
        if kind is np.ndarray and value.dtype.kind in "fb":
            form.append((name, value.shape, value.dtype))
        elif kind is float:
            form.append((name, kind, repr(value)))  # 0 and −0 are equal, but lead to different results
        elif kind in (bool, int):
            form.append((name, kind, value))
        elif value is not None or name not in FIELDS:
            return None
    return tuple(form)


def _has_arrays(value: Any) -> bool:
    """Whether a value of a problem is an array, or an operator that has some."""
    return isinstance(value, np.ndarray) or (isinstance(value, Operator) and bool(value.arrays))

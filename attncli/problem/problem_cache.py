"""A cache of checked problems, keyed by shapes and options: results that don't depend on numbers are computed once."""

from collections.abc import Hashable, Mapping
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.ops.records import Operator
from attncli.problem.arrays import ArrayOrigin
from attncli.problem.operators import PendingRandom
from attncli.problem.spec import FIELDS, ProblemSpec, signature_of

# The kinds of fields whose numbers are checked, or determine other arrays: such a problem is not cached.
KINDS_OF_NUMBERS = ("positions", "sequence_bounds", "vocabulary")
MAX_FORMS = 128

NO_ORIGINS: Mapping[str, ArrayOrigin] = {}  # can be pickled

# The cached facts about a problem besides its arrays, by the key of its converted values, or of the given ones.
_KEPT: dict[Hashable, Mapping[str, Any]] = {}


def cache_key(values: Mapping[str, Any]) -> Hashable | None:
    """The key of converted values, weights in_out: the same for problems that differ only in arrays' numbers.

    None for a problem that must be checked each time, because its numbers are checked, or an array is still to be drawn
    or read.

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
    """Whether all arrays of an operator are ready, and no check reads their numbers."""
    if any(isinstance(value, PendingRandom) for value in operator.given.values()):
        return False
    return operator.record.check is None or not operator.arrays


def recall(
    form: Hashable | None, values: Mapping[str, Any], origins: Mapping[str, ArrayOrigin] = NO_ORIGINS
) -> ProblemSpec | None:
    """The problem of cached values; None if they are not cached, or their numbers are invalid.

    It has the given arrays themselves.
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
    """Cache a checked problem without its arrays, if these are the values themselves."""
    own = {name for name in FIELDS if _has_arrays(getattr(problem, name))}
    own |= {name for name, value in values.items() if type(value) is np.ndarray}
    has_others = any(getattr(problem, name) is not values.get(name) for name in own)
    if form is None or has_others or any(FIELDS[name].kind in KINDS_OF_NUMBERS for name in own):
        return
    _ = problem.signature, problem.precision, problem.default_selection  # computed now, so that they are cached too
    if len(_KEPT) >= MAX_FORMS:
        _KEPT.clear()
    _KEPT[form] = {name: value for name, value in vars(problem).items() if name not in own}


def form_of_given(given: Mapping[str, Any]) -> Hashable | None:
    """The key of given floating-point arrays, masks and numbers; None if there is anything else.

    A value of None is not given.

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
            form.append((name, kind, repr(value)))  # 0 and −0 are equal, but give different results
        elif kind in (bool, int):
            form.append((name, kind, value))
        elif value is not None or name not in FIELDS:
            return None
    return tuple(form)


def _has_arrays(value: Any) -> bool:
    """Whether a value of a problem is an array, or an operator that has some."""
    return isinstance(value, np.ndarray) or (isinstance(value, Operator) and bool(value.arrays))

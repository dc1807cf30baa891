"""Checked problems, kept by shapes and options: what does not depend on numbers is worked out once."""

from collections.abc import Container, Hashable, Mapping
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.ops.records import Operator
from attncli.problem.arrays import ArrayOrigin
from attncli.problem.operators import PendingRandom
from attncli.problem.spec import FIELDS, ProblemSpec, signature_of

# The kinds of fields whose numbers are checked, or make other arrays of the problem: such a problem has no form.
KINDS_OF_NUMBERS = ("positions", "vocabulary")
MAX_FORMS = 64

# What a problem has besides its arrays, by its form: fields, and what is kept of them.
_KEPT: dict[Hashable, Mapping[str, Any]] = {}
_KEPT_OF_GIVEN: dict[Hashable, Mapping[str, Any]] = {}  # by the form of what is given, before it is converted


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


def recall(form: Hashable | None, values: Mapping[str, Any], origins: Mapping[str, ArrayOrigin]) -> ProblemSpec | None:
    """The problem of values whose form was kept; None where it was not, or its numbers are to be refused."""
    kept = _KEPT.get(form) if form is not None else None
    if kept is None or ("key_lengths" in values and values["key_lengths"].max() > kept["lengths"]["m"]):
        return None
    own = {name: value for name, value in values.items() if type(value) in (np.ndarray, Operator)}
    return _problem(kept, {**own, "origins": origins})


def keep(form: Hashable | None, values: Mapping[str, Any], problem: ProblemSpec) -> None:
    """Keep what a checked problem has besides its arrays, where these are the values themselves."""
    own = {name for name in FIELDS if _has_arrays(getattr(problem, name))}
    if form is None or any(getattr(problem, name) is not values.get(name) for name in own):
        return
    _keep(_KEPT, form, problem, {*own, "origins"})


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


def recall_given(form: Hashable | None, given: Mapping[str, Any]) -> ProblemSpec | None:
    """The problem of what is given, whose form was kept: it has the given arrays themselves; None where it was not."""
    kept = _KEPT_OF_GIVEN.get(form) if form is not None else None
    if kept is None:
        return None
    return _problem(kept, {name: value for name, value in given.items() if type(value) is np.ndarray})


def keep_given(form: Hashable | None, given: Mapping[str, Any], problem: ProblemSpec) -> None:
    """Keep what a problem has besides the given arrays, where it has these themselves and no others.

    Not where numbers in arrays were checked: then `cache_key` has no form of the values either.
    """
    own = {name: value for name, value in given.items() if type(value) is np.ndarray}
    if form is None or any(getattr(problem, name) is not value for name, value in own.items()):
        return
    values = {name: value for name in FIELDS if (value := getattr(problem, name)) is not None}
    has_others = any(_has_arrays(value) for name, value in values.items() if name not in own)
    if has_others or cache_key(values) is None:
        return
    _keep(_KEPT_OF_GIVEN, form, problem, own)


def _problem(kept: Mapping[str, Any], own: Mapping[str, Any]) -> ProblemSpec:
    """A problem of what is kept of its form, and what is its own."""
    problem = ProblemSpec.__new__(ProblemSpec)
    vars(problem).update(kept)
    vars(problem).update(own)
    return problem


def _keep(forms: dict[Hashable, Mapping[str, Any]], form: Hashable, problem: ProblemSpec, own: Container[str]) -> None:
    """Keep what a problem has besides what is its own."""
    _ = problem.signature, problem.precision, problem.default_selection  # worked out by now, they are kept too
    if len(forms) >= MAX_FORMS:
        forms.clear()
    forms[form] = {name: value for name, value in vars(problem).items() if name not in own}


def _has_arrays(value: Any) -> bool:
    """Whether a value of a problem is an array, or an operator that has some."""
    return isinstance(value, np.ndarray) or (isinstance(value, Operator) and bool(value.arrays))

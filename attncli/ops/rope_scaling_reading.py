"""The scaling of rope read from the mapping that config.json has: its type, the names and ranges of its parameters."""

from collections.abc import Mapping
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.ops.records import Range
from attncli.ops.rope_scaling import (
    ALTERNATING,
    AXES,
    AXES_OF_PAIRS,
    MODEL_LENGTH,
    SECTIONS,
    SECTIONS_INTERLEAVED,
    TRAINED_LENGTH,
    TYPE,
    RopeScaling,
)
from attncli.ops.rope_scaling_types import TYPES

OLD_TYPE = "type"  # the name that older files have for the type
OLD_TYPES = {"su": "longrope", "mrope": "default"}
# Parameters of rope that config.json has in the same mapping, by their names there.
BESIDE = {"rope_theta": "base", "attention_factor": "attention_factor"}
# What every type may have: which share of a head turns, and the lengths of sequences.
COMMON = ("partial_rotary_factor", TRAINED_LENGTH, MODEL_LENGTH, SECTIONS, SECTIONS_INTERLEAVED, AXES_OF_PAIRS)
BOOLEANS = ("truncate", SECTIONS_INTERLEAVED, ALTERNATING)
LISTS = ("short_factor", "long_factor", SECTIONS, AXES_OF_PAIRS)
COUNTS = (SECTIONS, AXES_OF_PAIRS, AXES)
POSITIVE = Range(above=0)
RANGES = {
    "mscale": Range(least=0),
    "mscale_all_dim": Range(least=0),
    SECTIONS: Range(least=0),
    AXES_OF_PAIRS: Range(least=0),
}


def read_scaling(entries: Mapping[str, Any]) -> RopeScaling:
    """The scaling of a mapping as config.json has it: numbers, booleans, words and lists of numbers by their names.

    What is None is not given. Raises AttnError where there is a mapping for each kind of layer, where the type is
    missing or said in two ways, where a parameter has a value that it can't have; UnknownNameError for an unknown
    type or parameter.

    >>> read_scaling({"type": "linear", "factor": 4.0, "rope_theta": None})
    RopeScaling(type='linear', parameters=(('factor', 4.0),))
    >>> read_scaling({"type": "linear", "beta_fast": 32})
    Traceback (most recent call last):
        ...
    attncli.base.errors.UnknownNameError: unknown parameter of linear 'beta_fast'; expected one of factor, ...
    """
    given = {name: value for name, value in entries.items() if value is not None}
    kinds = [name for name, value in given.items() if isinstance(value, Mapping)]
    if kinds:
        raise AttnError(f"has a mapping for each kind of layer: {', '.join(kinds)}", hint="give that of this layer")
    types = {str(given.pop(name)) for name in (TYPE, OLD_TYPE) if name in given}
    if len(types) > 1:
        raise AttnError(f"{TYPE} and {OLD_TYPE} differ: {' and '.join(sorted(types))}", hint="leave out one of them")
    if not types and not set(given) <= {*BESIDE, *COMMON}:
        raise AttnError(f"has no {TYPE}", hint=f"expected one of {', '.join(TYPES)}")
    written = types.pop() if types else "default"
    name = OLD_TYPES.get(written, written)
    if name not in TYPES:
        raise UnknownNameError("type", written, TYPES, where=TYPE)
    known = (*TYPES[name].parameters, *COMMON, *BESIDE)
    for parameter, value in given.items():
        if parameter not in known:
            raise UnknownNameError(f"parameter of {name}", parameter, known)
        _check_value(parameter, value)
    lists = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return RopeScaling(name, tuple(lists.items()))


def _check_value(name: str, value: Any) -> None:
    """Raise AttnError where a parameter has a value of another kind than its own, or one out of its range."""
    if name in BOOLEANS:
        if not isinstance(value, bool):
            raise AttnError("is neither true nor false", where=name)
        return
    if (name in LISTS) != isinstance(value, list):
        raise AttnError(f"is {'no' if name in LISTS else 'a'} list of numbers", where=name)
    if value == []:
        raise AttnError("has no numbers", where=name)
    numbers = value if isinstance(value, list) else [value]
    allowed = RANGES.get(name, POSITIVE)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise AttnError(f"{number} is not a number", where=name)
        if name in COUNTS and number != int(number):
            raise AttnError(f"{number:g} is not a whole number", where=name)
        if not allowed.holds(number):
            raise AttnError(f"{number:g} is out of range", where=name, hint=f"expected {allowed}")
    if name == "partial_rotary_factor" and value > 1:
        raise AttnError(f"{value:g} is out of range", where=name, hint="expected a share of the features, up to 1")


def flatten_scaling(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of rope, with those that stand inside its scaling beside it.

    A scaling that scales nothing is left out. Raises AttnError where a parameter stands in both places with two values.

    >>> flatten_scaling({"scaling": read_scaling({"rope_type": "default", "rope_theta": 500.0})})
    {'base': 500.0}
    """
    scaling = given.get("scaling")
    if not isinstance(scaling, RopeScaling):
        return given
    flat, kept = dict(given), dict[str, Any]()
    for name, value in scaling.parameters:
        beside = BESIDE.get(name)
        if beside is None:
            kept[name] = value
        elif flat.setdefault(beside, value) != value:
            message = f"{beside} is {flat[beside]:g}, and {name} in scaling is {value:g}"
            raise AttnError(message, where="scaling", hint="leave out one of them")
    flat["scaling"] = RopeScaling(scaling.type, tuple(kept.items()))
    if scaling.type == "default" and not kept.keys() - {TRAINED_LENGTH, MODEL_LENGTH}:  # which change nothing
        del flat["scaling"]
    return flat

"""Reading the words of a problem as a framework reads them, before defaults are in force."""

from collections.abc import Iterator, Mapping
from typing import Any

from attncli.ops.records import Operator
from attncli.problem.convention_use import ConventionUse
from attncli.problem.conventions.attn import ATTN
from attncli.problem.conventions.records import Convention, Reading
from attncli.problem.convert.fields import to_field
from attncli.problem.spec import DEFAULTS, FIELDS


def read_words(convention: Convention, given: Mapping[str, Any]) -> tuple[dict[str, Any], ConventionUse]:
    """The values of the fields in attn's words, of the converted values that were given, and what was made of them.

    A value that was given in attn's own words, such as `align`, is in force as it is.

    >>> from attncli.problem.conventions import find_convention
    >>> values, use = read_words(find_convention("flash"), {"causal": True})
    >>> values["align"], use.changes
    ('bottom_right', ('causal: bottom right, the last query stands at the last real key',))
    """
    words = {key: value for key, value in given.items() if key in ATTN.words and not _is_default(key, value)}
    readings = {key: reading for key, value in words.items() if (reading := convention.reading(key, value)) is not None}
    values, in_force = dict(given), dict[str, Any]()
    changed: dict[Reading, list[str]] = {}
    for key, reading in readings.items():
        new_keys = {name: value for name, value in reading.keys.items() if name not in given}
        in_force |= new_keys
        if reading.change is not None and not isinstance(given[key], Operator):  # a rule says which keys it hides
            values[key] = reading.change(given[key])
            changed.setdefault(reading, []).append(key)
        elif new_keys:
            changed.setdefault(reading, []).append(key)
    in_force = {**convention.defaults, **in_force}
    added = {name: to_field(FIELDS[name], value) for name, value in in_force.items() if name not in given}
    changes = tuple(f"{', '.join(keys)}: {reading.text}" for reading, keys in changed.items())
    remarks = tuple(_remarks(convention, words))
    return {**values, **added}, ConventionUse(convention.name, convention.version, changes, remarks)


def _is_default(key: str, value: Any) -> bool:
    """Whether a value is the one that the key has where it is not given."""
    default = DEFAULTS[key]
    if isinstance(value, Operator) or isinstance(default, Operator):
        return not getattr(value, "arrays", None) and str(value) == str(default)
    return not hasattr(value, "shape") and bool(value == default)


def _remarks(convention: Convention, words: Mapping[str, Any]) -> Iterator[str]:
    """What is read as attn reads it: words that the framework does not have, and those that it does not take together.

    Weights are no such word: what a framework without projections is given was projected before.
    """
    for key, value in words.items():
        if convention.reading(key, value) is None and not FIELDS[key].is_weight:
            name = f"{key} {value}" if isinstance(value, Operator) else key
            yield f"{convention.name} has no {name}: read as attn reads it"
    for group in convention.exclusive:
        together = [key for key in group if key in words]
        if len(together) > 1:
            names = " and ".join(together)
            yield f"{convention.name} does not take {names} together: read as attn reads them"

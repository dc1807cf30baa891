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
    defaults = {**DEFAULTS, **convention.defaults}
    words = {key: given[key] for key in ATTN.words if key in given and not _is_default(given[key], defaults[key])}
    values, in_force = dict(given), dict(convention.defaults)
    changed: dict[Reading, list[str]] = {}
    for key, value in words.items():
        reading = convention.reading(key, value)
        if reading is None:
            continue
        has_keys = reading.matters(words) and not reading.opponents(words)
        keys = {name: new for name, new in reading.keys.items() if name not in given} if has_keys else {}
        changes_value = reading.change is not None and not isinstance(value, Operator)  # a rule says what it hides
        if reading.change is not None and changes_value:
            values[key] = reading.change(value)
        if keys or changes_value:
            changed.setdefault(reading, []).append(_name(convention, key, value))
        in_force |= keys
    values |= {name: to_field(FIELDS[name], value) for name, value in in_force.items() if name not in given}
    changes = tuple(
        f"{', '.join(names)}: {reading.text}"
        for reading, names in changed.items()
        if reading.change is not None or reading.keys.items() & in_force.items()  # a later word may win
    )
    return values, ConventionUse(convention.name, convention.version, changes, tuple(_remarks(convention, words)))


def _is_default(value: Any, default: Any) -> bool:
    """Whether a value is the one that its key has where it is not given."""
    if isinstance(value, Operator) or isinstance(default, Operator):
        return not getattr(value, "arrays", None) and str(value) == str(default)
    return not hasattr(value, "shape") and bool(value == default)


def _name(convention: Convention, key: str, value: Any) -> str:
    """The word of a convention that a key and its value are: `position alibi`."""
    word = f"{key} {value.record.name}" if isinstance(value, Operator) else key
    return word if word in convention.words else key


def _remarks(convention: Convention, words: Mapping[str, Any]) -> Iterator[str]:
    """What is read as attn reads it: words that the framework does not have, and those that it does not take together.

    Weights are no such word: what a framework without projections is given was projected before.
    """
    for key, value in words.items():
        reading = convention.reading(key, value)
        if reading is None:
            if not FIELDS[key].is_weight:
                name = f"{key} {value}" if isinstance(value, Operator) else key
                yield f"{convention.name} has no {name}: read as attn reads it"
            continue
        if reading.limit is not None and (limit := reading.limit(value)):
            yield f"{convention.name} {limit}"
        if opponents := reading.opponents(words):
            yield f"{convention.name} with {' and '.join(opponents)}: {key} is read as attn reads it"
    for group in convention.exclusive:
        together = [key for key in group if key in words]
        if len(together) > 1:
            names = " and ".join(together)
            yield f"{convention.name} does not take {names} together: read as attn reads them"

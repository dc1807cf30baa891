"""A worked example whose problem was completed: its keys beside those of the problem, fitted to the new numbers."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.io.assemble import assemble
from attncli.io.expected import read_expected
from attncli.io.origin import Origin, RawValue
from attncli.io.parse.expected_value import read_expected_value
from attncli.io.problem_files import EXAMPLE_KEYS, Document
from attncli.io.writers.plain_values import plain_values
from attncli.io.writers.problem_text import ExampleValues, values_to_write
from attncli.ops.records import Operator
from attncli.problem.arrays import LabelledArray
from attncli.problem.results import EXPECTED
from attncli.problem.spec import FIELDS, ProblemSpec


def example_values(document: Document, problem: ProblemSpec) -> ExampleValues:
    """The keys of a worked example in a document, beside its complete problem.

    A part has in place of its own keys what its problem has different from the complete one, in numbers: what the part
    draws, looks up or reads from a file is not drawn, looked up or read again. Raises AttnError where the problem of a
    part is none.
    """
    values = {key: _value(key, raw) for key, raw in document.items() if key in EXAMPLE_KEYS}
    parts = values.get("parts")
    if isinstance(parts, list) and all(isinstance(part, Mapping) for part in parts):
        base = {key: raw for key, raw in document.items() if key in FIELDS}
        values["parts"] = [_complete_part(base, part, problem, document["parts"].origin) for part in parts]
    before = set(takewhile(lambda key: key in EXAMPLE_KEYS, document))
    return ExampleValues(
        {key: value for key, value in values.items() if key in before},
        {key: value for key, value in values.items() if key not in before},
    )


def _complete_part(base: Document, part: Mapping[str, Any], problem: ProblemSpec, origin: Origin) -> dict[str, Any]:
    """A part, with the differences of its problem from the complete one in place of its first own key."""
    own = {key: RawValue(value, origin) for key, value in part.items() if key in FIELDS}
    differences = plain_values(_differences(problem, assemble(base | own))) if own else {}
    completed: dict[str, Any] = {}
    for key, value in part.items():
        completed |= differences if key in own else {key: _value(key, RawValue(value, origin))}
    return completed


def _value(key: str, raw: RawValue) -> Any:
    """The value of a key of an example; what is expected has numbers in place of files, which it may not be beside."""
    value = raw.value
    if key != EXPECTED:
        return _plain(value)
    if isinstance(value, str):
        return {name: _plain(found.value) for name, found in read_expected(raw, None).by_name.items()}
    if not isinstance(value, Mapping):
        return value
    read = {
        name: part if isinstance(part, list) else read_expected_value(part, name, key, raw.origin)
        for name, part in value.items()
    }
    return {name: _plain(part) for name, part in read.items()}


def _differences(problem: ProblemSpec, other: ProblemSpec) -> dict[str, Any]:
    """The keys to write of another problem that a problem has not, or has different; None where the other has none."""
    values, other_values = values_to_write(problem), values_to_write(other)
    missing = {key: None for key in values if key not in other_values}
    return missing | {
        key: value for key, value in other_values.items() if key not in values or not _is_same(value, values[key])
    }


def _is_same(value: Any, other: Any) -> bool:
    """Whether two values of a key are equal: arrays number by number, operators with their parameters."""
    if isinstance(value, Operator) and isinstance(other, Operator):
        given, other_given = value.given, other.given
        is_same_operator = value.record is other.record and given.keys() == other_given.keys()
        return is_same_operator and all(_is_same(given[name], other_given[name]) for name in given)
    if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(value, other, equal_nan=True))
    return bool(value == other)


def _plain(value: Any) -> Any:
    """A value as it was read, an array without its labels."""
    return value.array if isinstance(value, LabelledArray) else value

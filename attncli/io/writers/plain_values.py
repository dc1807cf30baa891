"""The values of a problem as YAML and JSON have them: mappings, lists, arrays, numbers and text."""

from collections.abc import Mapping
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.numbers.formatting import MAX_WHOLE
from attncli.ops.records import Operator, ParameterMapping


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values by their keys, without operators and tuples."""
    return {name: plain_value(value) for name, value in values.items()}


def plain_value(value: Any) -> Any:
    """A value as mappings, lists, arrays, numbers and text; whole numbers without a point."""
    if isinstance(value, Operator):
        return {value.record.name: plain_values(value.given)} if value.given else value.record.name
    if isinstance(value, ParameterMapping):
        return plain_values(value.as_mapping())
    if isinstance(value, np.ndarray) and value.ndim < 2:
        return plain_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain_value(entry) for entry in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_WHOLE and str(value) != "-0.0":
        return int(value)
    return value

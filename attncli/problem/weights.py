"""Weights: matrices that are multiplied from the right, between out_in (`x @ W.T`) and in_out (`x @ W`)."""

from collections.abc import Mapping
from typing import Any

from attncli.ops.records import Operator
from attncli.problem.spec import FIELDS, ProblemSpec


def transpose_weights(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a problem with every weight matrix [… i o], also of operators, transposed to [… o i], as a view."""
    transposed = dict(values)
    for name, value in values.items():
        if isinstance(value, Operator):
            transposed[name] = _with_transposed_parameters(value)
        elif FIELDS[name].is_weight and getattr(value, "ndim", 0) > 1:
            transposed[name] = value.swapaxes(-1, -2)
    return transposed


def has_weights(values: Mapping[str, Any]) -> bool:
    """Whether the values of a problem, or the parameters of its operators, have any weight matrix."""
    operators = [value for value in values.values() if isinstance(value, Operator)]
    parameters = (operator.record.parameter(name) for operator in operators for name in operator.arrays)
    return any(parameter.is_weight for parameter in parameters) or any(
        FIELDS[name].is_weight for name, value in values.items() if value is not None
    )


def stored_values(spec: ProblemSpec) -> dict[str, Any]:
    """The values of a problem by the names of its fields, with weights stored as `weight_layout` says."""
    values = {name: getattr(spec, name) for name in FIELDS}
    return transpose_weights(values) if spec.weight_layout == "out_in" else values


def _with_transposed_parameters(operator: Operator) -> Operator:
    """The operator with its weight matrices transposed."""
    weights = {
        name: array.swapaxes(-1, -2)
        for name, array in operator.arrays.items()
        if operator.record.parameter(name).is_weight and array.ndim > 1
    }
    return Operator(operator.record, {**operator.given, **weights}) if weights else operator

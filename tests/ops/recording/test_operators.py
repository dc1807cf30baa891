"""Laws of records over the registry: their values and gradients are those of the operators."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from attncli.ops.derivatives import Derivative, NoDerivative
from attncli.ops.recording.arrays import NotRecordedError
from attncli.ops.recording.derivatives import RecordedDerivative, arrays_of, derivatives_of
from attncli.ops.recording.record import record
from attncli.ops.records import OperatorRecord
from tests.ops.values import WITH_ARRAYS, arguments, inner_values, parameters_off_default, uses, with_derived

# Operators that can't be recorded, and why.
NOT_RECORDED = {
    "entmax": "its threshold is found by iteration",
    "sparsemax": "its threshold is found by iteration",
    "sinusoidal": "its table is filled in place, and has no gradient",
}
of_operators = pytest.mark.parametrize(
    "operator",
    [one for one in WITH_ARRAYS if one.name not in NOT_RECORDED and one.kind != "mask"],
    ids=lambda one: f"{one.kind} {one.name}",
)


def calls(operator: OperatorRecord) -> Iterator[dict[str, Any]]:
    """What an operator may be called with, its parameters one after another off their defaults."""
    for use in uses(operator):
        yield with_derived(operator, {**arguments(operator), **use})


def given_derivatives(operator: OperatorRecord) -> Iterator[tuple[str, Derivative]]:
    """The derivatives by hand."""
    for name, found in (operator.derivatives or {}).items():
        if hasattr(found, "record"):
            yield name, found


@of_operators
def test_a_record_has_the_value_of_the_operator(operator: OperatorRecord) -> None:
    for given in calls(operator):
        arrays, options = arrays_of(operator, given)
        made = record(operator.function, arrays, options)
        np.testing.assert_allclose(made.result.value, operator.function(**given), rtol=1e-12, atol=1e-14)


@of_operators
def test_a_derivative_by_hand_is_that_of_the_record(operator: OperatorRecord) -> None:
    for given in calls(operator):
        result = operator.function(**given)
        grad = np.random.default_rng(3).standard_normal(np.shape(result))
        known = {**given, **inner_values(operator, **given), "forward": result}
        for name, found in given_derivatives(operator):
            if name not in given or (name in operator.shapes.arrays and not np.ndim(given[name])):
                continue
            names = (*found.record.reads, *found.record.options)
            by_hand = found(grad, **{one: known[one] for one in names if one in known})
            recorded = RecordedDerivative(operator.function, name)(grad, **given)
            summed = by_hand.sum(axis=tuple(range(np.ndim(by_hand) - np.ndim(recorded))))
            np.testing.assert_allclose(recorded, summed, rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("operator", [one for one in WITH_ARRAYS if one.kind != "mask"], ids=lambda one: one.name)
def test_what_has_no_derivative_is_found_to_jump(operator: OperatorRecord) -> None:
    given = with_derived(operator, {**arguments(operator), **parameters_off_default(operator)})
    grad = np.ones(np.shape(operator.function(**given)))
    for name, found in (derivatives_of(operator.function) or {}).items():
        if isinstance(found, NoDerivative) and name != "value":  # of argmax and sample the value that is taken has one
            with pytest.raises(NotRecordedError, match="it jumps when"):
                RecordedDerivative(operator.function, name)(grad, **given)

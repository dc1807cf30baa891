"""Laws over the registry: the code of an operator, and of its derivatives, gives what the functions give."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from attncli.ops import operators
from attncli.ops.records import OperatorRecord
from attncli.ops.registry import kinds
from tests.ops.code_examples import call_of, result_of_code, run_code
from tests.ops.test_derivatives import WITH_DERIVATIVES, derivatives_of, gradient_of, of_operators
from tests.ops.values import WITH_ARRAYS, calls, inner_values, random_numbers

OPERATORS = [(kind, name) for kind in kinds() if kind != "generator" for name in operators(kind)]
WITH_AXES_BEFORE = ("score", "normalize", "context", "recurrence", "norm")  # kinds that batch items and heads pass
STACKED = ("query", "key", "value", "x", "scores", "weights", "decay", "beta", "past_state")


@pytest.mark.parametrize(("kind", "name"), OPERATORS)
def test_code_gives_what_the_example_gives(kind: str, name: str) -> None:
    record = operators(kind)[name]
    found = result_of_code(record, "numpy", np, np.asarray)
    if found is not None:  # otherwise it is refused by name
        assert found == pytest.approx(np.asarray(record.example["gives"]), abs=1e-9)


def forms(record: OperatorRecord) -> Iterator[Mapping[str, Any]]:
    """The calls of an operator, also with masked keys, or with a vector without size."""
    for given in calls(record):
        yield given
        if "scores" in given:
            hidden = random_numbers(("n", "m"), seed=3) > 0.5
            hidden[3] = True
            yield {**given, "scores": np.where(hidden, -np.inf, given["scores"])}
        if record.kind == "norm":
            yield {**given, "x": np.where(np.arange(len(given["x"]))[:, None] == 2, 0.0, given["x"])}


def stacked(record: OperatorRecord, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call of two batch items of one head."""
    arrays = {name: x for name, x in given.items() if name in STACKED and np.ndim(x)}
    return {**given, **{name: np.stack([x, x[::-1]])[:, None] for name, x in arrays.items()}}


@of_operators(WITH_ARRAYS)
def test_code_gives_what_the_function_gives_with_any_of_its_parameters(record: OperatorRecord) -> None:
    """Also where it is written before the numbers are known, and of batch items."""
    of_items = [stacked(record, given) for given in calls(record)] if record.kind in WITH_AXES_BEFORE else []
    for given in [*forms(record), *of_items]:
        expected = record.function(**given)
        call = call_of(given, expected.shape, record.defaults)
        for is_known in (True, False):
            found = run_code(record, call, is_known=is_known, function=record.function)
            if found is not None:
                assert found.shape == expected.shape
                np.testing.assert_allclose(found * 1.0, expected, rtol=1e-9, atol=1e-12)


@of_operators([record for record in WITH_DERIVATIVES if any(derivatives_of(record))])
def test_code_of_a_gradient_gives_what_the_derivative_gives(record: OperatorRecord) -> None:
    for given in forms(record):
        forward = record.function(**given)
        grad = np.random.default_rng(1).standard_normal(forward.shape)
        known = {**given, **inner_values(record, **given), "forward": forward, "grad": grad}
        for name, found in derivatives_of(record):
            if not np.ndim(given.get(name, 0)):
                continue
            expected = np.asarray(gradient_of(record, found, grad, given))
            read = ("grad", *found.record.reads, *found.record.options)
            call = call_of({key: known[key] for key in read if key in known}, expected.shape)
            for is_known in (True, False):
                result = run_code(found.record, call, is_known=is_known, function=found)
                if result is not None:
                    assert result.shape == expected.shape
                    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-11, err_msg=name)

"""Derivatives of operators: each is the limit of differences, with every parameter off its default."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.derivatives import Derivative, NoDerivative
from attncli.ops.recording.derivatives import derivatives_of as every_derivative_of
from attncli.ops.records import OperatorRecord
from tests.equations import assert_equations_hold
from tests.ops.recorded import lines_of
from tests.ops.values import RECORDS, arguments, calls, inner_values, length, parameters_off_default, with_derived

STEP = np.longdouble(2) ** -20  # the error of a central difference falls with its square
DIFFERENTIABLE = ("score", "normalize", "context", "recurrence", "position", "norm", "query_scale")
WITH_NUMBERS = ("score", "normalize", "context")  # kinds whose numbers have derivatives
WITH_DERIVATIVES = [record for record in RECORDS if record.kind in DIFFERENTIABLE]

Values = Mapping[str, Any]


def of_operators(records: list[OperatorRecord]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("record", records, ids=lambda record: f"{record.kind} {record.name}")


def in_many_digits(values: Values) -> dict[str, Any]:
    """The arrays of real numbers, and the numbers, as longdouble."""
    return {name: np.asarray(x, np.longdouble)[()] if is_real(x) else x for name, x in values.items()}


def is_real(value: Any) -> bool:
    """Whether a value is a real number or an array of them: no mask, and no counts."""
    return np.asarray(value).dtype.kind == "f"


def like(array: np.ndarray, seed: int) -> np.ndarray:
    """Random numbers in the shape of an array."""
    return np.asarray(np.random.default_rng(seed).standard_normal(np.shape(array)), np.longdouble)


def all_derivatives_of(function: Any) -> Mapping[str, Derivative | NoDerivative | None]:
    """What is known of the derivatives of a function, by its arguments and numbers."""
    return every_derivative_of(function) or {}


def slope(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """How fast a function grows from a point in a direction, by a central difference."""
    difference: np.ndarray = (function(at + STEP * direction) - function(at - STEP * direction)) / (2 * STEP)
    return difference


def derivatives_of(record: OperatorRecord) -> Iterator[tuple[str, Derivative]]:
    """The arguments that an operator has derivatives by, each with it."""
    for name, found in all_derivatives_of(record.function).items():
        if found is not None and not isinstance(found, NoDerivative):
            yield name, found


def gradient_of(record: OperatorRecord, found: Derivative, grad: np.ndarray, given: Values) -> np.ndarray:
    """The gradient of an argument, from that of the result."""
    known = {**given, **inner_values(record, **given), "forward": record.function(**given)}
    names = (*found.record.reads, *found.record.options)
    return found(grad, **{name: known[name] for name in names if name in known})


def values_of(record: OperatorRecord) -> dict[str, Any]:
    """Arguments and parameters of an operator, none at its default."""
    return in_many_digits(with_derived(record, {**arguments(record), **parameters_off_default(record)}))


def assert_are_limits(record: OperatorRecord, given: Values, rtol: float) -> None:
    """The gradient of each argument is the limit of differences."""
    grad = like(record.function(**given), 1)
    for name, found in derivatives_of(record):
        if not is_real(given.get(name, 0)):
            continue
        direction = like(given[name], 2)

        def loss(array: np.ndarray, name: str = name) -> np.ndarray:
            total: np.ndarray = (grad * record.function(**{**given, name: array})).sum()
            return total

        gradient = gradient_of(record, found, grad, given)
        assert gradient.dtype == np.longdouble
        np.testing.assert_allclose((gradient * direction).sum(), slope(loss, given[name], direction), rtol=rtol)


@of_operators([record for record in WITH_DERIVATIVES if any(derivatives_of(record))])
def test_a_derivative_is_the_limit_of_differences(record: OperatorRecord) -> None:
    assert_are_limits(record, values_of(record), rtol=1e-9)


@of_operators([record for record in WITH_DERIVATIVES if any(derivatives_of(record))])
def test_a_derivative_is_the_limit_of_differences_with_any_of_the_parameters(record: OperatorRecord) -> None:
    """Quotients of readings may be near 0, where a difference is less exact."""
    for given in calls(record):
        arrays = {p.name for p in record.parameters if p.kind == "array"}
        numbers = {name: x for name, x in given.items() if name not in arrays or np.ndim(x)}
        assert_are_limits(record, in_many_digits(numbers), rtol=1e-6 if given.get("normalize") else 1e-9)


@of_operators(WITH_DERIVATIVES)
def test_an_operator_says_of_every_array_and_number_whether_it_has_a_derivative(record: OperatorRecord) -> None:
    code = record.function.__code__
    arrays = {*record.shapes.arrays, *record.derived} & {*code.co_varnames}
    numbers = {p.name for p in record.parameters if p.kind == "number"} if record.kind in WITH_NUMBERS else set()
    assert {*all_derivatives_of(record.function)} == arrays | numbers


@of_operators([record for record in WITH_DERIVATIVES if None in all_derivatives_of(record.function).values()])
def test_arrays_without_gradients_are_positions_masks_and_draws(record: OperatorRecord) -> None:
    constants = {name for name, found in all_derivatives_of(record.function).items() if found is None}
    assert constants <= {"positions", "query_positions", "key_positions", "visible", "draws", "attention_factor"}


def test_operators_that_jump_have_no_derivative() -> None:
    jumping = [
        record.name
        for record in RECORDS
        if any(isinstance(x, NoDerivative) for x in all_derivatives_of(record.function).values())
    ]
    assert jumping == ["hardmax", "argmax", "sample"]


@pytest.mark.parametrize(
    ("kind", "name", "kinks"),
    [
        ("normalize", "relu", {"scores": [[0.0, -1.0, 2.0]]}),
        ("score", "laplacian", {"query": [[1.0, 2.0]], "key": [[1.0, 2.0]], "sigma": 1.0}),
        ("score", "euclidean", {"query": [[1.0, 2.0]], "key": [[1.0, 2.0]]}),
        ("score", "cosine", {"query": [[0.0, 0.0]], "key": [[1.0, 2.0]], "beta": 1.0}),
        ("norm", "l2", {"x": [[0.0, 0.0]]}),
        ("norm", "layer", {"x": [[3.0, 3.0]]}),
        ("normalize", "sum", {"scores": [[1.0, -1.0]]}),
    ],
)
def test_at_a_kink_a_gradient_of_0_is_taken(kind: str, name: str, kinks: Values) -> None:
    record = next(record for record in RECORDS if (record.kind, record.name) == (kind, name))
    given = {key: np.array(x) if isinstance(x, list) else x for key, x in kinks.items()}
    argument, found = next(derivatives_of(record))
    gradient = gradient_of(record, found, np.ones_like(record.function(**given)), given)
    assert found.record.remark
    np.testing.assert_array_equal(np.where(given[argument] > 1, 0, gradient)[:, 0], 0)


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0, 3.0])
def test_the_derivative_of_entmax_by_alpha_is_the_limit_of_differences(alpha: float) -> None:
    scores, grad = (like(np.empty((2, 5, 7)), seed) for seed in (1, 2))
    record = next(record for record in RECORDS if record.name == "entmax")
    given = {"scores": scores, "alpha": np.longdouble(alpha)}
    found = dict(derivatives_of(record))["alpha"]

    def loss(number: np.ndarray) -> np.ndarray:
        total: np.ndarray = (grad * record.function(scores, alpha=number)).sum()
        return total

    expected = slope(loss, given["alpha"], np.longdouble(1))
    np.testing.assert_allclose(gradient_of(record, found, grad, given), expected, rtol=1e-8)


def test_the_derivative_of_softmax_by_alpha_is_that_of_entmax_near_1() -> None:
    scores, grad = (like(np.empty((2, 5, 7)), seed) for seed in (1, 2))
    record = next(record for record in RECORDS if record.name == "entmax")
    found = dict(derivatives_of(record))["alpha"]
    at_1, near = (gradient_of(record, found, grad, {"scores": scores, "alpha": alpha}) for alpha in (1.0, 1 + 2**-16))
    np.testing.assert_allclose(at_1, near, rtol=1e-3)


def test_topk_has_no_derivative_where_scores_tie_with_the_kth() -> None:
    record = next(record for record in RECORDS if record.name == "topk")
    found = dict(derivatives_of(record))["scores"]
    scores = np.array([[3.0, 1.0, 1.0]])
    gradient_of(record, found, np.ones((1, 3)), {"scores": scores, "k": 1})
    with pytest.raises(
        AttnError, match=r"normalize topk has no derivative: in row \[0\] the 2 largest scores tie with others"
    ):
        gradient_of(record, found, np.ones((1, 3)), {"scores": scores, "k": 2})


def assert_is_worked_out(record: OperatorRecord, given: Values, *cells: tuple[int, int]) -> None:
    """The lines of some cells of each gradient are true, and end in the number that is computed."""
    forward = record.function(**given)
    grad = np.random.default_rng(1).standard_normal(forward.shape)
    known = {**given, **inner_values(record, **given), "forward": forward, "grad": grad}
    letters = {**record.shapes.arrays, **{inner.name: inner.axes for inner in record.inner}}
    letters |= dict.fromkeys(("forward", "grad"), record.shapes.result)
    for name, found in derivatives_of(record):
        if name not in given or {*letters.get(name, ())[:-1]} - {*"nm"}:
            continue
        result = gradient_of(record, found, grad, given)
        if found.record.by_hand is None:
            read = {key: known[key] for key in ("grad", *found.record.reads, *found.record.options) if key in known}
            for place in (0, -1):
                write = ArithmeticWriter(4, "query", ["key"], 0, 0, max_terms=None)
                lines = lines_of(found, write, read, np.unravel_index(place % result.size, result.shape))
                assert lines or not result.any()
                assert_equations_hold(lines, 4)
            continue
        for row, column in cells:
            at = {"n": row, "m": column}
            inner = {letter: x for letter, x in at.items() if letter not in found.record.sums_over}
            names = [key for key in ("grad", *found.record.reads, *found.record.options) if key in known]
            index = {key: tuple(inner.get(x, slice(None)) for x in letters.get(key, ())) for key in names}
            cell = {key: known[key][index[key]] if index[key] and np.ndim(known[key]) else known[key] for key in names}
            write = ArithmeticWriter(
                4, "query", [f"key {at}" for at in range(length("m"))], row, column, max_terms=None
            )
            number = result[tuple(at.get(letter, slice(None)) for letter in letters.get(name, ()))]
            lines = found.record.by_hand(write, **cell, result=number)
            assert lines
            assert_equations_hold(lines, 4)


@of_operators([record for record in WITH_DERIVATIVES if any(derivatives_of(record))])
def test_a_gradient_is_worked_out_by_hand_to_the_number_that_is_computed(record: OperatorRecord) -> None:
    given = with_derived(record, {**arguments(record), **parameters_off_default(record)})
    assert_is_worked_out(record, given, (0, 0), (2, 3), (4, 6))


@of_operators([record for record in WITH_DERIVATIVES if any(derivatives_of(record))])
def test_a_gradient_is_worked_out_by_hand_with_any_of_the_parameters(record: OperatorRecord) -> None:
    for given in calls(record, left_out=False):
        assert_is_worked_out(record, given, (1, 4))

"""The rounding error of a formula is that of its steps in a type, and the difference that is allowed follows."""

from dataclasses import replace

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.checks import tolerance
from attncli.checks.check import check
from attncli.checks.report import CheckOptions
from attncli.checks.slips.records import evaluate_names
from attncli.checks.tolerance import StepwisePrecision, Tolerance, in_type, measure, rounding_error
from attncli.plan.build import plan_of
from tests.arrays import normal
from tests.problems import PROBLEMS, dense_trace, problem

SPEC = problem(query=normal(5, 16), key=normal(7, 16))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "longdouble"])
def test_the_error_is_of_the_size_of_the_units_of_the_type(dtype: str) -> None:
    error = rounding_error(SPEC, plan_of(SPEC), ["output"], dtype).errors["output"].largest
    assert 0.1 < error / Precision(dtype).epsilon < 20


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_steps_read_scores_that_were_rounded_as_a_kernel_does_that_keeps_them_in_a_half_type(dtype: str) -> None:
    """Though attn itself rounds them only where they are shown: given rounded, they have the same weights."""
    spec = problem(query=10 * normal(5, 16), key=normal(7, 16), dtype=dtype)
    steps = evaluate_names(plan_of(spec), spec, ["scores", "weights"], StepwisePrecision(dtype))
    given = problem(scores=steps["scores"], dtype=dtype)
    np.testing.assert_allclose(steps["weights"], dense_trace(given)["weights"].value, rtol=Precision(dtype).epsilon)
    assert (steps["weights"] != dense_trace(spec)["weights"].value).any()


def test_what_is_exact_has_no_error_but_that_of_numbers_moved() -> None:
    error = rounding_error(SPEC, plan_of(SPEC), ["query"], "float64").errors["query"].largest
    assert error <= 3 * np.finfo(float).eps * abs(normal(5, 16)).max()


def test_the_error_is_the_same_each_time() -> None:
    errors = [rounding_error(SPEC, plan_of(SPEC), ["output"], "float32") for _ in range(2)]
    assert errors[0] == errors[1]


def test_what_overflows_has_no_error() -> None:
    spec = problem(query=[[300.0], [1.0]], key=[[300.0], [1.0]], score="dot")
    error = measure(spec, plan_of(spec), ["scores"], "float16").errors["scores"].largest
    assert error <= 1


def test_where_longdouble_is_slow_the_error_of_float64_is_that_of_float32_in_proportion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not rounding_error(SPEC, plan_of(SPEC), ["output"], "float64").remark
    monkeypatch.setattr(tolerance, "SLOW_PRODUCTS", 1)
    error = rounding_error(SPEC, plan_of(SPEC), ["output"], "float64")
    assert error.remark == "measured in float32, in proportion"
    assert error.errors["output"].largest < 1e-13


@pytest.mark.parametrize("name", PROBLEMS)
def test_numbers_are_rounded_to_the_type_of_a_problem_before_it_is_computed_in_a_wider_one(name: str) -> None:
    spec = problem(**{**PROBLEMS[name], "dtype": "bfloat16"})
    wide = dense_trace(in_type(spec, "float64"))
    for step in dense_trace(spec).steps:
        if step.node.is_input and step.value.dtype.kind == "f":
            np.testing.assert_array_equal(wide[step.name].value, step.value)


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_kernel_that_adds_all_features_one_after_another_agrees(dtype: str, seed: int) -> None:
    """Our own tables of the widest type add them in parts, and BLAS as its kernel for this processor does.

    Any order of the terms is right, and rounds by no more than n·u·Σ|qᵢkᵢ|; eight times that is wrong.
    """
    query, key = (normal(60, 300, seed=2 * seed + part).astype(dtype) for part in (0, 1))
    spec = problem(query=query, key=key, dtype=dtype)
    products, scale = query[:, None] * key, np.sqrt(np.array(300, dtype))
    one_after_another = np.add.accumulate(products, axis=-1)[..., -1] / scale
    unit = np.finfo(dtype).eps / 2
    bound = unit * 300 * abs(products).sum(axis=-1) / scale  # Higham, Accuracy and Stability, 3.1
    options = CheckOptions(tries_slips=False)
    assert check(spec, {"scores": one_after_another}, options).agrees
    assert not check(spec, {"scores": one_after_another + 8 * bound}, options).agrees


def error_at(offset: float, dtype: str) -> float:
    """The rounding error of rotated queries whose positions begin there."""
    position = {"rope": {"offset": offset}}
    spec = problem(query=normal(3, 8), key=normal(3, 8), dtype="float64", position=position)
    return rounding_error(spec, plan_of(spec), ["rotated_query"], dtype).errors["rotated_query"].largest


@pytest.mark.parametrize(("dtype", "unit"), [("float32", 2.0**-23), ("float64", 2.0**-52)])
def test_far_positions_multiply_the_error_of_angles(dtype: str, unit: float) -> None:
    position = 2.0**14
    assert error_at(0, dtype) < 16 * unit
    assert position * unit / 8 < error_at(position, dtype) < 8 * position * unit


def test_half_types_have_angles_in_float32() -> None:
    near, far = error_at(0, "bfloat16"), error_at(2.0**12, "bfloat16")
    assert far < 2 * near < 0.2
    assert np.isfinite(far)


UNIT = 2.0**-10  # of float16, for numbers from 1 to 2


def test_a_row_of_small_numbers_is_allowed_an_error_in_proportion_to_its_largest() -> None:
    tolerance = Tolerance(Precision("float16"), "", error=0.1, error_of_row=0.02)
    computed = np.array([[100.0, 1.0], [1.0, -0.5], [1.0, 0.0], [0.0, 0.0]])
    allowed = tolerance.allowed(computed, computed, None)
    # That of the first is 64 times the unit, and 4 of them are more than the error of the whole; rows of 0 have that.
    np.testing.assert_allclose(allowed[:, 0], [4 * 64 * UNIT, 0.02, 0.02, 0.1])
    np.testing.assert_array_equal(allowed[:, 0], allowed[:, 1])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_late_queries_of_a_causal_problem_do_not_have_the_error_of_the_first(dtype: str) -> None:
    """The first attends to itself alone, the last to all keys, whose mean is small beside one of them."""
    query, key, value = (Precision(dtype).round(normal(128, 16) * size) for size in (0.1, 1, 10))
    spec = problem(query=query, key=key, value=value, causal=True, dtype=dtype)
    right = (
        check(spec, {"output": np.zeros((128, 16), np.float32)}, CheckOptions(tries_slips=False)).results[0].computed
    )
    wrong = right.copy()
    wrong[96:] *= 1.5
    options = CheckOptions(tries_slips=False)
    (agrees,) = check(spec, {"output": Precision(dtype).round(right)}, options).results
    (differs,) = check(spec, {"output": Precision(dtype).round(wrong)}, options).results
    assert agrees.agrees
    assert differs.differ > 32 * 16 / 2


EXACT = problem(query=normal(5, 8), key=normal(7, 8), value=normal(7, 3))


def rounded(change: float, dtype: str) -> np.ndarray:
    """The output, computed in float64 with the first score times 1 + `change`, rounded to a type in the end."""
    scores = EXACT.query @ EXACT.key.T / np.sqrt(8)
    scores[0, 0] *= 1 + change
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return np.asarray(Precision(dtype).round(weights @ EXACT.value).astype(dtype if dtype != "bfloat16" else "float32"))


@pytest.mark.parametrize("own", ["float64", "float32"])
@pytest.mark.parametrize(
    ("change", "dtype", "agrees", "half_type"),
    [
        (0, "float16", True, None),
        (0.01, "float16", False, "float16"),
        (3, "float16", False, None),
        (0, "float32", True, None),
        (0.01, "float32", False, None),
    ],
)
def test_an_output_in_half_precision_of_finer_inputs_is_held_to_one_rounding(
    own: str, change: float, dtype: str, agrees: bool, half_type: str | None
) -> None:
    spec = replace(EXACT, dtype=own)
    (result,) = check(spec, {"output": rounded(change, dtype)}, CheckOptions(tries_slips=False)).results
    assert (result.agrees, result.half_type) == (agrees, half_type)
    assert ("one rounding to float16" in result.tolerance_reason) == (dtype == "float16")


def test_where_the_problem_is_in_half_precision_the_arithmetic_is_allowed() -> None:
    spec = replace(EXACT, dtype="float16")
    (result,) = check(spec, {"output": rounded(0.01, "float16")}, CheckOptions(tries_slips=False)).results
    assert (result.agrees, result.half_type) == (True, None)


def test_units_that_are_allowed_are_those_of_the_numbers() -> None:
    numbers = rounded(0, "float16")
    moved = np.nextafter(numbers, np.float16(9))
    for ulp, agrees in ((1.6, True), (0.4, False)):
        (result,) = check(EXACT, {"output": moved}, CheckOptions(ulp=ulp, tries_slips=False)).results
        assert (result.agrees, result.ulp_dtype) == (agrees, "float16")


def test_what_overflows_when_it_is_rounded_agrees_with_an_infinity() -> None:
    spec = problem(query=[[300.0]], key=[[300.0], [1.0]], score="dot")
    (result,) = check(spec, {"scores": np.array([[np.inf, 300]], np.float16)}, CheckOptions(tries_slips=False)).results
    assert result.agrees

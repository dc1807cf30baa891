"""The rounding error of a formula is that of its steps in a type."""

import numpy as np
import pytest

from attncli.analysis.check import tolerance
from attncli.analysis.check.tolerance import StepwisePrecision, evaluate_names, in_type, measure, rounding_error
from attncli.base.dtypes import Precision
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_kernel_that_adds_all_features_one_after_another_is_within_the_error(dtype: str) -> None:
    """Our own tables of the widest type add them in parts, which rounds less; the error is that of a kernel."""
    query, key = normal(60, 300, seed=1).astype(dtype), normal(60, 300, seed=2).astype(dtype)
    spec = problem(query=query, key=key, dtype=dtype)
    exact = query.astype(np.longdouble) @ key.astype(np.longdouble).T / np.sqrt(np.longdouble(300))
    one_after_another = np.add.accumulate(query[:, None] * key, axis=-1)[..., -1] / np.sqrt(np.array(300, dtype))
    largest = float(abs(one_after_another - exact).max())
    assert largest < 1.2 * rounding_error(spec, plan_of(spec), ["scores"], dtype).errors["scores"].largest

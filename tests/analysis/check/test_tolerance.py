"""The difference that is allowed follows from the rounding error, in proportion to the numbers of a row."""

import numpy as np
import pytest

from attncli.analysis.check.check import check
from attncli.analysis.check.report import CheckOptions
from attncli.analysis.check.tolerance import Tolerance
from attncli.base.dtypes import Precision
from tests.arrays import normal
from tests.problems import problem

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

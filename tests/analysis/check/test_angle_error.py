"""The rounding error of rope's angles grows with the positions, and is that of the type that kernels compute in."""

import numpy as np
import pytest

from attncli.analysis.check.tolerance import rounding_error
from attncli.plan.build import plan_of
from tests.arrays import normal
from tests.problems import problem


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

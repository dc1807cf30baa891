"""Float16 in float32: every number there is, as NumPy converts it."""

import warnings

import numpy as np
import pytest

from attncli.base.half_floats import FEW, PART, to_single

EVERY = np.arange(2**16, dtype=np.uint16).view(np.float16)  # infinities and NaN too
FINITE = EVERY[np.isfinite(EVERY)]


def assert_same(x: np.ndarray) -> None:
    """Assert that an array is converted as by NumPy, to the last bit, and without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        single = to_single(x)
    expected = x.astype(np.float32)
    assert (single.dtype, single.shape) == (np.float32, x.shape)
    np.testing.assert_array_equal(single.view(np.uint32)[~np.isnan(expected)], expected.view(np.uint32)[~np.isnan(x)])
    np.testing.assert_array_equal(np.isnan(single), np.isnan(x))


def test_every_number_is_the_same() -> None:
    assert len(FINITE) > FEW
    assert_same(FINITE)
    assert_same(EVERY)


@pytest.mark.parametrize("other", [np.inf, -np.inf, np.nan, 65504, -65504, 2**-24, -0.0])
def test_a_part_with_one_other_number_is_the_same(other: float) -> None:
    """An infinity or NaN in any part, or the largest and smallest of others."""
    for at in (0, PART - 1, PART, 2 * PART + 10):
        x = np.resize(FINITE[FINITE > 1], 2 * PART + 11)
        x[at] = other
        assert_same(x)


@pytest.mark.parametrize("size", [0, 1, FEW, FEW + 1])
def test_arrays_of_any_size_are_the_same(size: int) -> None:
    assert_same(np.resize(FINITE, size))


def test_arrays_are_the_same_however_they_are_stored() -> None:
    x = np.resize(FINITE, 6 * 50 * 40).reshape(6, 50, 40)
    for stored in (x.swapaxes(0, 1), x.mT, x[:, ::-2], np.broadcast_to(x[:1], x.shape), x.astype(">f2")):
        assert_same(stored)

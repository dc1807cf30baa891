"""Generators: NumPy's streams called directly, and the variances of distributions."""

import math

import numpy as np
import pytest

from attncli.ops import operators
from attncli.ops.initializers import stream

GENERATORS = operators("generator")


def draw(name: str, shape: tuple[int, ...], *, seed: int = 42, kind: str = "pcg64", **parameters: float) -> np.ndarray:
    result: np.ndarray = GENERATORS[name].function(stream(kind, seed), shape, **parameters)
    return result


def test_the_legacy_stream_is_the_tutorials() -> None:
    np.random.seed(42)
    expected = np.random.randint(3, size=(3, 3))
    np.testing.assert_array_equal(draw("randint", (3, 3), kind="legacy", low=0, high=3), expected)
    assert expected.tolist() == [[2, 0, 2], [2, 0, 0], [2, 1, 2]]


def test_each_distribution_is_the_streams_own() -> None:
    shape = (3, 5)
    np.testing.assert_array_equal(
        draw("randint", shape, low=-2, high=9), np.random.default_rng(42).integers(-2, 9, size=shape)
    )
    np.testing.assert_array_equal(
        draw("uniform", shape, low=-1, high=4), np.random.default_rng(42).uniform(-1, 4, size=shape)
    )
    np.testing.assert_array_equal(
        draw("normal", shape, mean=3, std=0.5), np.random.default_rng(42).normal(3, 0.5, size=shape)
    )
    np.testing.assert_array_equal(
        draw("normal", shape, kind="legacy"), np.random.RandomState(42).normal(0, 1, size=shape)
    )


@pytest.mark.parametrize("gain", [1.0, 2.5])
def test_xavier_numbers_have_the_spread_of_glorot_and_bengio(gain: float) -> None:
    shape = (300, 700)
    variance = gain**2 * 2 / (300 + 700)
    assert draw("xavier_normal", shape, gain=gain).var() == pytest.approx(variance, rel=0.02)
    uniform = draw("xavier_uniform", shape, gain=gain)
    assert uniform.var() == pytest.approx(variance, rel=0.02)
    limit = gain * math.sqrt(6 / 1000)
    assert 0.999 * limit < abs(uniform).max() <= limit


def test_constants_and_the_identity_need_no_stream() -> None:
    assert GENERATORS["identity"].function(None, (2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert GENERATORS["zeros"].function(None, (1, 2)).tolist() == [[0, 0]]
    assert GENERATORS["ones"].function(None, (2,)).tolist() == [1, 1]

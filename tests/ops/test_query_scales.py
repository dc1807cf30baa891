"""Query scales: how the factor of a query grows with its position."""

import math
from typing import Any

import numpy as np
import pytest

from attncli import attention
from attncli.ops import operators
from attncli.ops.query_scales import log_steps, logn, power, ssmax

POSITIONS = np.array([-3, 0, 1, 2, 3, 11])


def test_every_query_scale_is_tested_here() -> None:
    assert set(operators("query_scale")) == {"log_steps", "logn", "power", "ssmax"}


@pytest.mark.parametrize(
    ("offset", "steps"),
    [(1, [0, 0, 0, 1, 1, 4]), (0, [0, 0, 0, 0, 1, 3])],  # Llama 4; Ministral 3
)
def test_log_steps_rise_at_every_multiple_of_the_length(offset: float, steps: list[int]) -> None:
    expected = [1 + 0.2 * math.log(1 + step) for step in steps]
    np.testing.assert_allclose(log_steps(POSITIONS, length=3, factor=0.2, offset=offset), expected, rtol=1e-15)


def test_logn_is_the_logarithm_of_the_number_of_keys_to_the_base_of_the_length() -> None:
    expected = [1, 1, 1, math.log(3, 2), 2, math.log(12, 2)]
    np.testing.assert_allclose(logn(POSITIONS, length=2), expected, rtol=1e-15)


def test_the_logarithm_of_logn_may_have_a_factor() -> None:
    expected = [1, 1, 1, 1, 1 + 0.3 * math.log(4 / 3), 1 + 0.3 * math.log(4)]
    np.testing.assert_allclose(logn(POSITIONS, length=3, factor=0.3), expected, rtol=1e-15)


def test_a_power_grows_with_the_number_of_keys() -> None:
    expected = [math.sqrt(1 + keys / 4) for keys in (1, 1, 2, 3, 4, 12)]
    np.testing.assert_allclose(power(POSITIONS, length=4, exponent=0.5), expected, rtol=1e-15)


def test_ssmax_has_a_scale_and_a_bias_for_each_head() -> None:
    factors = ssmax(POSITIONS, heads=2, scale=np.array([2.0, -1.0]), bias=np.array([0.0, 0.5]))
    logarithms = np.log([1, 1, 2, 3, 4, 12])
    np.testing.assert_allclose(factors, [2 * logarithms, 0.5 - logarithms], rtol=1e-15)


@pytest.mark.parametrize(
    ("keys", "positions"),
    [
        ({}, [0, 1]),
        ({"past_key": np.ones((5, 2)), "past_value": np.ones((5, 3))}, [5, 6]),
        ({"align": "bottom_right"}, [2, 3]),
        ({"only": [1]}, [1]),
        ({"positions_of_queries": [6, 2], "positions": [0, 1, 2, 3], "position": None}, [6, 2]),
    ],
    ids=["from the first key", "after a cache", "at the end", "of one query", "as they are given"],
)
def test_scores_are_those_of_queries_times_their_factors(keys: dict[str, Any], positions: list[int]) -> None:
    query, key = np.array([[1.0, 2], [-1, 3]]), np.array([[2.0, 0], [1, 1], [0, 5], [4, 4]])
    arrays = {"query": query, "key": key, "value": np.ones((4, 3)), "position": "rope", **keys}
    plain = attention(**arrays, select="scores").scores
    scaled = attention(**arrays, query_scale="power:length=1,exponent=2", select="scores").scores
    np.testing.assert_allclose(scaled, plain * [[(2 + position) ** 2] for position in positions], rtol=1e-13)

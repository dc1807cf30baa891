"""Data types: rounding to a type, and the type of results."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli import attention
from attncli.base.dtypes import (
    FEW,
    FLOAT8,
    NAMES,
    PART,
    Precision,
    common_dtype,
    float8_numbers,
    to_bfloat16,
    to_float8,
    to_single,
)
from tests.arrays import normal


def bfloat16_neighbours(number: float) -> tuple[float, float]:
    """The two values with 8 significant bits around a positive number, from its bits alone."""
    bits = int(np.float32(number).view(np.uint32))
    while float(np.uint32(bits).view(np.float32)) > number:
        bits -= 1
    low = bits & 0xFFFF0000
    return tuple(float(np.uint32(edge).view(np.float32)) for edge in (low, low + 0x10000))  # type: ignore[return-value]


@given(st.floats(1e-30, 1e30))
def test_bfloat16_is_the_nearest_of_two_neighbours_and_of_a_tie_the_even_one(number: float) -> None:
    low, high = bfloat16_neighbours(number)
    down, up = Fraction(number) - Fraction(low), Fraction(high) - Fraction(number)
    even_is_low = (int(np.float32(low).view(np.uint32)) >> 16) % 2 == 0
    expected = low if down < up or (down == up and even_is_low) else high
    assert float(to_bfloat16(np.array([number]))[0]) == expected


@given(st.integers(0x3000, 0x5000), st.sampled_from([-1, 0, 1]))
def test_a_tie_in_double_precision_is_broken_by_the_digits_beyond_single(bits: int, side: int) -> None:
    low, high = (float(np.uint32((bits + up) << 16).view(np.float32)) for up in (0, 1))
    tie = (low + high) / 2
    number = np.nextafter(tie, np.inf * side) if side else tie
    expected = {-1: low, 1: high, 0: low if bits % 2 == 0 else high}[side]
    assert float(to_bfloat16(np.array([number]))[0]) == expected


def test_bfloat16_keeps_infinity_nan_and_signed_zero() -> None:
    with np.errstate(over="ignore"):
        found = to_bfloat16(np.array([np.inf, -np.inf, 1e39, -0.0, 0.0]))
    assert found.tolist() == [np.inf, -np.inf, np.inf, 0, 0]
    assert np.signbit(found[3])
    assert np.isnan(to_bfloat16(np.array([np.nan], dtype=np.float32)))


# The exponents' bits and bias, and the largest number, of the papers' table.
EIGHT_BITS = {"float8_e4m3fn": (4, 7, 448.0), "float8_e5m2": (5, 15, 57344.0)}


@pytest.mark.parametrize("name", FLOAT8)
def test_the_codes_of_8_bits_are_sign_exponent_and_fraction(name: str) -> None:
    bits, bias, largest = EIGHT_BITS[name]
    fraction_bits = 7 - bits
    for code, number in enumerate(float8_numbers(name).tolist()):
        exponent, fraction = (code & 0x7F) >> fraction_bits, (code & (2**fraction_bits - 1)) / 2**fraction_bits
        size = (1 + fraction) * 2.0 ** (exponent - bias) if exponent else fraction * 2.0 ** (1 - bias)
        expected = (-1) ** (code >> 7) * size
        assert number == expected or (size > largest and not np.isfinite(number))
    numbers = float8_numbers(name)
    assert numbers[np.isfinite(numbers)].max() == largest


@pytest.mark.parametrize("name", FLOAT8)
@given(number=st.floats(-70000, 70000) | st.floats(-1, 1) | st.sampled_from([464.0, 465.0, 1.0625, 2.0**-10, -0.0]))
def test_float8_is_the_nearest_number_and_of_a_tie_the_even_code(name: str, number: float) -> None:
    finite = [(code, x) for code, x in enumerate(float8_numbers(name)[: 2**7].tolist()) if np.isfinite(x)]
    _, _, nearest = min((abs(Fraction(abs(number)) - Fraction(x)), code % 2, x) for code, x in finite)
    found = to_float8(np.array([number]), name)
    assert found.tolist() == [np.copysign(nearest, number)]
    assert np.signbit(found[0]) == np.signbit(number)


@pytest.mark.parametrize("name", FLOAT8)
def test_float8_becomes_no_larger_than_its_largest_and_keeps_infinity_and_nan(name: str) -> None:
    found = to_float8(np.array([1e30, -1e30, np.inf, -np.inf, np.nan]), name)
    largest = EIGHT_BITS[name][2]
    np.testing.assert_array_equal(found, [largest, -largest, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("name", FLOAT8)
def test_float8_has_its_unit_and_its_smallest_number(name: str) -> None:
    numbers = float8_numbers(name)[: 2**7]
    positive = numbers[np.isfinite(numbers) & (numbers > 0)]
    assert Precision(name).smallest == positive[0]
    assert Precision(name).epsilon == positive[positive > 1][0] - 1


@pytest.mark.parametrize("name", NAMES)
def test_masks_and_indices_are_not_converted(name: str) -> None:
    for x in (np.array([True]), np.array([2**60 + 1])):
        assert Precision(name).round(x) is x
        assert Precision(name).widen(x) is x


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], "float64"),
        (["float16"], "float16"),
        (["bfloat16", "bfloat16"], "bfloat16"),
        (["bfloat16", "float16"], "float32"),
        (["bfloat16", "float32"], "float32"),
        (["float8_e4m3fn"] * 2, "float8_e4m3fn"),
        (["float8_e4m3fn", "float8_e5m2"], "float32"),
        (["float8_e5m2", "bfloat16"], "float32"),
        (["float32", "float64"], "float64"),
        (["bfloat16", "float64"], "float64"),
        ([np.dtype("longdouble").name, "float16"], "longdouble"),
    ],
)
def test_inputs_of_several_types_are_computed_in_one_that_holds_them(names: list[str], expected: str) -> None:
    assert common_dtype(names) == expected


QUERY, KEY = np.random.default_rng(0).normal(size=(3, 5)), np.random.default_rng(1).normal(size=(7, 5))
SELECT = ("query", "scores", "masked_scores", "weights", "context", "output")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
def test_every_result_has_the_requested_dtype(dtype: str) -> None:
    result = attention(QUERY, KEY, dtype=dtype, causal=True, position="rope:dims=4", select=SELECT)
    assert {getattr(result, name).dtype.name for name in SELECT} == {np.dtype(dtype).name}


@pytest.mark.parametrize("dtype", ["float16", "float32", "longdouble"])
def test_without_a_dtype_results_have_that_of_the_inputs(dtype: str) -> None:
    result = attention(QUERY.astype(dtype), KEY.astype(dtype), sink=[0.5], bias=[[1.0]], select=SELECT)
    assert {getattr(result, name).dtype.name for name in SELECT} == {np.dtype(dtype).name}


def test_lists_and_integers_take_the_dtype_of_the_other_arrays() -> None:
    assert attention(QUERY.astype(np.float32), KEY.tolist()).output.dtype == np.float32
    assert attention(QUERY.astype(np.float16), np.ones((7, 5), dtype=int)).output.dtype == np.float16
    assert attention([[1, 2]], np.ones((7, 2), dtype=int)).output.dtype == np.float64


def test_a_stage_of_single_precision_rounds_once_at_its_end() -> None:
    """Every step is the exact function of the rounded steps before it, rounded."""
    stored = Precision("float32").round
    result = attention(QUERY, KEY, dtype="float32", select=SELECT)
    query, key = (stored(x).astype(np.float64) for x in (QUERY, KEY))
    np.testing.assert_array_equal(result.query, stored(QUERY))
    np.testing.assert_array_equal(result.scores, stored(query @ key.T / np.sqrt(5)))
    exponentials = np.exp(result.scores.astype(np.float64))
    np.testing.assert_array_equal(result.weights, stored(exponentials / exponentials.sum(axis=-1, keepdims=True)))
    np.testing.assert_array_equal(result.output, stored(result.weights.astype(np.float64) @ key))


@pytest.mark.parametrize("dtype", [*FLOAT8, "float16", "bfloat16"])
def test_a_narrow_type_rounds_tables_for_those_who_read_them_and_not_for_the_output(dtype: str) -> None:
    """Scores, weights and output are each the exact function of the rounded queries and keys, rounded."""
    stored = Precision(dtype).round
    result = attention(QUERY, KEY, dtype=dtype, select=SELECT)
    query, key = (stored(x).astype(np.float64) for x in (QUERY, KEY))
    scores = query @ key.T / np.sqrt(5)
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    for name, exact in (("query", query), ("scores", scores), ("weights", weights), ("output", weights @ key)):
        np.testing.assert_array_equal(getattr(result, name), stored(exact), err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_numbers_of_a_half_type_that_nearly_tie_are_the_nearest_too(dtype: str) -> None:
    """Of so many numbers some lie so near to the middle of two neighbours that an error of float32 decides."""
    query, key, value = (Precision(dtype).round(normal(256, 64, seed=seed)).astype(np.float64) for seed in range(3))
    result = attention(query, key, value, dtype=dtype, select=("scores", "output"))
    scores = query @ key.T / 8
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    np.testing.assert_array_equal(result.scores, Precision(dtype).round(scores))
    np.testing.assert_array_equal(result.output, Precision(dtype).round(weights @ value))


@pytest.mark.parametrize("dtype", [*FLOAT8, "float16", "bfloat16"])
def test_large_scores_of_a_narrow_type_give_the_output_that_they_have_in_double_precision(dtype: str) -> None:
    query, key = (Precision(dtype).round(x * 20).astype(np.float64) for x in (QUERY, KEY))
    exact = attention(query, key).output
    output = attention(query, key, dtype=dtype).output
    np.testing.assert_array_equal(output, Precision(dtype).round(exact))


def test_bfloat16_is_held_in_single_precision_with_its_own_few_digits() -> None:
    result = attention(QUERY, KEY, dtype="bfloat16")
    assert result.output.dtype == np.float32
    assert (result.output.view(np.uint32) & 0xFFFF == 0).all()


def test_a_longdouble_keeps_the_digits_that_a_double_has_not() -> None:
    third = np.longdouble(1) / 3
    result = attention(np.array([[third]]), np.array([[1]], dtype=np.longdouble), score="dot", select=("scores",))
    assert result.scores[0, 0] == third
    assert np.finfo(np.longdouble).eps == np.finfo(np.float64).eps or float(third) != third


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

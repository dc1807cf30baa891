"""Arithmetic as text: numbers, terms, and equations that hold with the digits that are written."""

import math
from decimal import Decimal

import numpy as np
import pytest

from attncli.numbers import terms
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.formatting import Style, decimal
from attncli.numbers.terms import Term, absolute, cos, exp, largest, ln, number, products, sin, sqrt, tanh, total

WRITE = ArithmeticWriter(4, "q", ["k"], 0, 0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10.0, "10"), (5.773502691896258, "5.7735"), (-0.5, "−0.5"), (0.0, "0"), (-0.0, "0"), (1.2e-7, "1.2e−07"),
        (-1e20, "−1e+20"), (float("inf"), "∞"), (float("-inf"), "−∞"), (float("nan"), "NaN"), (0.00004, "4e−05"),
        (0.00005, "0.0001"), (-0.00005, "−0.0001"), (0.00006, "0.0001"), (-1e15, "−1e+15"), (-9e14, "−900000000000000"),
        (99999.99999, "100000.0000"), (1e15, "1e+15"), (0.1 + 0.2, "0.3000"), (0.08995, "0.0900"), (0.09, "0.09"),
        (1 / 3 * 1e-7, "3.3333e−08"), (Decimal("1e400"), "1e+400"), (Decimal("0.25"), "0.25"),
    ],
)  # fmt: skip
def test_a_number_has_its_decimals_unless_it_is_exact(value: float, text: str) -> None:
    assert decimal(value, 4) == text


a, b = number(3), number(-2)


@pytest.mark.parametrize(
    ("term", "text", "value"),
    [
        (products([2, 0, 2], [2, 4, -3]), "2·2 + 0·4 + 2·(−3)", -2),
        (products([-1, -1], [1, 1]), "−1·1 + (−1)·1", -2),
        (products([0.5], np.array([[1, -2]])), "0.5·[1 −2]", (0.5, -1)),
        (total([1, -2, 3]), "1 + (−2) + 3", 2),
        (total([]), "0", 0),
        (a - b, "3 − (−2)", 5),
        (a - (a - b), "3 − (3 − (−2))", -2),
        ((a + b) * b, "(3 + (−2))·(−2)", -2),
        (a / (a * b), "3/(3·(−2))", -0.5),
        (-(a / 2), "−3/2", -1.5),
        (b * -a, "−2·(−3)", 6),
        (1 - a, "1 − 3", -2),
        (2 / number(4), "2/4", 0.5),
        (np.float64(2) * a, "2·3", 6),
        (b**2, "(−2)²", 4),
        ((a + 1) ** 2, "(3 + 1)²", 16),
        (number(4) ** 0.5, "4^0.5", 2),
        (number(4) ** -(number(1) / 2), "4^(−1/2)", 0.5),
        (number(4) ** -0.5, "4^(−0.5)", 0.5),
        (number(4) ** (a - 1), "4^(3 − 1)", 16),
        (sqrt(a + 1), "√(3 + 1)", 2),
        (absolute(b - a), "|−2 − 3|", 5),
        (largest([b, 0, a]), "max(−2, 0, 3)", 3),
        (exp(a - 3) + ln(1) + tanh(0) + sin(0) + cos(0), "exp(3 − 3) + ln(1) + tanh(0) + sin(0) + cos(0)", 2),
        (number([1, -2]) - number([1, 1]), "[1 −2] − [1 1]", (0, -3)),
        (number([1, -2]) * 3, "[1 −2]·3", (3, -6)),
    ],
)
def test_a_term_is_written_and_computed(term: Term, text: str, value: float | tuple[float, ...]) -> None:
    assert term.text(Style(4)) == text
    assert [float(x) for x in term.value(Style(4))] == pytest.approx(np.atleast_1d(value).tolist())


def test_a_term_is_a_vector_where_a_part_of_it_is() -> None:
    assert (number([1, 2]) * 3).is_vector
    assert (3 * number([1, 2])).is_vector
    assert not (number(1) * 3).is_vector


def test_a_number_beyond_the_largest_of_eight_bytes_keeps_its_digits() -> None:
    assert number(Decimal("1e400")).value(None) == (Decimal("1e400"),)


def test_as_many_numbers_are_multiplied_by_as_many() -> None:
    with pytest.raises(ValueError, match="shorter"):
        products([1, 2], [3])


@pytest.mark.parametrize(("limit", "text"), [(5, "[1 2 3 4 5]"), (4, "[1 2 … 4 5]"), (3, "[1 2 … 5]")])
def test_of_a_long_vector_the_middle_is_left_out(limit: int, text: str) -> None:
    assert number([1, 2, 3, 4, 5]).text(Style(4, max_terms=limit)) == text


@pytest.mark.parametrize("x", [-30.0, -2.0, -1e-9, 0.0, 0.5, 3.1, 400.0])
def test_functions_are_computed_to_more_digits_than_numpy_s(x: float) -> None:
    for function in ("sin", "cos", "tanh"):
        assert float(getattr(terms, f"_{function}")(Decimal(x))) == pytest.approx(
            getattr(np, function)(x), rel=1e-14, abs=1e-16
        )


def test_of_a_long_sum_the_largest_terms_are_written_and_the_others_counted() -> None:
    style = Style(4, max_terms=4)
    assert total([1] * 4).text(style) == "1 + 1 + 1 + 1"
    assert total([1] * 5).text(style) == "1 + 1 + 1 + 1 + … 1 more …"
    assert total([3, 1, -2, 1, 5, 7]).text(style) == "3 + (−2) + 5 + 7 + … 2 more …"
    assert total([-3, 1e-7, 4, 1, 5, 7, 2], own=1).text(style) == "1e−07 + 4 + 5 + 7 + … 3 more …"
    assert total([math.nan, 1, 2, 3, 4]).text(style).startswith("NaN + 2")
    vectors = [number(entries) for entries in ([1, 9], [5, 5], [4, 4], [3, 3], [2, 2])]
    assert total(vectors).text(style) == "[1 9] + [5 5] + [4 4] + [3 3] + … 1 more …"
    assert total([1, -2, 0, 3, 4], own=2).text(Style(4, max_terms=2)) == "0 + 4 + … 3 more …"


def test_of_a_long_sum_what_is_not_0_is_written() -> None:
    weighted = [number(weight) * 2 for weight in (0, 0, 0, 0.5, 0.25)]
    assert total(weighted).text(Style(4, max_terms=4)) == "0.5·2 + 0.25·2 + … 3 zeros …"
    assert total(weighted).text(Style(4, max_terms=5)).count("0·2") == 3
    assert total([0] * 5).text(Style(4, max_terms=4)) == "0 + 0 + 0 + 0 + … 1 more …"


THIRD = 1 / 3


@pytest.mark.parametrize(
    ("term", "result", "line"),
    [
        (number(0.5) + 1, 1.5, "0.5 + 1 = 1.5"),
        (number(0.45484) + 0.45484, 0.90968, "0.45484 + 0.45484 = 0.9097"),
        (number(THIRD) * 3, 1.0, "0.33333·3 = 1.0000"),
        (number(THIRD) + THIRD + THIRD, 1.0, "0.33333 + 0.33333 + 0.33333 = 1.0000"),
        (number(1e8 / 3) * number(1e-3 / 3), 1e5 / 9, "33333333.333333·0.000333 ≈ 11111.1111"),
        (
            products([1e-8 / 3, THIRD], [3e4, 1e6]),
            (1e-8 * 1e4) + 1e6 / 3,
            "0.000000·30000 + 0.333333·1000000 ≈ 333333.3334",
        ),
        (
            products([1e-8 / 3, THIRD], [3e12, 1e3]),
            1e4 + 1e3 / 3,
            "3.333333e−09·3000000000000 + 0.333333·1000 ≈ 10333.3333",
        ),
        (products([1e-8, 0.5], [1e10, 30000]), 15100.0, "1e−08·10000000000 + 0.5·30000 = 15100"),
        (number([1e-8, 1]) * number([1e10, 1]), [100.0, 1.0], "[1e−08 1]·[10000000000 1] = [100 1]"),
        (number([1, 2]) * 1, [1.0, 2.5], "[1 2]·1 = [1 2], of unrounded numbers [1 2.5]"),
        (number(0.5) * 0.0247, 0.01235, "0.5·0.0247 = 0.0123"),
        (number(THIRD) * 0, 0.0, "0.3333·0 = 0"),
        (sqrt(number(1e-8 / 1.5)), (1e-8 / 1.5) ** 0.5, "√6.6667e−09 = 0.0001"),
        (number(0.1) + 0.2, 0.1 + 0.2, "0.1 + 0.2 = 0.3"),
        (number(10) / sqrt(3), 10 / 3**0.5, "10/√3 = 5.7735"),
        (number(0), 0.0, "0"),
        (number(1.5), 1.5, "1.5"),
        (number(1e200) * 1e200, float("inf"), "1e+200·1e+200 = 1e+400, in float64 ∞"),
        (number([THIRD, 1]) + number([1, 1]), [THIRD + 1, 2], "[0.3333 1] + [1 1] = [1.3333 2.0000]"),
    ],
)
def test_an_equation_holds_with_the_digits_that_are_written(term: Term, result: object, line: str) -> None:
    assert WRITE.equation(term, result) == line


def test_the_rounding_of_a_narrow_type_is_written() -> None:
    write = ArithmeticWriter(4, "q", ["k"], 0, 0, dtype="float16")
    assert write.equation(number(10.3) * 3, float(np.float16(30.9))) == "10.3·3 = 30.9, in float16 30.9062"
    two = write.equation(number([10.3, 20.3]) * 3, np.float16([30.9, 60.9]))
    assert two == "[10.3 20.3]·3 = [30.9 60.9], in float16 [30.9062 60.9062]"
    one_for_both = write.equation(number(10.3) * 3, np.float16([30.9, 30.9]))
    assert one_for_both == "10.3·3 = [30.9], in float16 [30.9062 30.9062]"
    not_a_number = write.equation(number([math.nan, 10.3]) * 3, np.float16([math.nan, 30.9]))
    assert not_a_number == "[NaN 10.3]·3 = [NaN 30.9000], in float16 [NaN 30.9062]"


def test_a_result_that_the_written_numbers_are_not_rounded_to_is_said_to_be_of_unrounded_ones() -> None:
    """bfloat16 has 0.2354 and 0.2363, and nothing between."""
    write = ArithmeticWriter(4, "cat", ["the"], 0, 0, dtype="bfloat16")
    weight = number(0.314453125) / 1.3342
    assert write.equation(weight, 0.2353515625) == "0.3145/1.3342 = 0.2357, in bfloat16 0.2354"
    assert write.equation(weight, 0.236328125) == "0.3145/1.3342 = 0.2357, of unrounded numbers 0.2363"


def test_a_computed_number_is_that_of_the_lines_after_it() -> None:
    norm = WRITE.computed("‖x‖", sqrt(products([1, 2], [1, 2])))
    assert norm.line == "‖x‖ = √(1·1 + 2·2) = 2.2361"
    assert WRITE.equation(number([1, 2]) / norm, [1 / 5**0.5, 2 / 5**0.5]) == "[1 2]/2.2361 = [0.4472 0.8944]"


@pytest.mark.parametrize(
    ("term", "is_added", "line"),
    [
        (number(1e-7) * 2, False, "x = 1e−07·2 = 2e−07"),
        (number(1e-7) * 2, True, "x = 0.0000·2 = 0.0000"),
        (number(1e-7) + 2, False, "x = 0.0000 + 2 = 2.0000"),
        (number([1e-7, 1]) * 2, False, "x = [1e−07 1]·2 = [2e−07 2]"),
    ],
)
def test_a_small_number_has_an_exponent_unless_it_is_only_added(term: Term, is_added: bool, line: str) -> None:
    assert WRITE.computed("x", term, is_added=is_added).line == line


def test_a_computed_number_has_exponents_where_the_table_of_the_result_has_them() -> None:
    write = ArithmeticWriter(4, "q", ["k"], 0, 0, has_exponents=True)
    assert write.computed("x", number(1e-7) + 2).line == "x = 1e−07 + 2 = 2.0000"


def test_a_computed_number_may_have_more_digits_than_eight_bytes_hold() -> None:
    write = ArithmeticWriter(17, "q", ["k"], 0, 0)
    assert write.computed("x", number(1e6) / 7).line == "x = 1000000/7 ≈ 142857.14285714286961593"


@pytest.mark.parametrize(("max_terms", "longest"), [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (12, 6)])
def test_a_vector_of_more_than_half_as_many_numbers_as_the_longest_sum_is_long(max_terms: int, longest: int) -> None:
    write = ArithmeticWriter(4, "q", ["k"], 0, 0, max_terms=max_terms)
    assert [write.is_long(longest), write.is_long(longest + 1)] == [False, True]


def test_without_a_limit_no_vector_is_long() -> None:
    assert not ArithmeticWriter(4, "q", ["k"], 0, 0, max_terms=None).is_long(10**6)


@pytest.mark.parametrize(
    ("feature", "line"), [(0, "C[e1] = 0.5·1 = 0.5"), (6, "C[e7] = 0.5·7 = 3.5"), (99, "C[e7] = 0.5·7 = 3.5")]
)
def test_one_number_of_a_long_vector_is_worked_out(feature: int, line: str) -> None:
    vector = np.arange(1.0, 8.0)
    write = ArithmeticWriter(4, "q", ["k"], 0, 0, feature=feature)
    assert write.equation(number(0.5) * vector, vector / 2, name="C", letter="e") == line


def test_a_sum_that_is_infinite_is_written_as_it_is() -> None:
    assert WRITE.computed("D", number(math.inf) * 2, is_added=True).line == "D = ∞·2 = ∞"

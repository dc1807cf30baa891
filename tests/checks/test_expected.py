"""Expected numbers of every form and equivalent shape are read, and the digits that they were typed with."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.checks.check import check, part_of
from attncli.checks.expected import ExpectedNumbers, ExpectedStep, expected_numbers, typed_digits
from attncli.checks.report import CheckOptions
from attncli.numbers.parsing import TypedNumber
from attncli.plan.build import plan_of
from attncli.plan.trace import Trace
from attncli.problem.arrays import GivenArray
from attncli.problem.build import build
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.problems import dense_trace, problem

WORDS = problem(embeddings=normal(3, 4), tokens=["the", "cat", "sat"])
HEADS = problem(query=normal(2, 3, 5, 4), key=normal(2, 3, 7, 4))
NAN = np.nan


def read(spec: ProblemSpec, name: str, value: Any, **part: int) -> ExpectedNumbers:
    plan = plan_of(spec)
    step = ExpectedStep(spec, plan, name, part_of(plan, CheckOptions(**part)))
    return expected_numbers(value, step, ("expected", name))


def test_some_cells_are_expected_by_their_labels() -> None:
    numbers = read(WORDS, "weights", {"the": {"sat": TypedNumber("0.75")}, "sat": {"the": 1, "cat": 0.5}})
    np.testing.assert_array_equal(numbers.array, [[NAN, NAN, 0.75], [NAN] * 3, [1, 0.5, NAN]])
    np.testing.assert_array_equal(numbers.is_given, ~np.isnan(numbers.array))
    assert not numbers.is_whole


@pytest.mark.parametrize(
    "value",
    [
        {"cat": [4, 5, 6]},
        {1: {0: 4, "cat": 5, -1: 6}},
        {"cat": np.array([4.0, 5, 6])},
        {"cat": {"the": np.float64(4), "cat": np.array(5.0), "sat": "6/1"}},
        [[None] * 3, [4, 5, 6], [None] * 3],
        {"the": None, "cat": [4, 5, 6]},
        GivenArray(np.array([[4.0, 5, 6]]), ("cat",)),
    ],
    ids=str,
)
def test_a_row_is_expected(value: Any) -> None:
    np.testing.assert_array_equal(read(WORDS, "scores", value).array, [[NAN] * 3, [4, 5, 6], [NAN] * 3])


def test_features_have_the_labels_that_tables_show() -> None:
    assert read(WORDS, "output", {"cat": {"e2": 7}}).array[1].tolist()[1] == 7


def test_rows_with_labels_are_put_where_the_labels_are() -> None:
    rows = GivenArray(np.arange(9.0).reshape(3, 3), ("sat", "the", "cat"))
    assert read(WORDS, "weights", rows).array[:, 0].tolist() == [3, 6, 0]


@pytest.mark.parametrize("is_typed", [True, False])
@pytest.mark.parametrize(
    ("cells", "labels", "columns"),
    [
        ([[9, 8, 7], [6, 5, 4], [3, 2, 1]], ("sat", "cat", "the"), ("sat", "cat", "the")),
        ([[3, 2, 1], [6, 5, 4], [9, 8, 7]], None, ("sat", "cat", "the")),
        ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], ("the", "cat", "sat"), ("the", "cat", "sat")),
        ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], None, ("x", "y", "z")),
    ],
    ids=str,
)
def test_the_columns_of_a_table_have_labels_too(
    is_typed: bool, cells: list[list[float]], labels: tuple[str, ...] | None, columns: tuple[str, ...]
) -> None:
    array = np.array([[TypedNumber(f"{cell}.0") for cell in row] for row in cells], dtype=object)
    table = GivenArray(array if is_typed else array.astype(np.float64), labels, columns=columns)
    numbers = read(WORDS, "weights", table)
    assert numbers.array.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert (numbers.half_units is not None) == is_typed


def test_a_table_may_have_some_of_the_columns_and_no_other() -> None:
    one = GivenArray(np.array([[5.0]]), ("the",), columns=("sat",))
    assert np.argwhere(read(WORDS, "weights", one).is_given).tolist() == [[0, 2]]
    with pytest.raises(AttnError, match="expected, weights, the: unknown key 'dog'; expected one of the, cat, sat"):
        read(WORDS, "weights", GivenArray(np.eye(3), columns=("dog", "cat", "the")))


def test_a_data_frame_has_labels() -> None:
    class Frame:
        index, columns = np.array(["cat"]), np.array(["sat"])

        def to_numpy(self) -> np.ndarray:
            return np.array([[5.0]])

    assert np.argwhere(read(WORDS, "weights", Frame()).is_given).tolist() == [[1, 2]]


def test_of_equal_labels_one_is_said_by_its_number() -> None:
    twice = problem(embeddings=normal(3, 4), tokens=["the", "cat", "the"])
    assert read(twice, "weights", {"the#2": [1, 2, 3]}).array[2].tolist() == [1, 2, 3]
    with pytest.raises(AttnError, match="expected, weights: 'the' appears 2 times; say the#1 or the#2"):
        read(twice, "weights", {"the": [1, 2, 3]})
    with pytest.raises(AttnError, match="unknown query 'the#3'"):
        read(twice, "weights", {"the#3": [1, 2, 3]})


def test_batch_items_and_heads_are_said_by_their_number() -> None:
    numbers = read(HEADS, "weights", {"batch item 1": {"head 2": {"query_5": {"key_7": 0.5}}}})
    assert np.argwhere(numbers.is_given).tolist() == [[1, 2, 4, 6]]


def test_the_axis_of_one_batch_item_or_head_may_be_left_out() -> None:
    one = problem(query=normal(1, 1, 5, 4), key=normal(1, 1, 7, 4))
    for value in ({"query_1": {"key_1": 2}}, {"head 0": {"query_1": {"key_1": 2}}}):
        assert read(one, "weights", value).array[0, 0, 0, 0] == 2


def test_the_head_and_the_batch_item_that_are_checked_may_be_left_out() -> None:
    row = {"query_1": {"key_1": 2}}
    for value in (
        row,
        {1: row},
        {0: {2: row, 1: row}, 1: {2: row, 1: row}},
        {"head 1": row},
        {1: {"query_1": [2] * 7}},
    ):
        numbers = read(HEADS, "weights", value, head=1, batch=1)
        assert np.argwhere(numbers.is_given)[0].tolist() == [1, 1, 0, 0]


TABLES = np.arange(2 * 3 * 5 * 7.0).reshape(2, 3, 5, 7)


@pytest.mark.parametrize(
    "given",
    [TABLES, TABLES[1], TABLES[:, 2], TABLES[1, 2], TABLES[1:, 2:], TABLES[1:, 2]],
    ids=lambda x: str(x.shape),
)
def test_of_a_part_that_is_checked_the_whole_or_the_part_is_given(given: np.ndarray) -> None:
    numbers = read(HEADS, "weights", given, head=2, batch=1)
    np.testing.assert_array_equal(numbers.array[1, 2], TABLES[1, 2])
    assert numbers.is_given.sum() == 35


def test_of_selected_queries_the_whole_or_the_part_is_given() -> None:
    some = problem(embeddings=normal(3, 4), tokens=["the", "cat", "sat"], only=["sat", "the"])
    whole = np.arange(9.0).reshape(3, 3)
    for given in (whole, whole[[2, 0]], {"the": whole[0], "cat": whole[1], "sat": whole[2]}):
        np.testing.assert_array_equal(read(some, "weights", given).array, whole[[2, 0]])


def test_what_is_expected_of_other_queries_is_said_not_to_be_compared() -> None:
    some = problem(embeddings=normal(3, 4), tokens=["the", "cat", "sat"], only=["sat"])
    numbers = read(some, "weights", {"the": [1, 2, 3]})
    assert not numbers.is_given.any()
    assert numbers.remarks == ("the expected values of the are not compared: the problem does not compute them",)


def test_numbers_of_a_library_have_a_type_and_typed_ones_digits() -> None:
    single = read(WORDS, "weights", np.ones((3, 3), np.float32))
    assert (single.dtype, single.half_units) == ("float32", None)
    typed = read(WORDS, "weights", {"the": {"cat": TypedNumber("0.50"), "sat": TypedNumber("0.123")}})
    assert typed.half_units is not None
    np.testing.assert_allclose(typed.half_units[0], [NAN, 0.005, 0.0005])
    assert typed.dtype is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"dog": [1, 2, 3]}, "expected, weights: unknown query 'dog'; expected one of the, cat, sat"),
        ({"cat": {"teh": 1}}, "expected, weights, cat: unknown key 'teh'"),
        ({"cat": [1, 2]}, r"expected, weights, cat: has 2 numbers; expected 3 keys"),
        ({"cat": 1}, "expected, weights, cat: has 1 number; expected 3 keys"),
        ({"cat": {"the": [1, 2]}}, "expected, weights, cat, the: has 2 numbers"),
        ({"cat": {"the": {"sat": 1}}}, r"weights, cat, the: is nested deeper than its axes; expected \[n m\]"),
        ({}, "expected, weights: is empty"),
        ([[1, 2], [3]], "expected, weights, row 2: 1 number where the other rows have 2"),
        ("cat", "expected, weights"),
        ([["cat"]], 'expected, weights, row 1, number 1: "cat" is not a number'),
        (normal(2, 3), "weights: has 2 × 3 numbers; expected 3 queries × 3 keys"),
        ({5: [1, 2, 3]}, "expected, weights: there is no position 5; positions go from 0 to 2"),
    ],
    ids=str,
)
def test_an_error_names_the_word_and_what_was_expected(value: Any, message: str) -> None:
    with pytest.raises(AttnError, match=message):
        read(WORDS, "weights", value)


def test_the_average_of_heads_is_no_head() -> None:
    with pytest.raises(AttnError, match="give numbers for every head, not their average"):
        read(HEADS, "weights", normal(2, 5, 7))


def test_an_unknown_head_is_named() -> None:
    with pytest.raises(AttnError, match="unknown head 'query_1'; expected one of head 0, head 1, head 2"):
        read(HEADS, "weights", {"batch item 0": {"query_1": {"key_1": 1}}})
    with pytest.raises(AttnError, match="head: there is no head 3; expected 0 to 2"):
        check(HEADS, {"weights": normal(2, 3, 5, 7)}, CheckOptions(head=3))


def test_mappings_without_end_are_an_error() -> None:
    endless: dict[int, Any] = {}
    endless[0] = endless
    heads = problem(query=normal(1, 1, 3, 4), key=normal(1, 1, 3, 4))
    with pytest.raises(AttnError, match="is nested deeper than its axes"):
        read(heads, "weights", endless)


B, H, N, M, D = 2, 3, 5, 7, 4
FLAT = problem(query=normal(N, D), key=normal(M, D))
HEAD_AXIS = problem(query=normal(B, H, N, D), key=normal(B, H, M, D))
SIDE_BY_SIDE = problem(query=normal(B, N, H * D), key=normal(B, M, H * D), heads=H)
ONE_ITEM = problem(query=normal(1, N, H * D), key=normal(1, M, H * D), heads=H)
GROUPS = problem(query=normal(B, N, 6 * D), key=normal(B, M, 2 * D), heads=6, kv_heads=2)


def swap(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(-2, -3)


def merged(x: np.ndarray) -> np.ndarray:
    return swap(x).reshape(*x.shape[:-3], x.shape[-2], -1)


def split(x: np.ndarray, heads: int = H) -> np.ndarray:
    return swap(x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads))


CASES = {
    "a batch axis too many": (FLAT, "output", lambda x: x[None]),
    "batch and head axes too many": (FLAT, "weights", lambda x: x[None, None]),
    "a batch axis missing": (ONE_ITEM, "output", lambda x: x[0]),
    "heads side by side": (HEAD_AXIS, "output", merged),
    "queries before heads": (HEAD_AXIS, "output", swap),
    "heads on an axis": (SIDE_BY_SIDE, "output", split),
    "heads after queries": (SIDE_BY_SIDE, "output", lambda x: swap(split(x))),
    "one item, heads on an axis": (ONE_ITEM, "output", lambda x: split(x)[0]),
    "projected keys, heads on an axis": (SIDE_BY_SIDE, "key", split),
    "keys of key heads": (GROUPS, "key", lambda x: split(x, 2)),
    "queries of query heads": (GROUPS, "query", lambda x: split(x, 6)),
    "the context of heads side by side": (SIDE_BY_SIDE, "context", merged),
}


@pytest.mark.parametrize(("spec", "name", "change"), CASES.values(), ids=CASES)
def test_a_shape_that_means_the_same_is_matched(
    spec: ProblemSpec, name: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    trace: Trace = dense_trace(spec)
    given = change(trace[name].value)
    report = check(spec, {name: given})
    assert report.agrees
    assert report.results[0].remarks
    wrong = given.copy()
    wrong.reshape(-1)[-1] += 1
    assert not check(spec, {name: wrong}, CheckOptions(tries_slips=False)).agrees


def test_as_many_heads_as_queries_are_after_them_where_the_convention_has_them_so() -> None:
    x = normal(B, N, N, D)
    for convention in ("flash", "jax", "xformers"):
        spec = build({"query": x, "key": x}, convention=convention)
        output = dense_trace(spec)["output"].value
        report = check(spec, {"output": swap(output)}, CheckOptions(tries_slips=False))
        assert report.agrees
        assert report.results[0].remarks == ("2 × 5 × 5 × 4 numbers are read as [b n h e] of [b h n e]",)
        assert not check(spec, {"output": output}, CheckOptions(tries_slips=False)).agrees


def test_what_was_matched_is_said() -> None:
    output = dense_trace(HEAD_AXIS)["output"].value
    assert check(HEAD_AXIS, {"output": output}).results[0].remarks == ()
    assert check(HEAD_AXIS, {"output": merged(output)}).results[0].remarks == (
        "2 × 5 × 12 numbers are read as [b n h·e] of [b h n e]",
    )
    assert check(FLAT, {"output": dense_trace(FLAT)["output"].value[None]}).results[0].remarks == (
        "1 × 5 × 4 numbers are read as 5 × 4 [n e]",
    )


@pytest.mark.parametrize("shape", [(N, D + 1), (D, N), (2, N, D), (N * D,)])
def test_any_other_shape_is_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(AttnError, match="numbers; expected 5 queries × 4 value features"):
        check(FLAT, {"output": normal(*shape)})


def test_heads_of_an_output_that_was_projected_are_not_split() -> None:
    spec = problem(query=normal(N, H * D), key=normal(M, H * D), heads=H, w_o=normal(H * D, H * D))
    with pytest.raises(AttnError):
        check(spec, {"output": normal(H, N, D)})


def texts(*words: str) -> list[float]:
    return [TypedNumber(word) for word in words]


@pytest.mark.parametrize(
    ("words", "half_units"),
    [
        (("0.50", "0.3"), (0.005, 0.05)),
        ((".5898", "1.3e-3", "2E2"), (0.00005, 0.00005, 50)),
        (("1", "0", "0.333"), (0.0005, 0.0005, 0.0005)),
        (("1", "1e-7"), (0.5, 5e-8)),
        (("5.", "0.2"), (0.5, 0.05)),
        (("nan", "0.25"), (np.nan, 0.005)),
    ],
)
def test_a_number_typed_with_a_point_or_an_exponent_has_the_unit_of_its_last_digit(
    words: tuple[str, ...], half_units: tuple[float, ...]
) -> None:
    np.testing.assert_allclose(typed_digits(texts(*words)).half_units, half_units, rtol=1e-12)


def test_floats_of_python_share_the_last_decimal_of_any_of_them() -> None:
    assert typed_digits([0.98522025, 0.5, 2.0]).half_units.tolist() == [5e-9] * 3
    assert typed_digits([1.5e-7, 0.25]).half_units.tolist() == [5e-9, 0.005]


@pytest.mark.parametrize("numbers", [texts("2", "-4"), [2.0, 4.0], texts("1", "inf", "nan"), [1e22]])
def test_whole_numbers_are_exact(numbers: list[float]) -> None:
    digits = typed_digits(numbers)
    assert np.isnan(digits.half_units).all()
    assert digits.dtype is None


def test_a_number_without_digits_to_go_by_is_exact_and_the_others_keep_theirs() -> None:
    half_units = typed_digits([TypedNumber("1/3", 1 / 3), TypedNumber("0.33")]).half_units
    assert np.isnan(half_units[0])
    assert half_units[1] == 0.005


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_numbers_with_every_digit_are_of_the_narrowest_type_that_holds_them(dtype: str) -> None:
    numbers = Precision(dtype).round(np.random.default_rng(0).random(8)).tolist()
    for written in (numbers, texts(*map(repr, numbers)), [0.5, *numbers]):
        digits = typed_digits(written)
        assert digits.dtype == dtype
        assert np.isnan(digits.half_units).all()


def test_short_binary_fractions_are_numbers_that_people_type() -> None:
    assert typed_digits(texts("0.96875", "0.03125")).half_units.tolist() == [5e-6, 5e-6]

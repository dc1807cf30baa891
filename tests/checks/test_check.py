"""A check says which of the expected numbers differ, how far, and which quantity differs first."""

from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError, UnknownNameError
from attncli.checks.check import check
from attncli.checks.report import CheckOptions, CheckReport, QuantityCheck
from attncli.engine.options import BlockSizes, RunOptions
from attncli.numbers.parsing import TypedNumber
from tests.arrays import normal
from tests.problems import PROBLEMS, dense_trace, problem

UNIT = problem(query=[[1.0, 0.0]], key=[[1.0, 0.0], [0.0, 1.0]], score="dot")
# The softmax of these scores, by hand: 5.4739 + 1.2214 + 2.2255 = 8.9209.
SOFTMAX = problem(query=[[1.0]], key=[[1.7], [0.2], [0.8]], value=[[1, 0], [0, 1], [1, 1]], score="dot")
WITHOUT_SLIPS = CheckOptions(tries_slips=False)


def typed(text: str) -> list[list[TypedNumber]]:
    return [[TypedNumber(word) for word in row.split()] for row in text.split(";")]


def results(spec: Any, expected: Any, **options: Any) -> dict[str, QuantityCheck]:
    report = check(spec, expected, replace(WITHOUT_SLIPS, **options))
    return {result.name: result for result in report.results}


def test_numbers_of_the_computation_agree() -> None:
    report = check(UNIT, {"scores": [[1.0, 0.0]]})
    assert report.agrees
    assert report.first_difference is None
    assert report.reference == "float64"


def test_the_first_quantity_that_differs_is_named_in_the_order_of_the_computation() -> None:
    report = check(UNIT, {"weights": [[0.5, 0.5]], "scores": [[1.0, 0.5]]}, WITHOUT_SLIPS)
    assert [result.name for result in report.results] == ["scores", "weights"]
    assert report.first_difference == "scores"
    worst = report.results[0].worst
    assert worst is not None
    assert (worst.labels, worst.position, worst.expected, worst.computed) == (("query_1", "key_2"), (0, 1), 0.5, 0.0)


@pytest.mark.parametrize("numbers", [None, {0: None}, {0: {1: None}}, [[None] * 3] * 3], ids=str)
def test_where_no_number_is_expected_there_is_no_verdict(numbers: Any) -> None:
    words = problem(embeddings=normal(3, 4))
    with pytest.raises(AttnError, match="expected, weights: has no number to compare"):
        check(words, {"weights": numbers})
    report = check(words, {"weights": numbers, "output": {0: {0: 9.5}}}, WITHOUT_SLIPS)
    assert [(result.count, result.differ) for result in report.results] == [(0, 0), (1, 1)]


def test_numbers_of_queries_that_are_not_computed_are_no_verdict() -> None:
    words = problem(embeddings=normal(3, 4), tokens=["the", "cat", "sat"], only=["sat"])
    with pytest.raises(AttnError, match="no number to compare; the expected values of the are not compared"):
        check(words, {"weights": {"the": [0.2, 0.3, 0.5]}})


def test_a_name_that_is_no_result_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="wieghts"):
        check(UNIT, {"wieghts": [[0.5, 0.5]]})


# Together they have every step that a problem of PROBLEMS has.
WITH_ALL_STEPS = (
    "tokens that are looked up",
    "norms over all heads of an input with heads",
    "queries and gates in one matrix, limited, values scaled",
    "given scores, a bias and a mask",
    "learned",
    "rope on two axes, of batch items with fractions, after a cache",
    "norms over all heads, a cache",
    "heads in the features, padding on the left",
    "packed projections, per group, and a cache",
    "rope on axes that count alike",
    "shaw",
    "rows without keys are uniform",
    "chunks of keys, padding on the left",
    "rope with the scaling of longrope, selected queries",
    "a query scale by given positions",
    "packed keys and values, per head, of another sequence",
    "an attentional context",
    "norms with gains of each head, before and after the context",
)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, ("float64", "bfloat16")[at % 2], marks=() if name in WITH_ALL_STEPS else pytest.mark.deep)
        for at, name in enumerate(PROBLEMS)
    ],
)
def test_every_step_of_a_problem_agrees_with_itself(name: str, dtype: str) -> None:
    spec = problem(**{"dtype": dtype, **PROBLEMS[name]})
    trace = dense_trace(spec)
    report = check(spec, {step.name: step.value for step in trace.steps}, WITHOUT_SLIPS)
    assert report.differing == []
    assert [result.name for result in report.results] == [step.name for step in trace.steps]


@pytest.mark.parametrize(
    ("weights", "differ"),
    [(".6136 .1369 .2495", 0), (".61 .1369 .248", 1), (".5898 .1316 .2786", 3), (".6137 .1369 .2495", 1)],
)
def test_numbers_of_a_worked_softmax_are_held_to_half_a_unit_of_the_last_digit(weights: str, differ: int) -> None:
    result = results(SOFTMAX, {"scores": typed("1.7 0.2 0.8"), "weights": typed(weights)})["weights"]
    assert (result.differ, result.count) == (differ, 3)
    assert result.tolerance_reason == "half of the last digit given"


def test_published_outputs_that_are_wrong_in_the_fourth_digit_are_found() -> None:
    """The weights 0.33952 and 0.66048 of the values 1 and 2, or 3 and 2: 1.66048 and 2.33952."""
    gap = float(np.log(0.66048 / 0.33952))
    spec = problem(query=[[1.0]], key=[[0.0], [gap]], value=[[1, 3], [2, 2]], score="dot")
    assert results(spec, {"output": typed("1.66048 2.33952")})["output"].agrees
    assert results(spec, {"output": typed("1.66082 2.33918")})["output"].differ == 2


def test_a_published_row_of_keys_that_is_wrong_is_the_first_to_differ_and_what_follows_is_right() -> None:
    spec = problem(
        embeddings=[[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
        w_q=[[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
        w_k=[[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
        score="dot",
    )
    expected = {"key": [[0, 1, 1], [4, 0, 0], [2, 3, 1]], "scores": [[2, 4, 4], [4, 16, 12], [4, 12, 10]]}
    report = check(spec, expected, WITHOUT_SLIPS)
    assert report.first_difference == "key"
    assert [result.differ for result in report.results] == [1, 0]
    remark = "the expected values of scores agree with the reference, but do not follow from these numbers"
    assert report.results[0].remarks == (remark,)
    worst = report.results[0].worst
    assert worst is not None
    assert (worst.position, worst.expected, worst.computed) == ((1, 1), 0, 4)


def test_errors_are_measured_in_every_unit() -> None:
    spec = problem(query=[[1.0, 2.0]], key=np.eye(2), score="dot", dtype="float32")
    result = results(spec, {"scores": np.array([[1.0, 2.5]], np.float32)})["scores"]
    assert (result.max_abs, result.max_rel, result.ulp_dtype) == (0.5, 0.25, "float32")
    assert result.max_ulp == 0.5 / 2.0**-22
    assert result.correlation == pytest.approx(1)
    assert result.cosine == pytest.approx((1 + 5) / np.sqrt(5 * 7.25))
    assert result.differs.tolist() == [[False, True]]


@pytest.mark.parametrize(
    ("expected", "digits"),
    [(typed(".6136 .1369 .2495"), 4), (typed(".6 .1 .2"), 1), (typed(".61 .14 .25"), 2), (typed(".9 .1 .2"), 0)],
)
def test_it_is_said_to_how_many_digits_all_numbers_agree(expected: Any, digits: int) -> None:
    assert results(SOFTMAX, {"weights": expected})["weights"].digits == digits


@pytest.mark.parametrize(("dtype", "digits"), [("float64", 15), ("float32", 7), ("float16", 3), ("bfloat16", 2)])
def test_no_more_digits_agree_than_a_type_has(dtype: str, digits: int) -> None:
    spec = problem(query=normal(5, 4), key=normal(7, 4), dtype=dtype)
    assert results(spec, {"weights": dense_trace(spec)["weights"].value})["weights"].digits >= digits - 1
    same = results(spec, {"query": Precision(dtype).round(normal(5, 4))})["query"]
    assert digits - 1 <= same.digits <= digits


@pytest.mark.parametrize(("ours", "theirs", "agree"), [
    (np.inf, np.inf, True), (np.inf, -np.inf, False), (np.nan, np.nan, True), (1.0, np.nan, False),
    (np.nan, 1.0, False), (-np.inf, -1e9, False), (1.0, np.inf, False), (np.inf, 1.0, False),
])  # fmt: skip
def test_nan_and_infinities_agree_with_their_like_alone(ours: float, theirs: float, agree: bool) -> None:
    spec = problem(query=[[1.0], [2.0]], key=[[1.0]], value=[[ours]], score="dot")
    result = results(spec, {"value": np.array([[theirs]])})["value"]
    assert result.agrees == agree
    assert result.max_abs == (0 if agree else np.inf)


def test_infinities_of_a_narrow_type_agree_where_our_number_is_beyond_it() -> None:
    spec = problem(query=[[300.0]], key=[[300.0], [1.0]], score="dot", dtype="float16")
    assert results(spec, {"scores": np.array([[np.inf, 300]], np.float16)})["scores"].agrees
    assert not results(spec, {"scores": np.array([[np.inf, np.inf]], np.float16)})["scores"].agrees


@pytest.mark.parametrize(
    ("options", "agree"),
    [
        ({"rtol": 0.01}, False),
        ({"rtol": 0.1}, True),
        ({"atol": 0.04}, False),
        ({"atol": 0.06}, True),
        ({"ulp": 2**47}, False),
        ({"ulp": 2**49}, True),
        ({"rtol": 0.03, "atol": 0.04}, True),
        ({"rtol": 0, "atol": 0}, False),
    ],
)
def test_a_tolerance_that_is_given_replaces_the_derived_one(options: dict[str, float], agree: bool) -> None:
    """The number 1.05 is expected where 1 is computed."""
    result = results(UNIT, {"scores": np.array([[1.05, 0.0]])}, **options)["scores"]
    assert result.agrees == agree
    assert result.tolerance_reason.endswith("as given")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [{}, {"rtol": 1e-3}, {"ulp": 3}])
@pytest.mark.parametrize("expected", [1e308, -np.inf, np.nan])
def test_numbers_that_overflow_give_no_warning_and_finite_tolerances(
    expected: float, options: dict[str, float]
) -> None:
    result = results(UNIT, {"weights": np.full((1, 2), expected)}, **options)["weights"]
    assert result.differ == 2
    assert result.worst is not None
    assert np.isfinite([result.tolerance, result.worst.allowed]).all()


SMALL_BLOCKS = RunOptions(executor="serial", sizes=BlockSizes(dense_cells=8, rows=4, masked_rows=4))


@pytest.mark.parametrize("name", ["causal, grouped heads", "alibi", "a sink in every head", "bfloat16"])
def test_a_large_problem_is_checked_in_blocks(name: str) -> None:
    spec = problem(**PROBLEMS[name])
    expected = {key: dense_trace(spec)[key].value for key in ("weights", "output")}
    assert all(result.agrees for result in results(spec, expected, run=SMALL_BLOCKS).values())
    expected["output"] = expected["output"] * 1.1
    report = check(spec, expected, replace(WITHOUT_SLIPS, run=SMALL_BLOCKS))
    assert report.first_difference == "output"
    assert "scores" not in report.trace.by_name


def test_a_large_problem_has_its_error_measured_on_some_of_its_queries() -> None:
    spec = problem(query=normal(400, 4), key=normal(400, 4), dtype="float32")
    result = results(spec, {"output": dense_trace(spec)["output"].value})["output"]
    assert result.agrees
    assert "(measured on 328 of the queries)" in result.tolerance_reason


REFERENCE = CheckOptions(many_digits=True, tries_slips=False)


def test_the_reference_is_computed_in_50_digits_and_rounded_once() -> None:
    spec = problem(query=[[1.0, 1e17, -1e17]], key=[[0.1, 1.0, 1.0], [0.3, 1.0, 1.0]], score="dot")
    with mpmath.workdps(50):
        exact = [float(mpmath.mpf(0.1)), float(mpmath.mpf(0.3))]
    report = check(spec, {"scores": [exact]}, REFERENCE)
    assert (report.reference, report.reference_remark) == ("50 digits", "")
    assert report.agrees
    assert not check(spec, {"scores": [exact]}, WITHOUT_SLIPS).agrees


def test_where_50_digits_are_too_many_ours_is_computed_in_longdouble_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = problem(query=normal(5, 4), key=normal(7, 4))
    weights = {"weights": dense_trace(spec)["weights"].value}
    large = check(spec, weights, replace(REFERENCE, run=SMALL_BLOCKS))
    monkeypatch.setattr("attncli.engine.many_digits.has_many_digits", lambda: False)
    missing = check(spec, weights, REFERENCE)
    for report in (large, missing):
        assert report.agrees
        assert report.trace["weights"].value.dtype == np.longdouble
    assert large.reference_remark == "50 digits: the problem is too large"
    assert "50 digits: many digits need the package mpmath; install it" in missing.reference_remark


def follows(expected: Any) -> dict[str, bool | None]:
    report: CheckReport = check(SOFTMAX, expected, WITHOUT_SLIPS)
    return {result.name: result.follows for result in report.results}


def test_numbers_follow_from_those_expected_before_them_or_are_wrong_by_themselves() -> None:
    """With the scores 2, 0.2 and 0.8 the weights are 0.6795, 0.1123 and 0.2047 + …, by another softmax."""
    scores = np.array([2.0, 0.2, 0.8])
    weights = np.exp(scores) / np.exp(scores).sum()
    rounded = [[TypedNumber(f"{weight:.3f}") for weight in weights]]
    assert follows({"scores": typed("2.0 0.2 0.8"), "weights": rounded}) == {"scores": None, "weights": True}
    wrong = typed(".5898 .1316 .2786")
    assert follows({"scores": typed("2.0 0.2 0.8"), "weights": wrong}) == {"scores": None, "weights": False}
    assert follows({"scores": typed("1.7 0.2 0.8"), "weights": wrong}) == {"scores": None, "weights": False}
    assert follows({"scores": {"query_1": {"key_1": 2}}, "weights": wrong}) == {"scores": None, "weights": None}


def test_the_output_follows_from_weights_that_are_wrong() -> None:
    """.5898 (1, 0) + .1316 (0, 1) + .2786 (1, 1) = (.8684, .4102)."""
    found = follows({"weights": typed(".5898 .1316 .2786"), "output": typed(".8684 .4102")})
    assert found == {"weights": None, "output": True}


def test_what_follows_from_inner_quantities_is_unknown_since_nothing_reads_them() -> None:
    found = follows({"exponentials": typed("1.0 0.5 0.4"), "weights": typed(".53 .26 .21")})
    assert found == {"exponentials": None, "weights": None}


def test_masks_that_are_expected_lead_to_other_scores_or_not() -> None:
    spec = problem(query=normal(3, 4), key=normal(3, 4), causal=True)
    trace = dense_trace(spec)
    every = np.ones((3, 3), dtype=bool)
    found = results(spec, {"visible": every, "masked_scores": trace["scores"].value, "weights": trace["weights"].value})
    assert (found["masked_scores"].follows, found["weights"].agrees) == (True, True)
    assert found["visible"].remarks[0].startswith("the expected values of weights agree with the reference")


@pytest.mark.parametrize("dtype", ["longdouble", "float64"])
def test_numbers_of_longdouble_are_checked_with_all_their_digits(dtype: str) -> None:
    spec = problem(query=normal(5, 4), key=normal(7, 4), dtype="longdouble")
    weights = dense_trace(spec)["weights"].value
    result = results(spec, {"weights": weights.astype(dtype)})["weights"]
    assert result.agrees
    assert result.ulp_dtype == dtype
    wrong = weights + weights * (64 * Precision(dtype).epsilon)
    assert not results(spec, {"weights": wrong.astype(dtype)})["weights"].agrees

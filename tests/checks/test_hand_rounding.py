"""Rounding comes before mistakes: cut, rounded on the way, e as 2.718, √2 as 1.41, a last digit off by one."""

import math

import numpy as np
import pytest

from attncli.checks.check import check
from attncli.checks.report import CheckReport
from attncli.numbers.parsing import TypedNumber
from tests.problems import problem

QUERY, KEY, VALUE = (
    np.array(rows, dtype=float)
    for rows in (
        [[1.5, 0.5], [0.5, 1.5], [1, 1]],
        [[1, 0.5], [1.5, 1], [0.5, 1.5]],
        [[1.5, 1.5, 1.5], [0.5, 1.5, 2], [1, 3, 1]],
    )
)
SPEC = problem(query=QUERY.tolist(), key=KEY.tolist(), value=VALUE.tolist(), tokens=["the", "cat", "sat"])


def softmax(scores: np.ndarray, e: float = math.e) -> np.ndarray:
    powers = e**scores
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


SCORES = QUERY @ KEY.T / math.sqrt(2)
WEIGHTS = softmax(SCORES)
OUTPUT = WEIGHTS @ VALUE


def cut(x: np.ndarray, decimals: int) -> np.ndarray:
    return np.asarray(np.floor(x * 10**decimals) / 10**decimals)


def typed(numbers: np.ndarray, decimals: int = 4) -> list[list[TypedNumber]]:
    return [[TypedNumber(f"{x:.{decimals}f}") for x in row] for row in numbers.tolist()]


def handed_in(decimals: int = 4, **results: np.ndarray) -> CheckReport:
    return check(SPEC, {name: typed(numbers, decimals) for name, numbers in results.items()})


def sentence(report: CheckReport) -> str:
    (found,) = report.explanations
    assert report.tried_count == 0
    return found.sentence


@pytest.mark.parametrize("decimals", [2, 3, 4])
def test_a_sheet_that_is_cut_is_told_so_once(decimals: int) -> None:
    results = {"scores": SCORES, "weights": WEIGHTS, "output": OUTPUT}
    report = check(SPEC, {name: typed(cut(x, decimals), decimals) for name, x in results.items()})
    assert sentence(report) == "The numbers are cut, not rounded."
    assert report.explanations[0].slips == ("cut",)


def test_one_result_that_is_cut_is_named() -> None:
    assert sentence(handed_in(scores=SCORES, weights=cut(WEIGHTS, 4), output=OUTPUT)) == "weights: cut, not rounded."


@pytest.mark.parametrize(
    ("results", "name", "text"),
    [
        (
            {"scores": SCORES, "weights": WEIGHTS, "output": WEIGHTS.round(2) @ VALUE},
            "weights_rounded",
            "output: computed with the weights rounded to 2 decimals.",
        ),
        (
            {"weights": WEIGHTS, "output": cut(WEIGHTS, 2) @ VALUE},
            "rounded_on_the_way",
            "output: computed with the weights cut to 2 decimals.",
        ),
        (
            {"scores": SCORES, "weights": softmax(SCORES.round(1))},
            "scores_rounded",
            "weights: computed with the scores rounded to 1 decimal.",
        ),
        (
            {"weights": np.exp(SCORES).round(1) / np.exp(SCORES).round(1).sum(axis=1, keepdims=True)},
            "exponentials_rounded",
            "weights: computed with the exponentials rounded to 1 decimal.",
        ),
        ({"weights": softmax(SCORES, 2.7)}, "rounded_on_the_way", "weights: computed with e = 2.7."),
        ({"scores": QUERY @ KEY.T / 1.41}, "rounded_on_the_way", "scores: computed with √2 = 1.41."),
        ({"scores": QUERY @ KEY.T * 0.71}, "rounded_on_the_way", "scores: computed with 1/√2 = 0.71."),
        ({"weights": WEIGHTS.round(2)}, "weights_rounded", "weights: rounded to 2 decimals."),
    ],
)
def test_rounding_on_the_way_is_said_with_its_step_and_its_decimals(
    results: dict[str, np.ndarray], name: str, text: str
) -> None:
    report = handed_in(**results)
    assert sentence(report) == text
    assert report.explanations[0].slips == (name,)


def test_what_follows_from_numbers_that_are_rounded_has_no_reading_of_its_own() -> None:
    scores = QUERY @ KEY.T / 1.41
    report = handed_in(scores=scores, weights=softmax(scores), output=softmax(scores) @ VALUE)
    assert sentence(report) == "scores: computed with √2 = 1.41."


def test_with_more_digits_e_as_2_718_is_told_at_once() -> None:
    weights = softmax(SCORES, 2.718)
    report = handed_in(6, scores=SCORES, weights=weights, output=weights @ VALUE)
    assert sentence(report) == "weights: computed with e = 2.718."


def test_with_few_digits_the_last_one_is_off_and_the_way_is_a_comparison() -> None:
    weights = softmax(SCORES, 2.718)
    report = handed_in(scores=SCORES, weights=weights, output=weights @ VALUE)
    assert sentence(report) == "weights: the last digit of 2 numbers is off by one, as if computed with e = 2.718."


def test_output_from_weights_as_they_are_written_is_said() -> None:
    weights = [[TypedNumber(f"{x:.2f}") for x in row] for row in WEIGHTS.tolist()]
    report = check(SPEC, {"weights": weights, "output": typed(WEIGHTS.round(2) @ VALUE)})
    assert sentence(report) == "output: computed from the weights as written to 2 decimals."


def test_the_number_of_the_issue_is_a_last_digit_and_no_softcap() -> None:
    words = problem(embeddings=[[1, 0], [0, 1], [1, 1]], tokens=["the", "cat", "sat"], causal=True)
    weights = [[TypedNumber(x) for x in row.split()] for row in ("1 0 0", "0.3302 0.6697 0", "0.2483 0.2483 0.5035")]
    report = check(words, {"weights": weights})
    assert sentence(report) == "weights: the last digit of 1 number is off by one."


def test_a_mistake_without_a_number_is_likelier_than_a_last_digit_of_two() -> None:
    weights = softmax(QUERY @ KEY.T / 2)  # divided by d
    report = handed_in(1, weights=weights)
    assert ("scale_by_d",) in [found.slips for found in report.explanations]


def test_arrays_are_not_rounded_by_hand() -> None:
    report = check(SPEC, {"weights": WEIGHTS.round(2)})
    assert [found.slips for found in report.explanations] == [("weights_rounded",)]
    assert not report.is_read_plainly

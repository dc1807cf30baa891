"""Numbers that differ are read plainly before mistakes are looked for: in another place, not written, mistyped."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.checks.check import check
from attncli.checks.report import CheckReport
from attncli.numbers.parsing import TypedNumber
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.problems import dense_trace, problem

# By hand: products 1, 2, 0; 1, 0, 1; 2, 2, 1 by √2; powers of e, divided by their sum; sums of the values.
WORDS = problem(
    query=[[1, 0], [0, 1], [1, 1]],
    key=[[1, 1], [2, 0], [0, 1]],
    value=[[1, 0, 2], [0, 1, 0], [3, 1, 0]],
    tokens=["the", "cat", "sat"],
)
SCORES = "0.7071 1.4142 0.0000; 0.7071 0.0000 0.7071; 1.4142 1.4142 0.7071"
WEIGHTS = "0.2840 0.5760 0.1400; 0.4011 0.1978 0.4011; 0.4011 0.4011 0.1978"
OUTPUT = "0.7041 0.7160 0.5680; 1.6044 0.5989 0.8022; 0.9944 0.5989 0.8022"


def typed(text: str) -> list[list[TypedNumber]]:
    return [[TypedNumber(number) for number in row.split()] for row in text.split(";")]


def rounded(table: np.ndarray) -> list[list[TypedNumber]]:
    """A table as it is typed, to four decimals."""
    return typed("; ".join(" ".join(f"{x:.4f}" for x in row) for row in table))


def handed_in(spec: ProblemSpec = WORDS, **texts: str) -> CheckReport:
    return check(spec, {name: typed(text) for name, text in texts.items()})


def readings(report: CheckReport) -> list[tuple[tuple[str, ...], str]]:
    return [(found.slips, found.sentence) for found in report.explanations]


def test_the_numbers_by_hand_are_right() -> None:
    assert handed_in(scores=SCORES, weights=WEIGHTS, output=OUTPUT).agrees


@pytest.mark.parametrize(
    ("texts", "name", "sentence"),
    [
        (
            {"weights": "0.2840 0.4011 0.4011; 0.5760 0.1978 0.4011; 0.1400 0.4011 0.1978", "output": OUTPUT},
            "transposed",
            "weights: the numbers are transposed: rows and columns are exchanged.",
        ),
        (
            {"output": "0.7041 1.6044 0.9944; 0.7160 0.5989 0.5989; 0.5680 0.8022 0.8022"},
            "transposed",
            "output: the numbers are transposed: rows and columns are exchanged.",
        ),
        (
            {"weights": "0.4011 0.1978 0.4011; 0.2840 0.5760 0.1400; 0.4011 0.4011 0.1978", "output": OUTPUT},
            "other_rows",
            "weights: the rows of query the and query cat are exchanged.",
        ),
        (
            {"output": "1.6044 0.5989 0.8022; 1.6044 0.5989 0.8022; 0.9944 0.5989 0.8022"},
            "other_rows",
            "output: the row of query the has the numbers of query cat.",
        ),
        (
            {"output": "0.7160 0.7041 0.5680; 0.5989 1.6044 0.8022; 0.5989 0.9944 0.8022"},
            "other_rows",
            "output: the columns of e1 and e2 are exchanged.",
        ),
        (
            {"weights": SCORES, "output": OUTPUT},
            "other_step",
            "weights: these numbers come from scores, Sᵢⱼ = Qᵢ·Kⱼ / √d.",
        ),
        (
            {"weights": WEIGHTS, "output": WEIGHTS},
            "other_step",
            "output: these numbers come from weights, Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ).",
        ),
        (
            {"output": "0.7041 0.7160 0.5680; 0.0000 0.0000 0.0000; 0.9944 0.5989 0.8022"},
            "not_written",
            "output: row cat not written: all 0.",
        ),
        (
            {"scores": SCORES.replace("0.7071 1.4142", "-0.7071 1.4142", 1)},
            "sign",
            "scores: the sign is wrong at [the, the].",
        ),
        (
            {"weights": "28.40 57.60 14.00; 40.11 19.78 40.11; 40.11 40.11 19.78", "output": OUTPUT},
            "percent",
            "weights: the numbers are given in percent, 100 times as large.",
        ),
        ({"output": OUTPUT.replace("0.7160", "0.7460")}, "typo", "output: one digit differs, 0.7460 for 0.7160."),
        (
            {"output": OUTPUT.replace("1.6044", "1.0644")},
            "typo",
            "output: two digits are exchanged, 1.0644 for 1.6044.",
        ),
        (
            {"output": OUTPUT.replace("1.6044", "16.044")},
            "typo",
            "output: the decimal point is in another place, 16.044 for 1.604.",
        ),
        (
            {"output": OUTPUT.replace("0.7041", "1.6044")},
            "other_cell",
            "output: output[the, e1] has the number of output[cat, e1].",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_right_numbers_in_another_place_are_said_and_no_mistake_is_tried(
    texts: dict[str, str], name: str, sentence: str
) -> None:
    report = handed_in(**texts)
    assert readings(report) == [((name,), sentence)]
    assert report.tried_count == 0
    assert not report.agrees


def test_heads_may_be_exchanged() -> None:
    spec = problem(embeddings=[[1, 0, 2, 1], [0, 2, 1, 1], [2, 1, 0, 1]], heads=2)
    weights, output = (dense_trace(spec)[name].value for name in ("weights", "output"))
    report = check(spec, {"weights": [rounded(table) for table in weights[::-1]], "output": rounded(output)})
    assert readings(report) == [(("other_rows",), "weights: head 0 and head 1 are exchanged.")]


def test_all_signs_of_a_result_are_wrong_where_what_is_computed_from_it_is_right() -> None:
    scores = "-0.7071 -1.4142 0.0000; -0.7071 0.0000 -0.7071; -1.4142 -1.4142 -0.7071"
    report = handed_in(scores=scores, weights=WEIGHTS)
    assert readings(report) == [(("sign",), "scores: the signs are wrong.")]


def test_two_results_may_have_a_reading_each() -> None:
    report = handed_in(
        scores=SCORES.replace("0.7071 1.4142", "-0.7071 1.4142", 1), output=OUTPUT.replace("0.71", "0.74")
    )
    assert readings(report) == [
        (("sign", "typo"), "scores: the sign is wrong at [the, the]. output: one digit differs, 0.7460 for 0.7160.")
    ]


def test_a_mistake_that_is_carried_on_is_no_number_in_another_place() -> None:
    rows = [[0.7071, 0.7071, 1.4142], [1.4142, 0.0, 1.4142], [0.0, 0.7071, 0.7071]]  # K Qᵀ, by √2
    powers = np.exp(rows)
    weights = powers / powers.sum(axis=1, keepdims=True)
    report = check(WORDS, {"scores": rounded(np.array(rows)), "weights": rounded(weights)})
    assert ("query_key_swapped",) in [found.slips for found in report.explanations]


def test_a_reading_of_a_part_explains_nothing_and_is_shown() -> None:
    report = handed_in(
        weights=WEIGHTS.replace("0.2840", "0.2480"), output="9.13 7.77 1.01; 3.3 4.45 5.52; 6.6 7.12 8.9"
    )
    assert not report.is_read_plainly
    assert [result.reading and result.reading.name for result in report.results] == ["typo", None]


@pytest.mark.parametrize("right", [True, False])
def test_three_by_two_for_two_by_three_is_a_transposed_answer_where_its_numbers_are_right(right: bool) -> None:
    spec = problem(query=[[2, 0], [1, 1]], key=[[0, 1], [1, 0], [2, 1]], scale=1.0)  # scores 0 2 4; 1 1 3
    if not right:
        with pytest.raises(AttnError, match="has 3 × 2 numbers"):
            check(spec, {"scores": [[5, 1], [7, 9], [8, 3]]})
        return
    report = check(spec, {"scores": [[0, 1], [2, 1], [4, 3]]})
    assert (report.differ, report.count, report.tried_count) == (6, 6, 0)
    assert [found.slips for found in report.explanations] == [("transposed",)]


HEADS = problem(query=normal(2, 3, 5, 4), key=normal(2, 3, 6, 4, seed=1), value=normal(2, 3, 6, 4, seed=2))


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        ((slice(None), slice(None), 4), "output: row query_5 not written: all 0."),
        ((slice(None), 1), "output: head 1 not written: all 0."),
        ((0,), "output: batch item 0 not written: all 0."),
        ((0, 1, slice(3, 5)), "output: 2 rows not written: all 0."),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_heads_and_items_of_zeros_are_not_written(at: tuple[Any, ...], sentence: str, dtype: str) -> None:
    output = dense_trace(HEADS)["output"].value.astype(dtype)
    output[at] = 0
    spec = replace(HEADS, dtype=dtype)
    report = check(spec, {"output": output})
    assert readings(report) == [(("not_written",), sentence)]


def test_rows_of_zeros_beside_other_mistakes_are_not_called_unwritten() -> None:
    output = dense_trace(WORDS)["output"].value * 1.5
    output[1] = 0
    assert ("not_written",) not in [found.slips for found in check(WORDS, {"output": output}).explanations]


def test_rows_that_see_no_key_are_left_to_the_mistakes() -> None:
    mask = [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]]
    spec = problem(query=normal(4, 3), key=normal(4, 3, seed=1), mask=mask, empty_rows="uniform")
    output = dense_trace(spec)["output"].value.copy()
    output[1] = 0
    assert ("not_written",) not in [found.slips for found in check(spec, {"output": output}).explanations]

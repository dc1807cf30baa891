"""The report of a check as people read it: in a terminal of 80 columns, in a log in ASCII, for any size."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attncli.checks.check import check as check_problem
from attncli.checks.document import check_document, short_verdict, verdict
from attncli.checks.report import CheckOptions, CheckReport, Explanation
from attncli.numbers.parsing import TypedNumber
from attncli.problem.spec import ProblemSpec
from attncli.render.formats import terminal
from attncli.render.target import TextTarget
from tests.arrays import normal
from tests.problems import dense_trace, problem

TERMINAL, LOG = TextTarget(80), TextTarget(None, encoding="ascii")
WORDS = problem(embeddings=[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]], tokens=["the", "cat", "sat"])
HEADS = problem(query=normal(1, 4, 11, 3), key=normal(1, 4, 11, 3), value=normal(1, 4, 11, 5), causal=True)
SLIP = Explanation(("no_causal",), "the causal mask is forgotten")


def expected(spec: ProblemSpec, *names: str) -> dict[str, np.ndarray]:
    """Our own numbers, to be changed."""
    trace = dense_trace(spec)
    return {name: np.array(trace[name].value) for name in names}


def check(spec: ProblemSpec, numbers: Mapping[str, Any]) -> CheckReport:
    """The check of a problem; no slips are looked for."""
    return check_problem(spec, numbers, CheckOptions(tries_slips=False))


def wrong_weights() -> CheckReport:
    """Two weights of one row differ, the scores before them agree."""
    numbers = expected(WORDS, "scores", "weights")
    numbers["weights"][0, 1:] += [0.002, -0.002]
    return check(WORDS, numbers)


def written(report: CheckReport, target: TextTarget) -> str:
    """The text of a report."""
    return "".join(terminal.render(check_document(report), target))


def lines(report: CheckReport, target: TextTarget = TERMINAL) -> list[str]:
    """The lines of a report."""
    return written(report, target).splitlines()


def test_each_quantity_has_a_line_in_the_order_of_the_computation_below_the_verdict() -> None:
    shown = lines(wrong_weights())
    assert [line for line in shown if line.startswith(("✓", "✗"))] == [
        "✓ scores: 9 numbers agree exactly",
        "✗ weights: 2 of 9 numbers differ",
    ]
    assert shown[0] == "2 of 18 numbers differ; the first step that differs is weights."


def test_the_worst_cell_has_its_labels_both_numbers_and_its_arithmetic() -> None:
    shown = lines(wrong_weights())
    at = next(number for number, line in enumerate(shown) if "worst at" in line)
    place, numbers = shown[at].split(": ")
    assert place == "    worst at query the, key cat"
    assert re.fullmatch(r"yours 0\.169943 ± \de-1[56], correct 0\.167943", numbers)
    assert shown[at + 1 : at + 4] == [
        "      exp(0 − 1.1547) = 0.3152",
        "      Σⱼ exp = 1 + 0.31515 + 0.56138 = 1.8765",
        "      0.31515/1.87654 = 0.1679",
    ]


def test_the_arithmetic_has_the_decimals_that_show_the_error() -> None:
    numbers = expected(WORDS, "weights")
    numbers["weights"][1, 1] += 2e-9
    text = written(check(WORDS, numbers), TERMINAL)
    assert "    at query cat, key cat: yours 0.39041394761 ± " in text
    assert "= 0.3904139456" in text


def test_units_in_the_last_place_are_left_out_of_an_error_that_is_no_rounding() -> None:
    numbers = expected(WORDS, "weights")
    numbers["weights"][1, 1] += 64 * 2**-54
    assert ", 64 units in the last place of float64" in written(check(WORDS, numbers), LOG)
    assert "place of float64" not in written(wrong_weights(), LOG)


def test_what_is_allowed_is_that_of_the_worst_cell() -> None:
    """The first row was typed with one decimal, the second with four."""
    spec = problem(query=[[0.0], [1.0]], key=[[1.0], [2.0]])
    numbers = {"weights": {"query_1": {"key_1": TypedNumber("0.5")}, "query_2": {"key_1": TypedNumber("0.2700")}}}
    assert "    at query_2, key_1: yours 0.27 ± 5e-05, correct 0.268941" in lines(check(spec, numbers))


def test_where_the_errors_are_is_said_and_drawn_with_labels() -> None:
    shown = lines(wrong_weights())
    at = shown.index("    where: query the, keys cat and sat")
    assert shown[at + 1 : at + 5] == [
        "    queries down, keys across, one sign a number: # differs, . agrees",
        "             the  cat  sat",
        "        the    .    #    #",
        "        cat    .    .    .",
    ]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda x: x[0, 2], "head 2"),
        (lambda x: x[..., 4:, :], "queries from query_5 on"),
        (lambda x: x[..., :4, :], "queries up to query_4"),
        (lambda x: x[..., 3:6, :], "queries from query_4 to query_6"),
        (lambda x: x[:, 1::2], "heads 1 and 3"),
        (lambda x: x[..., 6], "key_7"),
        (lambda x: x[..., ::2], "every second of the keys, from key_1 on"),
        (lambda x: x, "everywhere"),
    ],
)
def test_parts_of_the_axes_are_named(change: Any, place: str) -> None:
    numbers = expected(HEADS, "scores")
    change(numbers["scores"])[...] += 1
    assert f"    where: {place}" in lines(check(HEADS, numbers))


@pytest.mark.parametrize(
    ("low", "high", "place"),
    [
        (1, 99, "above the diagonal"),
        (0, 99, "on and above the diagonal"),
        (-99, -1, "below the diagonal"),
        (0, 0, "the diagonal"),
        (2, 2, "the line 2 keys above the diagonal"),
        (-1, -1, "the line 1 key below the diagonal"),
    ],
)
def test_bands_along_the_diagonal_are_named(low: int, high: int, place: str) -> None:
    numbers = expected(HEADS, "scores")
    rows, columns = np.ogrid[:11, :11]
    numbers["scores"] += (columns - rows >= low) & (columns - rows <= high)
    assert f"    where: {place}" in lines(check(HEADS, numbers))


def test_halves_of_the_features_are_named() -> None:
    spec = problem(query=normal(3, 4), key=normal(5, 4), value=normal(5, 6))
    numbers = expected(spec, "output")
    numbers["output"][:, 3:] += 1
    assert "    where: the last half of the value features, from e4 on" in lines(check(spec, numbers))


def test_a_few_cells_are_named_one_by_one() -> None:
    numbers = expected(WORDS, "scores")
    numbers["scores"][[0, 1], [2, 0]] += 1
    assert "    where: (the, sat) and (cat, the)" in lines(check(WORDS, numbers))


def test_of_twelve_quantities_the_one_that_differs_is_easy_to_find() -> None:
    names = ["query", "key", "value", "scores", "weights", "context", "output"]
    numbers = expected(WORDS, *names)
    numbers["context"][2, 0] += 0.5
    shown = lines(check(WORDS, numbers))
    assert [line.partition(":")[0] for line in shown if line.startswith(("✓", "✗"))] == [
        *(f"✓ {name}" for name in names[:5]),
        "✗ context",
        "✓ output",
    ]
    assert shown[0] == "1 of 63 numbers differs; the first step that differs is context."


def test_where_nearly_all_numbers_differ_there_is_nothing_to_draw() -> None:
    numbers = expected(HEADS, "scores")
    numbers["scores"] += 1
    numbers["scores"][0, 0, 0, 0] -= 1
    shown = lines(check(HEADS, numbers))
    assert "    where: nearly everywhere" in shown
    assert not any("###" in line for line in shown)


def test_a_large_table_is_drawn_in_80_columns_with_its_scale() -> None:
    spec = problem(query=normal(4, 600, 3), key=normal(4, 500, 3), heads=1)
    numbers = expected(spec, "weights")
    numbers["weights"][2, :, 128:] += 1
    shown = lines(check(spec, numbers))
    assert max(map(len, shown)) <= 80
    assert len(shown) < 42
    assert "    where: batch item 2, keys from key_129 on" in shown
    assert any("one sign for 38 × 9" in line for line in shown)


def test_a_log_in_ascii_has_every_sign() -> None:
    text = written(wrong_weights(), LOG)
    assert text.isascii()
    assert "\\" not in text
    assert "yours 0.169943 +/- " in text
    assert "not ok weights: 2 of 9 numbers differ" in text


@pytest.mark.parametrize("target", [TERMINAL, TextTarget(40), LOG])
def test_no_line_is_wider_than_a_terminal(target: TextTarget) -> None:
    shown = lines(wrong_weights(), target)
    assert target.width is None or max(map(len, shown)) <= target.width


def test_the_slips_that_explain_the_numbers_are_named_and_those_tried_counted() -> None:
    report = replace(wrong_weights(), explanations=(SLIP,), tried_count=154, pair_count=120)
    shown = lines(report)
    assert " no_causal  the causal mask is forgotten" in shown
    assert "Tried 34 mistakes and 120 pairs of them." in shown
    assert verdict(report).endswith("; explained by no_causal")
    assert short_verdict(report) == "2 of 18 numbers differ, first in weights (no_causal)"
    none = lines(replace(wrong_weights(), tried_count=34, untried=("rope_base needs all queries.",)))
    assert "No known mistake explains these numbers (34 tried)." in none
    assert "rope_base needs all queries." in none


def test_the_verdict_names_two_explanations_and_counts_the_others() -> None:
    slips = tuple(Explanation((name,), "is wrong") for name in ("a", "b", "b", "c", "d"))
    assert verdict(replace(wrong_weights(), explanations=slips)).endswith("; explained by a or b or 2 others")


def test_variants_of_a_slip_are_one_line() -> None:
    slips = tuple(Explanation(("rounded",), f"The weights are rounded to {n} decimals.") for n in (4, 3, 2))
    shown = lines(replace(wrong_weights(), unnoticed=slips))
    assert " rounded  The weights are rounded to 4, 3 or 2 decimals." in shown


def test_slips_that_would_not_be_noticed_are_named_also_where_everything_agrees() -> None:
    report = check(WORDS, expected(WORDS, "scores"))
    assert " no_causal  the causal mask is forgotten" in lines(replace(report, unnoticed=(SLIP,)))
    assert "These inputs would reveal every mistake that applies to this problem." in lines(
        replace(report, unnoticed=())
    )
    some = replace(report, unnoticed=(), untried=("no_scale: there was no time left",))
    assert "These inputs would reveal every mistake that was tried." in lines(some)
    assert short_verdict(some).endswith("; these inputs would reveal every mistake that was tried")
    assert "noticed" not in written(report, TERMINAL)


@pytest.mark.parametrize(
    ("follows", "end"),
    [(True, ", as the errors above explain"), (False, ", which the errors above do not explain"), (None, "")],
)
def test_what_follows_from_an_earlier_difference_is_said(follows: bool | None, end: str) -> None:
    numbers = expected(WORDS, "weights", "output")
    numbers["weights"][0, 1] += 0.002
    numbers["output"][0, 0] += 0.5
    first, later = check(WORDS, numbers).results
    shown = lines(replace(check(WORDS, numbers), results=(first, replace(later, follows=follows))))
    assert f"✗ output: 1 of 9 numbers differs{end}" in shown
    assert "✗ weights: 1 of 9 numbers differs" in shown


def test_what_the_numbers_are_held_to_stands_once() -> None:
    text = " ".join(lines(wrong_weights()))
    assert text.count("Tolerance: ") == 1
    assert "Reference: float64." in text


def test_one_number_has_the_singular() -> None:
    spec = problem(query=[[1.0]], key=[[1.0]])
    assert lines(check(spec, {"output": [[1.0]]}))[0] == "The number agrees."
    shown = lines(check(spec, {"output": [[2.0]]}))
    assert "✗ output: the number differs" in shown
    assert shown[0] == "The number differs; the first step that differs is output."
    assert not any("cosine" in line for line in shown)


def test_few_numbers_may_be_explained_by_chance() -> None:
    spec = problem(query=[[1.0], [2.0]], key=[[1.0], [2.0]])
    few, more = (check(spec, {"weights": given}) for given in ({0: [0.5, 0.5]}, [[0.5, 0.5], [0.5, 0.5]]))
    for report, is_said in ((few, True), (more, False)):
        shown = lines(replace(report, explanations=(SLIP,), tried_count=2))
        assert ("So few numbers can agree by chance; give more of them." in shown) == is_said
    assert replace(more, explanations=(Explanation(("a", "b"), "is wrong"),)).may_be_chance


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_not_finite_have_neither_an_error_nor_what_is_allowed(wrong: float) -> None:
    shown = lines(check(WORDS, {"weights": {0: {1: wrong}}}))
    assert "    largest error infinite: NaN or an infinity is on one side alone" in shown
    assert any(line.startswith(f"    at query the, key cat: yours {wrong}, correct 0") for line in shown)


def test_where_ours_is_0_there_is_no_relative_error() -> None:
    spec = problem(query=[[0.0]], key=[[1.0]])
    assert "    largest error 2" in lines(check(spec, {"scores": [[2.0]]}))


def test_a_quantity_without_numbers_agrees_with_nothing() -> None:
    shown = lines(check(WORDS, {"weights": None, "output": expected(WORDS, "output")["output"]}))
    assert "  weights: no number is compared" in shown
    assert not any("of weights" in line for line in shown)


def test_a_number_of_another_step_is_said_in_the_verdict_and_below_the_cell() -> None:
    report = check_problem(WORDS, {"weights": {"cat": {"cat": TypedNumber("0.5774")}}}, CheckOptions())
    assert verdict(report) == "The number differs; the first step that differs is weights; it comes from scores"
    shown = lines(report)
    assert "    0.5774 is in the same cell of scores: Sᵢⱼ = Qᵢ·Kⱼ / √d" in shown
    assert not any("No known mistake" in line for line in shown)


def test_numbers_that_agree_to_different_digits_are_said_as_they_are() -> None:
    weights = dense_trace(WORDS)["weights"].value
    given = [[TypedNumber(f"{x:.8f}") for x in row] for row in weights]
    given[0][0] = TypedNumber(f"{weights[0][0]:.1f}")
    report = check_problem(WORDS, {"weights": given}, CheckOptions())
    assert report.agrees
    (line,) = [line for line in lines(report) if line.startswith("✓ weights")]
    assert line.startswith(f"✓ weights: {weights.size - 1} numbers agree to 8 digits, 1 to 1; largest errors ")

"""Differences in sentences: where two variants part, and how much each result differs."""

import math

import pytest

from attncli.analysis.differences import Difference, FirstDifference
from attncli.render.reports.compare import DifferenceWriter
from tests.comparisons import Keys, comparison_of, weights_of

FIRST = weights_of([0.5, 0.5], [0.75, 0.25])
SECOND = weights_of([0.25, 0.75], [0.75, 0.25])


def writer(*problems: Keys, **options: bool) -> DifferenceWriter:
    """What writes the differences of variants with the names a, b, c."""
    comparison = comparison_of(dict(zip("abc", problems, strict=False)), ["weights", "output"], **options)
    return DifferenceWriter(comparison, "abc", 4)


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (FirstDifference((0, 1), None), "the same in every step"),
        (FirstDifference((0, 1), None, is_partial=True), "the same in every step that was kept"),
        (
            FirstDifference((0, 1), "masked_scores", None, (0, 1), ("cat", "sat"), (0.5, -math.inf)),
            "they part at masked_scores[cat, sat]: 0.5 → −∞",
        ),
        (FirstDifference((0, 1), "scale", numbers=(1.0, 2.0)), "they part at scale: 1 → 2"),
        (
            FirstDifference((0, 1), "softcap", 1, (0, 1), ("cat", "sat"), (0.5, 0.25)),
            "they part at softcap[cat, sat]: 0.5 → 0.25; a has no such step",
        ),
        (FirstDifference((0, 1), "heads", 0), "they part at heads; b has no such step"),
        (FirstDifference((0, 1), "query"), "they part at query, whose shapes differ"),
    ],
)
def test_the_step_at_which_two_variants_part_is_named(first: FirstDifference, text: str) -> None:
    assert writer(FIRST, SECOND).first_difference(first) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            Difference((0, 1), "output", reason="the shapes differ: 1 × 2 and 1 × 3"),
            "the shapes differ: 1 × 2 and 1 × 3",
        ),
        (
            Difference((0, 1), "output", 0.25, (0, 0), ("cat", "e1"), (1.0, 0.75)),
            "largest difference 0.25 at [cat, e1], 1 → 0.75",
        ),
        (
            Difference((0, 1), "output", math.nan, (0, 0), ("cat", "e1"), (1.0, math.nan)),
            "largest difference NaN at [cat, e1], 1 → NaN",
        ),
        (
            Difference((0, 1), "weights", 0.5, (0, 0), ("a", "b"), (0.5, 1.0), 2, 0.5, 1 / 3, 0, 0, 2),
            "largest difference 0.5 at [a, b], 0.5 → 1; total variation up to 0.5; KL divergence up to 0.3333 nats; "
            "order of keys the same",
        ),
        (
            Difference((0, 1), "weights", 0.5, (0, 0), ("a", "b"), (0.5, 1.0), 2, 0.5, 0.25, 1, 2, 3),
            "largest difference 0.5 at [a, b], 0.5 → 1; total variation up to 0.5 in the 2 of 3 rows that are "
            "distributions; "
            "KL divergence up to 0.25 nats, infinite in 1 of 3 rows; order of keys changes in 2 of 3 rows",
        ),
        (
            Difference((0, 1), "weights", 2.0, (0, 0), ("a", "b"), (0.0, 2.0), 0, None, None, None, 1, 1),
            "largest difference 2 at [a, b], 0 → 2; order of keys changes in 1 of 1 row",
        ),
    ],
)
def test_a_difference_is_a_sentence(found: Difference, text: str) -> None:
    assert writer(FIRST, SECOND).difference(found) == text


def test_each_variant_has_its_lines_below_the_first_one() -> None:
    (section,) = writer(FIRST, SECOND, FIRST).sections()
    assert section.title == "differences from a"
    weights, output = section.remarks[1:3]
    assert section.remarks[0] == "b: they part at weights[cat, cat]: 0.5 → 0.25"
    assert weights.startswith(
        "  weights: largest difference 0.25 at [cat, cat], 0.5 → 0.25; total variation up to 0.25; "
    )
    assert output == "  output: largest difference 1 at [cat, e1], 6 → 7"
    assert section.remarks[3:] == ("c: the same in every step",)


def test_results_that_are_the_same_are_named_together() -> None:
    value = {**FIRST, "value": [[4], [9]]}
    (section,) = writer(FIRST, value).sections()
    assert section.remarks[1] == "  the same: weights"
    (section,) = writer({**FIRST, "value": [[4, 1], [8, 1]], "w_o": [[1], [0]]}, {**FIRST, "w_o": [[1]]}).sections()
    assert section.remarks[1] == "  the results are the same"


def test_results_that_rounding_tells_apart_are_the_same_and_how_far_apart_they_are_is_said() -> None:
    rounded = weights_of([0.5, 0.5], [0.75, 0.25 + 2**-52])
    (section,) = writer(FIRST, rounded).sections()
    assert section.remarks == (
        "b: the same in every step",
        "  weights: the same but for rounding, up to 2.2204e−16",
        "  output: the same but for rounding, up to 1.7764e−15",
    )


def test_with_all_pairs_each_variant_has_a_section_of_those_after_it() -> None:
    sections = list(writer(FIRST, SECOND, FIRST, all_pairs=True).sections())
    assert [section.title for section in sections] == ["differences from a", "differences from b"]
    assert [line[0] for line in sections[1].remarks if not line.startswith(" ")] == ["c"]

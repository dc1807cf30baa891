"""A comparison as text, Markdown and LaTeX, the differences in sentences, and the line that counts what changed."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli import Problem, attention
from attncli.comparisons import document as module
from attncli.comparisons.differences import Difference, FirstDifference
from attncli.comparisons.document import DifferenceWriter, comparison_sections, render_comparison
from attncli.render import rows
from attncli.render.document import Section
from attncli.render.formats import find_format
from attncli.render.rows import change_summary, count_changes
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import ComparisonView
from tests.comparisons.comparing import Keys, comparison_of, weights_of

VARIANTS: dict[str, Keys] = {
    "scale=1": weights_of([0.5, 0.5], [0.75, 0.25]),
    "scale=2": weights_of([0.125, 0.875], [0.75, 0.25]),
}
TEXT = """\
scale=2 differs from scale=1: output by up to 1.5 at [cat, e1], 6 → 7.5; first
difference at weights[cat, cat]: 0.5 → 0.125

2 variants of scale: 1, 2
  weighted_sum

differences from scale=1
  scale=2: first difference at weights[cat, cat]: 0.5 → 0.125
    weights: largest difference 0.375 at [cat, cat], 0.5 → 0.125; total
      variation up to 0.375; KL divergence up to 0.4133 nats; order of keys the
      same
    output: largest difference 1.5 at [cat, e1], 6 → 7.5

weights
scale=1            scale=2
n\\m   cat   sat    n\\m     cat     sat
───────────────    ───────────────────
cat  0.50  0.50    cat  0.125▼  0.875▲
sat  0.75  0.25    sat  0.750   0.250

output
scale=1    scale=2
n\\e  e1    n\\e    e1
───────    ─────────
cat   6    cat  7.5▲
sat   5    sat  5.0

statistics
query  variant → key   support   entropy   effective keys   largest
───────────────────────────────────────────────────────────────────
cat  scale=1 → cat           2   0.6931           2.0000     0.500
     scale=2 → sat           2   0.3768▼          1.4576▼    0.875▲
sat  scale=1 → cat           2   0.5623           1.7548     0.750
     scale=2 → cat           2   0.5623           1.7548     0.750
  support: the keys with a weight; largest: the largest weight, and → the key
    that has it
  effective keys: exp(entropy), as many keys of equal weight have that
    entropy, in nats
  ▲ rose   ▼ fell   ◆ changed otherwise, from scale=1
"""


def shown(target: TextTarget, variants: Mapping[str, Keys] = VARIANTS, form: str = "table") -> str:
    """The written comparison."""
    return "".join(render_comparison(find_format(form), comparison_of(variants), target, ComparisonView()))


def test_a_comparison_fits_80_columns() -> None:
    assert shown(TextTarget(80)) == TEXT


def test_tables_stand_below_one_another_on_a_narrow_screen() -> None:
    lines = shown(TextTarget(30)).splitlines()
    at = lines.index("weights")
    assert [lines[at + 1], lines[at + 7]] == ["scale=1", "scale=2"]


def test_a_pipe_has_tables_side_by_side_and_whole_sentences() -> None:
    lines = shown(TextTarget()).splitlines()
    assert "scale=1            scale=2" in lines
    assert any(line.startswith("    weights: ") and line.endswith("order of keys the same") for line in lines)


def test_a_table_has_the_name_of_a_numbered_variant_where_it_is_wide_enough() -> None:
    tokens: Keys = {"tokens": ("a", "b", "c", "d"), "query_tokens": ("a", "b"), "value": [[1 / 3, 2, 3, 1 / 7]] * 4}
    wide: dict[str, Keys] = {
        "normalize=softmax, a=1": {**tokens, "weights": [[1, 0, 0, 0], [0, 1, 0, 0]]},
        "normalize=sparsemax, a=2": {**tokens, "weights": [[1, 0, 0, 1], [0, 1, 0, 0]]},
    }
    lines = shown(TextTarget(80), wide).splitlines()
    assert lines[lines.index("output") + 1].split("  ")[:2] == ["1", "normalize=softmax, a=1"]
    assert lines[lines.index("weights") + 1].split() == ["1", "2"]


def test_a_terminal_shades_weights_and_colours_what_changed() -> None:
    styled = shown(TextTarget(80, has_styles=True))
    assert "\x1b[1m2 variants of scale" in styled
    assert "\x1b[1;32m7.5▲\x1b[0m" in styled


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_other_encodings_have_their_own_signs(encoding: str) -> None:
    text = shown(TextTarget(80, encoding=encoding))
    text.encode(encoding)
    assert "0.125v  0.875^" in text
    assert "0.5 -> 0.125" in text


def test_a_control_character_in_a_token_is_an_escape() -> None:
    tokens = ("a\x1b[2J", "b")
    variants = {name: {**keys, "tokens": tokens, "query_tokens": tokens} for name, keys in VARIANTS.items()}
    assert "\x1b" not in shown(TextTarget(80), variants)


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_documents_have_every_table_and_sentence(form: str) -> None:
    document = shown(TEXT_FILE, form=form)
    for text in (
        "weighted",
        "2 variants of scale",
        "0.125",
        "effective keys",
        "differences from scale=1",
        "0.4133 nats",
    ):
        assert text in document


FIRST = weights_of([0.5, 0.5], [1, 0])
SECOND = weights_of([0.25, 0.75], [1, 0])


def sections(count: int, *select: str) -> list[Section]:
    """The sections of a comparison of so many variants, of which the first one differs from the others."""
    variants: dict[str, Keys] = {f"scale={scale}": SECOND if scale else FIRST for scale in range(count)}
    return list(comparison_sections(comparison_of(variants, select or None), ComparisonView()))


def titles(found: list[Section]) -> list[str]:
    """The titles of what is below the verdict."""
    return [section.title.partition(":")[0] for section in found[1:]]


@pytest.mark.parametrize(
    ("count", "select", "expected"),
    [
        (2, (), ["2 variants of scale", "differences from scale=0", "weights", "output", "statistics"]),
        (8, ("output",), ["8 variants of scale", "differences from scale=0", "output", "statistics"]),
        (9, (), ["9 variants of scale", "summary"]),
        (9, ("weights",), ["9 variants of scale", "weights", "summary"]),
    ],
)
def test_many_variants_have_a_summary_in_place_of_the_rest(
    count: int, select: tuple[str, ...], expected: list[str]
) -> None:
    assert titles(sections(count, *select)) == expected


def test_large_tables_have_a_summary_in_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NUMBERS", 11)
    assert titles(sections(2)) == ["2 variants of scale", "differences from scale=0", "summary"]
    assert titles(sections(2, "weights"))[2:] == ["weights", "statistics"]


SHORT = ComparisonView(shows_all=False)


@pytest.mark.parametrize(
    ("limits", "view", "expected"),
    [
        ({}, SHORT, ["weights", "output", "statistics"]),
        (
            {"MAX_UNASKED": 7},
            SHORT,
            ["output", "statistics", "left out"],
        ),  # weights are 2 × 2 in both, the output 2 × 1
        ({"MAX_ROWS": 3}, SHORT, ["weights", "output", "left out"]),  # two queries of two variants
        ({"MAX_ROWS": 3}, ComparisonView(shows_all=False, statistics=True), ["weights", "output", "statistics"]),
        ({"MAX_ROWS": 3, "MAX_UNASKED": 7}, ComparisonView(), ["weights", "output", "statistics"]),
        ({}, ComparisonView(statistics=False), ["weights", "output"]),
    ],
)
def test_what_is_long_is_left_out_unless_it_is_asked_for(
    limits: dict[str, int], view: ComparisonView, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(module, name, limit)
    found = list(comparison_sections(comparison_of({"scale=0": FIRST, "scale=1": SECOND}), view))
    assert titles(found)[2:] == expected


def test_how_much_is_left_out_is_said_with_what_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNASKED", 7)
    monkeypatch.setattr(module, "MAX_ROWS", 3)
    (*_, left_out) = comparison_sections(comparison_of({"scale=0": FIRST, "scale=1": SECOND}), SHORT)
    assert left_out.remarks == (
        "weights: 2 × 2 numbers of each variant: --select weights shows them",
        "statistics: 4 rows: --stats shows them",
        "-o FILE.md writes everything",
    )


@pytest.mark.parametrize(
    ("variants", "expected"),
    [
        ({"a": FIRST, "b": FIRST}, "All variants have the same weights and output."),
        (
            {"a": FIRST, "b": SECOND},
            "b differs from a: output by up to 1 at [cat, e1], 6 → 7; "
            "first difference at weights[cat, cat]: 0.5 → 0.25",
        ),
        (
            {"a": FIRST, "b": SECOND, "c": weights_of([0, 1], [1, 0])},
            "c differs most from a: output by up to 2 at [cat, e1], 6 → 8; "
            "first difference at weights[cat, cat]: 0.5 → 0",
        ),
        (
            {"a": FIRST, "b": weights_of([0.5, 0.5])},
            "b differs from a: output can't be compared (the shapes differ: 2 × 1 and 1 × 1); "
            "first difference at weights, whose shapes differ",
        ),
    ],
    ids=["the same", "two", "the largest of three", "other shapes"],
)
def test_the_verdict_names_the_largest_difference_and_the_first(variants: dict[str, Keys], expected: str) -> None:
    verdict, *_ = comparison_sections(comparison_of(variants), ComparisonView())
    assert verdict.title == expected


def test_what_the_marks_mean_is_said_once_below_the_last_of_them() -> None:
    found = [section.title for section in sections(2) if any("▲ rose" in remark for remark in section.remarks)]
    assert found == ["statistics"]


def test_a_summary_has_the_means_of_each_variant_and_its_differences_from_the_first() -> None:
    summary = sections(9)[-1]
    (grid,) = summary.grids
    assert (grid.corner, grid.rows) == ("scale", tuple(map(str, range(9))))
    assert grid.columns == ("effective keys", "total variation", "weights", "output")
    np.testing.assert_allclose(grid.values[0], [(2 + 1) / 2, 0, 0, 0])
    entropy = 0.25 * np.log(4) + 0.75 * np.log(4 / 3)
    np.testing.assert_allclose(grid.values[8], [(np.exp(entropy) + 1) / 2, 0.25, 0.25, 1])
    assert "first step that differs from scale=0: weights (8)" in summary.remarks


def test_a_summary_lacks_what_no_variant_has() -> None:
    variants: dict[str, Keys] = {f"scale={scale}": weights_of([scale, 2]) for scale in range(9)}
    (grid,) = list(comparison_sections(comparison_of(variants), ComparisonView()))[-1].grids
    assert grid.columns == ("weights", "output")


def test_a_summary_of_results_that_can_not_be_compared_has_no_column_of_them() -> None:
    variants: dict[str, Keys] = {f"scale={scale}": weights_of(*[[0.5, 0.5]] * (1 + (scale > 0))) for scale in range(9)}
    summary = list(comparison_sections(comparison_of(variants, ["output"]), ComparisonView()))[-1]
    assert [grid.columns for grid in summary.grids] == [("effective keys",)]
    assert "no results can be compared" in summary.remarks


BEFORE = weights_of([0.5, 0.5], [0.75, 0.25])
AFTER = weights_of([0.25, 0.75], [0.75, 0.25])


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
            "first difference at masked_scores[cat, sat]: 0.5 → −∞",
        ),
        (FirstDifference((0, 1), "scale", numbers=(1.0, 2.0)), "first difference at scale: 1 → 2"),
        (
            FirstDifference((0, 1), "softcap", 1, (0, 1), ("cat", "sat"), (0.5, 0.25)),
            "first difference at softcap[cat, sat]: 0.5 → 0.25; a has no such step",
        ),
        (FirstDifference((0, 1), "heads", 0), "first difference at heads; b has no such step"),
        (FirstDifference((0, 1), "query"), "first difference at query, whose shapes differ"),
    ],
)
def test_the_step_at_which_two_variants_part_is_named(first: FirstDifference, text: str) -> None:
    assert writer(BEFORE, AFTER).first_difference(first) == text


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
    assert writer(BEFORE, AFTER).difference(found) == text


def test_each_variant_has_its_lines_below_the_first_one() -> None:
    (section,) = writer(BEFORE, AFTER, BEFORE).sections()
    assert section.title == "differences from a"
    weights, output = section.remarks[1:3]
    assert section.remarks[0] == "b: first difference at weights[cat, cat]: 0.5 → 0.25"
    assert weights.startswith(
        "  weights: largest difference 0.25 at [cat, cat], 0.5 → 0.25; total variation up to 0.25; "
    )
    assert output == "  output: largest difference 1 at [cat, e1], 6 → 7"
    assert section.remarks[3:] == ("c: the same in every step",)


def test_results_that_are_the_same_are_named_together() -> None:
    value = {**BEFORE, "value": [[4], [9]]}
    (section,) = writer(BEFORE, value).sections()
    assert section.remarks[1] == "  the same: weights"
    (section,) = writer({**BEFORE, "value": [[4, 1], [8, 1]], "w_o": [[1], [0]]}, {**BEFORE, "w_o": [[1]]}).sections()
    assert section.remarks[1] == "  the results are the same"


def test_results_that_rounding_tells_apart_are_the_same_and_how_far_apart_they_are_is_said() -> None:
    rounded = weights_of([0.5, 0.5], [0.75, 0.25 + 2**-52])
    (section,) = writer(BEFORE, rounded).sections()
    assert section.remarks == (
        "b: the same in every step",
        "  weights: the same but for rounding, up to 2.2204e−16",
        "  output: the same but for rounding, up to 1.7764e−15",
    )


def test_with_all_pairs_each_variant_has_a_section_of_those_after_it() -> None:
    sections = list(writer(BEFORE, AFTER, BEFORE, all_pairs=True).sections())
    assert [section.title for section in sections] == ["differences from a", "differences from b"]
    assert [line[0] for line in sections[1].remarks if not line.startswith(" ")] == ["c"]


ONE = {"query": [[1.0]], "key": [[1.0], [1.0]], "value": [[0.0, 1.0], [1.0, 1.0]]}


@pytest.mark.parametrize(
    ("changes", "summary"),
    [
        ({}, "no number changed"),
        ({"value": [[0.0, 1.0], [1.0, 3.0]]}, "changed: output 1 of 2"),
        ({"query": [[1.0], [2.0]]}, "changed: weights is 2 × 2 (was 1 × 2), output is 2 × 2 (was 1 × 2)"),
        ({"key": [[2.0], [1.0]]}, "changed: weights 2 of 2, output 1 of 2"),
    ],
    ids=["nothing", "a number", "a query more", "several results"],
)
def test_what_changed_is_counted_for_each_result(changes: dict[str, Any], summary: str) -> None:
    select = ("weights", "output")
    before, after = attention(**ONE, select=select), attention(**{**ONE, **changes}, select=select)
    assert change_summary(before, after) == summary


def test_a_result_that_was_not_computed_before_is_new() -> None:
    before, after = Problem(scores=[[1.0, 2.0]]), Problem(scores=[[1.0, 2.0]], value=[[1.0], [1.0]])
    assert change_summary(before.compute(), after.compute()) == "changed: output is new"


@pytest.mark.parametrize("shape", [(2, 3, 5), (7,), (), (3, 0)])
@pytest.mark.parametrize("max_numbers", [1, 4, 2**20])
def test_numbers_are_counted_in_parts(
    shape: tuple[int, ...], max_numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "CHUNK_NUMBERS", max_numbers)
    before = np.ones(shape)
    assert count_changes(before, before + 1) == before.size
    assert count_changes(before, before) == 0


def test_seeds_have_their_means_below_what_is_of_each_variant() -> None:
    for count in (2, 9):
        comparison = comparison_of({f"seed={seed}": SECOND if seed else FIRST for seed in range(count)})
        assert titles(list(comparison_sections(comparison, ComparisonView())))[-1] == f"over {count} seeds"
        without = list(comparison_sections(comparison, ComparisonView(statistics=False)))
        assert f"over {count} seeds" not in titles(without)

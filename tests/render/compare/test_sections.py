"""What a comparison shows: tables, statistics and differences of few variants, a summary of many."""

import numpy as np
import pytest

from attncli.render.compare import sections as module
from attncli.render.compare.sections import comparison_sections
from attncli.render.document import Section
from tests.comparisons import Keys, comparison_of, weights_of

FIRST = weights_of([0.5, 0.5], [1, 0])
SECOND = weights_of([0.25, 0.75], [1, 0])


def sections(count: int, *select: str) -> list[Section]:
    """The sections of a comparison of so many variants, of which the first one differs from the others."""
    variants: dict[str, Keys] = {f"seed={seed}": SECOND if seed else FIRST for seed in range(count)}
    return list(comparison_sections(comparison_of(variants, select or None), 4))


def titles(found: list[Section]) -> list[str]:
    return [section.title.partition(":")[0] for section in found]


@pytest.mark.parametrize(
    ("count", "select", "expected"),
    [
        (2, (), ["2 variants of seed", "weights", "output", "statistics", "differences from seed=0"]),
        (8, ("output",), ["8 variants of seed", "output", "statistics", "differences from seed=0"]),
        (9, (), ["9 variants of seed", "summary"]),
        (9, ("weights",), ["9 variants of seed", "weights", "summary"]),
    ],
)
def test_many_variants_have_a_summary_in_place_of_the_rest(
    count: int, select: tuple[str, ...], expected: list[str]
) -> None:
    assert titles(sections(count, *select)) == expected


def test_large_tables_have_a_summary_in_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NUMBERS", 11)
    assert titles(sections(2)) == ["2 variants of seed", "summary", "differences from seed=0"]
    assert titles(sections(2, "weights"))[1:3] == ["weights", "statistics"]


def test_what_the_marks_mean_is_said_once_below_the_last_of_them() -> None:
    found = [section.title for section in sections(2) if any("▲ rose" in remark for remark in section.remarks)]
    assert found == ["statistics"]


def test_a_summary_has_the_means_of_each_variant_and_its_differences_from_the_first() -> None:
    summary = sections(9)[-1]
    (grid,) = summary.grids
    assert (grid.corner, grid.rows) == ("seed", tuple(map(str, range(9))))
    assert grid.columns == ("effective keys", "total variation", "weights", "output")
    np.testing.assert_allclose(grid.values[0], [(2 + 1) / 2, 0, 0, 0])
    entropy = 0.25 * np.log(4) + 0.75 * np.log(4 / 3)
    np.testing.assert_allclose(grid.values[8], [(np.exp(entropy) + 1) / 2, 0.25, 0.25, 1])
    assert "first step that differs from seed=0: weights (8)" in summary.remarks


def test_a_summary_lacks_what_no_variant_has() -> None:
    variants: dict[str, Keys] = {f"seed={seed}": weights_of([seed, 2]) for seed in range(9)}
    (grid,) = list(comparison_sections(comparison_of(variants), 4))[-1].grids
    assert grid.columns == ("weights", "output")


def test_a_summary_of_results_that_can_not_be_compared_has_no_column_of_them() -> None:
    variants: dict[str, Keys] = {f"seed={seed}": weights_of(*[[0.5, 0.5]] * (1 + (seed > 0))) for seed in range(9)}
    summary = list(comparison_sections(comparison_of(variants, ["output"]), 4))[-1]
    assert [grid.columns for grid in summary.grids] == [("effective keys",)]
    assert "no results can be compared" in summary.remarks

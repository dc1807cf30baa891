"""The figure of a comparison: the tables of the variants, the differences below, and what is the same once."""

import numpy as np

from attncli.comparisons.figure import ComparisonFigure
from attncli.render.view import ComparisonView
from tests.comparisons.comparing import comparison_of, weights_of

FIRST = weights_of([0.5, 0.5], [1, 0])
OTHER = weights_of([0.25, 0.75], [1, 0])


def test_the_variants_are_side_by_side_and_their_differences_below() -> None:
    found = comparison_of({"mask=a": FIRST, "mask=b": OTHER}, ["weights"])
    tables, differences = ComparisonFigure(found, ComparisonView(2)).groups()
    assert (tables.title, [table.slice_label for table in tables.tables]) == ("weights", ["a", "b"])
    assert (differences.title, [table.slice_label for table in differences.tables]) == (
        "weights, difference",
        ["b − a"],
    )
    np.testing.assert_array_equal(differences.tables[0].values, [[-0.25, 0.25], [0, 0]])
    assert not differences.tables[0].is_heatmap  # 0 is the paper


def test_what_all_variants_have_is_drawn_once() -> None:
    found = comparison_of({"mask=a": FIRST, "mask=b": FIRST}, ["weights"])
    (group,) = ComparisonFigure(found, ComparisonView(2)).groups()
    assert (group.title, len(group.tables)) == ("weights, the same in both", 1)


def test_variants_of_other_shapes_have_groups_of_their_own_and_no_difference() -> None:
    found = comparison_of({"mask=a": FIRST, "mask=b": weights_of([0.5, 0.5])}, ["weights"])
    assert [len(group.tables) for group in ComparisonFigure(found, ComparisonView(2)).groups()] == [1, 1]

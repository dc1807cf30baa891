"""Where numbers differ has a name."""

from collections.abc import Callable

import numpy as np
import pytest

from attncli.checks.patterns import AxisPart, Band, ErrorPattern, find_pattern

ROWS, COLUMNS, HEADS = 11, 13, 7
Rule = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def pattern(rule: Rule, *, given: Rule | None = None, queries: range | None = None) -> ErrorPattern:
    """The pattern of the cells (head, row, column) for which a rule is true."""
    indices = np.ogrid[:HEADS, :ROWS, :COLUMNS]
    shape = (HEADS, ROWS, COLUMNS)
    is_given = np.ones(shape, dtype=bool) if given is None else np.broadcast_to(given(*indices), shape)
    return find_pattern(np.broadcast_to(rule(*indices), shape) & is_given, is_given, queries)


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        (lambda h, i, j: i == 4, [AxisPart(-2, (4,), ROWS)]),
        (lambda h, i, j: j == 12, [AxisPart(-1, (12,), COLUMNS)]),
        (lambda h, i, j: h == 3, [AxisPart(-3, (3,), HEADS)]),
        (lambda h, i, j: (h == 1) | (h == 4), [AxisPart(-3, (1, 4), HEADS)]),
        (lambda h, i, j: i >= 5, [AxisPart(-2, range(5, ROWS), ROWS)]),
        (lambda h, i, j: j < 6, [AxisPart(-1, range(6), COLUMNS)]),
        (lambda h, i, j: j % 2 == 1, [AxisPart(-1, range(1, COLUMNS, 2), COLUMNS)]),
        (lambda h, i, j: j % 2 == 0, [AxisPart(-1, range(0, COLUMNS, 2), COLUMNS)]),
        (lambda h, i, j: (h == 2) & (j >= 6), [AxisPart(-3, (2,), HEADS), AxisPart(-1, range(6, COLUMNS), COLUMNS)]),
        (
            lambda h, i, j: (h == 0) & (i == 1) & (j == 2),
            [AxisPart(-3, (0,), HEADS), AxisPart(-2, (1,), ROWS), AxisPart(-1, (2,), COLUMNS)],
        ),
        (lambda h, i, j: h + i + j >= 0, []),
    ],
    ids=["row", "column", "head", "heads", "from", "up to", "odd", "even", "head and half", "cell", "everywhere"],
)  # fmt: skip
def test_a_part_of_the_axes_is_named(rule: Rule, parts: list[AxisPart]) -> None:
    assert pattern(rule) == ErrorPattern(tuple(parts), None, 1.0)


@pytest.mark.parametrize(
    ("rule", "band"),
    [
        (lambda h, i, j: i == j, Band(0, 0)),
        (lambda h, i, j: j == i + 1, Band(1, 1)),
        (lambda h, i, j: j > i, Band(1, None)),
        (lambda h, i, j: j >= i, Band(0, None)),
        (lambda h, i, j: j < i, Band(None, -1)),
        (lambda h, i, j: j <= i, Band(None, 0)),
        (lambda h, i, j: j > i + COLUMNS - ROWS, Band(1, None, COLUMNS - ROWS)),
        (lambda h, i, j: j == i + COLUMNS - ROWS, Band(2, 2)),
    ],
)
def test_a_band_along_the_diagonal_is_named_where_the_axes_are_queries_and_keys(rule: Rule, band: Band) -> None:
    assert pattern(rule, queries=range(ROWS)) == ErrorPattern((), band, 1.0)
    assert pattern(rule).band is None


def test_a_band_may_be_that_of_one_head() -> None:
    found = pattern(lambda h, i, j: (h == 5) & (j > i), queries=range(ROWS))
    assert found == ErrorPattern((AxisPart(-3, (5,), HEADS),), Band(1, None), 1.0)


def test_a_band_may_begin_at_a_query() -> None:
    found = pattern(lambda h, i, j: (i >= 5) & (j <= i) & (h >= 0), queries=range(ROWS))
    assert found == ErrorPattern((AxisPart(-2, range(5, ROWS), ROWS),), Band(None, 0), 1.0)


def test_the_positions_of_selected_queries_count_for_the_diagonal() -> None:
    found = pattern(lambda h, i, j: j > i + 2, queries=range(2, ROWS + 2))
    assert found.band == Band(1, None)


def test_what_is_not_expected_is_no_part_of_the_pattern() -> None:
    assert pattern(lambda h, i, j: i == 4, given=lambda h, i, j: i == 4) == ErrorPattern((), None, 1.0)
    from_five = pattern(lambda h, i, j: i >= 5, given=lambda h, i, j: (i != 7) & (h >= 0) & (j >= 0))
    assert from_five.parts == (AxisPart(-2, range(5, ROWS), ROWS),)


def test_scattered_differences_have_no_name() -> None:
    found = pattern(lambda h, i, j: (i * 5 + j * 7 + h) % 23 == 0, queries=range(ROWS))
    assert (found.parts, found.band) == ((), None)
    assert 0 < found.coverage < 0.1


def test_the_coverage_is_the_share_of_all_numbers_of_the_region() -> None:
    found = pattern(lambda h, i, j: (h + i + j > 0) & (i >= 0), queries=range(ROWS))
    assert found == ErrorPattern((), None, 1 - 1 / (HEADS * ROWS * COLUMNS))
    found = pattern(lambda h, i, j: (h == 3) & (i + j > 0))
    assert found == ErrorPattern((AxisPart(-3, (3,), HEADS),), None, 1 - 1 / (ROWS * COLUMNS))


def test_numbers_of_one_axis_have_a_pattern_too() -> None:
    differs = np.array([False, False, True])
    assert find_pattern(differs, np.ones(3, dtype=bool)) == ErrorPattern((AxisPart(-1, (2,), 3),), None, 1.0)

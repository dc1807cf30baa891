"""Marks of changes: which cells have one, and that every format for readers shows it."""

from collections.abc import Sequence

import numpy as np
import pytest

import attncli
from attncli.plan.trace import RunResult
from attncli.problem.fields import DEFAULT_SELECTION
from attncli.render.document import Grid, change_marks, mark_grid, mark_grids
from attncli.render.formats import find_format
from attncli.render.formats.text_table import text_table
from attncli.render.sections import sections
from attncli.render.target import TextTarget
from attncli.render.view import Cell, View
from tests.traces import make_step, make_trace

X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("before", "after", "mark"),
    [
        (1, 1, ""),
        (1, 2, "▲"),
        (2, 1, "▼"),
        (-1, -2, "▼"),
        (1, 1 + 2**-50, ""),  # rounding
        (NAN, NAN, ""),
        (NAN, 1, "◆"),
        (-INF, 1, "◆"),
        (INF, INF, ""),
        (-INF, INF, "◆"),
        (-1.5e308, 1.5e308, "▲"),
    ],
)
def test_a_number_is_marked_by_how_it_changed(before: float, after: float, mark: str) -> None:
    assert change_marks(np.array([[float(before)]]), np.array([[float(after)]])).tolist() == [[mark]]


def test_truth_values_rise_and_fall_as_1_and_0() -> None:
    assert change_marks(np.array([[True, False, True]]), np.array([[False, True, True]])).tolist() == [["▼", "▲", ""]]


def table(values: list[list[float]], marked: frozenset[tuple[int, int]] = frozenset()) -> Grid:
    rows = np.array(values)
    return Grid(rows, tuple("abc"[: len(rows)]), tuple("wxyz"[: rows.shape[1]]), marked=marked)


def test_points_of_a_marked_column_stay_under_each_other() -> None:
    grid = mark_grid(table([[1.5, 2], [10, 2.25]]), table([[1, 2], [10, 2.5]]))
    assert list(text_table(grid, 4))[2:] == ["a    1.50▲   2.00 ", "b   10.00    2.25▼"]


def test_the_mark_of_a_change_stands_inside_the_brackets_of_a_worked_cell() -> None:
    worked = frozenset({(0, 0)})
    grid = mark_grid(table([[1.5], [10.0]], worked), table([[1.5], [11.0]]))
    assert list(text_table(grid, 4))[2:] == ["*a   [1.5] ", " b   10.0▼ "]


def test_marks_move_with_the_rows_and_columns_that_are_selected() -> None:
    grid = mark_grid(table([[1, 2, 3], [4, 5, 6]]), table([[1, 2, 3], [4, 7, 5]]))
    assert grid.select([1], [2, 1]).changes is not None
    assert grid.select([1], [2, 1]).changes.tolist() == [["▲", "▼"]]


def test_tables_of_other_shapes_are_not_compared() -> None:
    assert mark_grid(table([[1, 2]]), table([[1, 2, 3]])).changes is None


def compute(select: Sequence[str] = DEFAULT_SELECTION, **keys: object) -> RunResult:
    """The result of a problem."""
    return attncli.Problem(**keys).compute(select=select)


def test_tables_that_were_not_there_before_are_kept() -> None:
    first, second = table([[1, 2]]), table([[3, 4]])
    marked = list(mark_grids([first, second], [table([[1, 3]])]))
    assert [None if grid.changes is None else grid.changes.tolist() for grid in marked] == [[["", "▼"]], None]


def changed_view(**more: object) -> View:
    """The view of a problem whose last vector fell, marked against that before."""
    before, after = compute(embeddings=X), compute(embeddings=[*X[:2], [1.0, 0.5]])
    return View(after, before=before, **more)


@pytest.mark.parametrize(
    ("output_format", "shown"),
    [("table", "0.5000▼"), ("markdown", "| 0.5000▼ |"), ("latex", r"$0.5000$$\downarrow$")],
)
def test_every_format_for_readers_marks_what_changed(output_format: str, shown: str) -> None:
    view = View(
        attncli.attention([[1.0]], [[0.0], [0.0]], [[0.0], [1.0]], select="output"),
        before=attncli.attention([[1.0]], [[0.0], [0.0]], [[0.0], [3.0]], select="output"),
        decimals=4,
    )
    assert shown.replace(".5000", ".5") in "".join(find_format(output_format).render(view, TextTarget()))


def test_an_explanation_marks_what_changed_in_every_table() -> None:
    by_title = {section.title.split(". ")[-1]: section for section in sections(changed_view(explain=True))}
    changes = by_title["embeddings"].grids[0].changes
    assert changes is not None
    assert changes.tolist() == [["", ""], ["", ""], ["", "▼"]]


def test_a_result_that_was_not_there_before_has_no_marks() -> None:
    after = compute(embeddings=X, select=("scores", "weights"))
    before = compute(embeddings=X, causal=True, select="weights")
    scores, weights = sections(View(after, before=before))
    assert weights.grids[0].changes is not None
    assert weights.grids[0].changes[0].tolist() == ["▼", "▲", "▲"]
    assert scores.grids[0].changes is not None  # kept as a step of a small problem


def test_signs_that_changed_are_marked_without_a_direction() -> None:
    before = compute(embeddings=X, causal=True, select="visible")
    after = compute(embeddings=X, window=[1, 0], select="visible")
    (section,) = sections(View(after, before=before))
    assert section.grids[0].changes is not None
    assert set(section.grids[0].changes.ravel()) == {"", "◆"}


def test_a_cell_that_an_earlier_result_does_not_have_is_no_error() -> None:
    before = compute(embeddings=X[:1])
    view = View(compute(embeddings=X), explain=True, cells=(Cell(2, 2),), before=before)
    assert list(sections(view))


def test_a_step_is_in_a_trace_by_its_name_or_that_of_its_result() -> None:
    trace = make_trace([make_step("weights", ("n", "m"), np.ones((1, 1)), "normalize")], {})
    assert "weights" in trace
    assert "scores" not in trace

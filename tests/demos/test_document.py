"""A worked example: its verdict, and the results of all parts in one table or plot."""

from typing import Any

import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.checks.check import check
from attncli.checks.report import CheckOptions, CheckReport
from attncli.demos.document import EXPECTED, PUBLISHED, PartReport, curve_of_parts, together, verdict
from attncli.render.curve import plot
from attncli.render.document import Grid, Section
from attncli.render.view import View
from tests.problems import problem

QUERY, KEY = [[1.0, 0.0]], [[0.5, 0.0], [0.25, 1.0]]


def checked(scores: Any, **keys: Any) -> CheckReport:
    """The check of the scores [[0.5, 0.25]]."""
    spec = problem(query=QUERY, key=KEY, score="dot", **keys)
    return check(spec, {"scores": scores}, CheckOptions(tries_slips=False))


@pytest.mark.parametrize(
    ("checks", "adjective", "text"),
    [
        ([checked([[0.5, 0.25]])], PUBLISHED, "All 2 published numbers agree, to every printed digit."),
        ([checked([[0.5, 0.25]])] * 2, EXPECTED, "All 4 expected numbers agree, to every printed digit."),
        ([checked({"query_1": {"key_2": 0.25}})], EXPECTED, "The expected number agrees, to every printed digit."),
        ([checked([[0.5, 0.26]])], PUBLISHED, "1 of 2 numbers differs from the published ones."),
        ([checked([[0.5, 0.25]]), checked([[0.6, 0.26]])], EXPECTED, "2 of 4 numbers differ from the expected ones."),
        (
            [checked([[0.500123, 0.25]], dtype="bfloat16")],
            PUBLISHED,
            "All 2 published numbers agree, to the digits that their type has.",
        ),
    ],
    ids=["published", "expected", "one", "one differs", "several differ", "few digits"],
)
def test_the_verdict_says_whose_the_numbers_are_and_how_many_differ(
    checks: list[CheckReport], adjective: str, text: str
) -> None:
    found = verdict(checks, adjective)
    assert found is not None
    assert found.start == text


def test_without_expected_numbers_there_is_no_verdict() -> None:
    assert verdict([], EXPECTED) is None


X = [[1.0, 0, 2, 1], [0, 1, 1, 3]]
ROW = [[1.0, 0]]
KEYS = [[0.0, 0], [1, 0], [2, 5]]


def parts(query: list[list[float]], key: list[list[float]], **problems: dict[str, Any]) -> list[PartReport]:
    """A part for each problem, under its name."""
    select = ("scores", "weights", "output")
    results = {title: attncli.attention(query, key, select=select, **keys) for title, keys in problems.items()}
    return [PartReport(title, "", "", View(result)) for title, result in results.items()]


def only_grid(section: Section) -> Grid:
    (grid,) = section.grids
    return grid


def test_a_part_of_several_columns_has_them_all() -> None:
    (section,) = together(parts(X, X, a={"heads": 1}, b={"score": "dot"}), ["output"])
    assert section.title == "output, side by side"
    assert only_grid(section).columns == tuple(f"{part}, e{number}" for part in "ab" for number in range(1, 5))
    assert only_grid(section).values.shape == (2, 8)


def test_a_part_of_several_heads_has_them_all() -> None:
    (section,) = together(parts(X, X, one={"heads": 1}, two={"heads": 2}), ["weights"])
    assert only_grid(section).columns == (
        "one, key_1", "one, key_2",
        "two, head 0, key_1", "two, head 0, key_2", "two, head 1, key_1", "two, head 1, key_2",
    )  # fmt: skip


def test_a_part_of_one_column_is_named_by_its_title() -> None:
    keys = {"value": [[1.0], [2]]}
    (section,) = together(parts(X, X, a=keys, b=keys | {"score": "dot"}), ["output"])
    assert only_grid(section).columns == ("a", "b")


def test_parts_of_one_query_are_rows_below_what_they_share() -> None:
    shown = parts(ROW, KEYS, soft={"score": "dot"}, hard={"score": "dot", "normalize": "hardmax"})
    (section,) = together(shown, ["scores", "weights"])
    grid = only_grid(section)
    assert (section.title, grid.corner, grid.rows) == ("weights", "query_1", ("scores", "soft", "hard"))
    assert grid.values.tolist()[0] == [0, 1, 2]
    assert grid.values.tolist()[2] == [0, 0, 1]
    # Each quantity has its own decimals, aligned on the point.
    assert [cell.rstrip() for cell in grid.cell_texts(2)[0]] == ["0", "1", "2"]
    assert {len(cell.partition(".")[2]) for cell in grid.cell_texts(2)[1]} == {4}


def test_parts_of_one_query_whose_results_all_differ_are_a_table_for_each_result() -> None:
    shown = parts(ROW, KEYS, dot={"score": "dot"}, scaled={"score": "euclidean"})
    assert [(section.title, only_grid(section).rows) for section in together(shown, ["scores", "weights"])] == [
        ("scores", ("dot", "scaled")), ("weights", ("dot", "scaled")),
    ]  # fmt: skip


def test_a_shared_result_with_other_columns_has_its_own_table() -> None:
    shown = parts(ROW, KEYS, sum={"value": KEYS}, best={"value": KEYS, "context": "argmax"})
    assert [only_grid(section).rows for section in together(shown, ["weights", "output"])] == [
        ("weights",), ("sum", "best"),
    ]  # fmt: skip


def test_parts_with_different_queries_do_not_stand_side_by_side() -> None:
    shown = [*parts(X, X, a={}), *parts(ROW * 3, KEYS, b={})]
    with pytest.raises(AttnError, match="together: the parts have different queries"):
        list(together(shown, ["output"]))


CURVE = {"tokens": ["0", "1", "2"], "value": [[0.0], [4], [0]]}


def test_a_curve_is_drawn_over_the_labels_against_the_values() -> None:
    keys = CURVE | {"query_tokens": ["0", "2"]}
    drawn = curve_of_parts(parts([[1.0, 0], [0, 1]], KEYS, flat=keys | {"scale": 0}), "output")
    lines = plot(drawn, 40)
    assert lines[0] == drawn.y_name == "output"
    assert lines[1].split() == ["4", "┤", "●"]
    assert [line.split("┤")[0].strip() for line in lines[:-1] if line.count("●") == 2] == ["0"]
    assert lines[-3].split() == ["0", "1", "2"]
    assert lines[-1] == "● values   ⠒⠒⠒ flat"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"query_tokens": ["a"]}, "curve: the label 'a' is not a number; a curve needs tokens"),
        (
            {"query_tokens": ["0"], "value": KEYS},
            "curve: 1 × 2 numbers are not a curve; one value feature and",
        ),
    ],
)
def test_a_curve_needs_numbers_as_labels_and_one_feature(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        curve_of_parts(parts(ROW, KEYS, a=CURVE | keys), "output")
    assert message in str(caught.value)

"""What an error looks like: a factor of all numbers, of each row or column, an offset, growth, masked cells."""

import numpy as np
import pytest

import attncli
from attncli.checks.check import check
from attncli.checks.error_shapes import error_shapes, shapes_of
from attncli.checks.report import CheckOptions
from tests.arrays import normal
from tests.problems import dense_trace, problem

RIGHT = normal(2, 16, 8, seed=1)
NOISE = normal(2, 16, 8, seed=2)
ROWS, COLUMNS = np.linspace(0.5, 2, 16)[:, None], np.linspace(0.5, 2, 8)

SHAPES = {
    "a factor": (96 * RIGHT, ["factor"], "The numbers are 96 times the correct ones."),
    "a factor and noise": (96 * RIGHT + NOISE, ["factor"], "The numbers are nearly 95.9 times"),
    "a factor of each row": (RIGHT * ROWS, ["row_factors"], "factor of its own, from 0.5 to 2."),
    "a factor of each column": (RIGHT * COLUMNS, ["column_factors"], "factor of its own, from 0.5 to 2."),
    "a number in each row": (RIGHT + ROWS, ["row_offsets"], "is added, from 0.5 to 2."),
    "growth": (RIGHT + 10 ** (3 * ROWS) * NOISE, ["growth"], "The error grows with the query"),
    "signs": (np.where(NOISE > 0, RIGHT, -RIGHT), ["signs"], "Only signs differ."),
    "nothing written": (np.zeros_like(RIGHT), ["zeros"], "All numbers are 0, as in an array that was never written."),
    "small noise": (RIGHT * (1 + 1e-4 * NOISE), [], ""),
    "noise": (RIGHT + 0.1 * NOISE, [], ""),
    "one number": (RIGHT + np.eye(16, 8), [], ""),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_shape_of_an_error_is_named(name: str) -> None:
    expected, names, text = SHAPES[name]
    found = list(error_shapes(expected, RIGHT, expected != RIGHT, has_queries=True))
    assert [shape.name for shape in found] == names
    assert text in "".join(shape.sentence for shape in found)


@pytest.mark.parametrize("name", SHAPES)
def test_the_shape_of_an_error_does_not_depend_on_the_size_of_the_numbers(name: str) -> None:
    expected, names, _ = SHAPES[name]
    found = error_shapes(expected * 2.0**1000, RIGHT * 2.0**1000, expected != RIGHT, has_queries=True)
    assert [shape.name for shape in found] == names


@pytest.mark.parametrize(("count", "names"), [(3, ["row_factors"]), (2, [])])
def test_a_factor_of_each_row_is_seen_where_rows_have_three_numbers(count: int, names: list[str]) -> None:
    expected = np.where(np.arange(8) < count, RIGHT * ROWS, np.nan)
    assert [shape.name for shape in error_shapes(expected, RIGHT, expected != RIGHT)] == names


def test_errors_of_keys_that_the_mask_hides_are_said_to_be_there() -> None:
    query, key = normal(9, 4), normal(9, 4, seed=1)
    right = np.asarray(attncli.attention(query=query, key=key, causal=True, select=["weights"]).weights)
    wrong = right + np.triu(abs(normal(9, 9, seed=2)), 1) * 0.01
    spec = problem(query=query, key=key, causal=True)
    (result,) = check(spec, {"weights": wrong}, CheckOptions(tries_slips=False)).results
    assert [shape.name for shape in shapes_of(dense_trace(spec), result)] == ["hidden_cells"]

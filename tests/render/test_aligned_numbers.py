"""Numbers of a table have as many decimals as they need, and a large table is written as a small one is."""

import numpy as np
import pytest

from attncli.render import aligned_numbers
from attncli.render.aligned_numbers import align_characters, align_numbers, joined_lines, number_widths, padded_lines
from attncli.render.document import Grid, Section
from attncli.render.formats import markdown
from attncli.render.formats.text_table import text_table
from tests.render.explanations import text_of


@pytest.mark.parametrize(
    ("numbers", "places", "texts"),
    [
        ([8, 2, 10], 4, ["8", "2", "10"]),
        ([0.23608986, 0.00738988], 4, ["0.2361", "0.0074"]),
        ([1.5, 10, 0], 4, ["1.5", "10.0", "0  "]),
        ([0.5, 0.00001, 0.0], 4, ["0.5000", "0.0000", "0     "]),
        ([1 / 3, -2], 2, ["0.33", "-2.00"]),
        ([0.08995, 0.5], 4, ["0.0900", "0.5000"]),
        ([0.25, 1.999999], 4, ["0.2500", "2.0000"]),
        ([1 / 3, 2.5], 0, ["0", "2"]),
        ([-np.inf, 1.25, np.nan, np.inf], 4, ["−∞   ", "1.25", "NaN   ", "∞   "]),
        ([1e12, 1], 4, ["1000000000000", "1"]),
        ([1e20, 1.5], 4, ["1e+20", "1.5"]),
        ([2e-7, 1e-9], 4, ["2e−07", "1e−09"]),
        ([0.1, 0.2], 17, ["0.10000000000000001", "0.20000000000000001"]),
        ([0, 0], 4, ["0", "0"]),
        ([-0.0, 1], 4, ["0", "1"]),
        ([-0.00001, -0.5], 4, ["0.0000", "-0.5000"]),
        ([-0.3, 2.5], 0, ["0", "2"]),
        ([123456.789], 4, ["123456.789"]),
        # 4194304.3 in binary is 4194304.29999999981373…: the larger of the two says how many decimals are needed.
        ([0.5, 4194304.3], 12, ["0.500000000000", "4194304.299999999814"]),
    ],
)
def test_a_row_of_numbers(numbers: list[float], places: int, texts: list[str]) -> None:
    assert align_numbers(np.array([numbers], dtype=float), places) == [texts]


def test_a_zero_that_a_mask_hides_has_its_sign_and_no_other_number() -> None:
    hidden = np.array([[False, True, False], [False, True, True]])
    texts = align_numbers(np.array([[0.5, 0, 0], [0.25, 0.75, 0]]), 4, hidden)
    assert texts == [["0.50", "╱   ", "0   "], ["0.25", "0.75", "╱   "]]


def test_decimal_points_are_aligned() -> None:
    cells = align_numbers(np.array([[1.0], [-22.125], [0.0], [-np.inf], [333.5]]), 4)
    width = max(len(row[0]) for row in cells)
    lines = [row[0].rjust(width) for row in cells]
    assert {line.index(".") for line in lines if "." in line} == {3}
    assert lines[2][2] == "0"


def test_float16_numbers_are_formatted_as_float64() -> None:
    assert align_numbers(np.array([[0.5, 2]], dtype=np.float16), 4) == [["0.5", "2.0"]]


NORMAL = np.random.default_rng(0).standard_normal((40, 30))
HIDDEN = NORMAL < -0.5
TABLES = {
    "numbers of both signs": NORMAL,
    "weights with zeros": np.where(NORMAL > 0, abs(NORMAL) / 100, 0),
    "a column without signs": np.where(np.arange(30) % 2, NORMAL, abs(NORMAL)),
    "scores behind a mask": np.where(NORMAL > 0, NORMAL, -np.inf),
    "numbers that are none": np.where(NORMAL > 1, np.nan, np.where(NORMAL < -1, np.inf, NORMAL)),
    "nothing but NaN in a column": np.where(np.arange(30) == 3, np.nan, NORMAL),
    "whole numbers": np.rint(NORMAL * 100),
    "integers": np.rint(NORMAL * 100).astype(np.int64),
    "halves and quarters": np.rint(NORMAL * 100) / 4,
    "equal weights, in the middle of two": np.full((40, 30), 1 / 32),
    "zeros": np.zeros((40, 30)),
    "large numbers": NORMAL * 1e12,
    "small numbers": NORMAL * 1e-9,
    "numbers of every size": NORMAL * 10.0 ** np.arange(-9, 6, 0.5),
    "four bytes": NORMAL.astype(np.float32),
    "two bytes": NORMAL.astype(np.float16),
    "longdouble": NORMAL.astype(np.longdouble),
}


@pytest.mark.parametrize("decimals", [0, 2, 4, 12, 17])
@pytest.mark.parametrize("values", TABLES.values(), ids=TABLES)
def test_the_cells_have_the_texts_of_their_numbers(values: np.ndarray, decimals: int) -> None:
    texts = align_numbers(values, decimals, HIDDEN)
    characters = align_characters(values, decimals, HIDDEN)
    rows = [[text.strip() for text in row] for row in texts]
    assert [line.split("|") for line in joined_lines(characters, "|")] == rows
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    assert number_widths(characters) == widths
    padded = ["".join(f"  {text:>{width}}" for text, width in zip(row, widths, strict=True)) for row in rows]
    assert list(padded_lines(characters, widths, 2)) == padded


@pytest.mark.parametrize("values", TABLES.values(), ids=TABLES)
def test_a_table_is_the_same_number_by_number_and_all_at_once(
    values: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = tuple(f"猫_{number}" if number % 3 else "a long label" for number in range(40))
    grid = Grid(values, labels, labels[:30], corner="n\\m", hidden=HIDDEN)
    at_once = list(text_table(grid, 4)), text_of([Section("weights", (grid,))], render=markdown.render)
    monkeypatch.setattr(aligned_numbers, "MIN_NUMBERS", values.size + 1)
    assert (list(text_table(grid, 4)), text_of([Section("weights", (grid,))], render=markdown.render)) == at_once


@pytest.mark.parametrize("numbers_per_block", [1, 100, 2**14])
def test_the_lines_do_not_depend_on_how_many_are_made_at_once(
    numbers_per_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(joined_lines(align_characters(NORMAL, 4), " "))
    monkeypatch.setattr(aligned_numbers, "NUMBERS_PER_BLOCK", numbers_per_block)
    assert list(joined_lines(align_characters(NORMAL, 4), " ")) == expected

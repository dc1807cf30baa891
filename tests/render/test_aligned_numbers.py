"""Numbers in a table: point under point, nothing hidden."""

import numpy as np
import pytest

from attncli.render.aligned_numbers import align_numbers


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


def test_decimal_points_are_aligned() -> None:
    cells = align_numbers(np.array([[1.0], [-22.125], [0.0], [-np.inf], [333.5]]), 4)
    width = max(len(row[0]) for row in cells)
    lines = [row[0].rjust(width) for row in cells]
    assert {line.index(".") for line in lines if "." in line} == {3}
    assert lines[2][2] == "0"


def test_float16_numbers_are_formatted_as_float64() -> None:
    assert align_numbers(np.array([[0.5, 2]], dtype=np.float16), 4) == [["0.5", "2.0"]]

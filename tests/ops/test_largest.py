"""The cells of the largest numbers of each row, beside those that sorting finds."""

import numpy as np
import pytest

from attncli.base.lazy_numpy import Array
from attncli.ops.normalizers import largest_cells


def sorted_cells(x: Array, k: int) -> list[int]:
    """The same cells, found by sorting the finite numbers of each row."""
    found = []
    for row, numbers in enumerate(x.reshape(-1, x.shape[-1]).tolist()):
        finite = sorted(number for number in numbers if number != -np.inf)
        found += [
            row * len(numbers) + column
            for column, number in enumerate(numbers)
            if number != -np.inf and number >= finite[-k:][0]
        ]
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [1, 2, 3, 16, 31])
@pytest.mark.parametrize("length", [37, 64, 131, 1009])
def test_they_are_those_that_sorting_finds(length: int, k: int, dtype: str) -> None:
    random = np.random.default_rng([length, k])
    scattered = random.standard_normal((3, 5, length)).astype(dtype)
    alike = np.round(2 * scattered)
    causal = np.where(np.arange(length) <= 7 * np.arange(5)[:, None], scattered, -np.inf).astype(dtype)
    for x in (scattered, alike, causal, np.sort(scattered), np.zeros_like(scattered), scattered.swapaxes(0, 2)):
        rows = np.ascontiguousarray(x)
        if k <= x.shape[-1]:
            assert largest_cells(x, k).tolist() == sorted_cells(rows, k)


def test_rows_without_a_visible_key_have_none() -> None:
    assert largest_cells(np.full((4, 256), -np.inf), 2).tolist() == []
    assert largest_cells(np.zeros((0, 256)), 2).tolist() == []

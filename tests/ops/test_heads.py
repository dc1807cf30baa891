"""Projections and heads."""

import numpy as np
import pytest

from attncli.ops.heads import merge, project, rows, split

N, H, D = 3, 5, 7


def test_a_head_gets_its_share_of_the_features_in_order() -> None:
    x = np.arange(N * H * D).reshape(N, H * D)
    heads = split(x, heads=H)
    assert heads.shape == (H, N, D)
    for head in range(H):
        np.testing.assert_array_equal(heads[head], x[:, head * D : (head + 1) * D])


@pytest.mark.parametrize("leading", [(), (2,)])
def test_merging_undoes_splitting(leading: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=(*leading, N, H * D))
    np.testing.assert_array_equal(merge(split(x, heads=H)), x)


def test_a_projection_multiplies_from_the_right_and_adds() -> None:
    assert project(np.array([[1.0, 2.0]]), np.array([[1.0, 0, 1], [0, 1, 1]]), np.array([10.0, 20, 30])).tolist() == [
        [11, 22, 33]
    ]
    assert project(np.array([[1.0, 2.0]]), b=np.array([10.0, 20])).tolist() == [[11, 22]]


def test_rows_are_taken_in_the_order_they_are_named() -> None:
    assert rows(np.array([[1.0], [2], [3]]), at=[2, 0]).tolist() == [[3], [1]]

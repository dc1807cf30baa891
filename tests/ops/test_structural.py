"""Structural functions: projections, heads, the cache and the sink column."""

import numpy as np
import pytest

from attncli.ops.structural import (
    concat_cache,
    drop_missing_axes,
    merge_heads,
    per_head,
    project,
    repeat_kv,
    select_rows,
    split_heads,
    with_column,
    without_column,
)

N, H, D = 3, 5, 7


def test_a_head_gets_its_share_of_the_features_in_order() -> None:
    x = np.arange(N * H * D).reshape(N, H * D)
    heads = split_heads(x, heads=H)
    assert heads.shape == (H, N, D)
    for head in range(H):
        np.testing.assert_array_equal(heads[head], x[:, head * D : (head + 1) * D])


@pytest.mark.parametrize("leading", [(), (2,)])
def test_merging_undoes_splitting(leading: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=(*leading, N, H * D))
    np.testing.assert_array_equal(merge_heads(split_heads(x, heads=H)), x)


def test_a_projection_multiplies_from_the_right_and_adds() -> None:
    assert project(np.array([[1.0, 2.0]]), np.array([[1.0, 0, 1], [0, 1, 1]]), np.array([10.0, 20, 30])).tolist() == [
        [11, 22, 33]
    ]
    assert project(np.array([[1.0, 2.0]]), b=np.array([10.0, 20])).tolist() == [[11, 22]]


def test_rows_are_selected_in_the_given_order() -> None:
    assert select_rows(np.array([[1.0], [2], [3]]), at=[2, 0]).tolist() == [[3], [1]]


@pytest.mark.parametrize(
    ("heads", "shared"), [(6, [0, 0, 1, 1, 2, 2]), (3, [0, 1, 2]), (9, [0, 0, 0, 1, 1, 1, 2, 2, 2])]
)
def test_a_query_head_reads_the_key_head_of_its_group(heads: int, shared: list[int]) -> None:
    x = np.random.default_rng(1).normal(size=(2, 3, N, D))
    np.testing.assert_array_equal(repeat_kv(x, heads=heads), x[:, shared])


def test_the_cache_comes_before_the_new_rows() -> None:
    assert concat_cache(np.array([[1.0], [2]]), np.array([[3.0]])).tolist() == [[1], [2], [3]]


def test_a_number_per_head_broadcasts_over_its_table() -> None:
    table = np.zeros((2, H, N, D)) + per_head(np.arange(H), H)
    assert table[1, :, 0, 0].tolist() == list(range(H))
    assert per_head(np.array([7]), None).shape == ()


@pytest.mark.parametrize(("heads", "leading"), [(H, (2, H)), (H, (H,)), (None, (2,)), (None, ())])
def test_without_column_undoes_with_column(heads: int | None, leading: tuple[int, ...]) -> None:
    scores, sink = np.zeros((*leading, N, D)), np.arange(1.0, (heads or 1) + 1)
    wider = with_column(scores, sink, heads=heads)
    last = np.broadcast_to(sink[:, None] if heads else sink, wider.shape[:-1])
    np.testing.assert_array_equal(wider[..., -1], last)
    np.testing.assert_array_equal(without_column(wider), scores)


def test_missing_axes_are_dropped_and_a_query_axis_is_added() -> None:
    assert drop_missing_axes(np.zeros((1, 5, 2, 3)), (0,)).shape == (5, 2, 3)
    assert drop_missing_axes(np.zeros(3), ()).shape == (1, 3)

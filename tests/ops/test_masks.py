"""Masks: which keys are visible, as rules on indices."""

import math
from typing import Any

import numpy as np
import pytest

from attncli.ops import operators
from attncli.ops.elementwise import table_cells
from attncli.ops.masks import and_masks, apply_mask, bias, causal, chunked, key_lengths, key_mask, mask_, window

N, M = 5, 7
ROWS, KEYS = np.arange(N), np.arange(M)
INFINITE = math.inf


@pytest.mark.parametrize("first", [-2, 0, 3])
def test_a_causal_query_sees_no_key_after_its_position(first: int) -> None:
    visible = causal(ROWS + first, KEYS)
    assert [[j for j in range(M) if visible[i, j]] for i in range(N)] == [
        list(range(min(i + first + 1, M))) for i in range(N)
    ]


def test_a_causal_mask_is_a_lower_triangle() -> None:
    np.testing.assert_array_equal(causal(KEYS, KEYS), np.tri(M, dtype=bool))


@pytest.mark.parametrize(
    ("left", "right", "visible_keys"),
    [(1, 0, [2, 3]), (0, 0, [3]), (INFINITE, 1, [0, 1, 2, 3, 4]), (2, INFINITE, [1, 2, 3, 4, 5, 6])],
)
def test_a_window_has_so_many_keys_on_either_side(left: float, right: float, visible_keys: list[int]) -> None:
    assert np.flatnonzero(window(np.array([3]), KEYS, left=left, right=right)[0]).tolist() == visible_keys


def test_a_window_of_no_limits_hides_nothing() -> None:
    assert window(ROWS, KEYS, left=INFINITE, right=INFINITE).all()


def test_a_query_sees_the_keys_of_its_own_chunk() -> None:
    visible = chunked(ROWS + 1, KEYS, size=3)
    assert [np.flatnonzero(row).tolist() for row in visible] == [[0, 1, 2]] * 2 + [[3, 4, 5]] * 3


def test_chunks_begin_at_the_first_real_key_of_each_item() -> None:
    visible = chunked(np.array([1, 4]), KEYS, np.array([2, 0]), size=3)
    assert [[np.flatnonzero(row).tolist() for row in item] for item in visible] == [
        [[0, 1], [2, 3, 4]],  # the chunk before the first one is padding
        [[0, 1, 2], [3, 4, 5]],
    ]


MANY = 20  # keys, beyond what any mask below shows
POSITIONS = {"query_positions": np.array([6, 7, 9]), "key_positions": np.arange(MANY)}
TABLE = (np.arange(MANY) >= 2) & (np.arange(MANY) < [[11], [17], [13]])  # of a query in each row
ROWS_OF_TABLE = {"query_rows": np.arange(3), "key_positions": np.arange(MANY)}
BLOCKS: dict[str, tuple[str, dict[str, Any]]] = {  # a mask, and what it reads of a block of queries
    "causal": ("causal", POSITIONS),
    "a window": ("window", {**POSITIONS, "left": 4, "right": 2}),
    "a window of one key": ("window", {**POSITIONS, "query_positions": np.array([7]), "left": 0, "right": 0}),
    "chunks": ("chunked", {**POSITIONS, "size": 5}),
    "one chunk": ("chunked", {**POSITIONS, "size": 10}),
    "chunks from the first real key": ("chunked", {**POSITIONS, "real_key_starts": np.array([[2], [0]]), "size": 4}),
    "lengths": ("key_lengths", {"key_positions": np.arange(MANY), "key_lengths": np.array([5, 11, 8])}),
    "lengths of queries": (
        "query_key_lengths",
        {"key_positions": np.arange(MANY), "query_key_lengths": np.array([[5, 11, 8], [7, 6, 5]])},
    ),
    "padding": ("key_mask", {"key_mask": TABLE}),
    "packed sequences": (
        "cu_seqlens",
        {"query_sequences": np.array([1, 2]), "key_sequences": np.arange(MANY) // 3},
    ),
    "one of the packed sequences": (
        "cu_seqlens",
        {"query_sequences": np.array([2, 2]), "key_sequences": np.arange(MANY) // 3},
    ),
    "a prefix": ("prefix", {"key_positions": np.arange(MANY), "size": 4}),
    "blocks": ("block", {**POSITIONS, "size": 3, "around": 1}),
    "every key": ("dilated", {**POSITIONS, "step": 1}),
    "global tokens": ("global", {**POSITIONS, "tokens": np.array([3, 2, 4])}),
    "documents by their ids": (
        "document",
        {**POSITIONS, "query_positions": np.array([6, 7]), "ids": np.repeat([0, 2, 1], [3, 9, MANY - 12])},
    ),
    "a table": ("mask", {"table": TABLE, **ROWS_OF_TABLE}),
    "a bias": ("bias", {"table": np.where(TABLE, 0.0, -np.inf), **ROWS_OF_TABLE}),
}


@pytest.mark.parametrize(("name", "given"), BLOCKS.values(), ids=BLOCKS)
def test_the_key_bounds_of_a_block_are_its_first_and_last_visible_keys(name: str, given: dict[str, Any]) -> None:
    """Of those that any query sees, and of those that all queries see."""
    record = operators("mask")[name]
    assert record.key_bounds is not None
    bounds, visible = record.key_bounds(**given), record.function(**given).reshape(-1, MANY)
    for (first, end), seen in ((bounds.any_visible, visible.any(axis=0)), (bounds.all_visible, visible.all(axis=0))):
        assert list(range(int(max(first, 0)), int(min(end, MANY)))) == np.flatnonzero(seen).tolist()


def test_every_mask_has_a_block_with_known_bounds() -> None:
    assert {name for name, _ in BLOCKS.values()} == {x.name for x in operators("mask").values() if not x.reads_rows}


@pytest.mark.parametrize("axes", [(), (2,), (2, 1)])
def test_keys_beyond_their_items_length_are_padding(axes: tuple[int, ...]) -> None:
    lengths = np.array([4, 0])[: math.prod(axes)].reshape(axes)
    visible = key_lengths(KEYS, lengths)
    assert visible.shape == (*axes, 1, M)
    assert visible.sum(axis=-1).ravel().tolist() == lengths.ravel().tolist()


@pytest.mark.parametrize("axes", [(), (2,), (2, 1)])
def test_keys_whose_mask_is_0_are_padding_for_every_query(axes: tuple[int, ...]) -> None:
    mask = np.random.default_rng(1).random((*axes, M)) < 0.5
    assert key_mask(mask).shape == (*axes, 1, M)
    np.testing.assert_array_equal(key_mask(mask).squeeze(axis=-2), mask)


def test_a_mask_is_indexed_by_rows_and_keys() -> None:
    table = np.random.default_rng(0).random((2, N, M)) < 0.5
    np.testing.assert_array_equal(mask_(table, ROWS, KEYS), table)
    rows, keys = np.array([3, 1]), np.array([6, 0, 2])
    np.testing.assert_array_equal(mask_(table, rows, keys), table[:, rows][:, :, keys])


def test_one_row_of_a_mask_is_broadcast_to_every_query() -> None:
    table = np.array([[True, False, True]])
    assert mask_(table, ROWS, np.arange(3)).tolist() == [[True, False, True]] * N


def test_missing_columns_of_a_mask_or_a_bias_are_masked() -> None:
    assert mask_(np.ones((N, 3), dtype=bool), ROWS, KEYS).sum(axis=-1).tolist() == [3] * N
    assert bias(np.zeros((N, 3)), ROWS, KEYS).sum(axis=-1).tolist() == [3] * N
    assert table_cells(np.zeros((1, 1)), ROWS[:1], KEYS, fill=-9).tolist() == [[0, *[-9] * (M - 1)]]


def test_a_bias_hides_where_it_is_minus_infinity_and_nowhere_else() -> None:
    assert bias(np.array([[0, -1e308, -np.inf, np.inf, 5]]), ROWS[:1], np.arange(5)).tolist() == [
        [True, True, False, True, True]
    ]


def test_masks_are_combined_by_and() -> None:
    visible = and_masks(causal=causal(KEYS, KEYS), window=window(KEYS, KEYS, left=1, right=INFINITE))
    np.testing.assert_array_equal(visible, np.tri(M, dtype=bool) & ~np.tri(M, k=-2, dtype=bool))


def test_masked_scores_are_minus_infinity_also_nan_and_infinity() -> None:
    scores = np.array([[np.nan, np.inf, -np.inf, 2.0]], dtype=np.float32)
    hidden = apply_mask(scores, np.array([[False, False, False, True]]))
    assert hidden.tolist() == [[-np.inf, -np.inf, -np.inf, 2]]
    assert hidden.dtype == np.float32


@pytest.mark.parametrize("size", [1, 2, 3, M, M + 2])
def test_a_mask_computed_in_blocks_equals_the_whole_mask(size: int) -> None:
    rules = [
        lambda keys: causal(ROWS + 1, keys),
        lambda keys: window(ROWS + 1, keys, left=2, right=1),
        lambda keys: np.broadcast_to(key_lengths(keys, np.array(4)), (N, len(keys))),
        lambda keys: mask_(np.tri(N, 4, dtype=bool), ROWS, keys),
    ]
    for rule in rules:
        blocks = [rule(KEYS[start : start + size]) for start in range(0, M, size)]
        np.testing.assert_array_equal(np.concatenate(blocks, axis=-1), rule(KEYS))

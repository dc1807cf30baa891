"""Biases of pairs: published slopes, buckets, grids and relative keys, and how they are added to scores."""

from typing import Any

import numpy as np
import pytest

from attncli import AttnError, attention
from attncli.ops.elementwise import add_bias
from attncli.ops.grid_positions import decomposed, grid_bias
from attncli.ops.position_biases import alibi, published_slopes, t5, t5_bucket
from attncli.ops.relative_keys import relative_row, shaw
from tests.arrays import normal

POSITIONS = np.arange(5)

# Press, Smith & Lewis 2022, §3, for 8 heads and for 16; for other counts the list of get_slopes in their code.
SLOPES = {
    1: [2**-8],
    2: [2**-4, 2**-8],
    8: [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256],
    16: [2 ** (-exponent / 2) for exponent in range(1, 17)],
    3: [2**-4, 2**-8, 2**-2],
    6: [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3],
    12: [
        *(2**-exponent for exponent in range(1, 9)),
        0.7071067811865476,
        0.35355339059327384,
        0.17677669529663692,
        0.08838834764831849,
    ],
}


@pytest.mark.parametrize("heads", SLOPES)
def test_the_slopes_of_alibi_are_the_published_ones(heads: int) -> None:
    np.testing.assert_allclose(published_slopes(shape=(heads,)), SLOPES[heads], rtol=1e-15)


@pytest.mark.parametrize("heads", range(1, 65))
def test_every_head_has_a_slope_of_its_own(heads: int) -> None:
    slopes = published_slopes(shape=(heads,))
    assert len(set(slopes.tolist())) == heads
    assert 0 < slopes.min() <= slopes.max() < 1


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.float32, np.float64, np.longdouble])
def test_alibi_takes_slopes_of_any_type_and_is_no_narrower_than_single_precision(dtype: type) -> None:
    bias = alibi(np.array([0, 3000]), np.array([0, 2999]), heads=2, slopes=np.array([1, 2], dtype))
    assert bias.tolist() == [[[0, -2999], [-3000, -1]], [[0, -5998], [-6000, -2]]]
    assert bias.dtype == {np.int64: np.float64, np.float64: np.float64, np.longdouble: np.longdouble}.get(
        dtype, np.float32
    )


def test_alibi_falls_with_the_distance_on_both_sides() -> None:
    assert alibi(POSITIONS[1:2], POSITIONS, slopes=0.5).tolist() == [[-0.5, 0, -0.5, -1, -1.5]]
    assert alibi(POSITIONS[:1], POSITIONS[:2], 8).shape == (8, 1, 2)
    assert alibi(POSITIONS[:1], POSITIONS[:2], 8)[:, 0, 1].tolist() == [-slope for slope in SLOPES[8]]


# Distances (key − query) and their buckets, from T5's own function, 32 buckets up to distance 128.
BIDIRECTIONAL = {
    0: 0,
    -1: 1,
    -7: 7,
    -8: 8,
    -11: 8,
    -12: 9,
    -15: 9,
    -16: 10,
    -22: 10,
    -23: 11,
    -31: 11,
    -32: 12,
    -63: 13,
    -64: 14,
    -90: 14,
    -91: 15,
    -128: 15,
    -9999: 15,
    1: 17,
    8: 24,
    16: 26,
    9999: 31,
}
ONE_WAY = {0: 0, 5: 0, -1: 1, -15: 15, -16: 16, -18: 16, -19: 17, -64: 26, -127: 31, -128: 31, -9999: 31}


def test_t5_buckets_are_the_published_ones() -> None:
    for published, bidirectional in ((BIDIRECTIONAL, True), (ONE_WAY, False)):
        found = t5_bucket(np.array(list(published)), 32, 128, bidirectional)
        assert dict(zip(published, found.tolist(), strict=True)) == published


@pytest.mark.parametrize("buckets", [4, 8, 32, 64])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_buckets_grow_with_the_distance_and_all_are_used(buckets: int, bidirectional: bool) -> None:
    found = t5_bucket(-np.arange(300), buckets, 128, bidirectional)
    assert (np.diff(found) >= 0).all()
    assert found[-1] == (buckets // 2 if bidirectional else buckets) - 1


def test_buckets_may_be_many_and_reach_far() -> None:
    """Of 600 buckets 300 have one distance each; 9000 is in that of 300 ln(9000/300) / ln(10000/300) = 290.99."""
    assert t5_bucket(-np.array([0, 299, 300, 9000, 10_000]), 600, 10_000, False).tolist() == [0, 299, 300, 590, 599]
    assert t5_bucket(-np.array([16, 10**12]), 64, 10**12, False).tolist() == [16, 63]


def test_t5_has_a_number_for_each_head_and_bucket() -> None:
    table = np.arange(8).reshape(4, 2) + 0.5
    found = t5(np.array([1]), np.array([0, 1, 2]), 2, table=table)
    assert found.tolist() == [[[2.5, 0.5, 6.5]], [[3.5, 1.5, 7.5]]]
    assert t5(np.array([[[1]], [[0]]]), np.array([0, 1, 2]), 2, table=table).shape == (2, 2, 1, 3)


def test_a_bias_is_added_and_where_it_is_minus_infinity_nothing_is() -> None:
    scores = np.array([[1.0, 2, 3, 4]])
    found = add_bias(scores, np.array([[10.0, -np.inf, 30]]), np.array([0]), np.arange(4))
    assert found.tolist() == [[11, 2, 33, 4]]


# Three rows and two columns of tokens: the rows of the table are (Δrow, Δcolumn) from (−2, −1) to (2, 1).
OFFSETS = [(rows, columns) for rows in range(-2, 3) for columns in range(-1, 2)]
CELLS = [(row, column) for row in range(3) for column in range(2)]
TABLE = np.array([[100 * rows + columns, 0.5] for rows, columns in OFFSETS])
EXPECTED = [[100 * (row - key_row) + column - key_column for key_row, key_column in CELLS] for row, column in CELLS]


def test_a_grid_has_a_number_for_each_difference_of_rows_and_columns() -> None:
    found = grid_bias(np.arange(6), np.arange(6), 2, table=TABLE, height=3, width=2)
    assert found[0].tolist() == EXPECTED
    assert (found[1] == 0.5).all()


def test_a_block_of_a_grid_is_part_of_it() -> None:
    found = grid_bias(np.array([5, 1]), np.array([2, 3]), table=TABLE[:, :1], height=3, width=2)
    assert found.tolist() == [EXPECTED[5][2:4], EXPECTED[1][2:4]]


def test_a_class_token_has_three_numbers_of_its_own() -> None:
    table = np.concatenate([TABLE, [[7, 0], [8, 0], [9, 0]]])
    found = grid_bias(np.arange(7), np.arange(7), 2, table=table, height=3, width=2, class_token=True)[0]
    assert found[0].tolist() == [9, *[7] * 6]  # to itself, to the others
    assert found[1:, 0].tolist() == [8] * 6
    assert found[1:, 1:].tolist() == EXPECTED


def test_a_grid_is_square_unless_it_has_a_width() -> None:
    table = np.arange(9.0)[:, None]
    square = grid_bias(np.arange(4), np.arange(4), table=table, height=2)
    assert square.tolist() == [[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"table": np.ones((9, 1)), "height": 2, "class_token": True},
            "table: has 9 rows; expected 12: 3 · 3 of a grid of 2 × 2 cells and 3 of the class token",
        ),
        (
            {"table": np.ones((3, 1)), "height": 1, "width": 2},
            "a grid of 1 × 2 has 2 cells; there are 4 tokens; class_token: true allows one token before them",
        ),
        ({"table": np.ones((9, 3)), "height": 2}, "table has 3 query heads \\(h\\); there is one head"),
    ],
    ids=["rows", "cells", "heads"],
)
def test_a_table_or_tokens_that_do_not_fit_the_grid_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError, match=message):
        attention(np.ones((4, 2)), np.ones((4, 2)), position={"grid_bias": parameters})


def test_a_relative_key_is_the_tables_row_for_the_distance() -> None:
    assert relative_row(np.array([-9, -2, -1, 0, 1, 2, 9]), 5).tolist() == [0, 0, 1, 2, 3, 4, 4]
    query, table = np.array([[1.0, 10], [2, 20]]), np.array([[1.0, 0], [0, 0], [0, 1]])
    found = shaw(query, np.array([0, 2]), np.array([0, 1, 2]), table=table)
    assert found.tolist() == [[0, 10, 10], [2, 2, 0]]


def test_a_table_may_reach_farther_to_one_side() -> None:
    assert relative_row(np.array([-9, -3, -1, 0, 1, 9]), rows=5, left=3).tolist() == [0, 0, 2, 3, 4, 4]
    assert relative_row(np.array([-1, 0, 1, 2]), rows=3, left=0).tolist() == [0, 0, 1, 2]
    table = np.array([[7.0, 0], [0, 0], [0, 1], [0, 2]])
    found = shaw(np.array([[1.0, 10]]), np.array([1]), np.arange(5), table=table, left=1)
    assert found.tolist() == [[7, 0, 10, 20, 20]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"table": np.ones((4, 2))}, "position, table: has 4 rows; expected an odd number.*or give left"),
        (
            {"table": np.ones((4, 2)), "left": 4},
            "position, left: the query and 4 keys to the left need 5 rows; the table has 4",
        ),
    ],
    ids=["an even number of rows", "too far to the left"],
)
def test_a_table_without_the_row_of_distance_0_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError, match=message):
        attention(np.ones((3, 2)), np.ones((3, 2)), position={"shaw": parameters})


def test_decomposed_positions_are_two_products_of_a_query_and_do_not_see_the_scale() -> None:
    rows, columns, query = normal(5, 4, seed=1), normal(3, 4, seed=2), normal(6, 4, seed=3)
    expected = np.zeros((6, 6))
    for i, j in np.ndindex(6, 6):
        (row, column), (key_row, key_column) = (i // 2, i % 2), (j // 2, j % 2)
        expected[i, j] = query[i] @ rows[row - key_row + 2] + query[i] @ columns[column - key_column + 1]
    tables: dict[str, Any] = {"rel_pos_h": rows, "rel_pos_w": columns, "height": 3, "width": 2}
    found = decomposed(query, np.arange(6), np.arange(6), **tables)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    scores = attention(query, query, position={"decomposed": tables}, scale=0.25, select="masked_scores").masked_scores
    np.testing.assert_allclose(scores, query @ query.T / 4 + expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"rel_pos_h": np.ones((4, 2)), "rel_pos_w": np.ones((3, 2))}, "rel_pos_h: has 4 rows; expected 3"),
        ({"rel_pos_h": np.ones((3, 2)), "rel_pos_w": np.ones((1, 2))}, "rel_pos_w: has 1 row; expected 3"),
        ({"rel_pos_h": np.ones((3, 2)), "rel_pos_w": np.ones((3, 2))}, "a grid of 2 × 2 has 4 cells; there are 5"),
    ],
)
def test_tables_of_decomposed_positions_fit_the_grid(tables: dict[str, Any], message: str) -> None:
    size = 5 if "cells" in message else 4
    with pytest.raises(AttnError, match=message):
        attention(np.ones((size, 2)), np.ones((size, 2)), position={"decomposed": {**tables, "height": 2}})

"""Biases by distance: published slopes and buckets, and how they are added to scores."""

import numpy as np
import pytest

from attncli.ops.elementwise import add_bias
from attncli.ops.position_biases import alibi, published_slopes, t5, t5_bucket

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


def test_t5_has_a_number_for_each_head_and_bucket() -> None:
    table = np.arange(8).reshape(4, 2) + 0.5
    found = t5(np.array([1]), np.array([0, 1, 2]), 2, table=table)
    assert found.tolist() == [[[2.5, 0.5, 6.5]], [[3.5, 1.5, 7.5]]]
    assert t5(np.array([[[1]], [[0]]]), np.array([0, 1, 2]), 2, table=table).shape == (2, 2, 1, 3)


def test_a_bias_is_added_and_where_it_is_minus_infinity_nothing_is() -> None:
    scores = np.array([[1.0, 2, 3, 4]])
    found = add_bias(scores, np.array([[10.0, -np.inf, 30]]), np.array([0]), np.arange(4))
    assert found.tolist() == [[11, 2, 33, 4]]

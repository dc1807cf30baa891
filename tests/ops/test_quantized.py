"""Quantized weights, packed here one integer after another, against a loop over single numbers."""

from collections.abc import Sequence

import numpy as np
import pytest

from attncli import Problem
from attncli.base.errors import AttnError
from attncli.ops.quantized import awq, gptq, scaled

RNG = np.random.default_rng(7)
INPUTS, OUTPUTS, GROUPS = 96, 32, 3
SCALES = RNG.uniform(0.5, 2, (GROUPS, OUTPUTS)).astype(np.float16)
AWQ_COLUMNS = (0, 2, 4, 6, 1, 3, 5, 7)  # AutoAWQ's order_map


def packed(numbers: Sequence[int], bits: int) -> list[int]:
    """Integers as signed words of 32 bits, the first in the lowest bits."""
    stream = sum(int(number) << (at * bits) for at, number in enumerate(numbers))
    words = [stream >> (32 * at) & 0xFFFFFFFF for at in range(len(numbers) * bits // 32)]
    return [word - 2**32 if word >= 2**31 else word for word in words]


def codes(bits: int, *shape: int) -> np.ndarray:
    """Random integers of some bits."""
    return RNG.integers(0, 2**bits, shape)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("name", ["gptq", "gptq_v2"])
@pytest.mark.parametrize("has_order", [False, True])
def test_gptq_is_the_code_less_the_zero_times_the_scale(bits: int, name: str, has_order: bool) -> None:
    numbers, zeros = codes(bits, INPUTS, OUTPUTS), codes(bits, GROUPS, OUTPUTS)
    group = RNG.integers(0, GROUPS, INPUTS) if has_order else np.arange(INPUTS) // (INPUTS // GROUPS)
    qweight = np.transpose([packed(column, bits) for column in numbers.T])
    stored = zeros if name == "gptq_v2" else (zeros - 1) % 2**bits
    qzeros = np.array([packed(row, bits) for row in stored])
    found = gptq(qweight, qzeros, SCALES, g_idx=group if has_order else None, bits=bits, checkpoint_format=name)
    assert found.shape == (OUTPUTS, INPUTS)
    for i in range(INPUTS):
        for o in range(OUTPUTS):
            g = group[i]
            assert found[o, i] == np.float32(numbers[i, o] - zeros[g, o]) * np.float32(SCALES[g, o])


def test_awq_is_the_code_less_the_zero_times_the_scale() -> None:
    numbers, zeros = codes(4, INPUTS, OUTPUTS), codes(4, GROUPS, OUTPUTS)

    def pack_rows(rows: np.ndarray) -> np.ndarray:
        """Eight columns in each word, in the order of AutoAWQ."""
        return np.array(
            [
                [packed([row[at + column] for column in AWQ_COLUMNS], 4)[0] for at in range(0, len(row), 8)]
                for row in rows
            ]
        )

    found = awq(pack_rows(numbers), pack_rows(zeros), SCALES)
    for i in range(INPUTS):
        for o in range(OUTPUTS):
            g = i // (INPUTS // GROUPS)
            assert found[o, i] == np.float32(numbers[i, o] - zeros[g, o]) * np.float32(SCALES[g, o])


@pytest.mark.parametrize(("rows", "columns"), [(5, 7), (4, 6), (3, 3)])  # blocks of 2 × 3, the last ones smaller
def test_a_block_has_one_scale(rows: int, columns: int) -> None:
    weight, scale = RNG.normal(size=(rows, columns)), RNG.normal(size=(-(-rows // 2), -(-columns // 3)))
    found = scaled(weight, scale, block=np.array([2, 3]))
    expected = [[weight[r, c] * scale[r // 2, c // 3] for c in range(columns)] for r in range(rows)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_scale_is_that_of_the_tensor(shape: tuple[int, ...]) -> None:
    assert scaled(np.array([[1.0, 2.0]]), np.full(shape, 3.0)).tolist() == [[3, 6]]


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_a_row_has_one_scale(shape: tuple[int, ...]) -> None:
    assert scaled(np.ones((2, 2)), np.reshape([1.0, 2.0], shape)).tolist() == [[1, 1], [2, 2]]


def test_shapes_that_do_not_fit_are_errors() -> None:
    word, scales = np.zeros((1, 8)), np.ones((1, 8))
    with pytest.raises(AttnError, match=r"scale has the shape \(3,\); a weight of 2 rows, without block, needs \(2,\)"):
        scaled(np.ones((2, 2)), np.ones(3))
    with pytest.raises(AttnError, match=r"scale has the shape \(2, 2\); .* in blocks needs \(1, 1\)"):
        scaled(np.ones((2, 2)), np.ones((2, 2)), block=np.array([128, 128]))
    with pytest.raises(AttnError, match=r"scales has the shape \(1, 7\)"):
        gptq(word, np.zeros((1, 1)), np.ones((1, 7)), bits=4)
    with pytest.raises(AttnError, match=r"qzeros has the shape"):
        gptq(word, np.zeros((2, 1)), scales, bits=4)
    with pytest.raises(AttnError, match=r"qweight has the shape \(8,\); expected rows of integers"):
        gptq(np.zeros(8), np.zeros((1, 1)), scales, bits=4)
    with pytest.raises(AttnError, match="qweight has 32 bits in each row, not a multiple of 3"):
        gptq(word, np.zeros((1, 1)), scales, bits=3)
    with pytest.raises(AttnError, match=r"g_idx has the shape \(3,\)"):
        gptq(word, np.zeros((1, 1)), scales, g_idx=np.zeros(3), bits=4)
    with pytest.raises(AttnError, match="g_idx names the group 1; scales has 1, counted from 0"):
        gptq(word, np.zeros((1, 1)), scales, g_idx=np.ones(8), bits=4)
    with pytest.raises(AttnError, match="8 inputs are not shared evenly among 3 groups; give g_idx"):
        gptq(word, np.zeros((3, 1)), np.ones((3, 8)), bits=4)


HEADS_AND_SCALES = [
    ((2, 3, 5, 4), (3,), 1),
    ((2, 3, 5, 4), (2, 3), 1),
    ((2, 5, 3, 4), (2, 3), 2),
    ((5, 3, 4), (3,), 1),
    ((2, 3, 5, 4), (1, 3, 1, 1), 1),
    ((2, 3, 5, 4), (2, 3, 1, 1), 1),
]


@pytest.mark.parametrize(("shape", "scales", "heads_at"), HEADS_AND_SCALES)
def test_a_scale_is_of_each_head_wherever_their_axis_is(
    shape: tuple[int, ...], scales: tuple[int, ...], heads_at: int
) -> None:
    numbers, scale = RNG.normal(size=shape), RNG.uniform(0.5, 2, scales)
    found, by_head = scaled(numbers, scale), scale.reshape(-1, 3)
    for at in np.ndindex(*shape):
        item = at[0] if len(by_head) > 1 else 0
        expected = np.float32(numbers[at]) * np.float32(by_head[item, at[heads_at]])
        assert found[at] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("scales", [(4,), (2, 5, 1), (3, 3), (2,)])
def test_a_scale_of_no_axis_of_heads_is_an_error(scales: tuple[int, ...]) -> None:
    with pytest.raises(
        AttnError, match=r"scale has the shape .*; a weight of \(2, 2, 3, 4\) needs one number, \[heads\]"
    ):
        scaled(np.ones((2, 2, 3, 4)), np.ones(scales))


def test_keys_of_8_bits_are_multiplied_by_the_scales_of_their_heads() -> None:
    key, scale = RNG.normal(size=(2, 5, 3, 4)), RNG.uniform(0.5, 2, 3)
    quantized = Problem(query=key, key={"fp8": {"weight": key, "scale": scale}}, layout="bnhd").compute()
    plain = Problem(query=key, key=key * scale[:, None], layout="bnhd").compute()
    np.testing.assert_allclose(quantized.output, plain.output, rtol=1e-6, atol=1e-6)

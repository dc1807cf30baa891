"""Masks selected by name, combined with those of keys, dense and in blocks."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.ops.records import Operator
from tests.arrays import booleans, normal
from tests.problems import HEAD_AXIS, B, H, K, N, problem

IN_BLOCKS = RunOptions("serial", sizes=BlockSizes(dense_cells=0, rows=2, masked_rows=2, tile_cells=6, row_cells=14))


@pytest.fixture
def strided(restored_registry: None) -> None:
    """A mask without key bounds and without a sign, with the name of a key: only `mask` may apply it."""

    @attncli.mask(
        formula="visible where (posᵢ − j) mod step = 0",
        shapes="query_positions[n], key_positions[m] -> [n m]",
        source="this test",
        example={
            "query_positions": [0, 1],
            "key_positions": [0, 1],
            "step": 2,
            "gives": [[True, False], [False, True]],
        },
    )
    def heads(query_positions: np.ndarray, key_positions: np.ndarray, *, step: int = 2) -> np.ndarray:
        """Every key at a multiple of `step` positions from the query."""
        return (query_positions[..., :, None] - key_positions) % step == 0


def visible_cells(**keys: Any) -> tuple[np.ndarray, np.ndarray]:
    """The visible cells [n m], and the largest difference of the output in blocks from the dense one."""
    one = problem(**keys)
    whole, blocks = run(one, ("visible", "output")), run(one, ("output",), options=IN_BLOCKS)
    return whole.visible, abs(whole.output - blocks.output).max()


@pytest.mark.usefixtures("strided")
@pytest.mark.parametrize("others", [{}, {"causal": True}, {"window": (3, 0), "key_lengths": [7, 2]}], ids=str)
def test_a_registered_mask_is_combined_with_the_masks_of_keys(others: dict[str, Any]) -> None:
    visible, difference = visible_cells(**HEAD_AXIS, mask="heads:step=3", **others)
    expected = (np.arange(N)[:, None] - np.arange(K)) % 3 == 0
    if "causal" in others:
        expected = expected & (np.arange(K) <= np.arange(N)[:, None])
    if "window" in others:
        distance = np.arange(N)[:, None] - np.arange(K)
        lengths = np.arange(K) < np.array([7, 2])[:, None, None, None]
        expected = expected & (distance >= 0) & (distance <= 3) & lengths
    np.testing.assert_array_equal(np.broadcast_to(visible, (B, 1, N, K)), np.broadcast_to(expected, (B, 1, N, K)))
    assert difference < 1e-12


@pytest.mark.usefixtures("strided")
def test_a_key_with_the_name_of_a_registered_mask_does_not_apply_it() -> None:
    result = run(problem(query=normal(N, 4), key=normal(K, 4), heads=2), every_step=True)
    assert "visible" not in {step.name for step in result.trace.steps}


def test_a_mask_named_by_mask_equals_the_key_of_that_name() -> None:
    by_key, _ = visible_cells(**HEAD_AXIS, window=(2, 1))
    by_name, difference = visible_cells(**HEAD_AXIS, mask={"window": {"left": 2, "right": 1}})
    np.testing.assert_array_equal(by_name, by_key)
    assert difference < 1e-12
    by_key, _ = visible_cells(**HEAD_AXIS, causal=True)
    by_name, _ = visible_cells(**HEAD_AXIS, mask="causal")
    np.testing.assert_array_equal(by_name, by_key)


def test_one_mask_may_be_applied_twice() -> None:
    both, difference = visible_cells(**HEAD_AXIS, window=(2, 3), mask={"window": {"left": 3, "right": 0}})
    distance = np.arange(N)[:, None] - np.arange(K)
    np.testing.assert_array_equal(both, (distance >= 0) & (distance <= 2))
    assert difference < 1e-12


def test_mask_is_a_table_or_an_operator() -> None:
    table = booleans(H, N, K)
    np.testing.assert_array_equal(run(problem(**HEAD_AXIS, mask=table), ("visible",)).visible, table)
    assert isinstance(problem(**HEAD_AXIS, mask="causal").mask, Operator)

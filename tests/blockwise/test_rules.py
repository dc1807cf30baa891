"""The rules that stand beside functions say of a piece what the functions say of the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.ops import entries, masks
from attncli.ops.rules import factors_of, merging_of, reach_of

positions = st.lists(st.integers(-3, 9), min_size=1, max_size=5).map(sorted).map(np.array)
sides = st.sampled_from([0, 1, 3, float("inf")])


def holds(visible: np.ndarray, reach: object) -> None:
    """No key outside `some` is seen by any query, every key inside `every` by all of them."""
    keys = np.arange(visible.shape[-1])
    (first, end), (low, high) = reach.some, reach.every  # type: ignore[attr-defined] # a Reach
    outside, inside = (keys < first) | (keys >= end), (keys >= low) & (keys < high)
    assert not visible[..., outside].any()
    assert visible[..., inside].all()


@given(positions, st.integers(1, 8))
def test_causal(query_positions: np.ndarray, count: int) -> None:
    given = {"query_positions": query_positions, "key_positions": np.arange(count)}
    holds(masks.causal(**given), reach_of(masks.causal)(**given))


@given(positions, st.integers(1, 8), sides, sides)
def test_window(query_positions: np.ndarray, count: int, left: float, right: float) -> None:
    given = {"query_positions": query_positions, "key_positions": np.arange(count), "left": left, "right": right}
    holds(masks.window(**given), reach_of(masks.window)(**given))


@given(st.lists(st.integers(0, 8), min_size=1, max_size=3), st.integers(1, 8))
def test_key_lengths(lengths: list[int], count: int) -> None:
    given = {"key_positions": np.arange(count), "key_lengths": np.array(lengths)}
    holds(masks.key_lengths(**given), reach_of(masks.key_lengths)(**given))


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 6), st.sampled_from([0.1, 0.5, 0.95]))
def test_tables(seed: int, rows: int, columns: int, share: float) -> None:
    visible = np.random.default_rng(seed).random((rows, columns)) < share
    for rule, table in ((masks.mask_, visible), (masks.bias, np.where(visible, 0.5, -np.inf))):
        given = {"table": table, "query_rows": np.arange(rows), "key_positions": np.arange(columns + 2)}
        holds(rule(**given), reach_of(rule)(**given))


def test_every_mask_says_what_a_block_may_see() -> None:
    assert all(reach_of(entry.function) is not None for entry in entries("mask").values())


@pytest.mark.parametrize("name", ["dot", "scaled_dot", "general", "cosine"])
def test_a_score_is_the_product_of_its_factors(name: str) -> None:
    random = np.random.default_rng(7)
    query, key, w = random.standard_normal((5, 3)), random.standard_normal((7, 3)), random.standard_normal((3, 3))
    more = {"general": {"w": w}, "cosine": {"beta": 1.7}}.get(name, {})
    function = entries("score")[name].function
    factors = factors_of(function)
    product = factors.left(query, **more) @ factors.right(key, **more).T * factors.scale(3)
    np.testing.assert_allclose(product, function(query, key, **more), rtol=1e-12)


def test_scores_that_are_no_products_have_no_factors() -> None:
    bare = {name for name, entry in entries("score").items() if factors_of(entry.function) is None}
    assert bare == {"additive", "location", "gaussian", "laplacian", "euclidean"}


@pytest.mark.parametrize("name", [name for name, entry in entries("normalize").items() if merging_of(entry.function)])
@pytest.mark.parametrize("cut", [1, 4, 6])
def test_two_pieces_of_a_row_gather_to_the_weights(name: str, cut: int) -> None:
    """Each piece is measured against its own largest score, then brought to what both of them have in common."""
    scores = np.array([[0.5, -np.inf, 2.0, -1.0, 2.0, 0.25, 1.5], [-9.0, -8.0, -np.inf, -7.0, -7.5, -30.0, -2.0]])
    function = entries("normalize")[name].function
    rule = merging_of(function)
    pieces = [scores[:, :cut].copy(), scores[:, cut:].copy()]
    largest = [np.maximum(piece.max(axis=-1, keepdims=True), rule.floor) for piece in pieces]
    reference = np.maximum(*largest)
    parts = []
    for piece, own in zip(pieces, largest, strict=True):
        shown = np.where(np.isinf(own), 0, own)
        found = rule.parts(piece.copy(), shown if rule.measured else None, out=piece)
        parts.append(found * rule.parts(shown, reference) if rule.measured else found)
    whole = np.concatenate(parts, axis=-1)
    total = whole.sum(axis=-1, keepdims=True) + (rule.beside(reference) if rule.beside else 0)
    np.testing.assert_allclose(whole / total if rule.divided else whole, function(scores), rtol=1e-12, atol=1e-15)


def test_what_can_not_merge_takes_whole_rows() -> None:
    whole = {name for name, entry in entries("normalize").items() if merging_of(entry.function) is None}
    assert whole == {"sparsemax", "entmax", "topk"}

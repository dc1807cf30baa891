"""Rules of records (key bounds, factorizations, online forms) agree with the operators."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.ops import masks, operators
from attncli.ops.records import KeyBounds

positions = st.lists(st.integers(-3, 9), min_size=1, max_size=5).map(sorted).map(np.array)
sides = st.sampled_from([0, 1, 3, float("inf")])


def assert_bounds(visible: np.ndarray, bounds: KeyBounds) -> None:
    """Keys outside `any_visible` are masked for every query, keys inside `all_visible` for none."""
    keys = np.arange(visible.shape[-1])
    (first, end), (low, high) = bounds.any_visible, bounds.all_visible
    outside, inside = (keys < first) | (keys >= end), (keys >= low) & (keys < high)
    assert not visible[..., outside].any()
    assert visible[..., inside].all()


@given(positions, st.integers(1, 8))
def test_causal(query_positions: np.ndarray, count: int) -> None:
    given = {"query_positions": query_positions, "key_positions": np.arange(count)}
    assert_bounds(masks.causal(**given), masks.causal.record.key_bounds(**given))


@given(positions, st.integers(1, 8), sides, sides)
def test_window(query_positions: np.ndarray, count: int, left: float, right: float) -> None:
    given = {"query_positions": query_positions, "key_positions": np.arange(count), "left": left, "right": right}
    assert_bounds(masks.window(**given), masks.window.record.key_bounds(**given))


@given(st.lists(st.integers(0, 8), min_size=1, max_size=3), st.integers(1, 8))
def test_key_lengths(lengths: list[int], count: int) -> None:
    given = {"key_positions": np.arange(count), "key_lengths": np.array(lengths)}
    assert_bounds(masks.key_lengths(**given), masks.key_lengths.record.key_bounds(**given))


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=3))
def test_key_mask(rows: list[list[bool]]) -> None:
    mask = np.array(rows)
    assert_bounds(masks.key_mask(mask), masks.key_mask.record.key_bounds(mask))


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 6), st.sampled_from([0.1, 0.5, 0.95]))
def test_tables(seed: int, rows: int, columns: int, share: float) -> None:
    visible = np.random.default_rng(seed).random((rows, columns)) < share
    for rule, table in ((masks.mask_, visible), (masks.bias, np.where(visible, 0.5, -np.inf))):
        given = {"table": table, "query_rows": np.arange(rows), "key_positions": np.arange(columns + 2)}
        assert_bounds(rule(**given), rule.record.key_bounds(**given))


POSITIONS, KEYS = np.array([2, 3, 4]), np.arange(8)


@pytest.mark.parametrize(
    ("name", "given", "any_visible", "all_visible"),
    [
        ("causal", {"query_positions": POSITIONS}, (0, 5), (0, 3)),
        ("window", {"query_positions": POSITIONS, "left": 1, "right": 1}, (1, 6), (3, 4)),
        ("window", {"query_positions": POSITIONS, "left": 3, "right": 0}, (0, 5), (1, 3)),
        ("key_lengths", {"key_lengths": np.array([3, 5])}, (0, 5), (0, 3)),
    ],
)
def test_key_bounds_are_not_wider_than_needed(
    name: str, given: dict[str, Any], any_visible: tuple[int, int], all_visible: tuple[int, int]
) -> None:
    bounds = operators("mask")[name].key_bounds(key_positions=KEYS, **given)
    clipped = [tuple(np.clip(ends, 0, len(KEYS)).tolist()) for ends in (bounds.any_visible, bounds.all_visible)]
    assert clipped == [any_visible, all_visible]


def test_every_mask_has_key_bounds() -> None:
    assert all(record.key_bounds is not None for record in operators("mask").values())


@pytest.mark.parametrize("name", ["dot", "scaled_dot", "general", "cosine"])
def test_a_score_is_the_product_of_its_factors(name: str) -> None:
    random = np.random.default_rng(7)
    query, key, w = random.standard_normal((5, 3)), random.standard_normal((7, 3)), random.standard_normal((3, 3))
    more = {"general": {"w": w}, "cosine": {"beta": 1.7}}.get(name, {})
    function = operators("score")[name].function
    factors = function.record.factorization
    product = factors.left(query, **more) @ factors.right(key, **more).T * factors.scale(3)
    np.testing.assert_allclose(product, function(query, key, **more), rtol=1e-12)


def test_scores_that_are_no_products_have_no_factors() -> None:
    bare = {name for name, record in operators("score").items() if record.factorization is None}
    assert bare == {"additive", "location", "gaussian", "laplacian", "euclidean"}


@pytest.mark.parametrize("name", [name for name, record in operators("normalize").items() if record.online])
@pytest.mark.parametrize("cut", [1, 4, 6])
def test_two_parts_of_a_row_accumulate_to_the_weights(name: str, cut: int) -> None:
    """Each part has its own_max running maximum; then both are rescaled to the larger one."""
    scores = np.array([[0.5, -np.inf, 2.0, -1.0, 2.0, 0.25, 1.5], [-9.0, -8.0, -np.inf, -7.0, -7.5, -30.0, -2.0]])
    function, options = operators("normalize")[name].function, operators("normalize")[name].defaults
    rule = function.record.online
    parts_of_scores = [scores[:, :cut].copy(), scores[:, cut:].copy()]
    largest = [np.maximum(part.max(axis=-1, keepdims=True), rule.min_running_max) for part in parts_of_scores]
    running_max = np.maximum(*largest)
    parts = []
    for part, own_max in zip(parts_of_scores, largest, strict=True):
        shown = np.where(np.isinf(own_max), 0, own_max)
        found = rule.numerator(part.copy(), shown if rule.uses_running_max else None, out=part, **options)
        parts.append(found * rule.numerator(shown, running_max, **options) if rule.uses_running_max else found)
    whole = np.concatenate(parts, axis=-1)
    total = whole.sum(axis=-1, keepdims=True) + (rule.extra_denominator(running_max) if rule.extra_denominator else 0)
    np.testing.assert_allclose(whole / total if rule.is_divided else whole, function(scores), rtol=1e-12, atol=1e-15)


def test_normalizers_without_an_online_form_take_whole_rows() -> None:
    whole = {name for name, record in operators("normalize").items() if record.online is None}
    assert whole == {"sparsemax", "entmax", "topk"}

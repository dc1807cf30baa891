"""Products in small parts are the products; where BLAS is not fast at small ones, they are computed whole."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli.base.lazy_numpy import Array
from attncli.engine import small_products
from attncli.engine.grouped_heads import grouped_product
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.engine.small_products import PANEL, Panels, multiply, scale
from tests.arrays import normal
from tests.problems import problem

FAST, SLOW = "SkylakeX", "Haswell"
ALL = 10**9  # terms of a sum


@pytest.fixture(params=[FAST, SLOW])
def core(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """An OpenBLAS for a processor with AVX-512 or without; the products of both are right on any processor."""
    name: str = request.param
    set_core(name, monkeypatch)
    return name


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """An OpenBLAS that is fast at small products."""
    set_core(FAST, monkeypatch)


def set_core(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_products, "core_name", lambda: name)


def whole_numbers(*shape: int, dtype: str = "float64") -> Array:
    """Small ones: their products and sums are exact in any order."""
    return np.random.default_rng(shape).integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "longdouble"])
@pytest.mark.parametrize("terms", [ALL, 7])
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 47, 64])
@pytest.mark.parametrize(("features", "keys"), [(5, 3), (64, 70), (128, 1000), (1200, 20)])
@pytest.mark.usefixtures("core")
def test_scaled_queries_times_keys(rows: int, features: int, keys: int, terms: int, dtype: str) -> None:
    query, key = whole_numbers(2, rows, features, dtype=dtype), whole_numbers(2, keys, features, dtype=dtype)
    out = np.full((2, rows, keys), np.nan, dtype)
    assert multiply(scale(query, 0.5, dtype, terms), key.mT, out, terms) is out
    np.testing.assert_array_equal(out, query @ key.mT / 2)


@pytest.mark.parametrize("terms", [ALL, 7])
@pytest.mark.parametrize("rows", [1, 7, 500])
@pytest.mark.parametrize("stored", ["by row", "by column"])
@pytest.mark.parametrize(("keys", "features"), [(3, 5), (300, 70), (40, 2000)])
@pytest.mark.usefixtures("core")
def test_weights_times_values(rows: int, keys: int, features: int, stored: str, terms: int) -> None:
    weights, value = whole_numbers(2, rows, keys), whole_numbers(2, keys, features)
    if stored == "by column":
        value = value.mT.copy().mT
    out = np.full((2, rows, features), np.nan)
    multiply(weights, value, out, terms)
    np.testing.assert_array_equal(out, weights @ value)


@pytest.mark.parametrize("rows", [1, 16, 37])
@pytest.mark.usefixtures("core")
def test_query_heads_share_the_keys_of_a_key_head(rows: int) -> None:
    query, key = whole_numbers(3, 6, rows, 8), whole_numbers(3, 2, 50, 8)
    out = np.full((3, 6, rows, 50), np.nan)
    grouped_product(scale(query, 1.0, "float64", ALL), key.mT, out, ALL)
    np.testing.assert_array_equal(out, query @ np.repeat(key, 3, axis=1).mT)


@pytest.mark.usefixtures("fast")
def test_a_product_is_written_to_a_part_of_a_larger_array() -> None:
    query, key = whole_numbers(40, 8), whole_numbers(30, 8)
    table = np.full((50, 60), np.nan)
    multiply(scale(query, 1.0, "float64", ALL), key.mT, table[5:45, 10:40], ALL)
    np.testing.assert_array_equal(table[5:45, 10:40], query @ key.mT)
    assert np.isnan(table).sum() == table.size - 40 * 30


def test_rows_are_in_panels_where_small_products_are_fast(core: str) -> None:
    assert isinstance(scale(normal(32, 8), 1.0, "float32", ALL), Panels) == (core == FAST)


@pytest.mark.parametrize("rows", [16, 33, 63])
@pytest.mark.usefixtures("fast")
def test_equal_rows_have_equal_products_in_the_last_panel_too(rows: int) -> None:
    """It has the last 16 rows, some of them once more: those of the others are as many at a time."""
    query = np.repeat(normal(1, 61), rows, axis=0)
    out = multiply(scale(query, 0.3, "float64", ALL), normal(90, 61, seed=1).mT, np.empty((rows, 90)), ALL)
    np.testing.assert_array_equal(out[-PANEL:], out[:PANEL])


MASKS: Mapping[str, Any] = {
    "none": {},
    "causal": {"causal": True},
    "window": {"window": (30, 5)},
    "bias": {"bias": normal(1, 1, 150, 170, seed=9)},
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", ["scaled_dot", "cosine", "gaussian"])
@pytest.mark.usefixtures("fast")
def test_attention_in_blocks_with_panels_is_that_of_the_whole_table(score: str, mask: str) -> None:
    arrays = {"query": normal(2, 4, 150, 24), "key": normal(2, 2, 170, 24, seed=1), "value": normal(2, 2, 170, 9)}
    spec = problem(**arrays, score=score, **MASKS[mask])
    sizes = BlockSizes(0, rows=70, masked_rows=70, tile_cells=70 * 100, row_cells=5000)
    in_blocks = run(spec, ("output",), options=RunOptions("serial", sizes=sizes)).trace["output"].value
    whole = run(spec, ("output",), every_step=True).trace["output"].value
    np.testing.assert_allclose(in_blocks, whole, rtol=0, atol=1e-13)

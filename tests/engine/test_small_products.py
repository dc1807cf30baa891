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
from attncli.engine.small_products import PANEL, Panels, multiply, scale, store_by_feature
from attncli.ops.products import sum_of_parts
from tests.arrays import normal
from tests.problems import problem

FAST, DEEP = "SkylakeX", "Haswell"
LARGEST = 10**6  # multiplications of a small product
ALL = 10**9  # terms of a sum


@pytest.fixture(params=[FAST, DEEP])
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


def product_with_keys(query: Array, key: Array, terms: int = ALL) -> Array:
    """The product of queries and keys, of which there are enough to be worth packing."""
    scaled = scale(query, 0.5, query.dtype.name, keys=10**6, terms=terms, memory="rows")
    out = np.full((*query.shape[:-1], key.shape[-2]), np.nan, query.dtype)
    assert grouped_product(scaled, key.mT, out, terms) is out
    return out


@pytest.fixture
def multiplications(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many numbers each product has multiplied, in order: those of the last two axes."""
    found: list[int] = []

    def note(left: Array, right: Array, terms: int, *rest: Any) -> Array:
        found.append(left.shape[-2] * min(terms, left.shape[-1]) * right.shape[-1])
        return sum_of_parts(left, right, terms, *rest)

    monkeypatch.setattr(small_products, "sum_of_parts", note)
    return found


@pytest.mark.parametrize(
    ("rows", "features", "keys", "terms", "dtype"),
    [
        *((rows, 5, 3, ALL, "float64") for rows in (1, 15, 16, 17, 127, 128, 129, 144)),
        (144, 5, 3, 7, "longdouble"),
        (129, 64, 970, 7, "float32"),  # and more keys than a panel is multiplied by at a time
        (128, 64, 970, ALL, "float64"),
        (16, 1200, 20, 7, "float32"),
    ],
)
@pytest.mark.usefixtures("core")
def test_scaled_queries_times_keys(rows: int, features: int, keys: int, terms: int, dtype: str) -> None:
    query, key = whole_numbers(2, rows, features, dtype=dtype), whole_numbers(2, keys, features, dtype=dtype)
    np.testing.assert_array_equal(product_with_keys(query, key, terms), query @ key.mT / 2)


@pytest.mark.parametrize(
    ("rows", "keys", "features", "stored", "terms"),
    [
        (1, 3, 5, "by row", ALL),
        (7, 3, 5, "by column", ALL),
        *((rows, 300, 70, "by row", ALL) for rows in (47, 48, 97)),  # 47 rows at once
        (97, 300, 70, "by column", 7),
        (97, 300, 70, "by row", 7),
        (13, 40, 2000, "by row", ALL),  # 12 rows at once
    ],
)
@pytest.mark.usefixtures("core")
def test_weights_times_values(rows: int, keys: int, features: int, stored: str, terms: int) -> None:
    weights, value = whole_numbers(2, rows, keys), whole_numbers(2, keys, features)
    if stored == "by column":
        value = value.mT.copy().mT
    out = np.full((2, rows, features), np.nan)
    multiply(weights, value, out, terms)
    np.testing.assert_array_equal(out, weights @ value)


@pytest.mark.parametrize(
    ("rows", "keys", "are_columns"),
    [(1, 1000, False), (2, 1000, True), (31, 1000, True), (32, 1000, False), (4, 256, False)],
)
def test_few_queries_are_the_columns_that_many_keys_are_multiplied_with(
    rows: int, keys: int, are_columns: bool, core: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BLAS copies the right factor, which is then the small one."""
    columns: set[int] = set()

    def note(left: Array, right: Array, *rest: Any) -> Array:
        columns.add(right.shape[-1])
        return sum_of_parts(left, right, *rest)

    monkeypatch.setattr(small_products, "sum_of_parts", note)
    query, key = whole_numbers(3, rows, 8), whole_numbers(3, keys, 8)
    out = multiply(query, key.mT, np.full((3, rows, keys), np.nan), ALL)
    np.testing.assert_array_equal(out, query @ key.mT)
    assert columns == {rows if are_columns else keys}


@pytest.mark.parametrize(
    ("keys", "features", "rows", "are_worth_it"),
    [
        (128, 64, 256, True),
        (255, 128, 512, True),
        (256, 64, 256, False),  # many keys, with which the rows are packed instead
        (128, 64, 255, False),  # few rows
        (77, 129, 520, False),  # many features
    ],
)
def test_few_keys_of_many_rows_are_stored_by_feature(
    keys: int, features: int, rows: int, are_worth_it: bool, core: str, multiplications: list[int]
) -> None:
    """Then their products are small ones, which BLAS multiplies as they are; elsewhere keys are left as they are."""
    query, key = whole_numbers(rows, features), whole_numbers(2, keys, features)
    stored = store_by_feature(key, rows, "keys")
    assert (stored is not key) is stored.mT.flags.c_contiguous is (are_worth_it and core == FAST)
    np.testing.assert_array_equal(stored, key)
    product = multiply(query, stored.mT, np.full((2, rows, keys), np.nan), ALL)
    np.testing.assert_array_equal(product, query @ key.mT)
    assert (max(multiplications) <= LARGEST) is (stored is not key)


@pytest.mark.parametrize("rows", [1, 16, 137])
@pytest.mark.usefixtures("core")
def test_query_heads_share_the_keys_of_a_key_head(rows: int) -> None:
    query, key = whole_numbers(3, 6, rows, 8), whole_numbers(3, 2, 50, 8)
    np.testing.assert_array_equal(product_with_keys(query, key), query @ np.repeat(key, 3, axis=1).mT / 2)


@pytest.mark.usefixtures("fast")
def test_a_product_is_written_to_a_part_of_a_larger_array() -> None:
    query, key = whole_numbers(140, 8), whole_numbers(30, 8)
    table = np.full((150, 60), np.nan)
    multiply(scale(query, 1.0, "float64", keys=10**6, terms=ALL, memory="rows"), key.mT, table[5:145, 10:40], ALL)
    np.testing.assert_array_equal(table[5:145, 10:40], query @ key.mT)
    assert np.isnan(table).sum() == table.size - 140 * 30


@pytest.mark.parametrize("stored", ["by key", "by feature", "with gaps", "backwards"])
@pytest.mark.usefixtures("fast")
def test_keys_and_values_may_be_stored_in_any_order(stored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """BLAS gets all of them as it reads them: NumPy would copy others for each part."""
    steps: list[
        tuple[int, ...]
    ] = []  # in bytes, from row to row and from column to column of what is multiplied in parts

    def note(left: Array, right: Array, *rest: Any) -> Array:
        if left.ndim > 2:
            steps.append(right.strides[-2:])
        return sum_of_parts(left, right, *rest)

    monkeypatch.setattr(small_products, "sum_of_parts", note)
    numbers = whole_numbers(400, 60)
    key = {
        "by key": numbers[:, :30],
        "by feature": numbers[:, :30].mT.copy().mT,
        "with gaps": numbers[:, ::2],
        "backwards": numbers[::-1, 30:],
    }[stored]
    query, weights = whole_numbers(160, 30), whole_numbers(500, 400)
    np.testing.assert_array_equal(product_with_keys(query, key), query @ key.mT / 2)
    np.testing.assert_array_equal(multiply(weights, key, np.empty((500, 30)), ALL), weights @ key)
    assert all(numbers.itemsize in step and min(step) > 0 for step in steps)
    assert steps


@pytest.mark.parametrize(("rows", "keys", "are_packed"), [(128, 256, True), (16, 256, True), (17, 256, False)])
@pytest.mark.parametrize("few", [False, True])
def test_rows_are_in_panels_where_that_is_faster(rows: int, keys: int, are_packed: bool, few: bool, core: str) -> None:
    scaled = scale(normal(rows, 8), 1.0, "float32", keys=keys - few, terms=ALL, memory="rows")
    assert isinstance(scaled, Panels) == (are_packed and not few and core == FAST)


def test_products_of_queries_are_small(multiplications: list[int], core: str) -> None:
    product_with_keys(whole_numbers(300, 128), whole_numbers(2000, 128))
    assert sum(multiplications) >= (LARGEST if core == FAST else 300 * 128 * 2000)
    assert (max(multiplications) <= LARGEST) == (core == FAST)
    assert min(multiplications) > LARGEST / 2


@pytest.mark.parametrize(("rows", "parts"), [(300, [100]), (256, [64]), (1024, [64]), (251, [84, 84])])
def test_products_of_weights_are_small(rows: int, parts: list[int], multiplications: list[int], core: str) -> None:
    """As even as can be, so that a product is one call; of 251, a prime, the last 84 are a second one."""
    weights, value = whole_numbers(rows, 200), whole_numbers(200, 64)
    multiply(weights, value, np.empty((rows, 64)), terms=128)
    assert multiplications == [part * 128 * 64 for part in (parts if core == FAST else [rows])]


@pytest.mark.parametrize("dtype", ["longdouble", "float64"])
@pytest.mark.usefixtures("fast")
def test_what_is_not_fast_in_parts_is_multiplied_at_once(dtype: str, multiplications: list[int]) -> None:
    """Numbers that BLAS has not, and factors whose rows are not stored one after another."""
    left, right = whole_numbers(300, 100, dtype=dtype), whole_numbers(100, 200, dtype=dtype)
    right = right if dtype == "longdouble" else right.mT.copy().mT
    multiply(left, right, np.empty((300, 200), dtype), ALL)
    if dtype == "longdouble":
        product_with_keys(left, whole_numbers(200, 100, dtype=dtype))
    assert set(multiplications) == {300 * 100 * 200}


@pytest.mark.parametrize("rows", [144, 131, 143])
@pytest.mark.usefixtures("fast")
def test_equal_rows_have_equal_products_in_the_last_panel_too(rows: int) -> None:
    """It has the last 16 rows, some of them once more: those of the others are as many at a time."""
    out = product_with_keys(np.repeat(normal(1, 61), rows, axis=0), normal(90, 61, seed=1))
    np.testing.assert_array_equal(out[-PANEL:], out[:PANEL])


@pytest.mark.usefixtures("fast")
def test_no_column_is_multiplied_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a vector it would be added up in another order, so that equal keys had other scores."""
    columns: list[int] = []
    monkeypatch.setattr(small_products, "sum_of_parts", lambda left, right, *_: columns.append(right.shape[-1]))
    for keys in (959, 960, 961):  # 960 are multiplied at once
        scaled = scale(normal(160, 64), 1.0, "float32", keys=keys, terms=ALL, memory="rows")
        multiply(scaled, normal(keys, 64).mT, np.empty((160, keys), "float32"), ALL)
    assert min(columns) > 400


MASKS: Mapping[str, Any] = {
    "none": {},
    "causal": {"causal": True},
    "window": {"window": (280, 5)},
    "bias": {"bias": normal(1, 1, 290, 300, seed=9)},
}


@pytest.mark.parametrize(("mask", "score"), [*zip(MASKS, ["scaled_dot", "cosine"] * 2, strict=True)])
@pytest.mark.usefixtures("fast")
def test_attention_in_blocks_with_panels_is_that_of_the_whole_table(
    score: str, mask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = set[int]()
    multiply_panels = Panels.multiply

    def note(panels: Panels, right: Array, out: Array, terms: int) -> None:
        rows.add(panels.rows)
        multiply_panels(panels, right, out, terms)

    monkeypatch.setattr(Panels, "multiply", note)
    arrays = {"query": normal(1, 4, 290, 24), "key": normal(1, 2, 300, 24, seed=1), "value": normal(1, 2, 300, 9)}
    spec = problem(**arrays, score=score, **MASKS[mask])
    sizes = BlockSizes(0, rows=290, masked_rows=290, tile_cells=290 * 100, row_cells=5000)
    in_blocks = run(spec, ("output",), options=RunOptions("serial", sizes=sizes)).trace["output"].value
    assert rows <= {290, 145}
    assert rows
    whole = run(spec, ("output",), every_step=True).trace["output"].value
    np.testing.assert_allclose(in_blocks, whole, rtol=0, atol=1e-13)

"""Pages of keys and values, `page_table`: what is gathered is what a loop over the rows reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.checks.check import check
from attncli.io.problem_text import problem_yaml
from attncli.problem.inputs import unread_keys
from tests.arrays import normal
from tests.problems import dense_trace, problem

# Batch items, query heads, key heads, queries, features of keys and of values, the rows of a page, pages of the pool.
B, H, G, N, D, E, SIZE, PAGES = 2, 4, 2, 3, 6, 5, 4, 7
TABLE, LENGTHS = [[6, 0, 3], [2, 5, -1]], [10, 5]
POOL = {"key": normal(PAGES, SIZE, G, D), "value": normal(PAGES, SIZE, G, E)}
QUERY = normal(B, H, N, D)
PAGED: Mapping[str, Any] = {"query": QUERY, **POOL, "page_table": TABLE, "key_lengths": LENGTHS}
BOTTOM_RIGHT = {"causal": True, "align": "bottom_right"}


def loop(*, causal: bool) -> np.ndarray:
    """The answer, a query at a time: row j of item b is row j mod SIZE of page TABLE[b][j // SIZE]."""
    answer = np.empty((B, H, N, E))
    for item, head, row in np.ndindex(B, H, N):
        count = LENGTHS[item] - (N - 1 - row) * causal
        at = [(TABLE[item][j // SIZE], j % SIZE, head * G // H) for j in range(count)]
        scores = np.array([POOL["key"][place] @ QUERY[item, head, row] for place in at]) / np.sqrt(D)
        weights = np.exp(scores) / np.exp(scores).sum()
        answer[item, head, row] = sum(weight * POOL["value"][place] for weight, place in zip(weights, at, strict=True))
    return answer


@pytest.mark.parametrize("causal", [False, True])
def test_pages_are_gathered_as_a_loop_reads_them(causal: bool) -> None:
    spec = problem(**PAGED, **(BOTTOM_RIGHT if causal else {}))
    np.testing.assert_allclose(dense_trace(spec)["output"].value, loop(causal=causal), rtol=1e-12)


def test_pages_one_after_the_other_have_the_size_that_is_given() -> None:
    rows = {name: array.reshape(PAGES * SIZE, G, -1) for name, array in POOL.items()}
    spec = problem(**{**PAGED, **rows}, page_size=SIZE)
    np.testing.assert_allclose(dense_trace(spec)["output"].value, loop(causal=False), rtol=1e-12)


def test_what_lies_beyond_the_length_is_not_read() -> None:
    pool = {name: array.copy() for name, array in POOL.items()}
    for array in pool.values():
        array[3, 2:] = array[5, 1:] = array[4] = np.nan  # the rest of the last pages, and a page of nobody
    spec = problem(**{**PAGED, **pool, "page_table": [[6, 0, 3], [2, 5, 99]]})
    np.testing.assert_allclose(dense_trace(spec)["output"].value, loop(causal=False), rtol=1e-12)


def test_without_lengths_the_pages_are_full() -> None:
    table = [[1, 0], [3, 3]]
    gathered = {name: np.stack([np.concatenate(array[rows]) for rows in table]) for name, array in POOL.items()}
    whole = {name: array.swapaxes(1, 2) for name, array in gathered.items()}
    paged, plain = problem(query=QUERY, **POOL, page_table=table), problem(query=QUERY, **whole)
    np.testing.assert_array_equal(dense_trace(paged)["output"].value, dense_trace(plain)["output"].value)


def test_a_kernel_with_queries_in_another_layout_is_checked() -> None:
    given = {**PAGED, "query": QUERY.swapaxes(1, 2), **BOTTOM_RIGHT}
    answer = loop(causal=True).swapaxes(1, 2)
    assert check(problem(**given, layout="bnhd"), {"output": answer}).agrees
    assert check(attncli.Problem(**given, convention="flash").spec, {"output": answer}).agrees


def test_queries_of_packed_sequences_read_pages_too() -> None:
    packed = {"query": np.concatenate(QUERY.swapaxes(1, 2)), "layout": "nhd", "cu_seqlens": [0, N, 2 * N]}
    spec = problem(**{**PAGED, **packed}, causal=True)
    answer = np.concatenate(loop(causal=True).swapaxes(1, 2))
    assert check(spec, {"output": answer}).agrees
    assert spec.cu_seqlens_k is not None
    assert spec.cu_seqlens_k.tolist() == [0, 10, 15]


def test_a_problem_is_written_with_the_keys_of_each_item(tmp_path: Path) -> None:
    text = "".join(problem_yaml(problem(**PAGED)))
    assert "page" not in text
    (tmp_path / "p.yaml").write_text(text)
    np.testing.assert_allclose(attncli.load(tmp_path / "p.yaml").compute().output, loop(causal=False), rtol=1e-12)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"page_table": [[6, 0, 3], [2, 7, -1]]},
            "page_table: page 7 of key 4 of batch item 1 does not exist; key has the pages 0 to 6",
        ),
        (
            {"page_table": [[6, -1, 3], [2, 5, -1]]},
            "page_table: there is no page for keys 4 to 7 of batch item 0; "
            "give each item's number of keys by key_lengths",
        ),
        ({"key_lengths": [13, 5]}, "key_lengths: 13 keys; page_table has 3 pages of 4"),
        ({"key_lengths": [3, 4, 5]}, "key_lengths: key_lengths has 3 entries; page_table has 2 rows"),
        (
            {"page_size": 8},
            "page_size: page_size is 8; key has pages of 4; expected (pages, page size,",
        ),
        ({"key": None, "value": None}, "page_table: page_table is given without key; key and value are pages (pages,"),
        ({"key": normal(9, G, D), "page_size": 4}, "page_size: key has 9 rows, not a multiple of the page size 4"),
        ({"key": normal(8, G, D)}, "page_size: key has 3 axes, and the size of a page is not given; give page_size"),
        ({"page_table": [[0.5]]}, "page_table: 0.5 is not a whole number from 0"),
        ({"past_key": normal(B, G, 1, D)}, "past_key: page_table and past_key are both given; put all keys into pages"),
    ],
)
def test_pages_that_are_not_there_are_one_line(keys: Mapping[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**{**PAGED, **keys})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_the_size_of_a_page_is_read_where_there_are_pages() -> None:
    assert unread_keys({**PAGED, "page_size": 4}) == {}
    assert unread_keys({"query": QUERY, "page_size": 4}) == {"page_size": "there is no page_table"}

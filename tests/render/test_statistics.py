"""Arrows from each query to the key of its largest weight."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.render.statistics import arrows

WEIGHTS = [[0.1, 0.7, 0.2], [0.4, 0.2, 0.4], [0, 0, 0]]


def arrows_of(weights: Any, **options: Any) -> list[tuple[str, list[str]]]:
    """The arrows of these weights, which are the products with the rows of the identity."""
    keys: dict[str, Any] = {"tokens": ["the", "cat", "the"], "query_tokens": ["a", "b", "c"]}
    result = attncli.attention(weights, np.eye(3), score="dot", normalize="none", **keys)
    return list(arrows(result.trace, **options))


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, ["a → cat 0.70", "b → the#1, the#2 0.40"]), ({"from_key": True}, ["cat → a 0.70", "the#1, the#2 → b 0.40"])],
)
def test_each_query_has_an_arrow_but_one_that_attends_to_nothing(options: dict[str, Any], expected: list[str]) -> None:
    assert arrows_of(WEIGHTS, **options) == [("", expected)]


def test_each_head_has_arrows_of_its_own() -> None:
    heads = [[[[1.0, 2]], [[3, 1]]]]
    result = attncli.attention(heads, np.broadcast_to(np.eye(2), (1, 2, 2, 2)), score="dot", normalize="none")
    assert [(label, found) for label, found in arrows(result.trace)] == [
        ("batch item 0, head 0", ["query_1 → key_2 2.00"]), ("batch item 0, head 1", ["query_1 → key_1 3.00"]),
    ]  # fmt: skip

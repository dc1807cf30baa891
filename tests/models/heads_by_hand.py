"""Heads whose kind, and whose weight on each place, are worked out by hand from the rule of `attn heads`.

A query counts if it is real and its row has a sum above 0; it has a place if it sees a key of it and other keys too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

NULL = None  # of a place that no query has


@dataclass(frozen=True)
class HandHead:
    """A map [n m] with its words, what it is called, and some of its means over the queries that have a place."""

    weights: np.ndarray
    kind: str
    kinds: Mapping[str, float | None]
    shares: Mapping[str, float | None] = field(default_factory=dict)
    tokens: Sequence[str] | None = None
    real: Sequence[int] | None = None
    entropy: float | None = None
    received: Sequence[float] | None = None


def rows(count: int, keys: int, *cells: tuple[int, int, float]) -> np.ndarray:
    """A map with some weights, of a query and a key each."""
    table = np.zeros((count, keys))
    for query, key, weight in cells:
        table[query, key] = weight
    return table


def _induction(target: float) -> np.ndarray:
    """<s> a b c d a b c d: the first block looks at <s>, a second a at the b after the first one, and so on."""
    table = rows(9, 9, *((query, 0, 1.0) for query in range(5)))
    for query in range(5, 9):
        table[query, query - 3], table[query, 0] = target, 1 - target
    return table


BLOCK_TWICE = ("<s>", *"abcdabcd")
CAUSAL = np.tri(6) / np.arange(1, 7)[:, None]
NEAR = np.abs(np.subtract.outer(np.arange(30), np.arange(30))) <= 4
NEAR_BEFORE = NEAR & np.tri(30, dtype=bool)
SMALL = np.array([[0.1, 0.7, 0.2], [0.3, 0.3, 0.4], [0.6, 0.15, 0.25]])

HEADS: Mapping[str, HandHead] = {
    # Queries 5 to 8 alone have an earlier occurrence. <s> has 1 of queries 1 to 4 and 0.1 of 5 to 8: 4.4 / 8; query 0
    # sees nothing else. Of all 9 queries it is 5.4, and the targets are 3.6. Query 1 looks at the key before it.
    "textbook induction": HandHead(
        _induction(0.9),
        "induction",
        {"induction": 0.9, "first token": 0.55, "duplicate token": 0.0, "previous token": 1 / 8},
        {"induction": 0.4, "first token": 0.6},
        BLOCK_TWICE,
    ),
    # Weaker than the sink over all queries (4 + 4 · 0.45 of 8), not over those that can look elsewhere: 0.55 to 0.45.
    "induction with much of the sink": HandHead(
        _induction(0.55), "induction", {"induction": 0.55, "first token": 5.8 / 8}, {}, BLOCK_TWICE
    ),
    "a sink where induction could be": HandHead(
        _induction(0.41), "first token", {"induction": 0.41, "first token": (4 + 4 * 0.59) / 8}, {}, BLOCK_TWICE
    ),
    # x y z x y z: 0.8 on the same word before. <first> has 1, 1, 0.8, 0, 0 of queries 1 to 5; over 3, 4, 5 0.8 / 3.
    "duplicate tokens": HandHead(
        rows(
            6,
            6,
            (0, 0, 1),
            (1, 0, 1),
            (2, 0, 1),
            *((q, q - 3, 0.8) for q in (3, 4, 5)),
            *((q, q, 0.2) for q in (3, 4, 5)),
        ),
        "duplicate token",
        {"duplicate token": 0.8, "first token": 0.56, "induction": 0.0, "itself": 0.6 / 5},
        {"duplicate token": 0.4},
        tuple("xyzxyz"),
    ),
    # 0.9 on the key before and 0.1 spread on all five; the first query has none before it, and looks everywhere.
    "previous token": HandHead(
        0.9 * np.eye(5, k=-1) + np.array([[0.2]] + [[0.02]] * 4),
        "previous token",
        {"previous token": 0.92, "first token": 0.236, "itself": 0.28 / 5, "induction": NULL},
        {"previous token": 0.736},
    ),
    "next token": HandHead(
        0.9 * np.eye(5, k=1) + np.array([[0.02]] * 4 + [[0.2]]),
        "next token",
        {"next token": 0.92, "previous token": (3 * 0.02 + 0.2) / 4},
        {"next token": 0.736},
    ),
    "itself": HandHead(0.75 * np.eye(5) + 0.05, "itself", {"itself": 0.8, "next token": 0.05}),
    # [CLS] is the first key and no separator; each query has 0.45 on the comma and on [SEP].
    "separators": HandHead(
        np.tile([0.1, 0.0, 0.45, 0.0, 0.45], (5, 1)),
        "separators",
        {"separators": 0.9, "first token": 0.1, "duplicate token": NULL, "induction": NULL},
        {"separators": 0.9},
        ("[CLS]", "cat", ",", "dog", "[SEP]"),
        received=(0.5, 0, 2.25, 0, 2.25),
    ),
    "padding is no separator": HandHead(
        np.tile([0.4, 0.3, 0.3], (3, 1)), "uniform", {"separators": NULL}, {}, ("a", "b", "[PAD]")
    ),
    # The first query sees itself alone, and has no place: 0.9 of the others, 4.6 / 5 of all.
    "a sink": HandHead(
        rows(5, 5, (0, 0, 1), *((q, 0, 0.9) for q in range(1, 5)), *((q, q, 0.1) for q in range(1, 5))),
        "first token",
        {"first token": 0.9, "itself": 0.1, "previous token": 0.9 / 4, "next token": NULL},
        {"first token": 0.92, "itself": 1.4 / 5},
    ),
    "uniform over earlier keys": HandHead(
        CAUSAL,
        "uniform",
        {"first token": (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5 + 1 / 6) / 5, "next token": NULL},
        entropy=np.log([1, 2, 3, 4, 5, 6]).mean(),
    ),
    "uniform over three of five": HandHead(
        np.tile([1 / 3, 1 / 3, 1 / 3, 0, 0], (5, 1)),
        "uniform",
        {"first token": 1 / 3, "next token": 1 / 3},
        real=(1, 1, 1, 0, 0),
        entropy=np.log(3),
        received=(1, 1, 1, 0, 0),
    ),
    # All within four keys; equal weights on 30 keys have at most 9 / 30 there.
    "local": HandHead(
        NEAR / NEAR.sum(1, keepdims=True),
        "local",
        {"local": 1.0, "itself": (22 / 9 + 2 * (1 / 5 + 1 / 6 + 1 / 7 + 1 / 8)) / 30},
    ),
    # Queries 0 to 4 see local keys alone; equal weights have 5 / (i + 1) of the others, a mean of 0.34.
    "local, earlier keys": HandHead(
        NEAR_BEFORE / NEAR_BEFORE.sum(1, keepdims=True),
        "local",
        {"local": 1.0, "previous token": (1 / 2 + 1 / 3 + 1 / 4 + 26 / 5) / 29},
    ),
    # Queries 2 to 9: 0.8 two keys before. The first key has 1 of query 1 and 0.8 of query 2, of nine.
    "two before": HandHead(
        rows(
            10, 10, (0, 0, 1), (1, 0, 1), *((q, q - 2, 0.8) for q in range(2, 10)), *((q, q, 0.2) for q in range(2, 10))
        ),
        "offset -2",
        {"offset -2": 0.8, "first token": 0.2, "offset -3": 0.0, "itself": 1.6 / 9},
        {"offset -2": 0.64},
    ),
    # The last two queries are padding and look at the first key, as the last keys are: they never count.
    "previous token with padding": HandHead(
        rows(
            6,
            6,
            (0, 0, 1),
            *((q, q - 1, 0.8) for q in (1, 2, 3)),
            *((q, q, 0.2) for q in (1, 2, 3)),
            (4, 0, 1),
            (5, 0, 1),
        ),
        "previous token",
        {"previous token": 0.8, "first token": 0.8 / 3, "itself": 0.2},
        {"previous token": 0.6, "first token": 1.8 / 4},
        real=(1, 1, 1, 1, 0, 0),
        received=(1.8, 1.0, 1.0, 0.2, 0, 0),
    ),
    # The first real key is the third one.
    "a sink behind padding": HandHead(
        rows(5, 5, (0, 0, 1), (1, 0, 1), (2, 2, 1), (3, 2, 0.9), (3, 3, 0.1), (4, 2, 0.9), (4, 4, 0.1)),
        "first token",
        {"first token": 0.9, "previous token": 0.45},
        {"first token": 2.8 / 3},
        real=(0, 0, 1, 1, 1),
    ),
    "cross-attention": HandHead(
        np.tile([0.7, 0.1, 0.1, 0.1], (3, 1)),
        "first token",
        {"first token": 0.7, "previous token": NULL, "itself": NULL, "local": NULL, "offset -2": NULL},
        received=(2.1, 0.3, 0.3, 0.3),
    ),
    # The means are 0.55 of two queries, 0.225 of two, 0.65 / 3 and 1 / 3.
    "weakly the next token": HandHead(
        SMALL,
        "next token",
        {"first token": 1 / 3, "itself": 0.65 / 3, "previous token": 0.225, "next token": 0.55, "local": NULL},
        {"next token": 1.1 / 3},
        entropy=-(SMALL * np.log(SMALL)).sum() / 3,
    ),
    # One key each: 3, 5, 4, 0, 2, 4. No place has more than a third, but four keys around: of queries 0 and 5, which
    # equal weights give 5 / 6.
    "nothing in particular": HandHead(
        np.eye(6)[[3, 5, 4, 0, 2, 4]],
        "mixed",
        {"first token": 1 / 6, "offset -2": 1 / 4, "offset -3": 1 / 3, "previous token": 1 / 5, "local": 1.0},
    ),
    # A row of zeros, as of a query that sees nothing, does not count.
    "a row without weight": HandHead(
        np.array([[0.1, 0.8, 0.1], [0.0, 0.0, 0.0], [0.1, 0.8, 0.1]]),
        "previous token",
        {"next token": 0.8, "first token": 0.1, "itself": 0.1, "previous token": 0.8},
        {"next token": 0.4},
    ),
    # Half of each row goes to a sink that is no key: weights as they are, and no entropy.
    "rows that sum to a half": HandHead(
        np.tile([0.45, 0.03, 0.02], (4, 1)), "first token", {"first token": 0.45}, {"first token": 0.45}, entropy=np.nan
    ),
}

"""What heads do: shares of weight counted by hand on maps of a few tokens, what a head is called, and the rollout."""

import math

import numpy as np
import pytest

from attncli.analysis.heads import (
    PLACES,
    STATISTICS,
    Sequences,
    head_report,
    layer_statistics,
    rollout,
    sort_heads,
)
from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError

WORDS = ("a", "b", ".", "a", "b")
SENTENCE = Sequences(5, 5, WORDS, WORDS)
# Each query gives all its weight to one key: 0→0, 1→0, 2→2, 3→1 (what followed the first "a"), 4→1 (the same word).
ONE_KEY_EACH = np.eye(5)[[0, 0, 2, 1, 1]]
DOUBLE = Precision("float64")


@pytest.mark.parametrize(
    ("name", "queries"),
    {
        "first": (0, 1),
        "previous": (1,),
        "itself": (0, 2),
        "next": (),
        "induction": (3,),
        "duplicates": (4,),
        "separators": (2,),
    }.items(),
)
def test_a_share_is_the_weight_of_the_queries_that_look_there(name: str, queries: tuple[int, ...]) -> None:
    assert set(PLACES) >= {name}
    (found,) = layer_statistics(ONE_KEY_EACH[None], SENTENCE)
    assert found[name] == len(queries) / 5
    (without,) = layer_statistics(np.delete(ONE_KEY_EACH, queries, axis=0)[None], SENTENCE) if not queries else ({},)
    assert without.get(name, 0) == 0


def test_a_share_is_of_all_weight_and_not_of_rows() -> None:
    weights = np.array([[2.0, 0.0], [0.5, 0.5]])  # the first query has four times the weight of the others
    (found,) = layer_statistics(weights[None], Sequences(2, 2))
    assert (found["first"], found["previous"], found["itself"]) == (2.5 / 3, 0.5 / 3, 2.5 / 3)


def test_the_entropy_is_the_mean_of_those_of_the_queries() -> None:
    weights = np.array([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    (found,) = layer_statistics(weights[None], Sequences(4, 4))
    assert found["entropy"] == pytest.approx((math.log(2) + math.log(4) + 0) / 3)  # the last has no weight
    assert found["effective_keys"] == pytest.approx((2 + 4 + 1) / 3)


@pytest.mark.parametrize(
    ("sequences", "known"),
    [
        (Sequences(2, 3), {"first"}),
        (Sequences(2, 3, ("x", "y"), ("a", "b", ".")), {"first", "separators"}),
        (Sequences(3, 3), {"first", "previous", "itself", "next"}),
        (Sequences(3, 3, ("a", "b", "."), ("a", "b", ".")), set(PLACES)),
    ],
)
def test_a_place_that_the_sequences_do_not_have_has_no_share(sequences: Sequences, known: set[str]) -> None:
    weights = np.full((1, sequences.queries, sequences.keys), 1 / sequences.keys)
    (found,) = layer_statistics(weights, sequences)
    assert {name for name in PLACES if not math.isnan(found[name])} == known


@pytest.mark.parametrize("wrong", [-0.5, math.nan, math.inf])
def test_weights_that_are_no_shares_have_none(wrong: float) -> None:
    (found,) = layer_statistics(np.array([[[1.5, wrong], [0.5, 0.5]]]), Sequences(2, 2))
    assert all(math.isnan(found[name]) for name in PLACES)


def kinds(*maps: np.ndarray) -> list[str]:
    report = head_report([np.stack(maps)], [DOUBLE], [SENTENCE])
    return [head.label for head in report.heads]


def test_a_head_is_called_by_where_it_has_most_weight() -> None:
    triangle = np.tri(5) / np.arange(1, 6)[:, None]
    back = np.eye(5, k=-1) + np.eye(5)[:, :1] * np.eye(5)[0]
    assert kinds(triangle, 0.9 * back + 0.1 * triangle)[0] == "uniform"
    assert kinds(triangle, back)[1] == "previous token 0.80"
    assert kinds(triangle, np.eye(5))[1] == "itself 1.00"
    assert kinds(triangle, np.eye(5)[[0, 0, 0, 0, 0]])[1] == "first token 1.00"
    assert kinds(triangle, np.eye(5)[[0, 0, 2, 2, 2]])[1] == "separators 0.60"
    assert kinds(triangle, ONE_KEY_EACH)[1] == "mixed"  # no share is more than that of equal weights, and 0.4


def test_a_mask_alone_does_not_make_a_head_of_the_first_token() -> None:
    triangle = np.tri(2) / np.array([[1], [2]])
    report = head_report([triangle[None]], [DOUBLE], [Sequences(2, 2)])
    assert report.heads[0].statistics["first"] == 0.75
    assert (report.heads[0].kind, report.uniform["first"]) == ("uniform", 0.75)


def test_the_means_are_over_the_heads_of_a_layer_and_of_all() -> None:
    identity, first = np.eye(3), np.eye(3)[[0, 0, 0]]
    report = head_report([np.stack([identity, first]), first[None]], [DOUBLE] * 2, [Sequences(3, 3)] * 2)
    assert [means["first"] for means in report.layer_means] == [pytest.approx(4 / 6), 1]
    assert report.mean["first"] == pytest.approx((1 / 3 + 1 + 1) / 3)


def test_sorted_heads_without_a_number_are_last() -> None:
    maps = np.stack([np.eye(2), -np.eye(2), np.eye(2)[[0, 0]]])
    heads = head_report([maps], [DOUBLE], [Sequences(2, 2)]).heads
    assert [head.head for head in sort_heads(heads, "first")] == [2, 0, 1]
    assert [head.head for head in sort_heads(heads, "-first")] == [0, 2, 1]
    assert {*STATISTICS} == {*heads[0].statistics}


def test_the_rollout_counts_paths_through_the_layers() -> None:
    random = np.random.default_rng(0)
    layers = [random.dirichlet(np.ones(4), size=(2, 4)) for _ in range(3)]
    found = rollout(layers)
    for query, key in np.ndindex(4, 4):
        # Every path: at each layer the residual connection (a half), or one of the heads (a quarter each).
        arrived = {key: 1.0}
        for maps in layers:
            after = {place: 0.5 * weight for place, weight in arrived.items()}
            for head in maps:
                for place, weight in arrived.items():
                    for to in range(4):
                        after[to] = after.get(to, 0.0) + 0.25 * float(head[to, place]) * weight
            arrived = after
        assert found[-1][query, key] == pytest.approx(arrived[query])
    assert np.allclose(found.sum(axis=-1), 1)


def test_a_rollout_is_of_one_sequence() -> None:
    with pytest.raises(AttnError, match="can't be multiplied"):
        rollout([np.ones((1, 2, 3)) / 3])

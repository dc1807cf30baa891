"""What heads do: heads worked out by hand, what a head is called, what counts, and the rollout."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.models.heads import PLACES, STATISTICS, Head, Sequences, head_report, layer_heads, rollout, sort_heads
from tests.models.heads_by_hand import HEADS, HandHead

WORDS = ("a", "b", ".", "a", "b")
SENTENCE = Sequences(5, 5, WORDS, WORDS)
# Each query gives all its weight to one key: 0→0, 1→0, 2→2, 3→1 (what followed the first "a"), 4→1 (the same word).
ONE_KEY_EACH = np.eye(5)[[0, 0, 2, 1, 1]]


def head_of(
    weights: np.ndarray, tokens: Sequence[str] | None = None, real: Sequence[int] | None = None, visible: object = None
) -> Head:
    """The one head of a layer."""
    queries, keys = weights.shape
    padding = None if real is None else np.array(real, bool)
    query_tokens = tokens if queries == keys else None
    (found,) = layer_heads(weights[None], Sequences(queries, keys, query_tokens, tokens, padding, None, visible))
    return found


@pytest.mark.parametrize("hand", HEADS.values(), ids=HEADS)
def test_a_head_has_the_kind_and_the_means_that_are_worked_out_by_hand(hand: HandHead) -> None:
    found = head_of(hand.weights, hand.tokens, hand.real)
    assert found.kind == hand.kind
    for kinds, expected in ((found.kinds, hand.kinds), (found.shares, hand.shares)):
        given = {kind: None if math.isnan(kinds[kind]) else kinds[kind] for kind in expected}
        assert given == {kind: mean if mean is None else pytest.approx(mean) for kind, mean in expected.items()}
    if hand.entropy is not None:
        assert found.statistics["entropy"] == pytest.approx(hand.entropy, nan_ok=True)
    if hand.received is not None:
        assert found.received == pytest.approx(hand.received)


def test_the_entropy_and_the_distance_are_means_over_the_queries() -> None:
    weights = np.array([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = head_of(weights)
    assert found.statistics["entropy"] == pytest.approx((math.log(2) + math.log(4) + 0) / 3)  # the last has no weight
    assert found.statistics["effective_keys"] == pytest.approx((2 + 4 + 1) / 3)
    assert found.statistics["distance"] == pytest.approx((0.5 + (1 + 0 + 1 + 2) / 4 + 2) / 3)


@pytest.mark.parametrize("places", [7, 10, 23], ids=["bfloat16", "float16", "float32"])
def test_rows_are_distributions_in_whatever_type_they_are_stored(places: int) -> None:
    """Weights rounded to so many binary places, and held in float64: their sums miss 1 by that rounding."""
    drawn = np.random.default_rng(0).dirichlet(np.full(40, 0.1), size=40)
    mantissa, exponent = np.frexp(drawn)
    rounded = np.ldexp(np.round(mantissa * 2.0 ** (places + 1)), exponent - places - 1)
    found = head_of(rounded)
    assert found.statistics["entropy"] == pytest.approx(head_of(drawn).statistics["entropy"], abs=0.02)
    assert found.sums is None


def test_rows_that_are_no_distribution_are_said_to_be_none() -> None:
    found = head_of(np.array([[0.5, 0.48], [0.7, 0.7], [0.5, 0.5]]))
    assert found.statistics["entropy"] == pytest.approx(math.log(2))
    assert found.sums == pytest.approx((0.98, 1.4))


@pytest.mark.parametrize(
    ("sequences", "known"),
    [
        (Sequences(2, 3), {"first"}),
        (Sequences(2, 3, ("x", "y"), ("a", "b", ".")), {"first", "separators"}),
        (Sequences(3, 3), {"first", "previous", "itself", "next", "offset -2"}),
        (
            Sequences(3, 3, ("a", "b", "."), ("a", "b", ".")),
            {"first", "previous", "itself", "next", "offset -2", "separators"},
        ),
    ],
)
def test_a_place_that_no_query_has_has_no_mean(sequences: Sequences, known: set[str]) -> None:
    weights = np.full((1, sequences.queries, sequences.keys), 1 / sequences.keys)
    (found,) = layer_heads(weights, sequences)
    assert {name for name in PLACES if not math.isnan(found.statistics[name])} == known


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_rows_without_finite_weights_do_not_count(wrong: float) -> None:
    found = head_of(np.array([[0.2, wrong, 0.8], [0.5, 0.25, 0.25], [wrong, 1.0, 0.0]]))
    assert found.shares["first token"] == 0.5
    assert found.kinds["next token"] == 0.25
    nothing = head_of(np.full((2, 2), wrong))
    assert (nothing.kind, [name for name, mean in nothing.kinds.items() if not math.isnan(mean)]) == ("mixed", [])


def test_a_mask_says_which_keys_queries_see() -> None:
    """All weight within a window of three keys: uniform for queries that see no others, local for those that do."""
    window = np.tri(40, dtype=bool) & ~np.tri(40, k=-3, dtype=bool)
    weights = window / window.sum(axis=1, keepdims=True)
    assert head_of(weights).kind == "local"
    found = head_of(weights, visible=window)
    assert found.kind == "uniform"
    assert found.kinds["first token"] == pytest.approx((1 / 2 + 1 / 3) / 2)  # queries 1 and 2 alone see it


def test_an_earlier_token_behind_padding_is_none() -> None:
    tokens = ("a", "b", "a", "b")
    assert head_of(np.tri(4) / np.arange(1, 5)[:, None], tokens).kinds["induction"] == pytest.approx(
        (1 / 3 + 1 / 4) / 2
    )
    assert math.isnan(head_of(np.tri(4) / np.arange(1, 5)[:, None], tokens, (0, 0, 1, 1)).kinds["induction"])


def kinds(*maps: np.ndarray) -> list[str]:
    return [head.label for head in head_report([np.stack(maps)], [SENTENCE]).heads]


def test_a_head_is_called_by_where_it_has_most_weight() -> None:
    triangle = np.tri(5) / np.arange(1, 6)[:, None]
    back = np.eye(5, k=-1) + np.eye(5)[:, :1] * np.eye(5)[0]
    assert kinds(triangle, 0.9 * back + 0.1 * triangle)[0] == "uniform"
    assert kinds(triangle, back)[1] == "previous token 1.00"
    assert kinds(triangle, np.eye(5))[1] == "itself 1.00"
    assert kinds(triangle, np.eye(5)[[0, 0, 0, 0, 0]])[1] == "first token 1.00"
    assert kinds(triangle, np.eye(5)[[0, 0, 2, 2, 2]])[1] == "separators 1.00"  # two queries do not see one
    assert kinds(triangle, ONE_KEY_EACH)[1] == "induction 0.50"  # of queries 3 and 4, for the first of which it is


def test_a_far_offset_that_few_queries_have_names_no_head() -> None:
    found = head_of(np.eye(8)[[3, 5, 6, 7, 2, 1, 5, 0]])  # the last query looks seven back, as it alone can
    assert found.kinds["offset -7"] == 1
    assert found.kind == "mixed"


def test_a_mask_alone_does_not_make_a_head_of_the_first_token() -> None:
    triangle = np.tri(2) / np.array([[1], [2]])
    report = head_report([triangle[None]], [Sequences(2, 2)])
    assert (report.heads[0].shares["first token"], report.heads[0].kinds["first token"]) == (0.75, 0.5)
    assert (report.heads[0].kind, report.uniform.kinds["first token"]) == ("uniform", 0.5)


def test_the_means_are_over_the_heads_of_a_layer_and_of_all() -> None:
    identity, first = np.eye(3), np.eye(3)[[0, 0, 0]]
    report = head_report([np.stack([identity, first]), first[None]], [Sequences(3, 3)] * 2)
    assert [means.statistics["first"] for means in report.layer_means] == [pytest.approx(1 / 2), 1]
    assert report.mean.shares["first token"] == pytest.approx((1 / 3 + 1 + 1) / 3)


def test_sorted_heads_without_a_number_are_last() -> None:
    maps = np.stack([np.eye(2), -np.eye(2), np.eye(2)[[0, 0]]])
    heads = head_report([maps], [Sequences(2, 2)]).heads
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

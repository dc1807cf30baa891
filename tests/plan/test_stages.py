"""What the stages do together: masks, caches, positions, sinks and caps, on small arrays."""

from typing import Any

import numpy as np
import pytest

from attncli import attention, load
from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.plan.trace import RunResult
from tests.arrays import normal
from tests.problems import problem

N, M, D = 5, 7, 4
INFINITE = np.inf


QUERY, KEY, VALUE = normal(N, D), normal(M, D), normal(M, 3)


def computed(select: tuple[str, ...] = ("output",), **keys: Any) -> RunResult:
    return run(problem(**keys), select)


def visible(**keys: Any) -> list[list[int]]:
    """The keys that are visible to each query."""
    result = attention(QUERY, KEY, VALUE, **keys, select=("weights",))
    return [np.flatnonzero(row).tolist() for row in result.weights]


def test_queries_are_aligned_with_the_first_keys_or_the_last() -> None:
    assert visible(causal=True) == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]]
    assert visible(causal=True, align="bottom_right") == [list(range(last)) for last in (3, 4, 5, 6, 7)]
    assert visible(causal=True, align="bottom_right", key_lengths=6) == [list(range(last)) for last in (2, 3, 4, 5, 6)]


def test_queries_stand_after_the_cache_or_at_the_first_of_all_keys() -> None:
    cache = {"past_key": KEY[:2], "past_value": VALUE[:2]}
    assert visible(causal=True, **cache) == [list(range(last)) for last in (3, 4, 5, 6, 7)]
    assert visible(causal=True, align="first_key", **cache) == visible(causal=True)
    assert visible(window=(0, 1), align="first_key", **cache) == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]


def test_a_window_moves_with_the_query() -> None:
    assert visible(window=(1, 0)) == [[0], [0, 1], [1, 2], [2, 3], [3, 4]]
    assert visible(window=(0, 1), align="bottom_right") == [[2, 3], [3, 4], [4, 5], [5, 6], [6]]
    assert visible(window="-1,0") == visible(causal=True)


def test_a_key_is_visible_where_every_mask_shows_it() -> None:
    mask = np.ones((N, M), dtype=int)
    mask[4, 3] = 0
    bias = np.zeros((1, M))
    bias[0, 1] = -INFINITE
    together = visible(mask=mask, bias=bias, causal=True, window=(2, INFINITE), key_lengths=4)
    assert together == [[0], [0], [0, 2], [2, 3], [2]]


def test_missing_columns_of_a_mask_are_masked_with_a_warning() -> None:
    result = attention(QUERY, KEY, mask=np.ones((N, 3), dtype=bool), select=("visible",))
    assert result.visible.sum(axis=-1).tolist() == [3] * N
    assert result.trace.notes == ["mask has 3 columns for 7 keys: the others are hidden"]
    assert attention(QUERY, KEY, mask=np.ones((1, M))).trace.notes == []
    result = attention(QUERY, KEY, bias=np.zeros((N, 1)), select=("weights",))
    assert result.weights.tolist() == [[1, *[0] * (M - 1)]] * N
    assert result.trace.notes == ["bias has one column for 7 keys: the others are hidden"]


PAIRS = {"query": normal(2, 2, D), "key": normal(2, 3, D)}  # as many batch items as queries


def notes(shape: tuple[int, ...], name: str = "mask", **keys: Any) -> list[str]:
    """The warnings on a table of that shape that hides nothing."""
    table = np.ones(shape) if name == "mask" else np.zeros(shape)
    return list(computed(**{**PAIRS, name: table, **keys}).trace.notes)


@pytest.mark.parametrize("name", ["mask", "bias"])
def test_a_mask_whose_rows_may_be_batch_items_or_queries_is_read_as_queries_with_a_warning(name: str) -> None:
    warning = f"{name} is read as [queries, keys]; for padding in the shape [batch, keys] give key_mask"
    assert notes((2, 3), name) == [warning]
    assert notes((1, 3), name) == notes((2, 2, 3), name) == notes((3,), name) == []
    assert notes((2, 3), name, query=PAIRS["query"][:1], key=PAIRS["key"][:1]) == []


def test_a_mask_whose_first_axis_may_be_batch_items_or_heads_is_read_as_heads_with_a_warning() -> None:
    warning = "mask is read as [heads, queries, keys]; [batch, queries, keys] is written [batch, 1, queries, keys]"
    assert notes((2, 2, 3), heads=2) == [warning]
    assert notes((2, 1, 2, 3), heads=2) == notes((1, 2, 3), heads=2) == []


RIGHT, LEFT, HOLES = [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("key_mask", "keys", "expected"),
    [
        (RIGHT, {}, [[0, 1, 2]] * N),
        ([LEFT], {}, [[4, 5, 6]] * N),
        (RIGHT, {"causal": True}, [[0], [0, 1], [0, 1, 2], [0, 1, 2], [0, 1, 2]]),
        (RIGHT, {"causal": True, "align": "bottom_right"}, [[], [], [0], [0, 1], [0, 1, 2]]),
        (LEFT, {"causal": True, "align": "bottom_right"}, [[], [], [4], [4, 5], [4, 5, 6]]),
        (HOLES, {"window": (3, 0), "align": "bottom_right"}, [[0], [0, 2], [0, 2], [2], [2, 5]]),
        (HOLES, {"window": (3, 0), "align": "bottom_right", "key_lengths": 5}, [[], [], [0], [0], [0, 2]]),
        (RIGHT, {"mask": np.tri(N, M, -2)}, [[], [], [0], [0, 1], [0, 1, 2]]),
    ],
)
def test_a_key_mask_hides_padding_and_queries_end_at_the_last_real_key(
    key_mask: Any, keys: dict[str, Any], expected: list[list[int]]
) -> None:
    assert visible(key_mask=key_mask, **keys) == expected


def test_a_key_mask_covers_the_cached_keys_before_the_new_ones() -> None:
    cache = {"past_key": normal(2, D), "past_value": normal(2, 3)}
    result = attention(QUERY, KEY, VALUE, **cache, key_mask=[0, *[1] * (M + 1)], select=("weights",))
    assert (result.weights != 0).all(axis=0).tolist() == [False, *[True] * (M + 1)]


def test_key_lengths_are_the_key_mask_of_as_many_keys() -> None:
    query, key, lengths = normal(3, N, D), normal(3, M, D), [0, 4, 7]
    mask = np.arange(M) < np.array(lengths)[:, None]
    keys = {"causal": True, "align": "bottom_right", "position": "rope"}
    by_mask, by_lengths = (
        attention(query, key, key_mask=mask, **keys),
        attention(query, key, key_lengths=lengths, **keys),
    )
    np.testing.assert_array_equal(by_mask.output, by_lengths.output)
    assert by_mask.trace.notes == by_lengths.trace.notes


def test_key_lengths_of_queries_are_a_mask_of_as_many_keys_in_each_row() -> None:
    query, key, lengths = normal(3, N, D), normal(3, M, D), np.arange(3 * N).reshape(3, N) % (M + 1)
    mask = np.arange(M) < lengths[..., None]
    by_mask, by_lengths = attention(query, key, mask=mask), attention(query, key, key_lengths=lengths)
    np.testing.assert_array_equal(by_mask.output, by_lengths.output)
    one = attention(query[0], key[0], key_lengths=[lengths[0]])
    np.testing.assert_array_equal(one.output, by_lengths.output[0])


@pytest.mark.parametrize(
    ("lengths", "keys", "expected"),
    [
        ([[2, 0, 1, 7, 3]], {}, [[0, 1], [], [0], [*range(7)], [0, 1, 2]]),
        ([[2, 0, 1, 6, 3]], {"only": ["3", "0"]}, [[*range(6)], [0, 1]]),
        ([[2, 2, 2, 5, 3]], {"causal": True}, [[0], [0, 1], [0, 1], [0, 1, 2, 3], [0, 1, 2]]),
        # The last query stands at the last key of the longest, key 4: query i at key i.
        ([[2, 2, 2, 5, 3]], {"causal": True, "align": "bottom_right"}, [[0], [0, 1], [0, 1], [0, 1, 2, 3], [0, 1, 2]]),
        ([[4, 4, 4, 4, 3]], {"causal": True, "align": "bottom_right"}, [[], [0], [0, 1], [0, 1, 2], [0, 1, 2]]),
        ([[3]], {}, [[0, 1, 2]] * N),
    ],
)
def test_each_query_sees_as_many_keys_as_its_length(
    lengths: Any, keys: dict[str, Any], expected: list[list[int]]
) -> None:
    assert visible(key_lengths=lengths, **keys) == expected


@pytest.mark.parametrize(
    ("batch", "lengths", "message"),
    [
        (None, [[1, 2]], "key_lengths has 2 columns (n); query has 5 rows (n)"),
        (None, [1, 2, 3, 4, 5], "key_lengths: there are no batch items; give one length, or one row with a length for"),
        (2, [[1, 2, 3, 4, 5]], "key_lengths has 5 numbers (b); query has 2 batch items (b)"),
        (2, [[1] * 5, [8] * 5], "key_lengths: 8 is more than there are keys; key has 7 rows (m)"),
    ],
)
def test_lengths_of_queries_fit_the_batch_items_and_the_queries(batch: int | None, lengths: Any, message: str) -> None:
    axes = () if batch is None else (batch,)
    with pytest.raises(AttnError) as raised:
        attention(normal(*axes, N, D), normal(*axes, M, D), key_lengths=lengths)
    assert str(raised.value).startswith(message)


def test_a_masked_key_equals_a_removed_key() -> None:
    kept = [0, 2, 5]
    mask = np.isin(np.arange(M), kept)
    for normalize in (
        "softmax",
        "sparsemax",
        "entmax:alpha=1.3",
        "sigmoid",
        "relu",
        "topk:k=2",
        "hardmax",
        "sum",
        "none",
    ):
        masked = attention(QUERY, KEY, VALUE, mask=mask, normalize=normalize).output
        removed = attention(QUERY, KEY[kept], VALUE[kept], normalize=normalize).output
        np.testing.assert_allclose(masked, removed, rtol=1e-12, atol=1e-14, err_msg=normalize)


@pytest.mark.parametrize("context", ["weighted_sum", "max", "argmax", "sample", {"attentional": {"w": normal(7, 2)}}])
@pytest.mark.parametrize("poison", [np.nan, INFINITE, -INFINITE])
def test_nan_in_a_masked_key_or_value_does_not_reach_the_result(context: Any, poison: float) -> None:
    key, value = KEY.copy(), VALUE.copy()
    key[5:], value[5:, 1] = poison, poison
    mask = np.arange(M) < 5
    result = attention(QUERY, key, value, mask=mask, context=context)
    np.testing.assert_array_equal(result.output, attention(QUERY, KEY, VALUE, mask=mask, context=context).output)


def test_nan_in_a_visible_value_reaches_the_result() -> None:
    value = VALUE.copy()
    value[2, 1] = np.nan
    output = attention(QUERY, KEY, value, causal=True).output
    assert np.isnan(output).tolist() == [[False, row >= 2, False] for row in range(N)]


def test_a_query_without_visible_keys_gets_zeros_and_one_warning() -> None:
    result = attention(
        QUERY, KEY, VALUE, causal=True, align="bottom_right", key_lengths=3, select=("weights", "output")
    )
    assert not result.weights[:2].any()
    assert not result.output[:2].any()
    assert [note.count("query_1, query_2") for note in result.trace.notes] == [1]


def test_the_warning_names_the_batch_item_and_head() -> None:
    query, key = normal(2, 3, N, D), normal(2, 3, M, D)
    mask = np.ones((2, 3, N, M), dtype=bool)
    mask[1, :, 4] = False
    (note,) = attention(query, key, mask=mask).trace.notes
    assert " query_5 (batch item 1): " in note
    mask[0, 2, 0] = False
    (note,) = attention(query, key, mask=mask).trace.notes
    assert (
        " query_1 (batch item 0, head 2); query_5 (batch item 1, head 0); "
        "query_5 (batch item 1, head 1); query_5 (batch item 1, head 2): " in note
    )


def test_a_cap_comes_before_bias_and_masks() -> None:
    result = attention(
        QUERY,
        KEY,
        softcap=0.5,
        bias=np.full((N, M), 100.0),
        causal=True,
        select=("scores", "capped_scores", "masked_scores"),
    )
    np.testing.assert_allclose(result.capped_scores, 0.5 * np.tanh(result.scores / 0.5), rtol=1e-15)
    visible_cells = np.tri(N, M, dtype=bool)
    np.testing.assert_array_equal(result.masked_scores[visible_cells], (result.capped_scores + 100)[visible_cells])
    assert np.isneginf(result.masked_scores[~visible_cells]).all()


def test_a_sink_adds_to_the_denominator_and_has_no_weight() -> None:
    logit = 0.7
    plain = attention(QUERY, KEY, VALUE, select=("scores",)).scores
    result = attention(QUERY, KEY, VALUE, sink=logit, select=("weights", "output"))
    exponentials = np.exp(plain)
    expected = exponentials / (exponentials.sum(axis=-1, keepdims=True) + np.exp(logit))
    np.testing.assert_allclose(result.weights, expected, rtol=1e-14)
    np.testing.assert_allclose(result.output, expected @ VALUE, rtol=1e-13)


def test_a_sink_of_nothing_changes_nothing_and_one_of_0_is_softmax1() -> None:
    plain = attention(QUERY, KEY, VALUE).output
    np.testing.assert_allclose(attention(QUERY, KEY, VALUE, sink=-1e9).output, plain, rtol=1e-14)
    softmax1 = attention(QUERY, KEY, VALUE, normalize="softmax1").output
    np.testing.assert_allclose(attention(QUERY, KEY, VALUE, sink=0).output, softmax1, rtol=1e-14)


def test_normalized_queries_and_keys_score_their_cosine() -> None:
    result = attention(QUERY, KEY, qk_norm="l2", score="dot", select=("scores",))
    np.testing.assert_allclose(
        result.scores, attention(QUERY, KEY, score="cosine", select=("scores",)).scores, rtol=1e-13
    )


def test_a_token_after_a_cache_gets_what_it_gets_in_the_whole_sequence() -> None:
    """Decoding one token at a time, each run's present the next run's past, is the causal attention of all of them."""
    x, w_q, w_k = normal(6, 5), normal(5, 8), normal(5, 4)
    common = {"w_q": w_q, "w_k": w_k, "w_v": w_k, "heads": 4, "kv_heads": 2, "causal": True, "window": (3, 0)}
    for position in (
        "rope",
        "alibi",
        "sinusoidal",
        {"t5": {"table": normal(8, 4)}},
        {"shaw": {"table": normal(7, 2)}},
    ):
        if position == "sinusoidal":
            common = {**common, "w_q": normal(5, 8) * 2}
        whole = computed(embeddings=x, **common, position=position).output
        past: dict[str, np.ndarray] = {}
        for token in range(len(x)):
            result = computed(
                ("output", "present_key", "present_value"),
                embeddings=x[token : token + 1],
                **common,
                **past,
                position=position,
            )
            np.testing.assert_allclose(result.output[0], whole[token], rtol=1e-12, err_msg=str(position))
            past = {"past_key": result.present_key, "past_value": result.present_value}


def test_without_a_cache_present_keys_have_the_shape_of_the_keys() -> None:
    query, key = normal(2, N, 8), normal(2, M, 4)
    result = attention(query, key, heads=4, kv_heads=2, position="rope", select=("present_key", "present_value"))
    assert result.present_key.shape == key.shape
    np.testing.assert_array_equal(result.present_value, key)
    assert not np.array_equal(result.present_key, key)


def test_cached_keys_have_labels_and_come_first() -> None:
    result = attention(
        QUERY[:1], KEY[:2], VALUE[:2], past_key=KEY[2:4], past_value=VALUE[2:4], causal=True, select=("weights",)
    )
    assert result.key_tokens == ("past_1", "past_2", "key_1", "key_2")
    assert np.flatnonzero(result.weights[0]).tolist() == [0, 1, 2]


def test_tokens_may_name_the_cached_keys_too() -> None:
    keys = {"query": QUERY[:1], "key": KEY[:1], "past_key": KEY[1:3], "past_value": KEY[1:3]}
    assert computed(**keys, tokens=["c"]).key_tokens == ("past_1", "past_2", "c")
    assert computed(**keys, tokens=["a", "b", "c"]).key_tokens == ("a", "b", "c")


def test_selected_queries_keep_their_position_and_row_of_the_mask() -> None:
    mask = np.random.default_rng(1).random((N, M)) < 0.6
    mask[:, 0] = True
    keys = {"query": QUERY, "key": KEY, "mask": mask, "causal": True, "position": "alibi", "bias": normal(N, M)}
    every, some = computed(("weights",), **keys).weights, computed(("weights",), **keys, only=[3, 1]).weights
    np.testing.assert_array_equal(some, every[[3, 1]])


def test_alibi_adds_its_slope_times_the_distance() -> None:
    query, key = np.zeros((1, 2, 3, 4)), np.zeros((1, 2, 3, 4))
    result = attention(query, key, position="alibi", select=("masked_scores",))
    distance = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    np.testing.assert_array_equal(
        result.masked_scores[0], [-(2.0**-4) * np.array(distance), -(2.0**-8) * np.array(distance)]
    )


def test_relative_keys_are_scored_as_keys_are() -> None:
    """Shaw et al. eq. 4: the key of each pair is Kⱼ + a for its distance, here one pair at a time."""
    table = normal(5, D)
    result = attention(QUERY, KEY, position={"shaw": {"table": table}}, select=("scores",))
    for i in range(N):
        for j in range(M):
            expected = QUERY[i] @ (KEY[j] + table[min(max(j - i, -2), 2) + 2]) / np.sqrt(D)
            assert np.isclose(result.scores[i, j], expected, rtol=1e-13)


def test_learned_positions_are_added_before_the_projections() -> None:
    x, table, w = normal(N, D), normal(9, D), normal(D, 2)
    keys = {"w_q": w, "w_k": w, "w_v": w}
    moved = computed(embeddings=x, **keys, position={"learned": {"table": table, "offset": 3}}).output
    np.testing.assert_allclose(moved, computed(embeddings=x + table[3 : 3 + N], **keys).output, rtol=1e-13)


def test_a_problem_can_be_an_archive_of_arrays(tmp_path: Any) -> None:
    np.savez(
        tmp_path / "p.npz", query=QUERY, key=KEY[:, :2], value=VALUE, heads=2, kv_heads=1, score="dot", causal=True
    )
    expected = attention(QUERY, KEY[:, :2], VALUE, heads=2, kv_heads=1, score="dot", causal=True).output
    np.testing.assert_array_equal(load(tmp_path / "p.npz").compute(("output",)).output, expected)

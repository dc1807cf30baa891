"""Layouts, and the labels of rows."""

from typing import Any

import numpy as np
import pytest

from attncli import AttnError, attention
from attncli.base.labels import find_label
from attncli.engine.run import run
from attncli.ops import kinds, operators
from attncli.ops.registry import kind_of
from tests.arrays import normal
from tests.problems import problem

B, H, G, N, M, D, E = 2, 6, 3, 5, 7, 4, 11


QUERY, KEY, VALUE = normal(B, H, N, D), normal(B, G, M, D), normal(B, G, M, E)


def heads_in_features(x: np.ndarray) -> np.ndarray:
    """[b h n d] as [b n h·d], a head at a time."""
    return np.concatenate([x[:, head] for head in range(x.shape[1])], axis=-1)


def test_a_head_axis_and_heads_in_the_features_give_the_same_result() -> None:
    with_head_axis = attention(QUERY, KEY, VALUE)
    wide = attention(*map(heads_in_features, (QUERY, KEY, VALUE)), heads=H, kv_heads=G)
    assert with_head_axis.output.shape == (B, H, N, E)
    assert wide.output.shape == (B, N, H * E)
    np.testing.assert_array_equal(wide.output, heads_in_features(with_head_axis.output))


def test_a_batch_is_its_items_one_by_one() -> None:
    wide = [heads_in_features(x) for x in (QUERY, KEY, VALUE)]
    together = attention(*wide, heads=H, kv_heads=G).output
    for item in range(B):
        alone = attention(*[x[item] for x in wide], heads=H, kv_heads=G).output
        assert alone.shape == (N, H * E)
        np.testing.assert_allclose(together[item], alone, rtol=1e-13)


@pytest.mark.parametrize(("kv_heads", "reads"), [(6, [0, 1, 2, 3, 4, 5]), (3, [0, 0, 1, 1, 2, 2]), (1, [0] * 6)])
def test_a_query_head_reads_the_key_head_of_its_group(kv_heads: int, reads: list[int]) -> None:
    key, value = normal(B, kv_heads, M, D), normal(B, kv_heads, M, E)
    grouped = attention(QUERY, key, value).output
    for head, read in enumerate(reads):
        alone = attention(QUERY[:, head], key[:, read], value[:, read]).output
        np.testing.assert_allclose(grouped[:, head], alone, rtol=1e-13)


@pytest.mark.parametrize(("kv_heads", "letter"), [(6, "h"), (3, "g"), (1, "g")])
def test_key_heads_have_a_letter_of_their_own_where_they_are_fewer(kv_heads: int, letter: str) -> None:
    wide = attention(normal(N, H * D), normal(M, kv_heads * D), heads=H, kv_heads=kv_heads).trace
    assert wide["key_heads"].axes == (letter, "m", "d")
    with_head_axis = attention(QUERY, normal(B, kv_heads, M, D)).trace
    assert with_head_axis["key"].axes == ("b", letter, "m", "d")
    assert with_head_axis["weights"].axes == ("b", "h", "n", "m")


def test_sizes_count_the_features_of_all_query_heads() -> None:
    keys = {"embeddings": normal(N, 12), "seed": 1, "init": "normal", "heads": 6, "kv_heads": 2, "d_k": 12, "d_v": 18}
    drawn = problem(**keys)
    shapes = {name: getattr(drawn, name).shape for name in ("w_q", "w_k", "w_v", "w_o")}
    assert shapes == {"w_q": (12, 12), "w_k": (12, 4), "w_v": (12, 6), "w_o": (18, 12)}
    with pytest.raises(AttnError, match="d_v is 17; w_v has 6 columns"):
        problem(**{**keys, "w_v": normal(12, 6), "d_v": 17})


def test_an_axis_of_heads_is_there_where_there_are_several_or_four_axes() -> None:
    assert attention(QUERY[:, :1], KEY[:, :1], VALUE[:, :1], select=("weights",)).weights.shape == (B, 1, N, M)
    assert attention(QUERY[:, 0], KEY[:, 0], VALUE[:, 0], select=("weights",)).weights.shape == (B, N, M)
    assert attention(QUERY[0, 0], KEY[0, 0], select=("weights",)).weights.shape == (N, M)
    assert attention(QUERY[0, 0], KEY[0, 0], heads=2, select=("weights",)).weights.shape == (2, N, M)


def test_output_weights_merge_the_head_axis() -> None:
    w_o = normal(H * E, 13)
    result = run(problem(query=QUERY, key=KEY, value=VALUE, w_o=w_o))
    np.testing.assert_allclose(result.output, heads_in_features(attention(QUERY, KEY, VALUE).output) @ w_o, rtol=1e-12)


def test_embeddings_may_have_batch_items() -> None:
    x, w_q, w_k = normal(B, N, 13), normal(13, H * D), normal(13, G * D)
    keys = {"embeddings": x, "w_q": w_q, "w_k": w_k, "w_v": w_k, "heads": H, "kv_heads": G}
    result = run(problem(**keys))
    expected = attention(x @ w_q, x @ w_k, x @ w_k, heads=H, kv_heads=G).output
    np.testing.assert_allclose(result.output, expected, rtol=1e-13)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "heads that do not divide": (
        {"query": normal(N, 6), "key": normal(M, 6), "heads": 4},
        "heads: 4 heads can't share the 6 features of the queries; choose a divisor of 6",
    ),
    "key heads that do not divide": (
        {"query": normal(N, 6), "key": normal(M, 4), "heads": 6, "kv_heads": 4},
        "kv_heads: 6 query heads can't share 4 key heads evenly; choose a divisor of 6",
    ),
    "given scores of other heads than the values": (
        {"scores": np.zeros((1, 3, N, M)), "value": np.zeros((1, 2, M, E))},
        "scores: has 3 heads, which can't share the 2 of value evenly; expected a multiple of 2",
    ),
    "key heads alone": (
        {"query": normal(N, 6), "key": normal(M, 6), "kv_heads": 2},
        "kv_heads: 1 query head can't share 2 key heads evenly; give heads, the number of query heads",
    ),
    "a number of heads that the array has not": (
        {"query": QUERY, "key": KEY, "heads": 4},
        "heads: heads is 4; query has 6 heads on its second axis",
    ),
    "key heads that the array has not": (
        {"query": QUERY, "key": KEY, "kv_heads": 2},
        "kv_heads: kv_heads is 2; key has 3 heads on its second axis",
    ),
    "values of other heads": (
        {"query": QUERY, "key": KEY, "value": QUERY[..., :M, :]},
        "value has 6 key and value heads (g); key has 3 key and value heads (g)",
    ),
    "another number of axes": ({"query": QUERY, "key": KEY[0]}, "key: key has 3 axes; query has 4"),
    "a parameter without numbers": (
        {"query": QUERY, "key": KEY, "position": {"rope": {"frequencies": []}}},
        "position, frequencies: has no numbers",
    ),
    "another number of batch items": (
        {"query": QUERY, "key": normal(3, G, M, D)},
        "key has 3 batch items (b); query has 2 batch items (b)",
    ),
    "heads of other widths": (
        {"query": normal(N, 6), "key": normal(M, 6), "heads": 2, "kv_heads": 1},
        "key has 6 columns (d); query has 6 columns (d), over 2 heads",
    ),
    "a cache without values": (
        {"query": QUERY, "key": KEY, "past_key": KEY},
        "past_value: a cache has keys and values; give past_key and past_value together",
    ),
    "a cache of another width": (
        {"query": QUERY, "key": KEY, "past_key": normal(B, G, 2, 3), "past_value": normal(B, G, 2, D)},
        "past_key has 3 columns (c); key has 4 columns (c)",
    ),
    "a cache of two lengths": (
        {"query": QUERY, "key": KEY, "past_key": normal(B, G, 2, D), "past_value": normal(B, G, 1, D)},
        "past_value has 1 row (p); past_key has 2 rows (p)",
    ),
    "a mask that is too wide": (
        {"query": QUERY, "key": KEY, "mask": np.ones((N, M + 1), dtype=bool)},
        "mask: mask has 8 keys (m); key has 7 rows (m)",
    ),
    "a mask of other heads": (
        {"query": QUERY, "key": KEY, "mask": np.ones((G, N, M), dtype=bool)},
        "mask: mask has 3 query heads (h); there are 6 query heads",
    ),
    "a mask of batch items that there are not": (
        {"query": QUERY[0, 0], "key": KEY[0, 0], "mask": np.ones((2, 1, N, M), dtype=bool)},
        "mask: mask has 2 batch items (b); there is one batch item",
    ),
    "global tokens that are no keys": (
        {"query": QUERY, "key": KEY, "mask": {"global": {"tokens": [0, 7]}}},
        "mask, tokens: there is no key 7; expected 0 to 6",
    ),
    "documents of other lengths than the keys": (
        {"query": QUERY, "key": KEY, "mask": {"document": {"lengths": [2, 3]}}},
        "mask, lengths: the lengths add up to 5; there are 7 keys",
    ),
    "a mask of numbers": (
        {"query": QUERY, "key": KEY, "mask": np.full((N, M), 0.5)},
        "mask: 0.5 is neither 0 nor 1; 1 attends and 0 does not; numbers that are added to the scores are a bias",
    ),
    "a length beyond the keys": (
        {"query": QUERY, "key": KEY, "key_lengths": [3, 8]},
        "key_lengths: 8 is more than there are keys; key has 7 rows (m)",
    ),
    "a length too few": (
        {"query": QUERY, "key": KEY, "key_lengths": [3]},
        "key_lengths has 1 number (b); query has 2 batch items (b)",
    ),
    "lengths without a batch": (
        {"query": QUERY[0, 0], "key": KEY[0, 0], "key_lengths": [3, 4]},
        "key_lengths: there are no batch items; give one length",
    ),
    "half a key": ({"query": QUERY, "key": KEY, "key_lengths": [1.5, 2]}, "key_lengths: 1.5 is not a whole number"),
    "a window of one side": (
        {"query": QUERY, "key": KEY, "window": [3]},
        "window: [3] is not a window; expected LEFT,RIGHT, such as 2,0; Hugging Face's sliding_window: 3 is 2,0",
    ),
    "a window of no keys": (
        {"query": QUERY, "key": KEY, "window": "0"},
        "'0' is not a window; expected LEFT,RIGHT, such as",
    ),
    "a window without a limit": ({"query": QUERY, "key": KEY, "window": "inf"}, "'inf' is not a window; expected LEFT"),
    "a window below nothing": ({"query": QUERY, "key": KEY, "window": "1,-2"}, "window: -2 is not a side of a window"),
    "a sink for other heads": (
        {"query": QUERY, "key": KEY, "sink": [1.0, 2]},
        "sink has 2 numbers (h); there are 6 query heads",
    ),
    "a cap of nothing": ({"query": QUERY, "key": KEY, "softcap": 0}, "softcap: 0 is out of range"),
    "an odd number of features to turn": (
        {"query": normal(N, 5), "key": normal(M, 5), "position": "rope"},
        "position: rope rotates pairs; it can't rotate 5 of a head's 5 features; give dims, an even number",
    ),
    "more features to turn than there are": (
        {"query": QUERY, "key": KEY, "position": "rope:dims=6"},
        "position: rope rotates pairs; it can't rotate 6 of a head's 4 features",
    ),
    "positions for embeddings that are not there": (
        {"query": QUERY, "key": KEY, "position": "sinusoidal"},
        "position: sinusoidal is added to embeddings, and query is already projected; give embeddings",
    ),
    "a table that is too short": (
        {"embeddings": normal(N, D), "position": {"learned": {"table": normal(N, D), "offset": 1}}},
        "position, table: the table has positions 0 to 4; 1 to 5 are asked for",
    ),
    "relative keys without a middle": (
        {"query": QUERY, "key": KEY, "position": {"shaw": {"table": normal(4, D)}}},
        "position, table: has 4 rows; expected an odd number: the middle is distance 0",
    ),
    "distances of Transformer-XL without a middle": (
        {"query": QUERY, "key": KEY, "position": {"transformer_xl": {"table": normal(4, D)}}},
        "position, table: has 4 rows; expected an odd number: the middle is distance 0",
    ),
    "distances that nothing projects to the width of queries": (
        {"query": QUERY, "key": KEY, "position": {"transformer_xl": {"table": normal(3, D + 1)}}},
        f"position, table: has {D + 1} columns; a query has {D} features; give w_position",
    ),
    "an odd number of disentangled distances": (
        {"query": QUERY, "key": KEY, "position": {"disentangled": {"table": normal(5, D)}}},
        "position, table: has 5 rows; expected an even number",
    ),
    "a norm of a table that there is not": (
        {"query": QUERY, "key": KEY, "position": "alibi", "position_norm": "layer"},
        "position_norm: no position multiplies queries by a table",
    ),
    "rows that are no buckets": (
        {"query": QUERY, "key": KEY, "position": {"disentangled": {"table": normal(8, D), "max_distance": 3}}},
        "position, max_distance: 8 rows can't be buckets of distances up to 3",
    ),
    "relative keys for a score that has no products": (
        {"query": QUERY, "key": KEY, "score": "gaussian", "position": {"shaw": {"table": normal(3, D)}}},
        "position: shaw adds keys to a dot product; the score is gaussian; score with dot or scaled_dot",
    ),
    "buckets that can't be divided": (
        {"query": QUERY, "key": KEY, "position": {"t5": {"table": normal(3, H)}}},
        "position, table: 3 buckets can't be divided",
    ),
    "buckets that end too early": (
        {"query": QUERY, "key": KEY, "position": {"t5": {"table": normal(32, H), "max_distance": 8}}},
        "position, max_distance: max_distance is not beyond the 8 buckets of one distance each",
    ),
    "slopes of other heads": (
        {"query": QUERY, "key": KEY, "position": {"alibi": {"slopes": [1.0, 2]}}},
        "position, slopes has 2 numbers (h); there are 6 query heads",
    ),
    "a number for a matrix": (
        {"query": QUERY, "key": KEY, "score": {"general": {"w": np.array(3.0)}}},
        "score, w: is one number; expected [d c]",
    ),
    "a number for a table": (
        {"embeddings": normal(N, D), "position": {"learned": {"table": 5}}},
        "position, table: is one number; expected [t x]",
    ),
    "a vector for a matrix": (
        {"query": QUERY, "key": KEY, "weight_layout": "out_in", "context": {"attentional": {"w": [1.0, 2]}}},
        "context, w: has 1 axis; expected 2 (a e+d)",
    ),
    "lengths beyond all numbers": (
        {"query": QUERY, "key": KEY, "key_lengths": np.array([np.inf, 1], dtype=np.float16)},
        "key_lengths: inf is not a whole number from 0",
    ),
    **{
        f"a gain that is stored as gain − 1 and is not given: {name}": (
            {"query": QUERY, "key": KEY, "qk_norm": {name: {"gain_plus_one": True}}},
            "qk_norm, gain_plus_one: gain_plus_one needs a gain",
        )
        for name in ("l2", "rms", "layer")
    },
    "positions of a query scale that are not those of the rows": (
        {"query": QUERY, "key": KEY, "query_scale": "ssmax", "positions_of_queries": [1, 2]},
        "positions_of_queries: has the shape [2]; query has 5 rows (n); expected [5] or [2 5]",
    ),
    "a grid of fewer cells than tokens": (
        {"query": QUERY, "key": KEY, "position": {"grid_bias": {"table": np.ones((1, H)), "height": 1}}},
        "position: a grid of 1 × 1 has 1 cell; there are 7 tokens",
    ),
    "a grid whose differences are not those of the tables": (
        {
            "query": QUERY,
            "key": KEY,
            "position": {"decomposed": {"rel_pos_h": np.ones((3, D)), "rel_pos_w": np.ones((5, D)), "height": 3}},
        },
        "position, rel_pos_h: has 3 rows; expected 5: the differences from -2 to 2",
    ),
    "a layer that there is not": (
        {"query": QUERY, "key": KEY[..., :N, :], "recurrence": "gated:slopes=lightning,layer=2,layers=2"},
        "recurrence, layer: layer 2, counted from 0, is not one of 2 layers",
    ),
    "a layer of slopes that are those of every layer": (
        {"query": QUERY, "key": KEY[..., :N, :], "recurrence": "gated:slopes=retnet,layers=2"},
        "recurrence, layer: layers differ only with slopes=lightning",
    ),
    "pairs of an odd number of heads": (
        {"query": QUERY, "key": KEY, "difference": {"differential": {"lambda_init": 0.5}}},
        "difference: subtracts the weights of one head of each pair from those of the other; there are 3 key heads",
    ),
    "pairs of one head": (
        {"query": QUERY[0, 0], "key": KEY[0, 0], "difference": 0.5},
        "there is 1 head; give heads: 2, with the queries and keys of both maps side by side",
    ),
    "a sink where a key has to be drawn": (
        {"query": QUERY, "key": KEY, "sink": normal(H), "context": "sample"},
        "sink: sample draws one key; with a sink there may be none",
    ),
}


@pytest.mark.parametrize(("keys", "message"), REFUSED.values(), ids=REFUSED)
def test_lengths_that_disagree_are_an_error_with_both(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        run(problem(**keys))
    assert message in str(caught.value)


def test_a_window_of_a_model_is_proposed_where_there_can_be_so_many_keys() -> None:
    for digits, proposed in ((15, f"; Hugging Face's sliding_window: {'9' * 15} is {'9' * 14}8,0"), (16, "")):
        with pytest.raises(AttnError) as caught:
            problem(query=QUERY, key=KEY, window="9" * digits)
        assert str(caught.value).endswith(f"such as 2,0{proposed}")


def test_of_an_odd_number_of_key_heads_nothing_is_proposed() -> None:
    with pytest.raises(AttnError, match=r"there are 3 key heads$"):
        problem(query=normal(1, 6, N, D), key=normal(1, 3, M, D), difference=0.5)


def test_every_check_of_an_operator_refuses_one_of_these() -> None:
    checked = {(kind, name) for kind in kinds() for name, record in operators(kind).items() if record.check}
    refused = {
        (kind_of(key), word) for keys, _ in REFUSED.values() for key, value in keys.items() for word in names_in(value)
    }
    assert checked <= refused


def names_in(value: Any) -> set[str]:
    """The operator that a key names, as text or as a mapping."""
    if isinstance(value, str):
        return {value.partition(":")[0]}
    return set(value) if isinstance(value, dict) else set()


LABELS = ("the", "cat", "on", "the", "3")


@pytest.mark.parametrize(
    ("wanted", "positions"),
    [("cat", [1]), ("the", [0, 3]), ("the#2", [3]), ("0", [0]), ("-1", [4]), ("3", [4]), ("2", [2])],
)
def test_a_label_wins_over_a_position(wanted: str, positions: list[int]) -> None:
    assert find_label(wanted, LABELS, where="only") == positions


@pytest.mark.parametrize("wanted", ["dog", "the#3", "the#0", "5", "-6", "", "1.0"])
def test_an_unknown_label_is_an_error_with_the_key(wanted: str) -> None:
    with pytest.raises(AttnError, match=r"^only: "):
        find_label(wanted, LABELS, where="only")

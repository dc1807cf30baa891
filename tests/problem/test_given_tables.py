"""Scores and weights as keys: their axes, what contradicts them, what nothing reads beside them, and their labels."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.plan.build import keys_unread_by_plan
from tests.arrays import normal
from tests.problems import problem

ROW = [[1.7, 0.2, 0.8]]
COLUMN = [[1.0], [2.0], [3.0]]


@pytest.mark.parametrize(
    ("shape", "value", "keys", "axes", "output"),
    [
        ((2, 3), (3, 5), {}, "nm", (2, 5)),
        ((7, 2, 3), (7, 3, 5), {}, "bnm", (7, 2, 5)),
        ((7, 2, 3), (7, 3, 5), {"heads": 1}, "bnm", (7, 2, 5)),
        ((5, 2, 3), (3, 10), {"heads": 5}, "hnm", (2, 10)),
        ((7, 4, 2, 3), (7, 3, 8), {}, "bhnm", (7, 2, 8)),
        ((7, 4, 2, 3), (7, 3, 6), {"heads": 4, "kv_heads": 2}, "bhnm", (7, 2, 12)),
        ((7, 4, 2, 3), (7, 4, 3, 5), {}, "bhnm", (7, 4, 2, 5)),
        ((7, 4, 2, 3), (7, 2, 3, 5), {"heads": 4}, "bhnm", (7, 4, 2, 5)),
        ((1, 1, 2, 3), (1, 1, 3, 5), {}, "bhnm", (1, 1, 2, 5)),
        ((7, 2, 3), None, {}, "bnm", None),
        ((7, 2, 3), None, {"heads": 7}, "hnm", None),
        ((7, 4, 2, 3), None, {}, "bhnm", None),
    ],
)
def test_the_axes_of_given_scores(
    shape: tuple[int, ...], value: tuple[int, ...] | None, keys: dict[str, Any], axes: str, output: Any
) -> None:
    result = attncli.Problem(scores=normal(*shape), value=None if value is None else normal(*value), **keys).compute()
    assert "".join(result.trace["weights"].axes) == axes
    assert result.weights.shape == shape
    assert output is None or result.output.shape == output


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"scores": ROW, "weights": ROW}, "weights: scores and weights are both given, but weights follow from scores"),
        ({"scores": ROW, "query": [[1]]}, "query: scores are given, so query would not"),
        ({"weights": ROW, "key": COLUMN}, "key: weights are given, so key would not"),
        ({"scores": ROW, "embeddings": COLUMN, "w_q": [[1]]}, "w_q: scores are given, so w_q would not be used"),
        ({"scores": ROW, "past_key": COLUMN, "past_value": COLUMN}, "past_key: scores are given, so past_key would"),
        ({"scores": ROW, "embeddings": COLUMN, "value": COLUMN}, "embeddings: scores and value are given, so emb"),
        ({"scores": ROW, "value": COLUMN, "w_v": [[1]]}, "w_v: value is already projected, so w_v would not"),
        ({"scores": ROW, "past_value": COLUMN}, "past_value: the values after the cached ones are missing; give value"),
        ({"scores": ROW, "value": COLUMN[:2]}, "value has 2 rows (m); scores has 3 columns (m)"),
        (
            {"scores": ROW, "value": COLUMN, "past_value": COLUMN[:1]},
            "scores has 3 columns (m); past_value has 1 row (p), value has 3 rows (k)",
        ),
        (
            {"scores": normal(2, 1, 3), "value": COLUMN},
            "scores: has 3 axes; value has 2; expected [n m]; give heads if the first axis is heads",
        ),
        ({"scores": ROW, "heads": 2}, "scores: has 2 axes; heads is 2; expected [h n m]"),
        ({"scores": ROW, "value": normal(1, 3, 2)}, "scores: has 2 axes; value has 3; expected [b n m]"),
        ({"scores": ROW, "value": normal(1, 1, 3, 2)}, "scores: has 2 axes; value has 4; expected [b h n m]"),
        ({"scores": normal(2, 1, 1, 3), "value": normal(2, 3, 2)}, "scores: has 4 axes; value has 3; expected [b n m]"),
        ({"scores": normal(2, 1, 3), "heads": 3}, "heads: heads is 3; scores has 2 heads in [h n m]"),
        ({"scores": ROW, "tokens": ["the", "cat"]}, "tokens: there are 2 labels for 3 keys"),
        (
            {"scores": ROW, "value": COLUMN, "position": "sinusoidal"},
            "position: sinusoidal is added to embeddings, and",
        ),
        ({"scores": ROW, "value": COLUMN, "context": {"attentional": {"w": [[1, 1]]}}}, "context: attentional reads"),
        ({"weights": [[0.5, 0.5, 1]], "value": COLUMN, "context": "sample"}, "weights, row 1: sample draws with the"),
        ({"scores": [1, 2, 3]}, "scores: has 1 axis; expected rows of numbers"),
        ({"scores": "normal", "token_count": 3}, "seed: scores is drawn at random and there is no seed"),
        ({"scores": "normal", "seed": 1}, "token_count: scores is drawn and its size is not known; give token_count"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_contradicts_given_scores_or_weights(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(attncli.AttnError) as error:
        attncli.Problem(**keys)
    assert str(error.value).startswith(message)


MASKS = {
    "mask": [1, 1, 1],
    "bias": [0, 0, 0],
    "causal": True,
    "window": (1, 1),
    "key_lengths": 3,
    "key_mask": [1, 1, 1],
}
OF_SCORES = {"score": "dot", "qk_norm": "l2", "position": "rope"}
OF_WEIGHTS = {"scale": 2.0, "softcap": 2.0, "sink": 1.0, "normalize": "sparsemax", **MASKS}


def test_nothing_reads_what_makes_the_given_table() -> None:
    unread = keys_unread_by_plan(problem(scores=ROW, value=COLUMN, **OF_SCORES, **OF_WEIGHTS))
    assert unread == dict.fromkeys(OF_SCORES, "scores are given")
    unread = keys_unread_by_plan(problem(weights=ROW, value=COLUMN, **OF_SCORES, **OF_WEIGHTS))
    assert unread == dict.fromkeys((*OF_SCORES, *OF_WEIGHTS), "weights are given")
    assert keys_unread_by_plan(problem(weights=ROW, value=COLUMN, position="alibi")) == {
        "position": "weights are given"
    }
    assert keys_unread_by_plan(problem(scores=ROW, position="alibi")) == {}


def test_a_scale_is_multiplied_into_given_scores_before_softcap_and_masks() -> None:
    keys = {"scale": 2, "softcap": 5, "causal": True}
    scaled = attncli.Problem(scores=[[1, 2, -3]], **keys).compute(("scores", "capped_scores", "masked_scores"))
    capped = np.tanh(np.array([[2, 4, -6]]) / 5) * 5
    assert scaled.scores.tolist() == [[2, 4, -6]]
    assert scaled.capped_scores == pytest.approx(capped)
    assert scaled.masked_scores.tolist() == [[pytest.approx(capped[0, 0]), -np.inf, -np.inf]]


def test_nothing_reads_what_makes_an_output_without_values() -> None:
    of_output = {"w_o": [[1]], "b_o": [1], "b_v": [1], "w_v": [[1]], "context": "max", "position": "sinusoidal"}
    assert problem(scores=ROW, **of_output).unread == dict.fromkeys(of_output, "there are no values")


@pytest.mark.parametrize(
    ("table", "weights"), [("scores", [[0.6136, 0.1369, 0.2495]]), ("weights", ROW)], ids=["scores", "weights"]
)
@pytest.mark.parametrize("name", ["output", "context", "present_value"])
def test_without_values_there_is_no_output(name: str, table: str, weights: list[list[float]]) -> None:
    spec = attncli.Problem(**{table: ROW})
    assert spec.compute().weights.round(4).tolist() == weights
    assert "output" not in spec.default_selection
    with pytest.raises(attncli.AttnError, match=f"^{name} is not computed: there are no values; give value$"):
        spec.compute(name)


@pytest.mark.parametrize(
    ("table", "name"), [("weights", "scores"), ("weights", "masked_scores"), ("scores", "present_key")]
)
def test_results_before_the_given_table_are_not_computed(table: str, name: str) -> None:
    expected = f"^{name} is not computed: {table} are given; give query and key instead of {table}$"
    with pytest.raises(attncli.AttnError, match=expected):
        attncli.Problem(**{table: ROW}, value=COLUMN).compute(name)


def test_the_rows_and_columns_of_a_square_table_beside_embeddings_are_the_tokens() -> None:
    square = normal(3, 3)
    assert problem(scores=square, embeddings=COLUMN).query_labels == ("token_1", "token_2", "token_3")
    assert problem(scores=square, tokens=["a", "b", "c"]).query_labels == ("a", "b", "c")
    assert problem(scores=square).query_labels == ("query_1", "query_2", "query_3")
    assert problem(scores=ROW, embeddings=COLUMN).query_labels == ("query_1",)
    labelled = problem(scores={"le": [1, 2, 3]}, value={"the": [1], "cat": [2], "sat": [3]})
    assert (labelled.query_labels, labelled.key_labels) == (("le",), ("the", "cat", "sat"))


def test_minus_infinity_in_given_scores_is_a_hidden_key_without_a_warning() -> None:
    result = attncli.Problem(scores=[[0, -np.inf], [-np.inf, -np.inf]], value=[[1], [np.nan]]).compute()
    assert result.weights.tolist() == [[1, 0], [0, 0]]
    assert result.output.tolist() == [[1], [0]]
    assert [note.count("query_2") for note in result.trace.notes] == [1]


def test_an_empty_row_of_given_weights_is_said() -> None:
    result = attncli.Problem(weights=[[0, 0], [1, 1]], value=[[1], [2]]).compute()
    assert result.output.tolist() == [[0], [3]]
    assert [note.count("query_1") for note in result.trace.notes] == [1]


@pytest.mark.parametrize(
    ("keys", "shape"),
    [
        ({"token_count": 3}, (3, 3)),
        ({"token_count": 3, "heads": 2}, (2, 3, 3)),
        ({"value": COLUMN}, (3, 3)),
        ({"value": COLUMN, "query_tokens": ["a", "b"]}, (2, 3)),
        ({"value": normal(5, 3, 4), "heads": 2}, (5, 2, 3, 3)),
        ({"value": normal(5, 2, 3, 4)}, (5, 2, 3, 3)),
        ({"token_count": 3, "dim": 2}, (3, 3)),
    ],
)
def test_scores_are_drawn_in_the_sizes_of_the_values_or_of_token_count(
    keys: dict[str, Any], shape: tuple[int, ...]
) -> None:
    spec = problem(scores="randint", seed=1, **keys)
    assert spec.scores is not None
    assert spec.scores.shape == shape
    assert ("output" in spec.not_computed) == ("value" not in keys and "dim" not in keys)


@pytest.mark.parametrize(
    ("value", "keys", "shape"),
    [
        ((5, 3), {}, (5, 5)),
        ((2, 5, 3), {}, (2, 5, 5)),
        ((2, 4, 5, 3), {}, (2, 4, 5, 5)),
        ((5, 8), {"heads": 2}, (2, 5, 5)),
        ((2, 5, 8), {"heads": 2}, (2, 2, 5, 5)),
        ((2, 1, 5, 3), {"heads": 4}, (2, 4, 5, 5)),
    ],
)
def test_a_drawn_table_has_a_row_and_a_column_for_each_value_of_each_item_and_head(
    value: tuple[int, ...], keys: dict[str, int], shape: tuple[int, ...]
) -> None:
    scores = problem(scores="normal", value=normal(*value), seed=1, **keys).scores
    assert scores is not None
    assert scores.shape == shape

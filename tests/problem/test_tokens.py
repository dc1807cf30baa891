"""The vectors of tokens: sentences, tables that are looked up, and residual streams."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.plan.build import keys_unread_by_plan
from attncli.problem.tokens import distinct_words, embed
from attncli.problem.vocabularies import FEATURES, SMALL
from tests.problems import problem, write_file

WORDS = {"the": 1.0, "cat": 2.0, "sat": 3.0, "on": 4.0, "mat": 5.0}
VOCABULARY = {word: np.array([number]) for word, number in WORDS.items()}


def test_a_repeated_word_has_the_same_vector() -> None:
    tokens, vectors = embed("The cat sat on the mat.", VOCABULARY)
    assert tokens == ("the", "cat", "sat", "on", "the", "mat")
    assert vectors[:, 0].tolist() == [1, 2, 3, 4, 1, 5]


def test_the_second_occurrence_may_have_a_vector_of_its_own() -> None:
    _, vectors = embed("The cat sat on the mat.", VOCABULARY | {"the#2": np.array([9.0])})
    assert vectors[:, 0].tolist() == [1, 2, 3, 4, 9, 5]


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("cat, mat!", ("cat", "mat")),
        ("  CAT\n\tMat ", ("cat", "mat")),
        ("“cat”—mat…", ("cat", "mat")),
        ("(on) the.cat", ("on", "the", "cat")),
    ],
)
def test_punctuation_and_capitals_do_not_matter(sentence: str, tokens: tuple[str, ...]) -> None:
    assert embed(sentence, VOCABULARY)[0] == tokens


@pytest.mark.parametrize("word", ["naïve", "नमस्ते", "cafe\u0301", "привет", "日本", "l'eau", "well-known", "x2"])
def test_a_word_of_any_script_is_one_word(word: str) -> None:
    tokens, _ = embed(f"The {word}, the.", VOCABULARY | {word: np.array([9.0])})
    assert tokens == ("the", word, "the")


def test_a_vector_of_an_occurrence_is_for_that_one_alone() -> None:
    _, vectors = embed("the the The", VOCABULARY | {"the#2": np.array([9.0])})
    assert vectors[:, 0].tolist() == [1, 9, 1]


def test_a_word_is_looked_up_before_its_lower_case() -> None:
    vocabulary = {"may": np.array([1.0]), "May": np.array([2.0]), "don't": np.array([3.0]), "Äpfel": np.array([4.0])}
    tokens, vectors = embed("May may don't äpfel", vocabulary)
    assert tokens == ("May", "may", "don't", "Äpfel")
    assert vectors[:, 0].tolist() == [2, 1, 3, 4]


@pytest.mark.parametrize(
    ("sentence", "message"),
    [("the catt", "sentence: unknown word 'catt'; did you mean 'cat'?"), ("...", "sentence: has no words")],
)
def test_an_unknown_word_is_an_error(sentence: str, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        embed(sentence, VOCABULARY)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("the cat sat on the mat", ("the", "cat", "sat", "on", "mat")),
        ("The cat saw the dog", ("the", "cat", "saw", "dog")),
        ("Haus house Haus", ("Haus", "house")),
        ("THE The", ("THE",)),
    ],
)
def test_different_words_are_in_the_order_of_their_first_appearance(sentence: str, words: tuple[str, ...]) -> None:
    assert distinct_words(sentence) == words


def test_a_vector_is_drawn_for_each_different_word_where_there_is_no_vocabulary() -> None:
    spec = problem(sentence="The cat saw the dog", dim=3, seed=1, init="normal")
    vectors = np.random.default_rng(1).standard_normal((4, 3))
    assert spec.tokens == ("the", "cat", "saw", "the", "dog")
    np.testing.assert_array_equal(spec.embeddings, vectors[[0, 1, 2, 0, 3]])
    assert list(spec.vocabulary or {}) == ["the", "cat", "saw", "dog"]


def test_projections_are_drawn_after_the_words_as_after_embeddings() -> None:
    drawn = problem(sentence="the cat the", dim=3, seed=1, init="randint")
    given = problem(embeddings="randint", token_count=2, init="randint", dim=3, seed=1)
    np.testing.assert_array_equal(drawn.w_q, given.w_q)
    np.testing.assert_array_equal(drawn.embeddings[:2], given.embeddings)


def test_words_may_be_the_keys_of_given_queries() -> None:
    spec = problem(sentence="the cat", dim=2, seed=1, query=[[1, 0]])
    assert spec.key_labels == ("the", "cat")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"sentence": "the cat", "embeddings": [[1, 2]]},
            "embeddings: sentence and embeddings are both given; leave out one of them",
        ),
        ({"vocabulary": {"the": [1, 2]}}, "sentence: vocabulary is given without sentence; give both"),
        (
            {"sentence": "the cat", "vocabulary": [[1, 2]]},
            "vocabulary: has no words; expected a vector for each word, as in {cat: [.4, .5]}, or small",
        ),
    ],
)
def test_what_contradicts_a_sentence_is_an_error(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**keys)
    assert str(caught.value) == message


def test_a_sentence_needs_nothing_else_and_is_drawn_from_numpys_stream_of_seed_0() -> None:
    stream = np.random.default_rng(0)
    spec = problem(sentence="the cat the")
    assert [spec.tokens, spec.seed, spec.dim] == [("the", "cat", "the"), 0, None]
    vectors = stream.standard_normal((2, 8))
    np.testing.assert_array_equal(spec.embeddings, vectors[[0, 1, 0]])
    for weights in (spec.w_q, spec.w_k, spec.w_v):
        np.testing.assert_allclose(weights, stream.standard_normal((8, 8)) / np.sqrt(8), rtol=1e-15)


def test_a_projection_that_is_drawn_for_a_sentence_keeps_the_size_of_what_it_projects() -> None:
    spec = problem(sentence="a b", dim=400, d_k=25, d_v=100, heads=5, seed=3)
    assert {
        name: round(float(getattr(spec, name).std() * np.sqrt(rows)), 1)
        for name, rows in (("w_q", 400), ("w_k", 400), ("w_v", 400), ("w_o", spec.w_o.shape[0]))
    } == dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), 1.0)


@pytest.mark.parametrize("keys", [{"init": "randint"}, {"generator": "legacy"}])
def test_a_sentence_whose_generator_is_named_is_drawn_as_it_was(keys: dict[str, Any]) -> None:
    spec = problem(sentence="the cat", dim=3, seed=1, **keys)
    assert set(np.concatenate([spec.embeddings, spec.w_q, spec.w_k, spec.w_v]).flat) <= {0, 1, 2}


def test_words_of_the_small_vocabulary_have_a_1_for_each_of_their_features() -> None:
    spec = problem(sentence="The queen saw horses", vocabulary="small")
    features = [[FEATURES[at] for at in np.flatnonzero(row)] for row in spec.embeddings]
    assert features == [["function"], ["person", "female"], ["action"], ["animal", "plural"]]
    assert set(spec.embeddings.flat) == {0, 1}


def test_every_word_of_the_small_vocabulary_is_there_once_and_has_features_that_are_named() -> None:
    words = [word for group in SMALL.values() for word in group.split()]
    assert len(set(words)) == len(words) > 60
    assert {feature for group in SMALL for feature in group.split()} == set(FEATURES)


TABLE = [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]
POSITIONS = [[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 8]]
LAYER = f"""
embeddings: normal
token_count: 5
residual_norm: rms
token_table: {TABLE}
token_positions: {POSITIONS}
token_scale: 2
w_q: {np.eye(4).tolist()}
"""
# rms of [3, 4, 0, 0] is √(25/4) = 2.5, of [0, 6, 8, 0] is 5.
STREAM = [[3, 4, 0, 0], [0, 6, 8, 0]]
NORMALIZED = [[1.2, 1.6, 0, 0], [0, 1.2, 1.6, 0]]


def embeddings_of(**keys: Any) -> np.ndarray:
    """The attention's input of a problem."""
    value: np.ndarray = attncli.Problem(**keys).compute().trace["embeddings"].value
    return value


def test_a_residual_stream_is_normalized() -> None:
    np.testing.assert_allclose(embeddings_of(residual=STREAM, residual_norm="rms"), NORMALIZED)


def test_the_norm_of_a_residual_stream_has_a_gain() -> None:
    norm = {"rms": {"gain": [9, 4, 0, 0], "gain_plus_one": True}}
    np.testing.assert_allclose(embeddings_of(residual=STREAM, residual_norm=norm), [[12, 8, 0, 0], [0, 6, 1.6, 0]])


def test_a_residual_stream_without_a_norm_is_the_input() -> None:
    assert embeddings_of(residual=STREAM).tolist() == STREAM


def test_each_batch_item_has_a_residual_stream() -> None:
    both = embeddings_of(residual=[STREAM, STREAM[::-1]], residual_norm="rms")
    np.testing.assert_allclose(both, [NORMALIZED, NORMALIZED[::-1]])


def test_tokens_are_scaled_before_their_positions_are_added() -> None:
    keys = {"tokens": [2, 1, 2], "token_table": TABLE, "token_positions": POSITIONS, "token_scale": 3}
    assert embeddings_of(**keys).tolist() == [[3, 3, 3, 3], [1, 6, 0, 6], [5, 3, 3, 3]]


def test_positions_are_counted_after_the_cache() -> None:
    cache = {"past_key": [[0, 0, 0, 0]] * 3, "past_value": [[0, 0, 0, 0]] * 3}
    keys = {"tokens": [0], "token_table": TABLE, "token_positions": POSITIONS, **cache}
    assert embeddings_of(**keys).tolist() == [[1, 0, 1, 8]]


def test_given_positions_name_the_rows_that_are_added() -> None:
    made = attncli.Problem(tokens=[0, 0], token_table=TABLE, token_positions=POSITIONS, positions=[3, 1])
    assert made.compute().trace["embeddings"].value.tolist() == [[1, 0, 1, 8], [2, 0, 1, 0]]
    assert dict(keys_unread_by_plan(made.spec)) == {}


TYPES = [[0, 1, 0, 0], [0, 0, 0, 9]]


@pytest.mark.parametrize(
    ("ids", "expected"), [(None, [[2, 1, 0, 0], [0, 3, 0, 0]]), ([1, 0], [[2, 0, 0, 9], [0, 3, 0, 0]])]
)
def test_a_vector_for_the_type_of_each_token_is_added(ids: list[int] | None, expected: list[list[int]]) -> None:
    table = [[0, 2, 0, 0], [2, 0, 0, 0]]
    assert embeddings_of(tokens=[1, 0], token_table=table, token_types=TYPES, token_type_ids=ids).tolist() == expected


def test_the_vectors_of_tokens_are_normalized_before_the_norm_of_the_layer() -> None:
    keys = {"tokens": [0, 1], "token_table": [[2, 4, 0, 0], [0, 5, 6, 0]], "token_types": TYPES, "token_scale": 1.5}
    keys |= {"token_positions": [[0, -3, 0, 0], [0, -2.5, -1, 0]], "token_norm": {"rms": {"gain": [1, 2, 3, 4]}}}
    # Before the norm they are STREAM: NORMALIZED times the gain.
    normalized = [[1.2, 3.2, 0, 0], [0, 2.4, 4.8, 0]]
    np.testing.assert_allclose(embeddings_of(**keys), normalized)
    twice = embeddings_of(**keys, residual_norm="l2")
    np.testing.assert_allclose(twice, [np.array([3, 8, 0, 0]) / np.sqrt(73), np.array([0, 1, 2, 0]) / np.sqrt(5)])


def test_the_tokens_are_the_labels() -> None:
    assert problem(tokens=[2, 1], token_table=TABLE).key_labels == ("2", "1")


def test_the_tokens_of_a_batch_of_one_are_a_list() -> None:
    assert problem(tokens=np.array([[2, 1]]), token_table=TABLE).key_labels == ("2", "1")


def test_a_number_of_a_tokens_row_is_set_by_the_token() -> None:
    made = attncli.Problem(tokens=[2, 1, 2], token_table=TABLE).set({"token_table[1,0]": 7, "token_table[2#2,0]": 9})
    assert made.compute().trace["embeddings"].value.tolist() == [[1, 1, 1, 1], [7, 2, 0, 2], [9, 1, 1, 1]]


def test_embeddings_that_are_computed_can_not_be_set() -> None:
    with pytest.raises(AttnError, match="embeddings is computed; set a number of residual, w_q"):
        attncli.Problem(residual=STREAM, w_q=np.eye(4)).set({"embeddings[0,0]": 1})


@pytest.mark.parametrize(
    ("over_file", "expected"),
    [
        ({"residual": STREAM}, NORMALIZED),
        ({"embeddings": STREAM}, STREAM),
        ({"tokens": [1]}, np.array([[0, 4, 0, 4]]) / np.sqrt(8)),
    ],
    ids=["residual", "embeddings", "tokens"],
)
def test_what_is_given_takes_the_place_of_drawn_embeddings(tmp_path: Path, over_file: Any, expected: Any) -> None:
    layer = attncli.load(write_file(tmp_path, LAYER), **over_file)
    np.testing.assert_allclose(layer.compute().trace["embeddings"].value, expected)
    assert dict(layer.spec.unread) == {}


def test_the_file_of_a_layer_is_tried_with_a_seed(tmp_path: Path) -> None:
    layer = attncli.load(write_file(tmp_path, LAYER), seed=1)
    assert layer.compute().output.shape == (5, 4)
    assert layer.residual_norm is None  # what is drawn is the attention's own input


def test_without_a_seed_the_error_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(AttnError, match=r"embeddings=FILE .* residual=FILE .* tokens=\[464,3797\] .*"):
        attncli.load(write_file(tmp_path, LAYER))


def test_a_residual_stream_of_a_file_gives_way_to_embeddings(tmp_path: Path) -> None:
    path = write_file(tmp_path, f"residual: {STREAM}\nresidual_norm: rms\n")
    assert attncli.load(path, embeddings=[[1, 2]]).compute().trace["embeddings"].value.tolist() == [[1, 2]]


def test_a_key_beside_embeddings_that_nothing_reads_has_a_reason() -> None:
    spec = problem(embeddings=STREAM, token_scale=2, residual_norm="rms")
    reason = "embeddings are the attention's own input"
    assert spec.unread == {"token_scale": reason, "residual_norm": reason}


def test_the_type_of_a_table_that_is_not_read_does_not_decide() -> None:
    keys = {"embeddings": np.ones((2, 3), np.float32), "token_table": np.ones((2, 3), np.float64)}
    assert problem(**keys).dtype == "float32"


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"residual": STREAM, "embeddings": STREAM}, "residual: residual and embeddings are both given"),
    ({"residual": STREAM, "sentence": "a", "vocabulary": {"a": [1]}}, "residual and sentence are both given"),
    ({"token_table": TABLE}, "tokens: token_table is given without tokens"),
    (
        {"token_table": TABLE, "tokens": ["the"]},
        "tokens: 'the' is not the number of a token; give the numbers of the tok",
    ),
    ({"token_table": TABLE, "tokens": [60000]}, "tokens: there is no token 60000; token_table has 3 rows: 0 to 2"),
    ({"token_table": TABLE, "tokens": [[0, 1], [1, 2]]}, "tokens: [0, 1] is not a label; give one list of labels"),
    ({"token_table": TABLE, "tokens": [-1]}, "tokens: there is no token -1"),
    (
        {"token_table": TABLE, "tokens": [0] * 5, "token_positions": POSITIONS},
        "token_positions: has 4 rows, and a token is at position 4",
    ),
    (
        {"token_table": TABLE, "tokens": [0], "token_positions": POSITIONS, "positions": [0.5]},
        "positions: 0.5 is not a whole number; token_positions has one row for each position",
    ),
    (
        {"token_table": TABLE, "tokens": [0], "token_positions": POSITIONS, "positions": [0, 1]},
        "positions: has the shape [2]; there is 1 token; expected [1]",
    ),
    (
        {"token_table": TABLE, "tokens": [0], "token_types": TYPES, "token_type_ids": [2]},
        "token_types: has 2 rows, and a token is of type 2; give a row for each type, counted from 0",
    ),
    (
        {"token_table": TABLE, "tokens": [0], "token_types": TYPES, "token_type_ids": [1, 0]},
        "token_type_ids: has the shape [2]; there is 1 token; expected [1]",
    ),
    ({"token_table": TABLE, "tokens": [0], "token_type_ids": [0]}, "token_type_ids: is given without token_types"),
    ({"token_table": TABLE, "tokens": [0], "token_positions": [[1, 2]]}, "token_positions has 2 columns (x)"),
    ({"residual": STREAM, "query": STREAM, "key": STREAM}, "query and key are given, so residual would not be used"),
    (
        {"residual": STREAM, "residual_norm": {"layer": {"gain": [1, 2]}}},
        "residual_norm, gain has 2 numbers (x); residual has 4 columns (x)",
    ),
    ({"residual": STREAM, "w_q": [[1], [2]]}, "w_q has 2 rows (x); residual has 4 columns (x)"),
]


@pytest.mark.parametrize(("keys", "message"), ERRORS, ids=[message for _, message in ERRORS])
def test_what_does_not_fit_is_an_error(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**keys)
    assert message in str(caught.value)

"""A sentence as embeddings: each word by its vector in the vocabulary."""

from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.problem.tokens import distinct_words, embed
from tests.problems import problem

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
    drawn = problem(sentence="the cat the", dim=3, seed=1)
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
            {},
            "vocabulary: sentence is given without vocabulary; give both, or dim and seed, by which a vector is drawn",
        ),
        ({"dim": 2}, "seed: vocabulary is drawn at random and there is no seed"),
        ({"init": "normal", "seed": 1}, "dim: vocabulary is drawn and its size is not known; give dim"),
        ({"dim": 2, "seed": 1, "embeddings": [[1, 2]]}, "embeddings: sentence and embeddings are both given"),
    ],
)
def test_what_is_missing_to_draw_the_words_is_an_error(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(sentence="the cat", **keys)
    assert str(caught.value).startswith(message)

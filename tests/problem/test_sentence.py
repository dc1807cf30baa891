"""A sentence as embeddings: each word by its vector in the vocabulary."""

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.problem.sentence import embed

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

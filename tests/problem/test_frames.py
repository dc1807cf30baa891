"""Data frames, by a stand-in for those of pandas (with an index) and of Polars (without one)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import attncli


class Column:
    """A column of a data frame."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.array = np.array(values, dtype=None if all(isinstance(value, float) for value in values) else object)

    def to_numpy(self) -> np.ndarray:
        return self.array

    def to_list(self) -> list[Any]:
        return list(self.array.tolist())


class Frame:
    """A data frame of named columns; its `index`, where it has one, names the rows."""

    def __init__(self, columns: dict[Any, Sequence[Any]], index: Sequence[Any] | None = None) -> None:
        self.data = {name: Column(values) for name, values in columns.items()}
        self.columns = list(columns)
        if index is not None:
            self.index = np.array(index)

    def __getitem__(self, name: Any) -> Column:
        return self.data[name]

    def to_numpy(self) -> np.ndarray:
        return np.stack([column.to_numpy() for column in self.data.values()], axis=1)


NUMBERS = {"x1": [1.0, 3.0], "x2": [2.0, 4.0]}
WORDS = {"token": ["cat", "sat"]}


@pytest.mark.parametrize(
    ("frame", "labels"),
    [
        (Frame(NUMBERS, ["cat", "sat"]), ("cat", "sat")),
        (Frame(WORDS | NUMBERS), ("cat", "sat")),
        (Frame(NUMBERS | WORDS, [0, 1]), ("cat", "sat")),
        (Frame(NUMBERS, [0, 1]), ("token_1", "token_2")),
        (Frame(NUMBERS, [7592, 101]), ("token_1", "token_2")),
        (Frame(NUMBERS), ("token_1", "token_2")),
    ],
    ids=["an index", "a first column", "a last column", "positions", "numbers", "nothing"],
)
def test_the_words_of_a_frame_are_the_tokens(frame: Frame, labels: tuple[str, ...]) -> None:
    problem = attncli.Problem(embeddings=frame)
    assert problem.key_labels == labels
    assert problem.embeddings.tolist() == [[1, 2], [3, 4]]


def test_queries_and_keys_have_labels_of_their_own() -> None:
    queries = Frame({"word": ["who"], "x1": [1.0], "x2": [2.0]})
    result = attncli.attention(queries, Frame(WORDS | NUMBERS))
    assert (result.query_tokens, result.key_tokens) == (("who",), ("cat", "sat"))


def test_the_columns_of_scores_are_keys_and_their_rows_queries() -> None:
    scores = {"cat": [1.0, 3.0], "sat": [2.0, 4.0]}
    for frame in (Frame(scores, ["who", "what"]), Frame({"query": ["who", "what"]} | scores)):
        problem = attncli.Problem(scores=frame)
        assert (problem.query_labels, problem.key_labels) == (("who", "what"), ("cat", "sat"))


def test_the_names_that_polars_makes_up_are_no_labels() -> None:
    frame = Frame({"column_0": [1.0, 3.0], "column_1": [2.0, 4.0]})
    assert attncli.Problem(scores=frame).key_labels == ("key_1", "key_2")


def test_a_column_of_words_may_be_a_vocabulary_or_tokens() -> None:
    frame = Frame(WORDS | NUMBERS)
    assert attncli.Problem(sentence="sat cat", vocabulary=frame).embeddings.tolist() == [[3, 4], [1, 2]]
    assert attncli.Problem(embeddings=[[1.0], [2.0]], tokens=frame["token"].to_numpy()).tokens == ("cat", "sat")


@pytest.mark.parametrize(
    ("frame", "columns"),
    [
        (Frame(WORDS | {"other": ["a", "b"]} | NUMBERS), "token, other"),
        (Frame(WORDS), "token"),
        (Frame(WORDS | NUMBERS, ["a", "b"]), "token"),
    ],
    ids=["two columns of words", "words alone", "words in the index too"],
)
def test_other_columns_of_words_are_no_numbers(frame: Frame, columns: str) -> None:
    with pytest.raises(
        attncli.AttnError, match=rf"^embeddings: .* is not a matrix; leave out its columns of words: {columns}$"
    ):
        attncli.Problem(embeddings=frame)


def test_the_labels_of_a_frame_win_over_the_tokens_of_what_it_replaces() -> None:
    problem = attncli.Problem(embeddings=[[1.0, 2.0], [3.0, 4.0]], tokens=["a", "b"])
    assert problem.replace(embeddings=Frame(WORDS | NUMBERS)).tokens == ("cat", "sat")
    assert problem.replace(embeddings=Frame(WORDS | NUMBERS), tokens=["c", "d"]).tokens == ("c", "d")
    assert problem.replace(embeddings=np.eye(2)).tokens == ("a", "b")

"""Data frames of Polars, which have no index: a column of words has the labels."""

import numpy as np
import pytest

import attncli

pl = pytest.importorskip("polars")


def test_a_column_of_words_has_the_labels() -> None:
    keys = pl.DataFrame({"token": ["cat", "sat"], "x1": [1, 2], "x2": [3.0, 4.0]})
    queries = pl.DataFrame({"x1": [1, 0], "x2": [0, 1], "who": ["a", "b"]})
    result = attncli.attention(queries, keys, tokens=keys["token"])
    assert (result.query_tokens, result.key_tokens) == (("a", "b"), ("cat", "sat"))
    np.testing.assert_array_equal(result.output, attncli.attention(np.eye(2), [[1, 3], [2, 4]]).output)


def test_names_of_columns_are_keys_of_scores_but_not_those_that_were_made_up() -> None:
    scores = pl.DataFrame({"query": ["who"], "cat": [1], "sat": [2]})
    result = attncli.attention(scores=scores)
    assert (result.query_tokens, result.key_tokens) == (("who",), ("cat", "sat"))
    assert attncli.attention(scores=pl.DataFrame(np.eye(2))).key_tokens == ("key_1", "key_2")


def test_a_frame_is_a_vocabulary() -> None:
    vocabulary = pl.DataFrame({"word": ["cat", "sat"], "x": [1.0, 2.0]})
    assert attncli.Problem(sentence="sat cat", vocabulary=vocabulary).embeddings.tolist() == [[2], [1]]

"""A sentence that a tokenizer splits: the rows of its tokens, their labels, and what has precedence over it."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.problem.draft import Draft
from attncli.problem.tokens import split_sentence
from tests.problems import Letters, problem, write_file

TABLE = [[1, 0], [0, 2], [3, 3]]
LAYER = f"""
sentence: aba
tokenizer: missing/tokenizer.json
embeddings: normal
token_count: 5
token_table: {TABLE}
"""


def test_the_tokens_of_a_sentence_are_rows_of_the_table_and_their_texts_are_labels() -> None:
    spec = problem(sentence="cab", tokenizer=Letters(), token_table=TABLE)
    assert spec.embeddings.tolist() == [[3, 3], [1, 0], [0, 2]]
    assert (spec.key_labels, spec.sentence) == (("c", "a", "b"), None)


def test_labels_of_the_users_own_replace_those_of_the_tokenizer() -> None:
    keys = {"sentence": "cab", "tokenizer": Letters(), "token_table": TABLE}
    assert problem(**keys, tokens=["x", "y", "z"]).key_labels == ("x", "y", "z")
    with pytest.raises(AttnError, match="tokens: are 2, but the tokenizer splits the sentence into 3; leave them out"):
        problem(**keys, tokens=["x", "y"])


def test_without_a_table_the_tokens_are_labels() -> None:
    spec = problem(sentence="ab", tokenizer=Letters(), residual=[[5, 0], [0, 7]])
    assert (spec.key_labels, spec.embeddings.tolist()) == (("a", "b"), [[5, 0], [0, 7]])


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"embeddings": [[1, 2]]}, "there is no sentence"),
        ({"sentence": "the cat", "vocabulary": "small"}, "vocabulary has the vectors of the words"),
    ],
)
def test_a_tokenizer_that_is_not_read_has_a_reason(keys: dict[str, Any], reason: str) -> None:
    assert problem(**keys, tokenizer=Letters()).unread["tokenizer"] == reason


@pytest.mark.parametrize(
    ("keys", "embeddings"),
    [
        ({"tokens": [2, 1]}, [[3, 3], [0, 2]]),
        ({"embeddings": [[8, 9]]}, [[8, 9]]),
        ({"residual": [[8, 9]]}, [[8, 9]]),
        ({"tokenizer": Letters()}, [[1, 0], [0, 2], [1, 0]]),
        ({"tokenizer": Letters(), "sentence": "c"}, [[3, 3]]),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_what_is_given_takes_the_place_of_the_sentence_of_a_file(keys: Any, embeddings: Any, tmp_path: Path) -> None:
    layer = attncli.load(write_file(tmp_path, LAYER), **keys)
    assert np.array(layer.embeddings).tolist() == embeddings
    assert dict(layer.spec.unread) == {}


def test_a_text_that_is_not_split_needs_a_tokenizer() -> None:
    with pytest.raises(AttnError, match=r"tokenizer: is not a tokenizer; name a file tokenizer\.json, or give"):
        problem(sentence="a", tokenizer="tokenizer.json", token_table=TABLE)
    with pytest.raises(AttnError, match="sentence: has no tokens"):
        problem(sentence="", tokenizer=Letters(), token_table=TABLE)


def test_a_sentence_over_a_table_of_a_file_needs_a_tokenizer(tmp_path: Path) -> None:
    file = write_file(tmp_path, f"token_table: {TABLE}\nembeddings: normal\n")
    with pytest.raises(AttnError, match="sentence: token_table has rows of numbers, not of words; give tokenizer="):
        attncli.load(file, sentence="the cat")


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(AttnError, match=r"sentence: needs the package tokenizers; .* pip install 'attncli\[models\]'"):
        attncli.load(write_file(tmp_path, LAYER))


def test_nothing_is_split_where_there_is_no_tokenizer() -> None:
    draft = Draft({"sentence": "the cat"})
    assert split_sentence(draft) is draft

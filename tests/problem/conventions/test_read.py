"""Reading the words of a problem as a framework reads them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import UnknownNameError
from attncli.problem.build import build
from attncli.problem.conventions import CONVENTIONS
from attncli.problem.conventions.attn import ATTN
from attncli.problem.spec import FIELDS, ProblemSpec

QUERY, KEY = {"query": [[1, 0], [0, 1]]}, {"key": [[1, 0], [0, 1], [1, 1]]}
CACHE = {"past_key": [[1, 1]], "past_value": [[2, 2]]}


def read(convention: str, **keys: Any) -> ProblemSpec:
    """The problem of two queries and three keys, read by a convention."""
    return build({**QUERY, **KEY, **keys}, convention=convention)


# A convention, the words given, and the keys in force.
READINGS: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
    ("torch-sdpa", {"mask": [[1, 0, 0]]}, {"mask": [[True, False, False]]}),
    ("torch-sdpa", {"causal": True}, {"align": "top_left", "empty_rows": "zeros"}),
    ("torch-sdpa", {"causal": True, **CACHE}, {"align": "first_key"}),
    ("torch-sdpa", {"causal": True, **CACHE, "align": "bottom_right"}, {"align": "bottom_right"}),
    ("torch-mha", {"mask": [[1, 0, 0]]}, {"mask": [[False, True, True]], "empty_rows": "nan"}),
    ("torch-mha", {"key_mask": [0, 0, 1]}, {"key_mask": [True, True, False]}),
    ("torch-mha", {"empty_rows": "zeros"}, {"empty_rows": "zeros"}),
    ("flash", {"causal": True}, {"align": "bottom_right"}),
    ("flash", {"window": [1, 0]}, {"align": "bottom_right", "window": (1, 0)}),
    ("flash", {"position": "alibi"}, {"align": "bottom_right"}),
    ("flash", {"position": "rope"}, {"align": "top_left"}),
    ("flash", {"causal": True, "align": "top_left"}, {"align": "top_left"}),
]


@pytest.mark.parametrize(("convention", "words", "expected"), READINGS)
def test_words_are_read_as_the_framework_reads_them(
    convention: str, words: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    spec = read(convention, **words)
    for key, value in expected.items():
        np.testing.assert_array_equal(getattr(spec, key), value)


def test_weights_of_torch_mha_are_stored_out_in() -> None:
    keys = {"embeddings": [[1, 2]], "w_q": [[1, 2], [3, 4]], "w_k": [[1, 0], [0, 1]]}
    as_given = build(keys)
    as_mha = build(keys, convention="torch-mha")
    explicit = build({**keys, "weight_layout": "in_out"}, convention="torch-mha")
    assert as_given.w_q is not None
    assert as_mha.w_q is not None
    np.testing.assert_array_equal(as_mha.w_q, as_given.w_q.T)
    np.testing.assert_array_equal(explicit.w_q, as_given.w_q)


# What is said of words: read otherwise than attn reads them, and not had.
SAYINGS: list[tuple[str, Mapping[str, Any], list[str], list[str]]] = [
    ("torch-sdpa", {"mask": [[1, 0, 0]]}, [], []),
    ("torch-sdpa", {"causal": False, "score": "scaled_dot"}, [], []),
    ("torch-sdpa", {"softcap": 2}, [], ["torch-sdpa has no softcap: read as attn reads it"]),
    ("torch-mha", {"mask": [[1, 0, 0]]}, ["mask: 1 or true hides"], []),
    ("torch-mha", {"scale": 2}, [], ["torch-mha has no scale: read as attn reads it"]),
    ("flash", {"mask": [[1, 0, 0]]}, [], ["flash has no mask: read as attn reads it"]),
    ("flash", {"position": "rope"}, [], ["flash has no position rope: read as attn reads it"]),
    ("attn", {"normalize": "sparsemax", "position": "rope", "softcap": 2, "mask": [[1, 0, 0]]}, [], []),
    (
        "torch-sdpa",
        {"causal": True, "mask": [[1, 0, 0]]},
        [],
        ["torch-sdpa does not take mask and causal together: read as attn reads them"],
    ),
]


@pytest.mark.parametrize(("convention", "words", "changes", "remarks"), SAYINGS)
def test_what_is_read_otherwise_and_what_is_lacking_is_said(
    convention: str, words: Mapping[str, Any], changes: list[str], remarks: list[str]
) -> None:
    use = read(convention, **words).convention
    assert use is not None
    assert use.name == convention
    assert list(use.changes) == changes
    assert list(use.remarks) == remarks


def test_without_a_convention_there_is_none() -> None:
    assert build({**QUERY, **KEY}).convention is None


def test_an_unknown_convention_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown convention 'torch-spda'; did you mean 'torch-sdpa'"):
        read("torch-spda")


@pytest.mark.parametrize("convention", CONVENTIONS.values(), ids=lambda convention: convention.name)
def test_every_word_of_a_convention_is_one_of_attn_and_of_a_problem(convention: Any) -> None:
    keys = {word.split()[0] for word in convention.words}
    assert keys <= set(ATTN.words)
    assert {*keys, *convention.defaults, *(key for group in convention.exclusive for key in group)} <= set(FIELDS)
    assert {key for reading in convention.words.values() for key in reading.keys} <= set(FIELDS)
    assert "empty_rows" in convention.defaults

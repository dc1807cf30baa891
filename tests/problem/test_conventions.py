"""Conventions: the keys of a problem as a framework reads them; FlashAttention as its documentation has it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError, UnknownNameError
from attncli.engine.run import run
from attncli.problem.build import build
from attncli.problem.conventions import ATTN, CONVENTIONS, find_convention
from attncli.problem.edits import Edit, apply_edits
from attncli.problem.spec import FIELDS, ProblemSpec
from tests.arrays import normal

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
    ("torch-sdpa", CACHE, {"align": "top_left"}),
    ("torch-sdpa", {"causal": True, **CACHE, "position": "rope"}, {"align": "top_left"}),
    ("torch-sdpa", {"causal": True, **CACHE, "align": "bottom_right"}, {"align": "bottom_right"}),
    ("torch-mha", {"mask": "causal"}, {"causal": False}),
    ("mlx", {"mask": "causal"}, {"causal": False, "align": "bottom_right"}),
    ("flash", {"mask": "causal", "causal": True}, {"align": "bottom_right"}),
    ("keras", {"mask": {"window": {"right": 0, "left": 2}}}, {"window": (1, 0), "mask": None}),
    ("torch-mha", {"mask": [[1, 0, 0]]}, {"mask": [[False, True, True]], "empty_rows": "nan"}),
    ("torch-mha", {"key_mask": [0, 0, 1]}, {"key_mask": [True, True, False]}),
    ("torch-mha", {"empty_rows": "zeros"}, {"empty_rows": "zeros"}),
    ("flash", {"causal": True}, {"align": "bottom_right"}),
    ("flash", {"window": [1, 0]}, {"align": "bottom_right", "window": (1, 0)}),
    ("flash", {"position": "alibi"}, {"align": "bottom_right"}),
    ("flash", {"position": "rope"}, {"align": "top_left"}),
    ("flash", {"causal": True, "align": "top_left"}, {"align": "top_left"}),
    ("onnx", {"causal": True, **CACHE}, {"align": "top_left", "empty_rows": "zeros"}),
    ("onnx", {"causal": True, "key_lengths": [2]}, {"align": "bottom_right"}),
    ("xformers", {"causal": True}, {"align": "top_left", "empty_rows": "nan"}),
    ("xformers", {"causal": True, "window": [1, 0]}, {"align": "bottom_right", "window": (1, 0)}),
    ("xformers", {"window": [1, 0], **CACHE}, {"align": "bottom_right"}),
    ("keras", {"window": [2, 0]}, {"window": (1, 0), "align": "top_left", "empty_rows": "uniform"}),
    ("keras", {"window": [1, -1]}, {"window": (0, np.inf)}),
    ("keras-attention", {}, {"score": "dot"}),
    ("keras-attention", {"score": "cosine"}, {"score": "cosine"}),
    ("jax", {"window": [2, 0]}, {"window": (2, 0), "align": "top_left", "empty_rows": "uniform"}),
    ("jax", {"causal": True, **CACHE}, {"align": "first_key"}),
    ("mlx", {"causal": True}, {"align": "bottom_right", "empty_rows": "uniform"}),
    ("attn", {"causal": True, "mask": [[1, 0, 0]]}, {"align": "top_left", "mask": [[True, False, False]]}),
]


@pytest.mark.parametrize(("convention", "words", "expected"), READINGS)
def test_words_are_read_as_the_framework_reads_them(
    convention: str, words: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    spec = read(convention, **words)
    for key, value in expected.items():
        in_force = getattr(spec, key)
        np.testing.assert_array_equal(str(in_force) if key == "score" else in_force, value)


@pytest.mark.parametrize(
    ("convention", "mask", "in_force", "align"),
    [
        ("torch-mha", "causal | [[1, 0, 0]]", "causal | [[0, 1, 1]]", "top_left"),
        ("torch-sdpa", "causal | [[1, 0, 0]]", "causal | [[1, 0, 0]]", "top_left"),
        ("mlx", "~causal | prefix:size=1", "~causal | prefix:size=1", "bottom_right"),
        ("keras", "~window:left=2,right=2 | [[1, 0, 0]]", "~window:left=1,right=1 | [[1, 0, 0]]", "top_left"),
        ("flash", "window:left=2,right=2 & window:left=1,right=3", "window:left=2,right=2 & window:left=1,right=3",
         "bottom_right"),
    ],
)  # fmt: skip
def test_each_mask_of_an_expression_is_read_as_its_word(convention: str, mask: str, in_force: str, align: str) -> None:
    spec = attncli.Problem(**QUERY, **KEY, mask=mask, convention=convention).spec
    assert (str(spec.mask), spec.align) == (in_force, align)


def test_a_mask_that_is_no_key_is_read_as_attn_reads_it() -> None:
    spec = read("flash", mask={"chunked": {"size": 2}})
    assert str(spec.mask) == "chunked:size=2"
    assert spec.convention is not None
    assert spec.convention.remarks == ("flash has no mask chunked:size=2: read as attn reads it",)


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
    ("keras-attention", {"score": "dot"}, [], []),
    (
        "keras-attention",
        {"score": "scaled_dot"},
        [],
        ["keras-attention has no score scaled_dot: read as attn reads it"],
    ),
    (
        "xformers",
        {"window": [1, 0], **CACHE},
        ["window: LocalAttentionFromBottomRightMask, bottom right, so many keys on either side of its own"],
        [],
    ),
    ("torch-sdpa", {"softcap": 2}, [], ["torch-sdpa has no softcap: read as attn reads it"]),
    ("torch-mha", {"mask": [[1, 0, 0]]}, ["mask: 1 or true hides"], []),
    ("torch-mha", {"scale": 2}, [], ["torch-mha has no scale: read as attn reads it"]),
    ("torch-mha", {"mask": "causal"}, [], []),
    ("flash", {"mask": "causal"}, ["causal: bottom right, the last query is at the last real key"], []),
    ("torch-sdpa", CACHE, [], []),
    (
        "torch-sdpa",
        {"causal": True, **CACHE},
        ["past_key: put before the keys by the caller; masks count from the first of them"],
        [],
    ),
    (
        "jax",
        {"causal": True, **CACHE, "position": "rope"},
        [],
        ["jax with position: past_key is read as attn reads it", "jax has no position rope: read as attn reads it"],
    ),
    ("flash", {"position": "alibi"}, ["position alibi: −slope · |i + m − n − j|, bottom right"], []),
    ("keras", {"window": [2, 2]}, ["window: sliding_window, so many keys on a side with its own"], []),
    (
        "keras",
        {"window": [2, 1]},
        ["window: sliding_window, so many keys on a side with its own"],
        ["keras takes one number for both sides of window: read as two"],
    ),
    ("onnx", {"key_lengths": [2]}, [], []),
    ("jax", {"bias": [[0, -np.inf, 0]]}, [], []),
    ("jax", {"bias": [[-np.inf] * 3]}, [], ["jax gives NaN for a row of −∞ in bias: read as a row without keys"]),
    ("jax", {"window": [-1, 0]}, [], ["jax has no window without a limit: read as attn reads it"]),
    ("flash", {"mask": [[1, 0, 0]]}, [], ["flash has no mask: read as attn reads it"]),
    ("flash", {"position": "rope"}, [], ["flash has no position rope: read as attn reads it"]),
    ("attn", {"normalize": "sparsemax", "position": "rope", "softcap": 2, "mask": [[1, 0, 0]]}, [], []),
    (
        "torch-sdpa",
        {"causal": True, "mask": [[1, 0, 0]]},
        [],
        ["torch-sdpa does not take mask and causal together: attn combines them"],
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


@pytest.mark.parametrize("key", ["mask", "key_mask"])
def test_an_edited_mask_is_read_as_a_given_one_is(key: str) -> None:
    tables = {"mask": ([[1, 0, 0]], [[1, 0, 1]], ("0", "2")), "key_mask": ([1, 0, 0], [1, 0, 1], ("2",))}
    before, after, index = tables[key]
    edited = apply_edits(read("torch-mha", **{key: before}), [Edit(key, index, 1.0, f"{key}={after}")])
    np.testing.assert_array_equal(getattr(edited, key), getattr(read("torch-mha", **{key: after}), key))
    assert edited.convention == read("torch-mha", **{key: after}).convention


def test_a_number_set_in_a_mask_that_is_not_given_hides_one_key() -> None:
    edited = apply_edits(read("torch-mha"), [Edit("mask", ("1", "2"), 1.0, "mask[1,2]=1")])
    np.testing.assert_array_equal(edited.mask, [[True, True, True], [True, True, False]])


def test_without_a_convention_there_is_none() -> None:
    assert build({**QUERY, **KEY}).convention is None


def test_an_unknown_convention_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown convention 'torch-spda'; .*'torch-sdpa'"):
        read("torch-spda")


def test_what_is_no_name_of_a_convention_is_refused() -> None:
    with pytest.raises(AttnError, match=r"convention: \[3\] is not the name of a convention; expected one of attn"):
        find_convention([3], where="convention")


# Axes of query, key and value as the documents of a framework have them: b batch, n tokens, h heads, d features.
LAYOUTS = [
    ("flash", "bnhd"),
    ("jax", "bnhd"),
    ("jax", "nhd"),
    ("xformers", "bnhd"),
    ("torch-sdpa", "bhnd"),
    ("onnx", "bhnd"),
    ("mlx", "bhnd"),
    ("attn", "bhnd"),
]


@pytest.mark.parametrize(("convention", "layout"), LAYOUTS)
def test_arrays_are_read_in_the_order_of_axes_that_the_framework_documents(convention: str, layout: str) -> None:
    lengths = {"b": 2, "h": 3, "n": 5, "d": 7}
    query = normal(*(lengths[letter] for letter in layout))
    cache = normal(*({**lengths, "n": 2}[letter] for letter in layout), seed=1)
    keys = {"query": query, "key": query, "past_key": cache, "past_value": cache}
    spec = build(keys, convention=convention)
    assert spec.convention is not None
    says = [change for change in spec.convention.changes if change.startswith("query, key, past_key, past_value: (")]
    assert len(says) == (layout != "bhnd")
    batched, axes = (query, layout) if "b" in layout else (query[None], f"b{layout}")
    scores = np.einsum(f"{axes},{axes.replace('n', 'm')}->bhnm", batched, batched)
    found = run(spec, ("scores", "context"))
    np.testing.assert_allclose(found.scores[..., 2:], scores / np.sqrt(7))
    assert found.context.shape == (len(batched), 3, 5, 7)


def test_arrays_without_an_axis_of_heads_are_read_as_usual() -> None:
    for convention in ("flash", "xformers"):
        spec = build({"query": normal(2, 5, 6), "key": normal(2, 5, 6), "heads": 2}, convention=convention)
        assert spec.convention is not None
        assert spec.convention.changes == ()
        assert spec.lengths["n"] == 5


@pytest.mark.parametrize("convention", CONVENTIONS.values(), ids=lambda convention: convention.name)
def test_every_word_of_a_convention_is_one_of_attn_and_of_a_problem(convention: Any) -> None:
    keys = {word.split()[0] for word in convention.words}
    assert keys <= set(ATTN.words)
    assert {*keys, *convention.defaults, *(key for group in convention.exclusive for key in group)} <= set(FIELDS)
    assert {key for reading in convention.words.values() for key in reading.keys} <= set(FIELDS)
    assert "empty_rows" in convention.defaults


LENGTHS = [(2, 5), (5, 2), (3, 3)]


def results(n: int, m: int, **words: Any) -> Any:
    """The results of n queries and m keys, read as FlashAttention reads the words."""
    spec = build({"query": normal(n, 3), "key": normal(m, 3), **words}, convention="flash")
    return run(spec, ("scores", "masked_scores", "weights"))


@pytest.mark.parametrize(
    ("n", "m", "picture"),
    [(2, 5, ["11110", "11111"]), (5, 2, ["00", "00", "00", "10", "11"])],
)
def test_causal_is_aligned_to_the_bottom_right_and_an_empty_row_gives_0(n: int, m: int, picture: list[str]) -> None:
    weights = results(n, m, causal=True).weights
    np.testing.assert_array_equal(weights > 0, [[cell == "1" for cell in row] for row in picture])


@pytest.mark.parametrize(("n", "m"), LENGTHS)
def test_a_window_is_around_i_plus_m_minus_n(n: int, m: int) -> None:
    i, j = np.ogrid[:n, :m]
    visible = (i + m - n - 1 <= j) & (j <= i + m - n + 2)
    np.testing.assert_array_equal(results(n, m, window=(1, 2)).weights > 0, visible)


@pytest.mark.parametrize(("n", "m"), LENGTHS)
def test_alibi_is_added_to_scores_that_are_capped_already(n: int, m: int) -> None:
    i, j = np.ogrid[:n, :m]
    found = results(n, m, softcap=0.5, position={"alibi": {"slopes": [0.25]}})
    expected = 0.5 * np.tanh(normal(n, 3) @ normal(m, 3).T / np.sqrt(3) / 0.5) - 0.25 * abs(i + m - n - j)
    np.testing.assert_allclose(found.masked_scores, expected)

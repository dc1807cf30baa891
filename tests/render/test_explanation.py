"""The explanation of results: what is shown, in which order, and what is said in a line instead."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.problem.fields import DEFAULT_SELECTION
from attncli.render.by_hand import once_a_row
from attncli.render.objects import result_object
from attncli.render.sections import sections
from attncli.render.view import Cell, View
from tests.problems import PROBLEMS
from tests.render.explanations import explained, explanation, explanation_of, result_of

X = [[1.0, 0, 2, 1], [0, 1, 1, 0], [1, 1, 0, 3]]
W = [[2.0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 2], [0, 3, 1, 0]]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_section_of_a_step_has_its_purpose(name: str) -> None:
    trace = result_of(name).trace
    for section in explanation_of(name):
        step = section.title.split(". ")[-1]
        if step in trace.by_name and not trace[step].is_identity:
            assert section.purpose == trace[step].node.purpose
        assert section.purpose or step == "letters"


def test_a_purpose_is_a_sentence_on_the_step() -> None:
    shown = explanation({"embeddings": X, "w_q": W, "causal": True})
    assert {name: shown[name].purpose for name in ("w_q", "query", "key, value", "masked_scores", "context")} == {
        "w_q": "Learned weights that make the queries.",
        "query": "What each token looks for in the others.",
        "key, value": "Nothing projects these vectors: the keys and values come from embeddings.",
        "masked_scores": "A hidden key scores −∞, so that its weight is 0.",
        "context": "The sum of the values, each times its weight.",
    }


SAID_IN_A_LINE = {
    "one head without w_o": ({}, "context", "output = context: one head, no w_o"),
    "several heads without w_o": ({"heads": 2}, "merged", "output = merged: no w_o"),
    "heads apart": (
        {"embeddings": None, "w_q": None, "query": np.ones((1, 2, 3, 4)), "key": np.ones((1, 2, 3, 4))},
        "context",
        "output = context: the heads stay apart, no w_o",
    ),
    "one key head": ({"heads": 2, "w_k": np.eye(4)[:, :2], "w_v": np.eye(4)[:, :2], "kv_heads": 1}, "key",
                     "key_heads Kₕ = key: one head"),
    "a repeated key": ({"heads": 2, "w_k": np.eye(4)[:, :2], "w_v": np.eye(4)[:, :2], "kv_heads": 1}, "repeated_key",
                       "the same numbers as key"),
    "a mask that hides nothing": ({"mask": np.ones((3, 3))}, "masked_scores", "the same numbers as scores"),
    "weights that are the scores": ({"normalize": "none"}, "weights", "the same numbers as scores"),
    "selected rows": ({"only": ["token_3", "0"]}, "selected_rows",
                      "of 3 queries, `only` selects token_3 (row 2) and token_1 (row 0), counted from 0"),
    "a head of two": ({"heads": 2}, "query_heads",
                      "head 0 of 2 is shown from here on; --head 1 shows another, --head all each"),
}  # fmt: skip


@pytest.mark.parametrize(("keys", "step", "remark"), SAID_IN_A_LINE.values(), ids=SAID_IN_A_LINE)
def test_what_changes_nothing_is_said_in_a_line(keys: dict[str, Any], step: str, remark: str) -> None:
    assert remark in explanation({"embeddings": X, "w_q": W, **keys})[step].remarks


UNPROJECTED = {
    "all": ({"embeddings": X}, "query, key, value", "Q = K = V = X"),
    "keys and values": ({"embeddings": X, "w_q": W}, "key, value", "K = V = X"),
    "two sequences": ({"embeddings": X, "query_embeddings": W}, "query, key, value", "Q = Y, K = V = X"),
    "selected queries": ({"embeddings": X, "only": [1]}, "query, key, value", "Q = Xₒ, K = V = X"),
    "no value": ({"query": X, "key": X}, "value", "V = K"),
}


@pytest.mark.parametrize(("keys", "title", "formula"), UNPROJECTED.values(), ids=UNPROJECTED)
def test_what_nothing_projects_is_one_section_without_a_table(keys: dict[str, Any], title: str, formula: str) -> None:
    section = explanation(keys)[title]
    assert (section.formula, section.grids) == (formula, ())


LEFT_OUT = {
    "positions that are row numbers": ({"causal": True}, "query_positions"),
    "the cache of a problem without one": ({"position": "rope"}, "present_key"),
    "a head of one": ({"heads": 1}, "query_heads"),
}


@pytest.mark.parametrize(("keys", "step"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_step_that_says_nothing_is_left_out(keys: dict[str, Any], step: str) -> None:
    shown = explanation({"embeddings": X, **keys})
    assert step not in shown
    assert not any("None" in section.shapes or "1 heads" in section.formula for section in shown.values())


def test_positions_that_are_no_row_numbers_are_shown() -> None:
    assert "query_positions" in explanation({"query": X[:2], "key": X, "causal": True, "align": "bottom_right"})


VOCABULARY = {"cat": [0.0, 1], "the": [1.0, 0]}


def test_the_look_up_of_a_sentence_is_the_first_step() -> None:
    shown = explanation({"sentence": "the cat the", "vocabulary": VOCABULARY})
    (grid,) = shown["embeddings"].grids
    assert shown["embeddings"].title == "1. embeddings"
    assert shown["embeddings"].formula == "the vector of each word, looked up in the vocabulary"
    assert grid.rows == ("the#1", "cat", "the#2")
    assert shown["embeddings"].remarks == (
        "rows of the vocabulary, counted from 0: the#1 1, cat 0, the#2 1",
        "the#1 and the#2 are one word, and have the same vector",
    )


def test_equal_words_with_vectors_of_their_own_are_not_called_equal() -> None:
    shown = explanation({"sentence": "the cat the", "vocabulary": {**VOCABULARY, "the#2": [5.0, 5]}})
    assert shown["embeddings"].remarks == ("rows of the vocabulary, counted from 0: the#1 1, cat 0, the#2 2",)


def test_equal_labels_are_numbered_for_people_and_not_for_programs() -> None:
    result = attncli.Problem(sentence="the cat the", vocabulary=VOCABULARY, only=["the#2"]).compute()
    shown = explained(View(result, explain=True))
    assert shown["cell"].formula == "query the#2, key cat"
    assert shown["scores"].grids[0].rows == ("the#2",)
    assert shown["scores"].grids[0].columns == ("the#1", "cat", "the#2")
    assert shown["scores"].arithmetic[0].startswith("Q(the#2)·K(cat) = ")
    (weights,) = (s for s in sections(View(result)) if s.title == "weights")
    assert weights.grids[0].columns == ("the#1", "cat", "the#2")
    assert result_object(View(result))["key_tokens"] == ["the", "cat", "the"]


@pytest.mark.parametrize("name", ["value", "dot_products", "scores", "exponentials", "weights", "context", "output"])
def test_a_selected_result_is_explained_with_what_it_needs_alone(name: str) -> None:
    needs = ["query", "key", "value", "dot_products", "scores", "exponentials", "weights", "context", "output"]
    expected = ["value"] if name == "value" else needs[: needs.index(name) + 1]
    if name not in ("value", "context", "output"):
        expected.remove("value")
    result = attncli.Problem(embeddings=X, w_q=W, w_k=W, w_v=W, w_o=W).compute((name,))
    assert [step["name"] for step in result_object(View(result, explain=True))["steps"]] == expected
    assert [title for title in explained(View(result, explain=True)) if title in needs] == expected


def test_json_has_every_step_of_the_default_results() -> None:
    result = attncli.Problem(embeddings=X, position="rope").compute(DEFAULT_SELECTION)
    names = {step["name"] for step in result_object(View(result, explain=True))["steps"]}
    assert names == {step.name for step in result.trace.computed} >= {"present_key"}


EQUAL_KEYS = {"embeddings": [[1.0], [1.0], [2.0]]}
HIDDEN = {"mask": np.array([[1, 1, 1], [0, 0, 0], [1, 1, 1]])}
LINES: dict[str, tuple[dict[str, Any], tuple[Cell, ...], str, list[str]]] = {
    "a projection that cells share": ({"w_q": W}, (Cell(0, 0), Cell(0, 1)), "query", ["query(token_1)"]),
    "scores, which name their cell": ({}, (Cell(0, 1), Cell(1, 2)), "scores",
                                      ["Q(token_1)·K(token_2)", "Q(token_2)·K(token_3)"]),
    "several cells": ({}, (Cell(0, 0), Cell(1, 1)), "weights",
                      ["query token_1, key token_1:", "query token_2, key token_2:"]),
    "cells of one row": ({}, (Cell(0, 0), Cell(0, 1)), "weights", ["key token_1:", "key token_2:"]),
    "cells with the same lines": (EQUAL_KEYS, (Cell(0, None),), "weights",
                                  ["key token_1; key token_2:", "key token_3:"]),
    "a query whose keys are hidden": (HIDDEN, (Cell(1, 0),), "weights", ["every key is hidden: all weights are 0"]),
}  # fmt: skip


@pytest.mark.parametrize(("keys", "cells", "step", "starts"), LINES.values(), ids=LINES)
def test_the_worked_lines_say_which_cell_they_are_of(
    keys: dict[str, Any], cells: tuple[Cell, ...], step: str, starts: list[str]
) -> None:
    view = View(attncli.Problem(**{"embeddings": X, **keys}).compute(), explain=True, cells=cells)
    lines = [line.partition(" = ")[0] for line in explained(view)[step].arithmetic]
    assert [line for line in lines if any(word in line for word in ("token_", "key "))] == starts


@pytest.mark.parametrize("normalizer", ["softmax", "topk:k=2", "hardmax", "sparsemax", "entmax"])
def test_a_row_with_nan_has_no_arithmetic_of_its_weights(normalizer: str) -> None:
    problem = attncli.Problem(scores=[[0.5, np.nan, 3]], normalize=normalizer)
    view = View(problem.compute("weights"), explain=True, cells=(Cell(0, 0),))
    line = "a score of the row is NaN: the weights of all visible keys are NaN"
    assert explained(view)["weights"].arithmetic[0] == line


def test_what_the_cells_of_a_row_have_in_common_stands_once_a_row() -> None:
    view = View(attncli.Problem(embeddings=X).compute(), explain=True, cells=(Cell(0, None), Cell(1, 0)))
    sums = [line for line in explained(view)["weights"].arithmetic if line.startswith("Σⱼ exp")]
    assert len(sums) == 2


def test_a_block_that_has_nothing_of_its_own_is_whole() -> None:
    blocks = [("sum", "first"), ("sum",), ("sum", "third")]
    assert list(once_a_row(blocks, ["row"] * 3)) == [("sum", "first"), ("sum",), ["third"]]


def test_repeated_heads_are_not_shown_again() -> None:
    keys = {"heads": 4, "kv_heads": 2, "w_k": np.eye(4)[:, :2], "w_v": np.eye(4)[:, 1:3]}
    result = attncli.Problem(embeddings=X, w_q=W, **keys).compute()
    repeated = explained(View(result, explain=True, expanded_axes=frozenset("h")))["repeated_key"]
    assert (repeated.grids, repeated.remarks) == ((), ("the same numbers as key_heads",))


def test_every_head_is_worked_out() -> None:
    result = attncli.Problem(embeddings=X, w_q=W, heads=2).compute()
    shown = explained(View(result, explain=True, cells=(Cell(0, 1),), expanded_axes=frozenset("h")))
    assert [line for line in shown["scores"].arithmetic if line.endswith(":")] == ["head 0:", "head 1:"]
    assert len(shown["query"].arithmetic) == 1
    assert shown["2 cells"].formula == "every head, query token_1, key token_2"


IN_FORCE: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "a default that the formula lacks": ({"normalize": "topk:k=2"}, "weights", ["k = 2"]),
    "a default that changes nothing": ({"score": "gaussian"}, "scores", []),
    "a default that the formula has": ({"position": "rope"}, "rotated_query", ["base = 10000"]),
    "one that is given": ({"normalize": "softmax:temperature=2"}, "weights", ["temperature = 2"]),
    "some of several": ({"position": "rope:offset=3"}, "rotated_query", ["base = 10000", "offset = 3"]),
    "the number of heads, which is no parameter": ({"position": "alibi", "heads": 2}, "position_bias", []),
}


@pytest.mark.parametrize(("keys", "step", "parameters"), IN_FORCE.values(), ids=IN_FORCE)
def test_the_parameters_in_force_are_named_beside_the_shapes(
    keys: dict[str, Any], step: str, parameters: list[str]
) -> None:
    assert explanation({"embeddings": X, **keys})[step].shapes.split("; ")[1:] == parameters

"""Explanations of the same numbers: those that are the same on these inputs, and the number that tells others apart."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checks.objects import report_object

QUERY, KEY = [[1.8, 0.6], [-0.4, 1.2], [0.5, -1.1]], [[0.3, 1.0], [1.4, -0.2], [0.9, 0.8]]


def report_of(weight: float, **more: Any) -> attncli.Report:
    """The check of one weight, of the first query and key."""
    return attncli.check(query=QUERY, key=KEY, against={"weights": {"query_1": {"key_1": weight}}}, **more)


def weights(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


def test_few_numbers_leave_candidates_and_one_more_number_tells_them_apart() -> None:
    scores = np.array(QUERY) @ np.array(KEY).T
    report = report_of(round(float(weights(scores / 2)[0, 0]), 2))
    assert {one.slips for one in report.explained_by} >= {("scale_by_d",), ("scaled_twice",)}
    telling = report._data.telling
    assert telling is not None
    assert ("scaled_twice", "scale_by_d") in telling.same
    assert not telling.by_other_inputs  # d divides both times
    shown = str(report)
    assert "too few numbers to tell: " in " ".join(shown.split())
    assert "Too few numbers to tell; candidates:\n" in shown
    assert "scaled_twice and scale_by_d are the same on these inputs.\n" in shown


def test_the_number_that_tells_is_what_each_slip_gives() -> None:
    scores = np.array(QUERY) @ np.array(KEY).T
    report = report_of(round(float(weights(scores / 2)[0, 0]), 2))
    telling = report._data.telling
    assert telling is not None
    row, column = (int(label.rpartition("_")[2]) - 1 for label in telling.labels)
    assert telling.name == "scores"
    assert telling.numbers["scaled_twice"] == pytest.approx(scores[row, column] / 2)
    numbers = sorted(telling.numbers.values())
    assert min(np.diff(numbers)) > 0.01


def test_slips_that_only_these_inputs_make_the_same_are_told_apart_by_others() -> None:
    """Where W_K is W_Q transposed, to transpose both is to exchange them."""
    embeddings, matrix = np.array([[1.0, 2.0], [2.0, -1.0], [0.5, 0.3]]), np.array([[1.0, 0.7], [0.2, 1.1]])
    query, key = embeddings @ matrix.T, embeddings @ matrix
    wrong = weights(query @ key.T / np.sqrt(2))
    keys = {"embeddings": embeddings, "w_q": matrix, "w_k": matrix.T, "w_v": np.eye(2)}
    report = attncli.check(against={"weights": wrong}, **keys)
    telling = report._data.telling
    assert telling is not None
    assert any({"query_key_weights_swapped", "projections_transposed"} <= {*names} for names in telling.same)
    assert telling.by_other_inputs
    assert "Other inputs, such as numbers drawn at random, tell them apart." in " ".join(str(report).split())


def test_json_has_what_tells_explanations_apart() -> None:
    scores = np.array(QUERY) @ np.array(KEY).T
    content = report_object(report_of(round(float(weights(scores / 2)[0, 0]), 2))._data)["telling"]
    assert content.keys() == {"same", "name", "labels", "numbers", "by_other_inputs"}
    assert report_object(report_of(0.123)._data)["telling"] is None


def test_a_scale_is_said_to_be_a_temperature_where_nothing_is_added_to_the_scores() -> None:
    rng = np.random.default_rng(0)
    query, key, value = (rng.normal(size=(12, 8)) for _ in range(3))
    output = weights(query @ key.T / np.sqrt(8) * 2.5) @ value
    (found,) = attncli.check(query=query, key=key, value=value, against={"output": output}).explained_by
    assert found.sentence.endswith("; a temperature of 0.4 is the same here.")

"""`empty_rows`: what a query gets that may attend to nothing."""

from typing import Any

import numpy as np
import pytest

from attncli import attention
from attncli.engine.run import run
from attncli.plan.build import keys_unread_by_plan
from tests.problems import problem

NAN = float("nan")
QUERY, KEY, VALUE = [[1, 0], [0, 1]], [[1, 0], [0, 1], [0, 0], [2, 2]], [[1], [2], [3], [6]]
FIRST_IS_EMPTY = {"mask": [[0, 0, 0, 0], [0, 1, 0, 0]]}


def weights_and_output(**keys: Any) -> tuple[list[list[float]], list[list[float]]]:
    """The weights and the output of two queries, four keys and their values."""
    result = attention(QUERY, KEY, VALUE, select=("weights", "output"), **keys)
    return result.weights.tolist(), result.output.tolist()


@pytest.mark.parametrize(
    ("fill", "weights", "output"),
    [("zeros", [0] * 4, 0), ("nan", [NAN] * 4, NAN), ("uniform", [0.25] * 4, 3)],  # (1 + 2 + 3 + 6) / 4
)
@pytest.mark.parametrize("hidden", [FIRST_IS_EMPTY, {"bias": [[-np.inf] * 4, [-np.inf, 0, -np.inf, -np.inf]]}])
def test_a_row_without_keys_gets_what_is_said(
    hidden: dict[str, Any], fill: str, weights: list[float], output: float
) -> None:
    given = weights_and_output(**hidden, empty_rows=fill)
    np.testing.assert_array_equal(given[0], [weights, [0, 1, 0, 0]])
    np.testing.assert_array_equal(given[1], [[output], [2]])


def test_given_scores_may_have_rows_without_keys() -> None:
    given = problem(scores=[[-np.inf, -np.inf], [0, -np.inf]], empty_rows="uniform")
    assert run(given, "weights").weights.tolist() == [[0.5, 0.5], [1, 0]]


def test_keys_that_are_padding_count_in_a_uniform_row() -> None:
    weights, _ = weights_and_output(key_lengths=0, empty_rows="uniform")
    assert weights == [[0.25] * 4] * 2


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({}, "there is no mask"),
        (
            {**FIRST_IS_EMPTY, "normalize": "sigmoid"},
            "weights of sigmoid need not sum to 1: 0 without keys",
        ),
        ({**FIRST_IS_EMPTY, "sink": 0}, "the sink takes the weight of a query without keys"),
    ],
)
def test_where_no_row_is_filled_it_is_said_why(keys: dict[str, Any], reason: str) -> None:
    assert keys_unread_by_plan(problem(query=QUERY, key=KEY, empty_rows="nan", **keys)) == {"empty_rows": reason}
    if "mask" in keys:
        assert weights_and_output(**keys, empty_rows="nan")[0][0] == [0] * 4


def test_where_rows_are_filled_the_key_is_read() -> None:
    assert keys_unread_by_plan(problem(query=QUERY, key=KEY, empty_rows="nan", **FIRST_IS_EMPTY)) == {}


@pytest.mark.parametrize(
    ("fill", "text"),
    [("zeros", "weights 0, output 0"), ("nan", "weights NaN, output NaN"), ("uniform", "weights 1/4")],
)
def test_the_warning_says_what_the_query_gets(fill: str, text: str) -> None:
    result = attention(QUERY, KEY, VALUE, **FIRST_IS_EMPTY, empty_rows=fill)
    assert result.trace.notes == [f"no key is visible to query_1: {text}"]


# Keys of a problem whose query sees no key, and what the warning says that it gets.
EMPTY = {"query": [[1.0]], "key": [[1.0], [2.0]], "value": [[3.0], [4.0]], "mask": [[0, 0]]}
GETS: list[tuple[dict[str, object], str]] = [
    ({}, "weights 0, output 0"),
    ({"w_o": [[2.0]]}, "weights 0, output 0"),
    ({"w_o": [[2.0]], "b_o": [5.0]}, "weights 0"),
    ({"empty_rows": "nan", "b_o": [5.0]}, "weights NaN"),
    ({"context": {"attentional": {"w": [[1.0], [1.0]]}}}, "weights 0"),
]


@pytest.mark.parametrize(("keys", "gets"), GETS)
def test_the_warning_says_no_output_that_something_is_added_to(keys: dict[str, object], gets: str) -> None:
    (note,) = run(problem(**EMPTY, **keys)).trace.notes
    assert note == f"no key is visible to query_1: {gets}"

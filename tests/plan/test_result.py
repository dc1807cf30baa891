"""A result: its selected arrays by name, completed on TAB, and errors for all other names."""

import rlcompleter
from typing import Any

import numpy as np
import pytest

from attncli import attention
from attncli.base.errors import UnknownNameError


def test_a_result_has_the_names_that_were_selected_and_no_others() -> None:
    result = attention([[1.0, 2.0]], [[3.0, 4.0]], select=("weights",))
    assert result.weights.tolist() == [[1.0]]
    with pytest.raises(AttributeError, match="not selected"):
        _ = result.output


def test_a_result_completes_its_names_on_tab() -> None:
    result = attention([[1.0, 2.0]], [[3.0, 4.0]], select=("weights", "masked_scores"))
    assert {"weights", "masked_scores", "trace", "query_tokens", "key_tokens"} <= set(dir(result))
    assert "output" not in dir(result)
    completer = rlcompleter.Completer({"result": result})
    assert completer.complete("result.we", 0) == "result.weights"
    assert completer.complete("result.mas", 0) == "result.masked_scores"


def test_an_identity_stage_has_the_result_of_the_stage_before() -> None:
    result = attention([[1.0, 2.0]], [[3.0, 4.0]], select=("scores", "capped_scores", "masked_scores"))
    np.testing.assert_array_equal(result.masked_scores, result.scores)
    np.testing.assert_array_equal(result.capped_scores, result.scores)


@pytest.mark.parametrize(
    ("keys", "same"),
    [
        ({}, ["the same as scores: there is no softcap", "the same as scores: there is no mask"]),
        ({"softcap": 2}, ["", "the same as capped_scores: there is no mask"]),
        ({"causal": True}, ["the same as scores: there is no softcap", ""]),
        ({"softcap": 2, "mask": [1]}, ["", ""]),
    ],
)
def test_a_result_that_no_key_makes_says_which_one_it_is(keys: dict[str, Any], same: list[str]) -> None:
    trace = attention([[1.0, 2.0]], [[3.0, 4.0]], **keys).trace
    assert [trace.same_as(name) for name in ("capped_scores", "masked_scores")] == same
    same_scores = trace.same_as("capped_scores").partition(":")[0] or "the same as capped_scores"
    assert trace.same_as("positioned_scores") == f"{same_scores}: there is no position bias"
    assert trace.same_as("biased_scores") == f"{same_scores}: there is no bias"
    assert trace.same_as("scores") == trace.same_as("dot_products") == ""


def test_an_unknown_result_suggests_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="'weights'"):
        attention([[1.0]], [[1.0]], select=("weigths",))


def test_a_trace_gives_its_steps_in_order() -> None:
    trace = attention([[1.0, 2.0]], [[3.0, 4.0]]).trace
    names = [step.name for step in trace]
    assert names[:2] == ["query", "key"]
    assert names.index("scores") < names.index("weights") < names.index("context")

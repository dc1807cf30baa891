"""The log-sum-exp: the logarithm of what softmax divides by, of all scores of a row together."""

from math import inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli import attention
from attncli.base.errors import AttnError
from attncli.ops.log_sum_exp import log_sum_exp
from attncli.plan.trace import RunResult
from attncli.render.by_hand import worked_lines, worked_positions
from attncli.render.view import Cell, View
from tests.arrays import normal
from tests.equations import assert_equations_hold
from tests.problems import PROBLEMS, dense_trace, problem

# Exponentials of these scores are 1, 3 and 4.
SCORES = [[0.0, log(3), log(4)]]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, log(8)),
        ({"normalize": "softmax1"}, log(9)),  # the 1 is exp(0)
        ({"sink": [log(2)]}, log(10)),
        ({"normalize": "softmax1", "sink": [log(2)]}, log(11)),
        ({"normalize": "softmax:temperature=0.5"}, log(1 + 9 + 16)),
        ({"normalize": "softmax:temperature=0.5", "sink": [log(2)]}, log(30)),
        ({"key_lengths": [2]}, log(4)),
        ({"mask": [[0, 1, 0]]}, log(3)),
        ({"mask": [[0, 0, 0]]}, -inf),
        ({"mask": [[0, 0, 0]], "empty_rows": "uniform"}, -inf),
        ({"mask": [[0, 0, 0]], "normalize": "softmax1"}, 0),
        ({"mask": [[0, 0, 0]], "sink": [log(2)]}, log(2)),
        ({"bias": [[log(5), -inf, 0]]}, log(9)),
        ({"scale": 2}, log(26)),
        ({"softcap": 1e-9}, log(3)),
    ],
    ids=str,
)
def test_it_is_the_logarithm_of_the_sum_of_all_exponentials(keys: dict[str, Any], expected: float) -> None:
    result = attention(scores=SCORES, **keys, select=["lse"])
    assert result.lse.tolist() == [pytest.approx(expected, abs=1e-8)]
    assert not [note for note in result.trace.notes if "inf" in note]


@pytest.mark.parametrize("shift", [-1e300, -1e4, 0.0, 1e4, 1e300])
def test_a_number_that_all_scores_have_in_common_is_added_to_it(shift: float) -> None:
    assert log_sum_exp(np.array([[shift, shift]])).tolist() == [shift + log(2)]


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10), st.booleans())
def test_weights_are_exponentials_of_what_scores_are_less_than_it(
    seed: int, temperature: float, has_sink: bool
) -> None:
    scores = np.random.default_rng(seed).normal(scale=5, size=(3, 4))
    keys: dict[str, Any] = {"normalize": f"softmax:temperature={temperature}"} | ({"sink": [1.5]} if has_sink else {})
    result = attention(scores=scores, **keys, select=("lse", "weights"))
    np.testing.assert_allclose(np.exp(scores / temperature - result.lse[:, None]), result.weights, rtol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_its_exponential_times_the_weights_are_the_exponentials_of_the_scores(name: str) -> None:
    spec = problem(**{**PROBLEMS[name], "dtype": "float64"})
    trace = dense_trace(spec)
    if "lse" not in trace or spec.empty_rows != "zeros" or "masked_scores" not in trace.plan.results:
        return
    temperature = spec.normalize.parameters.get("temperature", 1)
    powers = np.exp(trace["masked_scores"].value / temperature)
    np.testing.assert_allclose(np.exp(trace["lse"].value)[..., None] * trace["weights"].value, powers, rtol=1e-11)


@pytest.mark.parametrize("normalize", ["sparsemax", "entmax", "sigmoid", "relu", "topk:k=2", "hardmax", "sum", "none"])
def test_of_another_normalizer_there_is_none(normalize: str) -> None:
    name = normalize.partition(":")[0]
    with pytest.raises(AttnError, match=rf"{name} has no lse; softmax and softmax1 have one"):
        attention(scores=SCORES, normalize=normalize, select="lse")


def test_of_given_weights_there_is_none() -> None:
    with pytest.raises(AttnError, match="lse is not computed: weights are given; give scores, or query and key"):
        attention(weights=[[0.5, 0.5]], value=[[1], [2]], select="lse")


def test_it_is_no_step_where_it_is_not_selected() -> None:
    trace = attention(scores=SCORES).trace
    assert "lse" not in trace
    assert [node for node in trace.plan.nodes if node.is_on_demand] == []
    with pytest.raises(AttnError, match="lse is computed only if it is selected; select lse"):
        trace["lse"]


def lines_of(result: RunResult, query: int = 0, decimals: int = 4) -> list[str]:
    """The arithmetic of the log-sum-exp of a query."""
    view = View(result, cells=(Cell(query, 0),), decimals=decimals)
    return list(worked_lines(view, result.trace["lse"], worked_positions(view)))


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        ({}, ["Σⱼ exp = exp(0 − 2) + exp(2 − 2) = 1.1353", "2 + ln(1.1353) = 2.1269"]),
        (
            {"normalize": "softmax:temperature=2"},
            ["Σⱼ exp = exp((0 − 2)/2) + exp((2 − 2)/2) = 1.3679", "2/2 + ln(1.3679) = 1.3133"],
        ),
        (
            {"normalize": "softmax1"},
            ["Σⱼ exp = 1·exp(0 − 2) + exp(0 − 2) + exp(2 − 2) = 1.2707", "2 + ln(1.27067) = 2.2395"],
        ),
        ({"sink": [3]}, ["Σⱼ exp = exp(0 − 3) + exp(2 − 3) + exp(3 − 3) = 1.4177", "3 + ln(1.4177) = 3.3490"]),
        ({"mask": [[1, 0]]}, ["Σⱼ exp = exp(0 − 0) = 1", "0 + ln(1) = 0"]),
        ({"mask": [[0, 0]]}, ["every key is hidden: the sum is 0, and its logarithm −∞"]),
        ({"mask": [[0, 0]], "normalize": "softmax1"}, ["Σⱼ exp = 1·exp(0 − 0) = 1", "0 + ln(1) = 0"]),
        ({"scores": [[np.nan, 0]]}, ["a score of the row is NaN: the sum is NaN"]),
    ],
    ids=str,
)
def test_it_is_worked_out_with_numbers(keys: dict[str, Any], lines: list[str]) -> None:
    assert lines_of(attention(**{"scores": [[0, 2]], **keys}, select="lse")) == lines


@given(st.integers(0, 2**32 - 1), st.sampled_from(["softmax", "softmax1", "softmax:temperature=3"]), st.integers(0, 8))
def test_every_line_of_it_holds_with_its_digits(seed: int, normalize: str, decimals: int) -> None:
    scores = np.random.default_rng(seed).normal(scale=4, size=(2, 5))
    result = attention(scores=scores, normalize=normalize, select="lse")
    assert_equations_hold(lines_of(result, 1, decimals), decimals, "float64")


def test_halves_of_the_keys_are_put_together_by_it() -> None:
    """To 4 units in the last place of the size of what is added up; a log-sum-exp over 8 has coarser units itself."""
    query, key, value = normal(2, 40, 16), normal(2, 301, 16, seed=1), normal(2, 301, 8, seed=2)
    select = ("output", "lse")
    whole, size = attention(query, key, value, select=select), attention(query, key, abs(value)).output
    for end in (1, 37, 150, 300):
        first, second = (attention(query, key[:, x], value[:, x], select=select) for x in (np.s_[:end], np.s_[end:]))
        lse = np.logaddexp(first.lse, second.lse)
        left, right = (np.exp(part.lse - lse)[..., None] for part in (first, second))
        output = (left * first.output + right * second.output) / (left + right)
        assert (abs(lse - whole.lse) <= 4 * np.spacing(abs(whole.lse))).all()
        assert (abs(output - whole.output) <= 4 * np.spacing(size)).all()

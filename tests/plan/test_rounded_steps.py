"""Steps that are rounded on the way: what later steps read, what can be rounded, and what a rounded step lacks."""

from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli import AttnError, attention
from attncli.io.problem_text import problem_yaml
from tests.problems import write_file

QUERY, KEY, VALUE = [[1, 0, 2]], [[0, 1, 1], [4, 4, 0], [2, 3, 1]], [[1, 2, 3], [2, 8, 0], [2, 6, 3]]


def test_later_steps_read_the_rounded_one() -> None:
    """Softmax of 2, 4, 4 is 0.0634, 0.4683, 0.4683."""
    result = attention(QUERY, KEY, VALUE, score="dot", round={"weights": 1}, select=("weights", "output"))
    np.testing.assert_allclose(result.weights, [[0.1, 0.5, 0.5]], rtol=1e-15)
    np.testing.assert_allclose(result.output, [[2.1, 7.2, 1.8]], rtol=1e-15)


def test_a_half_goes_to_the_even_number_as_numpy_rounds() -> None:
    found = attention([[1.0]], [[0.125], [0.375], [-2.5]], score="dot", round={"scores": 2}, select="scores")
    np.testing.assert_array_equal(found.scores, np.round([[0.125, 0.375, -2.5]], 2))


def test_each_step_has_its_own_number_of_decimals() -> None:
    """2/√3 = 1.1547, 4/√3 = 2.3094; exp(1.2), exp(2.3), exp(2.3) over their sum: 0.1427, 0.4286, 0.4286."""
    names = ("scores", "weights", "output")
    found = attention(QUERY, KEY, VALUE, round={"scores": 1, "weights": 2, "output": 0}, select=names)
    np.testing.assert_allclose(found.scores, [[1.2, 2.3, 2.3]], rtol=1e-15)
    np.testing.assert_allclose(found.weights, [[0.14, 0.43, 0.43]], rtol=1e-15)
    np.testing.assert_array_equal(found.output, [[2, 6, 2]])


def test_a_query_whose_weights_are_all_rounded_to_0_is_not_called_empty() -> None:
    result = attention(np.ones((1, 2)), np.ones((30, 2)), round={"weights": 1}, select="weights")
    assert not result.weights.any()
    assert not result.trace.notes


@pytest.mark.parametrize(
    ("rounded", "message"),
    [
        ({"wieghts": 1}, "round, wieghts: unknown step 'wieghts'; did you mean 'weights'?"),
        ({"query": 1}, "round, query: query is given; round a step that is computed"),
        ({"exponentials": 1}, "round, exponentials: exponentials is an inner step of weights; round a step that is"),
        ({"weights": -1}, "round, weights: -1 is out of range; expected 0 or more"),
        ({"weights": 16}, "round, weights: 16 is out of range; expected 0 to 15"),
        ("weights", "round: 'weights' has no names of steps; expected the decimals of each step, such as {weights: 2}"),
    ],
)
def test_what_can_not_be_rounded_is_said(rounded: dict[str, int], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        attention(QUERY, KEY, VALUE, round=rounded)
    assert str(caught.value).startswith(message)


def test_no_gradient_passes_a_rounded_step() -> None:
    with pytest.raises(AttnError, match="has no derivative: it jumps between rounded numbers"):
        attention(QUERY, KEY, VALUE, round={"weights": 1}, grad_output=[[1, 1, 1]], select="grad_value")


def test_a_long_problem_with_rounded_weights_is_computed_whole() -> None:
    rng = np.random.default_rng(1)
    query, key = rng.normal(size=(600, 2)), rng.normal(size=(600, 2))
    exact = attention(query, key, select="weights").weights
    found = attention(query, key, round={"weights": 3}, select="output").output
    np.testing.assert_allclose(found, np.round(exact, 3) @ key, rtol=1e-12, atol=1e-12)


def test_a_file_that_was_written_rounds_again(tmp_path: Path) -> None:
    problem = attncli.Problem(query=QUERY, key=KEY, value=VALUE, round={"weights": 1})
    path = write_file(tmp_path, "".join(problem_yaml(problem.spec)))
    np.testing.assert_array_equal(attncli.load(path).compute().output, problem.compute().output)

"""A fit in Python, and the problem that it returns."""

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from tests.arrays import normal

PROBLEM = attncli.Problem(query=[[0], [1]], key=[[0], [1]], value=[[0], [1]], score="gaussian")
TARGET = {"output": [[0.2], [0.8]]}


def test_it_has_the_problem_what_was_learned_and_the_losses() -> None:
    fitted = PROBLEM.fit("sigma", TARGET)
    assert {key: round(number, 4) for key, number in fitted.learned.items()} == {"score.sigma": 0.6006}
    assert fitted.losses[0] > 1000 * min(fitted.losses)
    assert fitted.stopped == "converged"
    np.testing.assert_allclose(fitted.problem.compute("output").output, TARGET["output"], atol=1e-6)
    assert PROBLEM.score.given == {}


def test_the_fitted_problem_can_be_changed_and_fitted_again() -> None:
    fitted = PROBLEM.fit(["score.sigma", "value"], TARGET, steps=5, rate=0.1).problem
    assert fitted.replace(causal=True).compute().weights[0, 1] == 0
    assert fitted.set({"value[0,0]": 5}).value[0, 0] == 5
    assert fitted.fit("value", TARGET).losses[0] < PROBLEM.fit("value", TARGET).losses[0]


@pytest.mark.parametrize("layout", ["in_out", "out_in"])
def test_matrices_are_learned_as_they_are_stored(layout: str) -> None:
    w_v = normal(3, 3)
    problem = attncli.Problem(embeddings=normal(5, 3), w_v=w_v, weight_layout=layout)
    fitted = problem.fit("w_v", {"output": np.ones((5, 3))}, steps=1, rate=1e-3)
    np.testing.assert_allclose(fitted.learned["w_v"], w_v, atol=2e-3)
    np.testing.assert_array_equal(fitted.problem.w_v, fitted.learned["w_v"])


def test_it_shows_itself() -> None:
    fitted = PROBLEM.fit("sigma", TARGET, steps=10)
    assert repr(fitted).startswith("Fitted(score.sigma; 0.03152 → ")
    assert str(fitted).startswith("Mean squared error of output: 0.03152 → ")
    assert "score.sigma" in fitted._repr_html_()


def test_targets_without_names_are_an_error() -> None:
    with pytest.raises(AttnError, match=r"target: .* has no names; give the numbers by the names of results"):
        PROBLEM.fit("sigma", [[0.2], [0.8]])

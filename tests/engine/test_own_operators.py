"""Registered operators in blocks agree with the dense engine, whatever their parameters are called."""

import numpy as np
import pytest

import attncli
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.ops.rules import OnlineNormalizer
from tests.arrays import normal
from tests.problems import dense_trace, problem


def sharpened(
    scores: np.ndarray, running_max: np.ndarray | None, *, sharpness: float, out: object = None
) -> np.ndarray:
    """The numerators of a softmax of `sharpness · scores`."""
    return np.exp(sharpness * (scores if running_max is None else scores - running_max))


@pytest.fixture
def sharp_softmax(restored_registry: None) -> None:
    """A normalizer whose parameter is not called `temperature`, registered for one test."""

    @attncli.normalizer(
        formula="aᵢⱼ = exp(β sᵢⱼ) / Σⱼ exp(β sᵢⱼ)",
        shapes="scores[n m] -> [n m]",
        source="this test",
        example={"scores": [[0, 0]], "sharpness": 2, "gives": [[0.5, 0.5]]},
        is_distribution=True,
        online=OnlineNormalizer(sharpened, exp_scale=lambda parameters: parameters["sharpness"]),
    )
    def sharp_softmax(scores: np.ndarray, *, sharpness: float = 1.0) -> np.ndarray:
        """Softmax of the scores times a sharpness."""
        numerator = sharpened(scores, scores.max(axis=-1, keepdims=True), sharpness=sharpness)
        return numerator / numerator.sum(axis=-1, keepdims=True)


@pytest.mark.usefixtures("sharp_softmax")
@pytest.mark.parametrize("sharpness", [1.0, 2.5, 0.3, 40.0])
def test_the_parameter_of_an_exponential_normalizer_may_have_any_name(sharpness: float) -> None:
    keys = {"query": normal(5, 4), "key": normal(7, 4), "value": normal(7, 3), "causal": True}
    keys["normalize"] = {"sharp_softmax": {"sharpness": sharpness}}
    one = problem(**keys)
    options = RunOptions("serial", sizes=BlockSizes(dense_cells=0))
    dense, in_blocks = dense_trace(one)["output"].value, run(one, ("output",), options=options).output
    np.testing.assert_allclose(in_blocks, dense, rtol=1e-12, atol=1e-13)

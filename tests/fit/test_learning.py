"""Fits: they find what is known, stay in range, and say what can't be learned."""

import re
from collections.abc import Mapping
from math import log
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.fit.learning import PATIENCE, FitOptions, fit, fit_options
from attncli.io import examples
from attncli.plan import build
from tests.arrays import normal
from tests.problems import problem

X = normal(5, 3)
MATRICES = {name: normal(3, 3) / 2 for name in ("w_q", "w_k", "w_v")}
SEQUENCE: Mapping[str, Any] = {"embeddings": X, **MATRICES}
PAIRS: Mapping[str, Any] = {"query": normal(5, 3), "key": normal(7, 3), "value": normal(7, 2)}
QUICK = FitOptions(steps=400, rate=0.1)


def result(name: str, **keys: Any) -> np.ndarray:
    """One result of a problem."""
    value: np.ndarray = run(problem(**keys), name).trace[name].value
    return value


# Numbers that a result was made with, and others to start from.
KNOWN = {
    "gaussian": ({"score": {"gaussian": {"sigma": 0.7}}}, {"score": "gaussian"}, "score.sigma", 0.7),
    "laplacian": ({"score": {"laplacian": {"sigma": 2.5}}}, {"score": "laplacian"}, "score.sigma", 2.5),
    "cosine": ({"score": {"cosine": {"beta": 4.0}}}, {"score": "cosine"}, "score.beta", 4.0),
    "temperature": ({"normalize": {"softmax": {"temperature": 0.4}}}, {}, "normalize.temperature", 0.4),
    "shift": ({"normalize": {"sigmoid": {"shift": -1.5}}}, {"normalize": "sigmoid"}, "normalize.shift", -1.5),
    "alpha": ({"normalize": {"entmax": {"alpha": 1.8}}}, {"normalize": "entmax"}, "normalize.alpha", 1.8),
    "scale": ({"scale": 2.0}, {"scale": 0.5}, "scale", 2.0),
    "a negative scale": ({"scale": -2.0}, {"scale": -0.5}, "scale", -2.0),
    "softcap": ({"softcap": 1.5}, {"softcap": 5}, "softcap", 1.5),
    "value_scale": ({"value_scale": -2.0}, {"value_scale": 1}, "value_scale", -2.0),
}


@pytest.mark.parametrize(("truth", "start", "key", "number"), KNOWN.values(), ids=KNOWN)
def test_a_number_is_found_again(truth: Mapping[str, Any], start: Mapping[str, Any], key: str, number: float) -> None:
    output = result("output", **PAIRS, **truth)
    found = fit(problem(**PAIRS, **start), [key], {"output": output}, QUICK)
    np.testing.assert_allclose(found.values[key], number, rtol=1e-3)
    np.testing.assert_allclose(run(found.problem, "output").trace["output"].value, output, atol=1e-3)


def test_matrices_are_learned_from_several_targets() -> None:
    targets = {name: result(name, **SEQUENCE) for name in ("weights", "output")}
    start = {**SEQUENCE, "w_q": np.eye(3), "w_v": np.eye(3)}
    found = fit(problem(**start), ["w_q", "w_v"], targets, FitOptions(steps=300, rate=0.2))
    assert found.losses[found.best] < found.losses[0] / 100
    assert found.problem.w_k is not None
    np.testing.assert_array_equal(found.problem.w_k, MATRICES["w_k"])


SCORES = {"scores": normal(5, 7), "value": normal(7, 3)}
LEARNED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "w_q": ("w_q", SEQUENCE),
    "w_q stored out_in": ("w_q", {**SEQUENCE, "weight_layout": "out_in"}),
    "scores before a scale": ("scores", {**SCORES, "scale": -2.0}),
    "a bias of one row": ("bias", {**SCORES, "bias": normal(1, 1, 7)}),
    "the residual stream": ("residual", {"residual": X, "residual_norm": "rms", **MATRICES}),
    "packed projections": ("w_qkv", {"embeddings": X, "w_qkv": normal(3, 9)}),
    "a sink": ("sink", {**SEQUENCE, "sink": normal(1)}),
}


@pytest.mark.parametrize(("key", "keys"), LEARNED.values(), ids=LEARNED)
def test_the_first_step_goes_down_the_slope_of_the_loss(key: str, keys: Mapping[str, Any]) -> None:
    target, rate = normal(5, 3), 1e-6
    found = fit(problem(**keys), [key], {"output": target}, FitOptions(steps=1, rate=rate))
    moved = (found.learned[0].after - found.learned[0].before) / rate  # the first step of Adam has length 1
    moved = moved if keys.get("weight_layout") != "out_in" else moved.T

    def loss(array: np.ndarray) -> float:
        return float(((result("output", **{**keys, key: array}) - target) ** 2).mean())

    for index in np.ndindex(keys[key].shape):
        step = np.zeros(keys[key].shape)
        step[index] = 1e-5
        slope = loss(keys[key] + step) - loss(keys[key] - step)
        assert abs(slope) < 1e-14 or np.sign(slope) == -np.sign(moved[index])


def test_the_parameters_of_an_operator_and_its_numbers_are_learned_together() -> None:
    additive = {"w1": normal(3, 4), "w2": normal(3, 4), "v": normal(4)}
    keys = {**PAIRS, "score": {"additive": additive}}
    found = fit(problem(**keys), ["w1", "score.v", "temperature"], {"weights": np.full((5, 7), 1 / 7)}, QUICK)
    assert [one.key for one in found.learned] == ["score.w1", "score.v", "normalize.temperature"]
    assert found.losses[found.best] < found.losses[0] / 100
    np.testing.assert_array_equal(found.problem.score.given["w2"], additive["w2"])


@pytest.mark.parametrize("heads", [1, 3])
def test_what_is_given_of_a_target_counts_alone(heads: int) -> None:
    keys = {"embeddings": normal(5, 6), "heads": heads, "w_v": np.eye(6)}
    found = fit(problem(**keys), ["w_v"], {"output": {"token_2": [None, 1.0, None, 2.0, None, None]}}, QUICK)
    output = run(found.problem, "output").trace["output"].value
    np.testing.assert_allclose(output[1, [1, 3]], [1, 2], atol=1e-4)


def test_a_positive_number_stays_positive_however_far_a_step_goes() -> None:
    keys = {**PAIRS, "score": "gaussian"}
    found = fit(problem(**keys), ["sigma"], {"output": np.full((5, 2), 9.0)}, FitOptions(steps=50, rate=3.0))
    assert found.values["score.sigma"] > 0
    assert min(found.losses) == found.losses[found.best]


def test_it_stops_where_the_loss_falls_no_further() -> None:
    found = fit(problem(scores=[[0.0, 1.0]], scale=1), ["scale"], {"weights": [[0.1, 0.9]]}, FitOptions())
    assert found.stopped == "converged"
    np.testing.assert_allclose(found.values["scale"], log(9), rtol=1e-6)
    stuck = fit(problem(scores=[[0.0, 0.0]], scale=1), ["scale"], {"weights": [[0.1, 0.9]]}, FitOptions())
    assert (stuck.stopped, len(stuck.losses)) == ("converged", PATIENCE + 1)


def test_it_stops_after_the_steps_that_were_asked_for() -> None:
    seen: list[tuple[int, int, float]] = []
    options = FitOptions(steps=3, progress=lambda *told: seen.append(told))
    found = fit(problem(**SEQUENCE), ["w_v"], {"output": np.ones((5, 3))}, options)
    assert (found.stopped, len(found.losses)) == ("steps", 4)
    assert seen == [(step, 3, loss) for step, loss in enumerate(found.losses)]


def test_an_interrupted_fit_is_what_was_found_so_far() -> None:
    def interrupt(step: int, _steps: int, _loss: float) -> None:
        if step == 20:
            raise KeyboardInterrupt

    found = fit(problem(**SEQUENCE), ["w_v"], {"output": np.ones((5, 3))}, FitOptions(progress=interrupt))
    assert (found.stopped, len(found.losses)) == ("interrupted", 21)
    assert found.losses[20] < found.losses[0]


def test_a_loss_that_is_no_longer_finite_ends_it() -> None:
    keys = {"scores": [[0.0, 1.0]], "value": [[0.0], [1.0]]}
    found = fit(problem(**keys), ["value"], {"output": [[2.0]]}, FitOptions(steps=50, rate=1e200))
    assert found.stopped == "not_finite"
    assert np.isfinite(found.losses).all()
    with pytest.raises(AttnError, match="learn: the loss is not finite at the start"):
        fit(problem(scores=[[0.0, np.nan]], value=[[1.0], [2.0]]), ["value"], {"output": [[1.0]]}, QUICK)


def test_the_plan_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, made = problem(**SEQUENCE, scale=0.5), []
    build.plan_of(spec)
    make = build._forward_builder
    monkeypatch.setattr(build, "_forward_builder", lambda spec: made.append(spec) or make(spec))
    fit(spec, ["w_q", "scale"], {"output": np.ones((5, 3))}, FitOptions(steps=30))
    assert len(made) == 1


ONES = {"output": np.ones((5, 3))}
WRONG: Mapping[str, tuple[list[str], Mapping[str, Any], str]] = {
    "a name that is near": (["w_z"], ONES, r"learn: unknown key to learn 'w_z'; did you mean 'w_.'\?"),
    "a parameter that is near": (["normalize.temp"], ONES, "did you mean 'normalize.temperature'"),
    "an integer": (["heads"], ONES, "learn: heads has no gradient; expected one of embeddings, w_q, w_k, w_v, normal"),
    "an operator": (["score"], ONES, "learn: score has no gradient"),
    "what is not given": (["w_o"], ONES, "learn: w_o is not given; give a start: --w-o normal --seed 0"),
    "a number that is not given": (["scale"], ONES, "learn: scale is not given; give a start: --scale X"),
    "what a target does not read": (["w_v"], {"weights": np.ones((5, 5))}, "learn: weights does not depend on w_v"),
    "a target that reads nothing": (["w_q"], {**ONES, "key": X}, "target, key: does not depend on w_q"),
    "another shape": (["w_q"], {"output": np.ones((5, 2))}, "target, output: has 5 × 2 numbers; expected 5 queries"),
    "an unknown target": (["w_q"], {"outptu": X}, "target, outptu: unknown result 'outptu'; did you mean 'output'"),
    "no numbers": (["w_q"], {"output": np.full((5, 3), np.nan)}, "target, output: has no number"),
    "nothing": ([], ONES, "learn: nothing is learned"),
    "no target": (["w_q"], {}, "target: there is no target"),
}


@pytest.mark.parametrize(("learn", "targets", "message"), WRONG.values(), ids=WRONG)
def test_what_can_not_be_fitted_is_said_by_its_name(learn: list[str], targets: Mapping[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as raised:
        fit(problem(**SEQUENCE), learn, targets, QUICK)
    assert re.search(message, raised.value.typed)


@pytest.mark.parametrize(
    ("keys", "learn", "message"),
    [
        ({"normalize": "hardmax"}, "w_q", "learn: normalize hardmax has no derivative"),
        ({"normalize": {"entmax": {"alpha": 1}}}, "alpha", "learn: normalize.alpha is 1; it stays above 1"),
        ({"scale": 0}, "scale", "learn: scale is 0; it stays on one side of 0"),
        (
            {"position": {"rope": {"base": 100}}, "w_q": np.eye(3, 4), "w_k": np.eye(3, 4)},
            "position.base",
            "has no gradient",
        ),
    ],
)
def test_what_has_no_derivative_is_said_by_its_name(keys: Mapping[str, Any], learn: str, message: str) -> None:
    with pytest.raises(AttnError, match=message):
        fit(problem(**{**SEQUENCE, **keys}), [learn], {"output": np.ones((5, 3))}, QUICK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps: 0 is out of range"),
        ({"steps": 1.5}, "steps: 1.5 is not a whole number"),
        ({"rate": 0}, "rate: 0 is not above 0"),
        ({"rate": "fast"}, "rate: "),
    ],
)
def test_options_out_of_range_are_errors(options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(AttnError, match=message):
        fit_options(**options)


def heights() -> list[float]:
    """The heights that the worked example has in a comment."""
    lines = examples.text("learned_bandwidth").splitlines()
    first = next(at for at, line in enumerate(lines) if "heights that were measured" in line) + 1
    return [float(number) for line in lines[first : first + 2] for number in line.strip("# ").rstrip(";").split(";")]


def test_the_worked_example_has_what_a_fit_gives() -> None:
    before, width, matrix = (part.problem for part in examples.load("learned_bandwidth").parts)
    target = {"output": np.array(heights())[:, None]}
    found = fit(before, ["score.sigma"], target, FitOptions())
    np.testing.assert_allclose(found.values["score.sigma"], width.score.given["sigma"], atol=5e-5)
    start = problem(query=before.query, key=before.key, value=before.value, score={"general": {"w": "identity"}})
    found = fit(start, ["score.w"], target, FitOptions(rate=0.5))
    np.testing.assert_allclose(found.values["score.w"], matrix.score.given["w"], atol=5e-5)
    outputs = [run(spec, "output").trace["output"].value for spec in (before, width, matrix)]
    errors = [f"{((output - target['output']) ** 2).mean():.4f}" for output in outputs]
    assert f"# {', '.join(errors)}. Outputs are from a loop" in examples.text("learned_bandwidth")

"""A trial from Python: what it returns, its assertion, and what can't be tried."""

from typing import Any

import numpy as np
import pytest

import attncli


def attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores = np.where(np.tri(*scores.shape[-2:], dtype=bool) | (not causal), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def wrong(q: Any, k: Any, v: Any) -> Any:
    print("not a result")
    return attention(q, k, v * 2)


def attention_backward(q: Any, k: Any, v: Any, grad_output: Any) -> Any:
    scale = 1 / np.sqrt(q.shape[-1])
    weights = attention(q, k, np.broadcast_to(np.eye(k.shape[-2], dtype=q.dtype), (*k.shape[:-1], k.shape[-2])))
    of_weights = grad_output @ v.swapaxes(-1, -2)
    of_scores = weights * (of_weights - (of_weights * weights).sum(axis=-1, keepdims=True)) * scale
    return of_scores @ k, of_scores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ grad_output


def test_a_right_function_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    trial = attncli.try_function(attention, causal=True, inputs=3, seed=1, dtype="float64")
    assert trial
    assert (trial.passes, trial.failed, trial.smallest, list(trial.explained_by)) == (True, 0, None, [])
    assert repr(trial) == f"Trial(attention passes all {trial.tried} inputs)"
    trial.raise_for_failure()
    assert capsys.readouterr() == ("", "")


def test_the_message_of_the_assertion_is_the_report_with_the_smallest_input(capsys: pytest.CaptureFixture[str]) -> None:
    trial = attncli.try_function(wrong, inputs=0, dtype="float64")
    assert not trial
    assert capsys.readouterr() == ("", ""), "what it prints is in the report"
    with pytest.raises(AssertionError, match="not a result") as raised:
        trial.raise_for_failure()
    assert str(raised.value).startswith("wrong fails on ")
    assert trial.smallest is not None
    assert trial.smallest.query.shape == trial.smallest.key.shape == (1, 1)
    assert trial.smallest.compute().output.tolist() == trial.smallest.value.tolist()
    assert trial._repr_html_().startswith("<")


@pytest.mark.deep
def test_a_backward_function_is_tried() -> None:
    assert attncli.try_function(attention, inputs=0, dtype="float64", backward=attention_backward)
    half = lambda q, k, v, grad_output: [x / 2 for x in attention_backward(q, k, v, grad_output)]  # noqa: E731
    trial = attncli.try_function(attention, inputs=0, dtype="float64", backward=half)
    assert not trial
    command = str(trial).splitlines()[-1]
    assert command.startswith("By hand: attn compute --query ")
    assert command.endswith(" --gradient --explain")
    assert " --grad-output " in command


def test_a_convention_reads_the_keys() -> None:
    trial = attncli.try_function(attention, causal=True, inputs=0, dtype="float64", convention="flash")
    assert [x.slips for x in trial.explained_by] == [("causal_top_left",)]


def interrupted(q: Any, k: Any, v: Any) -> Any:
    raise KeyboardInterrupt


def test_control_c_ends_the_trial() -> None:
    with pytest.raises(KeyboardInterrupt):
        attncli.try_function(interrupted)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("attention", {}, "function: 'attention' is not a function"),
        (attention, {"arrays": "jax"}, "arrays: unknown library 'jax'; expected one of numpy, torch"),
        (attention, {"layout": "hbnd"}, "layout: unknown layout 'hbnd'"),
        (attention, {"convention": "flush"}, "convention: unknown convention 'flush'; did you mean 'flash'?"),
        (attention, {"returns": "outptu"}, "returns: unknown result 'outptu'; did you mean 'output'?"),
        (attention, {"backward": True}, "backward: NumPy's arrays have no gradients; give the function that computes"),
        (attention, {"inputs": -1}, "inputs: -1 is out of range"),
        (attention, {"query": [[1, 2]], "embeddings": [[1, 2]]}, "attn try chooses its inputs"),
        (attention, {"w_q": [[1]]}, "w_q: has a size of its own"),
        (lambda q: q, {}, "<lambda> does not take query, key and value"),
    ],
)
def test_what_can_not_be_tried_is_an_error(function: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(attncli.AttnError) as raised:
        attncli.try_function(function, **arguments)
    assert message in str(raised.value)

"""A trial from Python: what it returns, its assertion, and what can't be tried."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.api.problem import raw_values
from attncli.kernels.description import describe


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
        (attention, {"arrays": "cupy"}, "arrays: unknown library 'cupy'; expected one of numpy, torch"),
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


class Seen(list[Any]):
    """A right function of arrays [b n h d] that keeps the queries that it is given."""

    def __call__(self, q: Any, k: Any, v: Any) -> Any:
        self.append(q.copy())
        return attention(*(x.swapaxes(1, 2) for x in (q, k, v))).swapaxes(1, 2)


def test_the_arrays_of_a_problem_are_read_in_the_layout_of_the_function() -> None:
    query, key = np.random.default_rng(0).standard_normal((2, 2, 5, 3, 4))
    seen = Seen()
    assert attncli.try_function(seen, inputs=0, dtype="float64", layout="bnhd", query=query, key=key, value=key)
    assert any(np.array_equal(one, query) for one in seen)


@pytest.mark.parametrize("given", [None, "drawn"])
def test_gradients_are_tried_on_the_arrays_of_a_problem(given: str | None) -> None:
    query, key, upstream = np.random.default_rng(1).standard_normal((3, 1, 2, 3, 4))
    upstream = np.ones_like(upstream) if given != "drawn" else upstream
    seen: list[Any] = []

    def backward(q: Any, k: Any, v: Any, grad_output: Any) -> Any:
        seen.append((q.copy(), grad_output.copy()))
        return attention_backward(q, k, v, grad_output)

    own = {} if given is None else {"grad_output": upstream}
    keys: dict[str, Any] = {"query": query, "key": key, "value": key, **own}
    assert attncli.try_function(attention, inputs=0, dtype="float64", backward=backward, **keys)
    assert [np.array_equal(one, upstream) for q, one in seen if np.array_equal(q, query)] == [True]


@pytest.mark.parametrize("axes", ["n h·e", "b n h·e", "b n e", "b h n e"])
def test_the_gradient_of_the_output_has_the_axes_of_its_problem(axes: str) -> None:
    b, h, n, d = 2, 1 if axes == "b n e" else 2, 3, 4
    shapes = {"n h·e": (n, h * d), "b n h·e": (b, n, h * d), "b n e": (b, n, d), "b h n e": (b, h, n, d)}
    query, upstream = np.random.default_rng(2).standard_normal((2, *shapes[axes]))
    own = {"heads": h} if "·" in axes else {}
    found, _ = describe(raw_values({"query": query, "key": query, "value": query, "grad_output": upstream, **own}))
    assert found.given is not None
    by_hand = upstream if axes == "b h n e" else upstream.reshape(-1, n, h, d).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(found.given.arrays["grad_output"], by_hand)

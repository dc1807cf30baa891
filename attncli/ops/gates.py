"""Gates on the output: a factor of the merged heads for each feature, or for each head."""

import math

from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import gate, structural
from attncli.ops.derivatives import derivative
from attncli.ops.recording.stable import logistic

SHAPES = "x[n u] -> [n u]"


@derivative("{d_x} = {d_result} ∘ {result} ∘ (1 − {result})")
def sigmoid_x(grad: Array, forward: Array) -> Array:
    """The gradient of a gate's input, by hand: from the gate it is shorter, and never overflows."""
    gradient: Array = grad * forward * (1 - forward)
    return gradient


@gate(
    formula="Gᵃ = 1 / (1 + exp(−G))",
    shapes=SHAPES,
    source="Qiu et al. 2025 (Gated Attention for Large Language Models), eq. 5",
    example={"x": [[0, math.log(3)]], "gives": [[0.5, 0.75]]},
    derivatives={"x": sigmoid_x},
)
def sigmoid(x: Array) -> Array:
    """The logistic function of each number: from 0, closed, to 1, open.

    >>> sigmoid(np.array([[0.0, 30.0]])).round(4)
    array([[0.5, 1. ]])
    """
    return 1 / (1 + np.exp(-x))


@derivative("{d_x} = {d_result} ∘ σ({x}) ∘ (1 + {x} ∘ (1 − σ({x}))), σ(x) = 1 / (1 + exp(−x))")
def silu_x(grad: Array, x: Array) -> Array:
    """The gradient of a gate's input, by hand: with the sigmoid it is shorter."""
    share = logistic(x)
    gradient: Array = grad * share * (1 + x * (1 - share))
    return gradient


@gate(
    formula="Gᵃ = G / (1 + exp(−G))",
    shapes=SHAPES,
    source="Sun et al. 2023 (Retentive Network), 2.3, the swish gate",
    example={"x": [[0, math.log(3)]], "gives": [[0, 0.75 * math.log(3)]]},
    derivatives={"x": silu_x},
)
def silu(x: Array) -> Array:
    """Each number times its sigmoid.

    >>> silu(np.array([[0.0, 30.0]])).round(4)
    array([[ 0., 30.]])
    """
    found: Array = x / (1 + np.exp(-x))
    return found


@gate(
    formula="Gᵃ = ln(1 + exp(G))",
    shapes=SHAPES,
    source="transformers 5, models/laguna",
    example={"x": [[0, math.log(3)]], "gives": [[math.log(2), math.log(4)]]},
    derivatives={"x": "{d_x} = {d_result} / (1 + exp(−{x}))"},
)
def softplus(x: Array) -> Array:
    """From 0, closed, without an upper limit.

    >>> softplus(np.array([[0.0, 30.0]])).round(4)
    array([[ 0.6931, 30.    ]])
    """
    found: Array = np.logaddexp(0, x)
    return found


@structural(
    derivatives={
        "x": "{d_x} = {d_result} ∘ {gate}",
        "gate": "{d_gate} = {d_result} ∘ {x}, of a gate of a head the sum over its features",
    }
)
def apply_gate(x: Array, gate: Array) -> Array:
    """The merged heads times their gates: [… n h·e] and [… n u], u = h·e, or one gate for each head, u = h.

    >>> apply_gate(np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[0.5, 0.0]]))
    array([[0.5, 1. , 0. , 0. ]])
    """
    *leading, features = x.shape
    count = gate.shape[-1]
    heads = x.reshape(*leading, count, features // count)
    return (heads * gate[..., None]).reshape(x.shape)

"""Gates on the output: a number for each feature, or for each head, by which the merged heads are multiplied."""

from collections.abc import Mapping

from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import StructuralFunction, structural
from attncli.ops.derivatives import derivative
from attncli.ops.recording.stable import logistic


@derivative("{d_x} = {d_result} ∘ {result} ∘ (1 − {result})")
def sigmoid_gate_x(grad: Array, forward: Array) -> Array:
    """The gradient of what gates are made of, by hand: from the gate it is shorter, and never overflows."""
    gradient: Array = grad * forward * (1 - forward)
    return gradient


@structural(derivatives={"x": sigmoid_gate_x})
def sigmoid_gate(x: Array) -> Array:
    """`1 / (1 + exp(−x))`: from 0, closed, to 1, open.

    Source: Qiu et al. 2025 (Gated Attention for Large Language Models), eq. 5.

    >>> sigmoid_gate(np.array([[0.0, 30.0]])).round(4)
    array([[0.5, 1. ]])
    """
    return 1 / (1 + np.exp(-x))


@derivative("{d_x} = {d_result} ∘ σ({x}) ∘ (1 + {x} ∘ (1 − σ({x}))), σ(x) = 1 / (1 + exp(−x))")
def silu_gate_x(grad: Array, x: Array) -> Array:
    """The gradient of what gates are made of, by hand: with the sigmoid it is shorter."""
    share = logistic(x)
    gradient: Array = grad * share * (1 + x * (1 - share))
    return gradient


@structural(derivatives={"x": silu_gate_x})
def silu_gate(x: Array) -> Array:
    """`x / (1 + exp(−x))`: each number times its sigmoid.

    Source: Sun et al. 2023 (Retentive Network), 2.3, the swish gate.

    >>> silu_gate(np.array([[0.0, 30.0]])).round(4)
    array([[ 0., 30.]])
    """
    gate: Array = x / (1 + np.exp(-x))
    return gate


@structural(derivatives={"x": "{d_x} = {d_result} / (1 + exp(−{x}))"})
def softplus_gate(x: Array) -> Array:
    """`ln(1 + exp(x))`: from 0, closed, without an upper limit.

    Source: transformers 5, models/laguna.

    >>> softplus_gate(np.array([[0.0, 30.0]])).round(4)
    array([[ 0.6931, 30.    ]])
    """
    gate: Array = np.logaddexp(0, x)
    return gate


# The choices of the key `gate`: the function of each, and its formula of the projected gate G.
GATES: Mapping[str, tuple[StructuralFunction[..., Array], str]] = {
    "sigmoid": (sigmoid_gate, "1 / (1 + exp(−G))"),
    "silu": (silu_gate, "G / (1 + exp(−G))"),
    "softplus": (softplus_gate, "ln(1 + exp(G))"),
}


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

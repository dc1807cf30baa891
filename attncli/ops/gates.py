"""Gates on the output: a number for each feature, or for each head, by which the merged heads are multiplied."""

from collections.abc import Mapping
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import exp, ln, number
from attncli.ops.decorators import StructuralFunction, structural


@structural(by_hand=lambda write, x, result: [write.equation(1 / (1 + exp(-number(x))), result, letter="u")])
def sigmoid_gate(x: Array) -> Array:
    """`1 / (1 + exp(−x))`: from 0, closed, to 1, open.

    Source: Qiu et al. 2025 (Gated Attention for Large Language Models), eq. 5.

    >>> sigmoid_gate(np.array([[0.0, 30.0]])).round(4)
    array([[0.5, 1. ]])
    """
    return 1 / (1 + np.exp(-x))


@structural(by_hand=lambda write, x, result: [write.equation(number(x) / (1 + exp(-number(x))), result, letter="u")])
def silu_gate(x: Array) -> Array:
    """`x / (1 + exp(−x))`: each number times its sigmoid.

    Source: Sun et al. 2023 (Retentive Network), 2.3, the swish gate.

    >>> silu_gate(np.array([[0.0, 30.0]])).round(4)
    array([[ 0., 30.]])
    """
    gate: Array = x / (1 + np.exp(-x))
    return gate


@structural(by_hand=lambda write, x, result: [write.equation(ln(1 + exp(number(x))), result, letter="u")])
def softplus_gate(x: Array) -> Array:
    """`ln(1 + exp(x))`: from 0, closed, without an upper limit.

    Source: transformers 5, models/laguna.

    >>> softplus_gate(np.array([[0.0, 30.0]])).round(4)
    array([[ 0.6931, 30.    ]])
    """
    gate: Array = np.logaddexp(x, 0)
    return gate


# The choices of the key `gate`: the function of each, and its formula of the projected gate G.
GATES: Mapping[str, tuple[StructuralFunction[..., Array], str]] = {
    "sigmoid": (sigmoid_gate, "1 / (1 + exp(−G))"),
    "silu": (silu_gate, "G / (1 + exp(−G))"),
    "softplus": (softplus_gate, "ln(1 + exp(G))"),
}


def apply_gate_by_hand(write: ArithmeticWriter, x: Array, gate: Array, result: Any) -> list[str]:
    """One row of merged heads, each number times its gate."""
    return [write.equation(number(x) * number(gate.repeat(x.size // gate.size)), result, letter="e")]


@structural(by_hand=apply_gate_by_hand)
def apply_gate(x: Array, gate: Array) -> Array:
    """The merged heads times their gates: [… n h·e] and [… n u], u = h·e, or one gate for each head, u = h.

    >>> apply_gate(np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[0.5, 0.0]]))
    array([[0.5, 1. , 0. , 0. ]])
    """
    *leading, features = x.shape
    count = gate.shape[-1]
    heads = x.reshape(*leading, count, features // count)
    return (heads * gate[..., None]).reshape(x.shape)

"""Gates on the output: a number for each feature, or for each head, by which the merged heads are multiplied."""

from collections.abc import Mapping
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import exp, ln, number
from attncli.ops.code import CodeCall
from attncli.ops.decorators import StructuralFunction, structural
from attncli.ops.derivatives import derivative


def _logistic(x: Array) -> Array:
    """1 / (1 + exp(−x)), without overflow."""
    share: Array = np.exp(-np.logaddexp(0, -x))
    return share


@derivative(
    "{d_x} = {d_result} ∘ {result} ∘ (1 − {result})",
    by_hand=lambda write, grad, forward, result: [
        write.equation(number(grad) * number(forward) * (1 - number(forward)), result, letter="u")
    ],
    code="{grad} * {forward} * (1 - {forward})",
)
def sigmoid_gate_x(grad: Array, forward: Array) -> Array:
    """The gradient of what gates are made of."""
    gradient: Array = grad * forward * (1 - forward)
    return gradient


@structural(
    by_hand=lambda write, x, result: [write.equation(1 / (1 + exp(-number(x))), result, letter="u")],
    derivatives={"x": sigmoid_gate_x},
    code="1 / (1 + np.exp(-{x}))",
)
def sigmoid_gate(x: Array) -> Array:
    """`1 / (1 + exp(−x))`: from 0, closed, to 1, open.

    Source: Qiu et al. 2025 (Gated Attention for Large Language Models), eq. 5.

    >>> sigmoid_gate(np.array([[0.0, 30.0]])).round(4)
    array([[0.5, 1. ]])
    """
    return 1 / (1 + np.exp(-x))


def silu_gate_x_by_hand(write: ArithmeticWriter, grad: Array, x: Array, result: Any) -> list[str]:
    """The sigmoid of one row, and its gradient."""
    share = write.computed("σ", 1 / (1 + exp(-number(x))), letter="u")
    return [share.line, write.equation(number(grad) * share * (1 + number(x) * (1 - share)), result, letter="u")]


@derivative(
    "{d_x} = {d_result} ∘ σ({x}) ∘ (1 + {x} ∘ (1 − σ({x}))), σ(x) = 1 / (1 + exp(−x))",
    by_hand=silu_gate_x_by_hand,
    code="share = 1 / (1 + np.exp(-{x}))\n{grad} * share * (1 + {x} * (1 - share))",
)
def silu_gate_x(grad: Array, x: Array) -> Array:
    """The gradient of what gates are made of."""
    share = _logistic(x)
    gradient: Array = grad * share * (1 + x * (1 - share))
    return gradient


@structural(
    by_hand=lambda write, x, result: [write.equation(number(x) / (1 + exp(-number(x))), result, letter="u")],
    derivatives={"x": silu_gate_x},
    code="{x} / (1 + np.exp(-{x}))",
)
def silu_gate(x: Array) -> Array:
    """`x / (1 + exp(−x))`: each number times its sigmoid.

    Source: Sun et al. 2023 (Retentive Network), 2.3, the swish gate.

    >>> silu_gate(np.array([[0.0, 30.0]])).round(4)
    array([[ 0., 30.]])
    """
    gate: Array = x / (1 + np.exp(-x))
    return gate


@derivative(
    "{d_x} = {d_result} / (1 + exp(−{x}))",
    by_hand=lambda write, grad, x, result: [write.equation(number(grad) / (1 + exp(-number(x))), result, letter="u")],
    code="{grad} / (1 + np.exp(-{x}))",
)
def softplus_gate_x(grad: Array, x: Array) -> Array:
    """The gradient of what gates are made of."""
    return grad * _logistic(x)


@structural(
    by_hand=lambda write, x, result: [write.equation(ln(1 + exp(number(x))), result, letter="u")],
    derivatives={"x": softplus_gate_x},
    code="{x}.clip(0) + np.log1p(np.exp(-abs({x})))",
)
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


def _gate_code(call: CodeCall) -> str:
    """The product, with the gate of a head for each of its features."""
    count = call.shape[-1] // call.shapes["gate"][-1]
    return "{x} * {gate}" if count == 1 else f"{{x}} * {{gate}}.repeat({count}, axis=-1)"


def apply_gate_by_hand(write: ArithmeticWriter, x: Array, gate: Array, result: Any) -> list[str]:
    """One row of merged heads, each number times its gate."""
    return [write.equation(number(x) * number(gate.repeat(x.size // gate.size)), result, letter="e")]


@derivative(
    "{d_x} = {d_result} ∘ {gate}",
    by_hand=lambda write, grad, gate, result: [
        write.equation(number(grad) * number(gate.repeat(grad.size // gate.size)), result, letter="e")
    ],
    code=lambda call: _gate_code(call).replace("{x}", "{grad}"),
)
def apply_gate_x(grad: Array, gate: Array) -> Array:
    """The gradient of the merged heads: as far as they are let through."""
    return grad * gate.repeat(grad.shape[-1] // gate.shape[-1], axis=-1)


def _gate_gradient_code(call: CodeCall) -> str:
    """The products, of a gate of a head summed over its features."""
    *leading, features = call.shapes["x"]
    count = call.shapes["gate"][-1]
    if count == features:
        return "{grad} * {x}"
    return f"({{grad}} * {{x}}).reshape({(*leading, count, features // count)}).sum(axis=-1)"


@derivative("{d_gate} = {d_result} ∘ {x}, of a gate of a head the sum over its features", code=_gate_gradient_code)
def apply_gate_gate(grad: Array, x: Array, gate: Array) -> Array:
    """The gradient of the gates: what they let through."""
    *leading, features = x.shape
    count = gate.shape[-1]
    total: Array = (grad * x).reshape(*leading, count, features // count).sum(axis=-1)
    return total


@structural(by_hand=apply_gate_by_hand, derivatives={"x": apply_gate_x, "gate": apply_gate_gate}, code=_gate_code)
def apply_gate(x: Array, gate: Array) -> Array:
    """The merged heads times their gates: [… n h·e] and [… n u], u = h·e, or one gate for each head, u = h.

    >>> apply_gate(np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[0.5, 0.0]]))
    array([[0.5, 1. , 0. , 0. ]])
    """
    *leading, features = x.shape
    count = gate.shape[-1]
    heads = x.reshape(*leading, count, features // count)
    return (heads * gate[..., None]).reshape(x.shape)

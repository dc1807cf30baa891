"""Query scales: a factor for each query that grows with its position, so that attention stays sharp over many keys.

`positions` [… n] counts from 0; `heads` is None without an axis of heads. A position before the first key (padding) has
the first key's factor.
"""

from typing import Annotated

from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import query_scale
from attncli.ops.derivatives import CONSTANT, Derivatives
from attncli.ops.records import Range

Length = Annotated[float, Range(above=0)]
Offset = Annotated[float, Range(least=0)]
OF_POSITIONS: Derivatives = {"positions": CONSTANT}


@query_scale(
    formula="κᵢ = 1 + factor ln(1 + ⌊(posᵢ + offset) / length⌋)",
    shapes="positions[n] -> [n]",
    source="Llama 4 (attn_scale, floor_scale); Ministral 3 and Mistral 4 with offset 0 (llama_4_scaling_beta)",
    example={"positions": [0, 3], "length": 4, "offset": 0, "gives": [1, 1]},
    formula_in_force=lambda length, factor, offset: (
        f"κᵢ = 1 + factor ln(1 + ⌊{'(posᵢ + offset)' if offset else 'posᵢ'} / length⌋)"
    ),
    derivatives=OF_POSITIONS,
)
def log_steps(positions: Array, *, length: Length, factor: float = 0.1, offset: Offset = 1.0) -> Array:
    """The query's factor is 1 up to a length, and rises by a step at each multiple of it.

    An offset of 1 counts positions from 1.

    >>> log_steps(np.array([0, 7, 8]), length=8, offset=0).round(4)
    array([1.    , 1.    , 1.0693])
    """
    steps = np.floor((_from_first_key(positions) + offset) / length)
    return 1 + factor * np.log1p(steps)


def _logn_formula(*, length: float, factor: float | None = None) -> str:
    """With a factor, or as the quotient of two logarithms."""
    if factor is None:
        return "κᵢ = max(ln(posᵢ + 1) / ln(length), 1)"
    return "κᵢ = 1 + factor ln(max((posᵢ + 1) / length, 1))"


@query_scale(
    formula="κᵢ = 1 + factor ln(max((posᵢ + 1) / length, 1))",
    shapes="positions[n] -> [n]",
    source="Su 2021 (log n scaling), as in Qwen (use_logn_attn, seq_length); Inkling (log_scaling_alpha, _n_floor)",
    example={"positions": [0, 3, 15], "length": 4, "gives": [1, 1, 2]},
    formula_in_force=_logn_formula,
    derivatives=OF_POSITIONS,
)
def logn(positions: Array, *, length: Annotated[float, Range(above=1)], factor: float | None = None) -> Array:
    """The query's factor is 1 up to a length, and grows with the logarithm of the position beyond it.

    The length is the training sequences'. The factor is 1 / ln(length) by default, so that the query's factor is
    ln(posᵢ + 1) / ln(length).

    >>> logn(np.array([3, 15]), length=4)
    array([1., 2.])
    """
    times = np.maximum((_from_first_key(positions) + 1) / length, 1)
    return 1 + (1 / np.log(length) if factor is None else factor) * np.log(times)


@query_scale(
    formula="κᵢ = (1 + (posᵢ + 1) / length)^exponent",
    shapes="positions[n] -> [n]",
    source="BEAM (compute_attention_scaling of transformers' modeling_beam.py)",
    example={"positions": [0, 2], "exponent": 0.5, "length": 1, "gives": [1.4142135623730951, 2]},
    derivatives=OF_POSITIONS,
)
def power(positions: Array, *, length: Length, exponent: float = 0.1) -> Array:
    """The query's factor grows with a power of the position.

    >>> power(np.array([0, 2]), exponent=0.5, length=1).round(4)
    array([1.4142, 2.    ])
    """
    return (1 + (_from_first_key(positions) + 1) / length) ** exponent


def _ssmax_formula(*, scale: float, bias: float) -> str:
    """The scale and the bias if they have an effect; one for each head, or one for all."""
    before = "scaleₕ " if scale is True else "scale " if scale != 1 else ""
    after = " + biasₕ" if bias is True else " + bias" if bias else ""
    return f"κᵢ = {before}ln(posᵢ + 1){after}"


@query_scale(
    formula="κᵢ = scaleₕ ln(posᵢ + 1) + biasₕ",
    shapes="positions[n], scale[h], bias[h] -> [n]",
    source="Nakanishi 2025 (Scalable-Softmax), eq. 3 and its variant with a bias; Mistral Large 4 (softmax_scaling)",
    example={"positions": [0, 0], "scale": [3], "bias": [0.5], "gives": [0.5, 0.5]},
    formula_in_force=_ssmax_formula,
    derivatives={
        "positions": CONSTANT,
        "scale": "{d_scale}ₕ = Σᵢ {d_result}ᵢ ln(posᵢ + 1)",
        "bias": "{d_bias}ₕ = Σᵢ {d_result}ᵢ",
    },
)
def ssmax(
    positions: Array, heads: int | None = None, *, scale: Array | float = 1.0, bias: Array | float = 0.0
) -> Array:
    """The query's factor grows with the logarithm of its number of keys, learned for each head.

    Scale and bias have a number for each head, or one for all.

    >>> ssmax(np.array([0, 2]), heads=2, scale=np.array([1.0, 2.0])).round(4)
    array([[0.    , 1.0986],
           [0.    , 2.1972]])
    """
    counts = (_from_first_key(positions) + 1).astype(np.result_type(positions, scale, bias, np.float64))
    logarithms = np.log(counts)
    per_head = () if heads is None else (-1, 1)
    factors: Array = np.reshape(scale, per_head) * logarithms + np.reshape(bias, per_head)
    return factors


def _from_first_key(positions: Array) -> Array:
    """The positions, at least 0."""
    return np.maximum(positions, 0)

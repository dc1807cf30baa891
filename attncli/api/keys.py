"""The keys of a problem as keywords, for editors and type checkers.

`python docs/generate.py` writes a line for each key of the table in `problem/spec.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, SupportsFloat, SupportsIndex, TypedDict

from attncli.ops.records import Operator, OperatorRecord


class HasArray(Protocol):
    """An array, a tensor or a data frame that NumPy can read."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


class HasDLPack(Protocol):
    """An array or a tensor that other libraries can read."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


# An array, tensor or data frame, nested lists, a mapping from labels to rows, or a generator: "randint:low=0,high=3".
Matrix = HasArray | HasDLPack | Sequence[Any] | Mapping[str, Any] | Operator | None
Vector = Matrix | SupportsFloat
Labels = HasArray | Sequence[str | SupportsIndex] | str | SupportsIndex | None
Integer = SupportsIndex | SupportsFloat | None
Number = SupportsFloat | str | None
Window = Sequence[SupportsFloat | str] | str | None
# "NAME", "NAME:key=value", {"NAME": {"key": value}}, or the function of an operator.
OperatorChoice = str | Mapping[str, Any] | Operator | OperatorRecord | Callable[..., Any] | None


class KeysBesideVectors(TypedDict, total=False):
    """The keys of a problem without `query`, `key` and `value`."""

    embeddings: Matrix
    residual: Matrix
    residual_norm: OperatorChoice
    query_embeddings: Matrix
    tokens: Labels
    query_tokens: Labels
    sentence: str | None
    vocabulary: Matrix
    token_table: Matrix
    token_positions: Matrix
    token_scale: Number
    scores: Matrix
    weights: Matrix
    w_q: Matrix
    w_k: Matrix
    w_v: Matrix
    w_o: Matrix
    b_q: Vector
    b_k: Vector
    b_v: Vector
    b_o: Vector
    w_qkv: Matrix
    b_qkv: Vector
    w_kv: Matrix
    b_kv: Vector
    w_g: Matrix
    b_g: Vector
    w_qg: Matrix
    b_qg: Vector
    gate: Literal["sigmoid", "silu", "softplus"] | None
    packing: Literal["concatenated", "per_head", "per_group"] | None
    weight_layout: Literal["in_out", "out_in"] | None
    heads: Integer
    kv_heads: Integer
    qk_norm: OperatorChoice
    clip_qkv: Number
    value_scale: Number
    query_scale: OperatorChoice
    value_norm: OperatorChoice
    context_norm: OperatorChoice
    sink: Vector
    score: OperatorChoice
    scale: Number
    softcap: Number
    position: OperatorChoice
    positions: Matrix
    positions_of_queries: Matrix
    normalize: OperatorChoice
    context: OperatorChoice
    mask: Matrix | OperatorChoice
    bias: Matrix
    causal: bool | None
    window: Window
    key_lengths: Vector
    key_mask: Matrix
    align: Literal["top_left", "first_key", "bottom_right"] | None
    empty_rows: Literal["zeros", "nan", "uniform"] | None
    past_key: Matrix
    past_value: Matrix
    only: Labels
    seed: Integer
    generator: Literal["pcg64", "legacy"] | None
    init: OperatorChoice
    token_count: Integer
    dim: Integer
    d_k: Integer
    d_v: Integer
    dtype: Literal["float16", "bfloat16", "float32", "float64", "longdouble"] | Any  # or a type of NumPy or PyTorch


class ProblemKeys(KeysBesideVectors, total=False):
    """The keys of a problem, each as `Problem`, `load`, `check` and `compare` take it."""

    query: Matrix
    key: Matrix
    value: Matrix

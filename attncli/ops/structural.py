"""Structural functions: projections, and the only place where axes are reshaped, repeated and concatenated."""

from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import products, total
from attncli.ops.code import CodeCall
from attncli.ops.decorators import structural
from attncli.ops.derivatives import derivative, unchanged
from attncli.ops.products import product_without_zeros


def _projected_back(write: ArithmeticWriter, grad: Array, result: Any, w: Array | None = None) -> list[str]:
    """The gradient of one row [d], times the columns of the matrix [x d], and their sum; empty without a matrix."""
    return [] if w is None or not np.ndim(grad) else [write.equation(products(grad, w.T), result, letter="x")]


@derivative(
    lambda symbols, _options: "{d_x} = {d_result} {w}ᵀ" if "w" in symbols else "{d_x} = {d_result}",
    by_hand=_projected_back,
    code=lambda call: "{grad} @ {w}.mT" if call.has("w") else "{grad}",
)
def project_x(grad: Array, w: Array | None = None) -> Array:
    """The gradient of the projection's input [… n x]."""
    return grad if w is None else grad @ w.mT


def _first_of_matrix(write: ArithmeticWriter, grad: Array, x: Array, result: Array) -> list[str]:
    """The first number of a matrix's gradient: the rows' first features, times their first gradients."""
    return [write.equation(products(x[:, 0], grad[:, 0]), result[0, 0])]


@derivative("{d_w} = {x}ᵀ {d_result}", sums_over=("n", "m"), by_hand=_first_of_matrix, code="{x}.mT @ {grad}")
def project_w(grad: Array, x: Array) -> Array:
    """The gradient of the matrix [… x d]: the sum over the rows."""
    return product_without_zeros(x.mT, grad)


@derivative(
    "{d_b} = Σᵢ {d_result}ᵢ",
    sums_over=("n", "m"),
    by_hand=lambda write, grad, result: [write.equation(total(grad), result, letter="d")],
    code="{grad}.sum(axis=-2)",
)
def project_b(grad: Array) -> Array:
    """The gradient of the bias [… d]: the sum over the rows."""
    total: Array = grad.sum(axis=-2)
    return total


@structural(derivatives={"x": project_x, "w": project_w, "b": project_b})
def project(x: Array, w: Array | None = None, b: Array | float = 0.0) -> Array:
    """`x @ w + b`; without `w`, `x + b`."""
    return (x if w is None else x @ w) + b


@structural(is_exact=True, derivatives={"x": "{d_x}: {d_result} in its columns, 0 in the others"})
def unpack(x: Array, *, blocks: int, first: int, count: int) -> Array:
    """The columns of one projection among packed ones: `count` from `first` of each of equal blocks.

    For one block they are a view, for several a copy.

    >>> unpack(np.array([[0, 1, 2, 3, 4, 5]]), blocks=1, first=2, count=2)
    array([[2, 3]])
    >>> unpack(np.array([[0, 1, 2, 3, 4, 5]]), blocks=2, first=1, count=2)
    array([[1, 2, 4, 5]])
    """
    *leading, columns = x.shape
    if blocks == 1:
        return x[..., first : first + count]
    parts = x.reshape(*leading, blocks, columns // blocks)[..., first : first + count]
    return parts.reshape(*leading, blocks * count)


@structural(is_exact=True, derivatives={"x": "{d_x}: the heads of {d_result} side by side"})
def split_heads(x: Array, *, heads: int) -> Array:
    """The features split into heads: [… n h·d] to [… h n d].

    >>> split_heads(np.array([[1, 2, 3, 4]]), heads=2)
    array([[[1, 2]],
    <BLANKLINE>
           [[3, 4]]])
    """
    *leading, rows, features = x.shape
    return x.reshape(*leading, rows, heads, features // heads).swapaxes(-2, -3)


@structural(is_exact=True, derivatives={"x": "{d_x}: {d_result} split into heads"})
def merge_heads(x: Array) -> Array:
    """The heads side by side, the first one first: [… h n e] to [… n h·e].

    >>> merge_heads(np.array([[[1, 2]], [[3, 4]]]))
    array([[1, 2, 3, 4]])
    """
    *leading, heads, rows, features = x.shape
    return x.swapaxes(-2, -3).reshape(*leading, rows, heads * features)


def _repeat_gradient_code(call: CodeCall) -> str:
    """The sum over the query heads of each key head."""
    *leading, groups, rows, features = call.shape
    return f"{{grad}}.reshape({(*leading, groups, -1, rows, features)}).sum(axis=-3)"


@derivative("{d_x} = Σₕ {d_result}ₕ over the query heads of each key head", is_whole=True, code=_repeat_gradient_code)
def repeat_kv_x(grad: Array, x: Array) -> Array:
    """The gradient of a key head: the sum over the query heads that read it."""
    *leading, groups, rows, features = x.shape
    total: Array = grad.reshape(*leading, groups, -1, rows, features).sum(axis=-3)
    return total


@structural(is_exact=True, derivatives={"x": repeat_kv_x})
def repeat_kv(x: Array, *, heads: int) -> Array:
    """Query head h reads key head h // (heads / g): [… g m c] to [… h m c].

    >>> repeat_kv(np.array([[[1]], [[2]]]), heads=4).ravel()
    array([1, 1, 2, 2])
    """
    return np.repeat(x, heads // x.shape[-3], axis=-3)


@structural(is_exact=True, derivatives={"x": "{d_x} = Σₕ {d_result}ₕ over the query heads of each key head"})
def repeat_numbers(x: Array, *, heads: int) -> Array:
    """Query head h reads the numbers of key head h // (heads / g): [… g n] to [… h n].

    >>> repeat_numbers(np.array([[1], [2]]), heads=4).ravel()
    array([1, 1, 2, 2])
    """
    return np.repeat(x, heads // x.shape[-2], axis=-2)


@structural(
    is_exact=True,
    derivatives={"past": "{d_past}: the first rows of {d_result}", "new": "{d_new}: the last rows of {d_result}"},
)
def concat_cache(past: Array, new: Array) -> Array:
    """The cached rows, then the new ones: [… p c] and [… k c] to [… p+k c]."""
    return np.concatenate([past, new], axis=-2)


@structural(
    is_exact=True,
    derivatives={
        "x": "{d_x}: the first features of {d_result}",
        "shared": "{d_shared}: the last features of {d_result}, added up over the heads that share them",
    },
)
def join_features(x: Array, shared: Array) -> Array:
    """Features, then another array's, which all heads may share: [… h n d] and [… 1 n r] to [… h n d+r].

    >>> join_features(np.array([[[1, 2]], [[3, 4]]]), np.array([[[5]]])).tolist()
    [[[1, 2, 5]], [[3, 4, 5]]]
    """
    return np.concatenate([x, np.broadcast_to(shared, (*x.shape[:-1], shared.shape[-1]))], axis=-1)


@structural(is_exact=True, derivatives={"x": "{d_x}: {d_result} in its rows, 0 in the others"})
def select_rows(x: Array, *, at: list[int]) -> Array:
    """The rows at some positions: [… q x] to [… n x]."""
    return x[..., at, :]


def drop_missing_axes(table: Array, missing: tuple[int, ...]) -> Array:
    """A table over queries and keys without its `missing` axes of length 1; an axis of queries is added if missing."""
    return np.atleast_2d(table.squeeze(axis=missing))


def per_head(values: Array, heads: int | None) -> Array:
    """One number per head, reshaped to broadcast with tables: [h] to [h 1 1]; without an axis of heads [1] to [].

    >>> per_head(np.array([1, 2]), heads=2).shape
    (2, 1, 1)
    >>> per_head(np.array([1]), heads=None).shape
    ()
    """
    return values.reshape(()) if heads is None else values.reshape(-1, 1, 1)


@derivative("{d_scores}: {d_result} without its last column", code="{grad}[..., :-1]")
def with_column_scores(grad: Array) -> Array:
    """The gradient of the scores before the sink."""
    return grad[..., :-1]


@derivative(
    "{d_sink}ₕ = Σᵢ of the last column of {d_result}",
    code=lambda call: "{grad}[..., -1].sum(axis=-1)" + ("[..., None]" if call.options["heads"] is None else ""),
)
def with_column_sink(grad: Array, *, heads: int | None) -> Array:
    """The gradient of the sink: the sum over the queries."""
    total: Array = grad[..., -1].sum(axis=-1)
    return total[..., None] if heads is None else total


@structural(derivatives={"scores": with_column_scores, "sink": with_column_sink})
def with_column(scores: Array, sink: Array, *, heads: int | None) -> Array:
    """A logit after the keys of every query: [… h n m] and [h] to [… h n m+1].

    Source: OpenAI 2025 (gpt-oss), attention sinks.

    >>> with_column(np.array([[1.0, 2.0]]), np.array([9.0]), heads=None)
    array([[1., 2., 9.]])
    """
    column = np.broadcast_to(per_head(sink, heads), (*scores.shape[:-1], 1))
    return np.concatenate([scores, column], axis=-1)


@structural(derivatives={"weights": "{d_weights}: {d_result}, and 0 for the sink"})
def without_column(weights: Array) -> Array:
    """The last column is dropped: [… n m+1] to [… n m]."""
    return weights[..., :-1]


@structural(is_exact=True, derivatives={"x": unchanged})
def identity(x: Array) -> Array:
    """The array itself, unchanged."""
    return x


@structural(is_exact=True)
def reshape(x: Array, *, shape: tuple[int, ...], at: list[int] | None = None) -> Array:
    """The same numbers in another shape; then the entries at these positions of the last axis.

    >>> reshape(np.arange(6), shape=(2, 3), at=[2]).tolist()
    [[2], [5]]
    """
    shaped: Array = x.reshape(shape)
    return shaped if at is None else shaped[..., at]


@structural()
def sum_over(x: Array, *, axes: tuple[int, ...], kept: tuple[int, ...]) -> Array:
    """The sums over axes; `kept` axes have length 1 afterwards.

    >>> sum_over(np.ones((2, 3, 4)), axes=(0, 2), kept=(2,)).tolist()
    [[8.0], [8.0], [8.0]]
    """
    total: Array = x.sum(axis=axes, keepdims=bool(kept))
    dropped = tuple(axis for axis in axes if axis not in kept)
    return total.squeeze(axis=dropped) if kept and dropped else total

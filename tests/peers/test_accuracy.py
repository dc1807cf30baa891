"""The largest error of the output, against longdouble, beside that of PyTorch's kernel on the same inputs.

Inputs are drawn: of every type, scale and mask, computed in whole tables and in tiles. Errors are those of some of the
queries. Where the result is rounded once from a wider type it is held to be no larger for every problem; elsewhere the
last digits of both are chance, and their errors are compared over all problems.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.lazy_numpy import Array

torch = pytest.importorskip("torch")

from torch.nn.functional import scaled_dot_product_attention as sdpa  # noqa: E402 - only where PyTorch is there

ROWS = 24  # queries whose outputs are compared
SHAPES = {  # heads, queries, keys, features
    "whole table": (2, 256, 256, 64),
    "whole table of long vectors": (2, 200, 256, 128),
    "tiles": (1, 1024, 1024, 64),
    "tiles of long vectors": (1, 512, 1024, 128),
    "few keys": (1, 2048, 128, 64),
    "few queries": (1, 64, 4096, 64),
    "one query": (1, 1, 8192, 64),
}
SCALES = (1e-3, 1, 10, 100)
MASKS = ("none", "causal", "dense", "padding", "bias")
WHOLE = ("whole table", "whole table of long vectors", "one query")
HALF_SHAPES = ("whole table", "whole table of long vectors", "tiles", "few queries", "one query")
TIE = 1.001  # where both round to neighbours that are as far from the exact number, the digits after decide


@dataclass(frozen=True)
class Drawn:
    """A problem: queries, keys and values [h n d] of one type, which cells are visible [n m], and a bias [h n m]."""

    query: Any
    key: Any
    value: Any
    visible: Array
    bias: Any
    mask: str

    def ours(self) -> Array:
        """The output that attn computes."""
        arrays = (x[None] for x in (self.query, self.key, self.value))
        options: Mapping[str, Any] = {
            "none": {},
            "causal": {"causal": True},
            "dense": {"mask": self.visible},
            "padding": {"key_mask": self.visible[:1]},
            "bias": {"bias": self.bias},
        }[self.mask]
        output = attncli.attention(*arrays, **options).output
        return np.asarray(output if isinstance(output, np.ndarray) else output.double().numpy())[0]

    def theirs(self) -> Array:
        """The output of PyTorch's kernel."""
        given = self.bias if self.mask == "bias" else torch.from_numpy(self.visible)
        options = {"none": {}, "causal": {"is_causal": True}}.get(self.mask, {"attn_mask": given})
        arrays = (x[None] for x in (self.query, self.key, self.value))
        output: Array = sdpa(*arrays, **options)[0].double().numpy()
        return output

    def exact(self, rows: Array) -> Array:
        """The output of some queries, in longdouble, of the inputs as they are stored."""
        query, key, value, bias = (
            x.double().numpy().astype(np.longdouble)
            for x in (self.query[:, rows], self.key, self.value, self.bias[:, rows])
        )
        scores = query @ key.mT / np.sqrt(np.longdouble(query.shape[-1])) + bias
        scores = np.where(self.visible[rows], scores, -np.inf)
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        output: Array = exponentials @ value / exponentials.sum(axis=-1, keepdims=True)
        return output

    def errors(self) -> Array:
        """The largest error of our output, and of PyTorch's [2]."""
        rows = np.unique(np.linspace(0, self.query.shape[1] - 1, ROWS).astype(int))
        exact = self.exact(rows)
        return np.array([float(abs(output[:, rows] - exact).max()) for output in (self.ours(), self.theirs())])


def draw(shape: str, dtype: str, scale: float, mask: str) -> Drawn:
    """Normal numbers times a scale: with small ones all weights are alike, with large ones one has all weight."""
    heads, queries, keys, features = SHAPES[shape]
    random = np.random.default_rng([queries, keys, features])
    kind = getattr(torch, dtype)
    query, key, value = (
        torch.from_numpy(random.standard_normal((heads, length, features)) * scale).to(kind)
        for length in (queries, keys, keys)
    )
    rows, columns = np.arange(queries)[:, None], np.arange(keys)
    visible = {
        "causal": columns <= rows,
        "dense": (random.random((queries, keys)) < 0.7) | (columns == 0),
        "padding": np.broadcast_to(columns < keys * 3 // 4, (queries, keys)).copy(),
    }.get(mask, np.ones((queries, keys), bool))
    bias = torch.zeros((heads, queries, 1))
    if mask == "bias":
        bias = torch.from_numpy(-(2.0 ** -np.arange(1, heads + 1)[:, None, None]) * abs(rows - columns))
    return Drawn(query, key, value, visible, bias.to(kind), mask)


@cache
def errors(shape: str, dtype: str, scale: float) -> Mapping[str, Array]:
    """The largest errors of ours and of PyTorch's output [2] with every second mask; several tests look at them."""
    masks = MASKS if SHAPES[shape][1] > 1 else ("none", "padding", "bias")
    return {mask: draw(shape, dtype, scale, mask).errors() for mask in masks[SCALES.index(scale) % 2 :: 2]}


def all_errors(dtype: str) -> Array:
    """The errors of every problem of a type [problems 2]."""
    return np.array([pair for shape in SHAPES for scale in SCALES for pair in errors(shape, dtype, scale).values()])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", HALF_SHAPES)
def test_half_types_are_no_less_exact_than_pytorch(shape: str, dtype: str) -> None:
    for scale in SCALES:
        for mask, (ours, theirs) in errors(shape, dtype, scale).items():
            assert ours <= theirs * TIE, (scale, mask)


@pytest.mark.parametrize("shape", WHOLE)
def test_whole_tables_of_single_precision_are_no_less_exact_than_pytorch(shape: str) -> None:
    """Unless scores are some ten thousands, as with the scale 100: they are steps, which are rounded to float32."""
    for scale in (1e-3, 1, 10):
        for mask, (ours, theirs) in errors(shape, "float32", scale).items():
            assert ours <= theirs * TIE, (scale, mask)


@pytest.mark.parametrize("shape", ["whole table", "whole table of long vectors"])
def test_whole_tables_of_double_precision_are_no_less_exact_than_pytorch(shape: str) -> None:
    """Unless scores are large: then most of the error is that of one rounding of each, which both have."""
    for scale in (1e-3, 1):
        for mask, (ours, theirs) in errors(shape, "float64", scale).items():
            assert ours <= theirs * TIE, (scale, mask)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in WHOLE])
def test_large_scores_in_tiles_of_single_precision_are_more_exact_than_those_of_pytorch(shape: str) -> None:
    """With the scale 10 most of the error is that of scores; with 100 the weights are 0 and 1."""
    ours, theirs = np.max(list(errors(shape, "float32", 10).values()), axis=0)
    assert ours < theirs / 10


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in WHOLE])
def test_large_scores_in_tiles_of_double_precision_are_as_exact_as_those_of_pytorch(shape: str) -> None:
    """No type of BLAS is wider: their errors are those of one product in both."""
    ours, theirs = np.max(list(errors(shape, "float64", 10).values()), axis=0)
    assert ours <= 2 * theirs


def test_errors_of_single_precision_are_larger_than_those_of_pytorch_in_few_problems() -> None:
    """Those where scores are neither small nor large, and the same sums of as many terms are rounded by chance."""
    ours, theirs = all_errors("float32").T
    assert (ours > theirs * TIE).mean() < 1 / 6
    assert (ours <= 2 * theirs).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_errors_are_smaller_than_those_of_pytorch_in_the_mean_of_all_problems(dtype: str) -> None:
    found = all_errors(dtype)
    ours, theirs = found[found.all(axis=1)].T  # outputs that are exact have no error
    assert np.log(ours / theirs).mean() < 0

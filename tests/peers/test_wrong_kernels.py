"""PyTorch's kernels with a slip put in are caught in every type, and the slip is named."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

import attncli
from tests.peers.kernel_cases import TYPES

torch = pytest.importorskip("torch")

from torch.nn.functional import scaled_dot_product_attention as sdpa  # noqa: E402 - only where PyTorch is there

B, H, G, N, D = 2, 4, 2, 11, 8


@dataclass(frozen=True)
class Arrays:
    """Query, key and value [b h n d], a mask and a bias [n m]."""

    query: Any
    key: Any
    value: Any
    mask: Any
    bias: Any


def arrays(dtype: str, seed: int, groups: int = 1, size: float = 1.0) -> Arrays:
    stream = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, generator=stream, dtype=torch.float64).to(getattr(torch, dtype))

    query, key, value = normal(B, H, N, D) * size, normal(B, H // groups, N, D), normal(B, H // groups, N, D)
    mask = torch.rand(N, N, generator=stream) < 0.6
    mask[:, 0], mask[:, 1] = True, False  # what is visible and what is hidden are keys of every query
    return Arrays(query, key, value, mask, normal(N, N))


def scores_of(x: Arrays) -> Any:
    return x.query @ x.key.mT * D**-0.5


def within(left: int, right: int = 0) -> Any:
    """The mask of a window."""
    distance = torch.arange(N) - torch.arange(N)[:, None]
    return (distance >= -left) & (distance <= right)


def causal() -> Any:
    return torch.ones(N, N, dtype=torch.bool).tril()


def softmax(scores: Any, dim: int = -1) -> Any:
    return torch.softmax(scores, dim=dim)


def in_type(x: Arrays, dtype: Any) -> Any:
    return sdpa(x.query.to(dtype), x.key.to(dtype), x.value.to(dtype)).to(x.query.dtype)


def without_maximum(x: Arrays) -> Any:
    exponentials = torch.exp(scores_of(x))
    return exponentials / exponentials.sum(-1, keepdim=True) @ x.value


def heads_side_by_side(x: Any) -> Any:
    return x.transpose(1, 2).reshape(B, N, -1)


@dataclass(frozen=True)
class WrongKernel:
    """A kernel with a slip in it, the keys of the problem that it should compute, and the name of the slip."""

    slip: str
    kernel: Callable[[Arrays], Any]
    keys: Callable[[Arrays], Mapping[str, Any]] = lambda x: {}
    groups: int = 1
    size: float = 1.0  # of the queries
    types: tuple[str, ...] = TYPES


CAUSAL = {"keys": lambda x: {"causal": True}}
MASK = {"keys": lambda x: {"mask": x.mask}}
WINDOW = {"keys": lambda x: {"window": (3, 0)}}

WRONG = [
    WrongKernel("no_scale", lambda x: sdpa(x.query, x.key, x.value, scale=1.0)),
    WrongKernel("scale_by_d", lambda x: sdpa(x.query, x.key, x.value, scale=1 / D)),
    WrongKernel("scaled_twice", lambda x: sdpa(x.query * D**-0.5, x.key, x.value)),
    WrongKernel("softmax_over_queries", lambda x: softmax(scores_of(x), -2) @ x.value),
    WrongKernel("query_key_swapped", lambda x: sdpa(x.key, x.query, x.value)),
    WrongKernel("key_as_value", lambda x: sdpa(x.query, x.key, x.key)),
    WrongKernel("no_causal", lambda x: sdpa(x.query, x.key, x.value), **CAUSAL),
    WrongKernel("mask_inverted", lambda x: sdpa(x.query, x.key, x.value, ~x.mask), **MASK),
    WrongKernel("no_mask", lambda x: sdpa(x.query, x.key, x.value), **MASK),
    WrongKernel("mask_after_softmax", lambda x: softmax(scores_of(x)) * x.mask @ x.value, **MASK),
    WrongKernel("masked_with_zero", lambda x: softmax(scores_of(x) * x.mask) @ x.value, **MASK),
    WrongKernel("no_bias", lambda x: sdpa(x.query, x.key, x.value), lambda x: {"bias": x.bias}),
    WrongKernel("window_too_wide", lambda x: sdpa(x.query, x.key, x.value, within(4)), **WINDOW),
    WrongKernel("window_too_narrow", lambda x: sdpa(x.query, x.key, x.value, within(2)), **WINDOW),
    WrongKernel(
        "kv_heads_tiled", lambda x: sdpa(x.query, x.key.repeat(1, 2, 1, 1), x.value.repeat(1, 2, 1, 1)), groups=2
    ),
    WrongKernel(
        "heads_not_transposed",
        lambda x: sdpa(x.query, x.key, x.value).reshape(B, N, H * D),
        lambda x: {name: heads_side_by_side(getattr(x, name)) for name in ("query", "key", "value")} | {"heads": H},
    ),
    WrongKernel(
        "no_temperature",
        lambda x: sdpa(x.query, x.key, x.value),
        lambda x: {"normalize": {"softmax": {"temperature": 0.5}}},
    ),
    WrongKernel(
        "softcap_after_mask",
        lambda x: softmax(2 * torch.tanh(scores_of(x).masked_fill(~x.mask, -torch.inf) / 2)) @ x.value,
        lambda x: {"mask": x.mask, "softcap": 2.0},
    ),
    WrongKernel(
        "no_softcap",
        lambda x: sdpa(x.query, x.key, x.value, is_causal=True),
        lambda x: {"causal": True, "softcap": 2.0},
    ),
    WrongKernel(
        "no_sink", lambda x: sdpa(x.query, x.key, x.value), lambda x: {"sink": torch.full((H,), 3.0).to(x.query.dtype)}
    ),
    WrongKernel("half_precision", lambda x: in_type(x, torch.float16), types=("float32", "float64")),
    WrongKernel("half_precision", lambda x: in_type(x, torch.bfloat16), types=("float32", "float64")),
    WrongKernel("no_maximum", without_maximum, size=400.0, types=("float16", "bfloat16", "float32", "float64")),
]
# Each kernel in every second of its types; in the others before a release.
CASES = [
    pytest.param(wrong, dtype, id=f"{wrong.slip}-{dtype}", marks=() if (number + at) % 2 == 0 else pytest.mark.long)
    for number, wrong in enumerate(WRONG)
    for at, dtype in enumerate(wrong.types)
]


@pytest.mark.parametrize(("wrong", "dtype"), CASES)
def test_a_wrong_kernel_is_caught_and_its_slip_named(wrong: WrongKernel, dtype: str) -> None:
    x = arrays(dtype, 1, wrong.groups, wrong.size)
    keys = {"query": x.query, "key": x.key, "value": x.value, **wrong.keys(x)}
    report = attncli.check(**keys, against={"output": wrong.kernel(x)})
    assert not report.agrees
    assert (wrong.slip,) in [explanation.slips for explanation in report.explained_by]

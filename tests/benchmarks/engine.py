"""Problems of several shapes in one process, and PyTorch on the same number of threads."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from pairs import Work, compare

import attncli

SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "4 × 8": ({"queries": 4, "features": 8}, "≤ 7"),
    "n = 2048": ({"queries": 2048}, "≤ 1.15"),
    "n = 32768": ({"queries": 32768}, "≤ 1.15"),
    "n = 4096, float64": ({"queries": 4096, "dtype": "float64"}, "≤ 1.15"),
    "n = 8192, causal": ({"queries": 8192, "causal": True}, "≤ 1.15"),
    "n = 4096, a dense bias": ({"queries": 4096, "has_bias": True}, "≤ 1.25"),
    "8 heads of 2048": ({"heads": 8, "queries": 2048}, "≤ 1.25"),
    "8 heads of 2048, causal": ({"heads": 8, "queries": 2048, "causal": True}, "≤ 1.25"),
    "64 × 12 heads of 128": ({"items": 64, "heads": 12, "queries": 128}, "≤ 1.25"),
    "1 query of 32 heads in 8 groups, 16384 keys of 128": (
        {"heads": 32, "groups": 8, "queries": 1, "keys": 16384, "features": 128},
        "≤ 1.25",
    ),
}


def rows() -> Iterator[str]:
    """The kernel of PyTorch; the tables of weights; distances and entmax, for which there is no kernel."""
    import torch

    torch.set_num_threads(2)
    for title, (shape, aim) in SHAPES.items():
        yield compare(title, *attention(**shape), aim, runs=3 if shape["queries"] > 16384 else 7)
    for queries in (2048, 8192):
        for causal in (False, True):
            title = f"n = {queries}{', causal' if causal else ''}, forward and backward"
            yield compare(title, *gradients(queries, causal=causal), "≤ 1.5", runs=7 if queries < 8192 else 3)
    given = [normal(2048, 64, seed=seed) for seed in range(3)]
    query, key, value = map(torch.from_numpy, given)
    yield compare(
        "n = 2048, gaussian / cdist and softmax",
        lambda: attncli.attention(*given, score="gaussian"),
        lambda: torch.softmax(-torch.cdist(query, key).square() / 2, -1) @ value,
        "≤ 1.25",
    )
    import entmax

    yield compare(
        "n = 2048, entmax / the package entmax",
        lambda: attncli.attention(*given, normalize="entmax"),
        lambda: entmax.entmax15(query @ key.T / 8) @ value,
        "≤ 1.25",
    )


def normal(*shape: int, seed: int, dtype: str = "float32") -> np.ndarray:
    """Normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32).astype(dtype)


def attention(
    *,
    queries: int,
    keys: int = 0,
    items: int = 1,
    heads: int = 1,
    groups: int = 0,
    features: int = 64,
    dtype: str = "float32",
    causal: bool = False,
    has_bias: bool = False,
) -> tuple[Work, Work]:
    """A call of ours and of PyTorch with the same numbers."""
    import torch

    shapes = (items, heads, queries, features), *[(items, groups or heads, keys or queries, features)] * 2
    given = [normal(*shape, seed=seed, dtype=dtype) for seed, shape in enumerate(shapes)]
    bias = normal(queries, queries, seed=3, dtype=dtype) if has_bias else None
    tensors = [torch.from_numpy(x) for x in given]
    mask = None if bias is None else torch.from_numpy(bias)
    attend = torch.nn.functional.scaled_dot_product_attention
    return (
        lambda: attncli.attention(*given, causal=causal, bias=bias),
        lambda: attend(*tensors, attn_mask=mask, is_causal=causal, enable_gqa=bool(groups)),
    )


def gradients(queries: int, *, causal: bool) -> tuple[Work, Work]:
    """The gradients of queries, keys and values, by us and by PyTorch."""
    import torch

    *given, grad_output = [normal(1, 1, queries, 64, seed=seed) for seed in range(4)]
    tensors, gradient = [torch.from_numpy(x).requires_grad_() for x in given], torch.from_numpy(grad_output)
    problem = attncli.Problem(**dict(zip(("query", "key", "value"), given, strict=True)), causal=causal)
    attend = torch.nn.functional.scaled_dot_product_attention
    return (
        lambda: problem.compute(("grad_query", "grad_key", "grad_value"), gradient=grad_output),
        lambda: torch.autograd.grad(attend(*tensors, is_causal=causal), tensors, gradient),
    )

"""How long problems of several shapes take in one process, beside PyTorch on the same number of threads."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from pairs import Row, compare

import attncli

RUNS = 7
SINGLE_CALLS = 25
Work = Callable[[], object]


def rows() -> Iterator[Row]:
    """Biases and masks, one query, groups of heads, many small heads, short types, and single calls."""
    import torch

    from attncli.engine.threads import cores

    torch.set_num_threads(cores())
    for title, (ours, theirs), aim in (
        ("dense bias, n = 4096", with_table("bias", 4096), "≤ 1.1"),
        ("dense boolean mask, n = 4096", with_table("mask", 4096), "≤ 1.0"),
        ("one query of 8 heads, 65536 keys of 128", heads((1, 8, 1, 128), keys=65536), "≤ 1.05"),
        ("one query of 32 heads in 8 groups, 4096 keys of 128", heads((1, 32, 1, 128), keys=4096, kv_heads=8), ""),
        ("one query of 32 heads in 8 groups, 1024 keys of 128", heads((1, 32, 1, 128), keys=1024, kv_heads=8), ""),
        ("one query of 32 heads in 8 groups, 32768 keys of 128", heads((1, 32, 1, 128), keys=32768, kv_heads=8), ""),
        ("one query of 12 heads, 2048 keys of 64", heads((1, 12, 1, 64), keys=2048), ""),
        ("float16, one query of 64 heads, 2048 keys of 64", heads((1, 64, 1, 64), keys=2048, dtype="float16"), ""),
        ("2 x 8 heads of 4096 queries, 77 keys of 64", heads((2, 8, 4096, 64), keys=77), ""),
        ("16384 queries, 128 keys of 64", heads((1, 1, 16384, 64), keys=128), ""),
        ("64 x 12 heads of 128 x 64", heads((64, 12, 128, 64)), "≤ 1.0"),
        ("12 heads of 128 x 64", heads((1, 12, 128, 64)), ""),
        ("12 heads of 320 x 64", heads((1, 12, 320, 64)), ""),
        ("12 heads of 197 x 64", heads((1, 12, 197, 64)), ""),
        ("8 heads of 256 x 64", heads((1, 8, 256, 64)), ""),
        ("causal, 8 heads of 2048 x 64", heads((1, 8, 2048, 64), causal=True), "≤ 1.0"),
        ("causal, 64 batch items of one head of 1000 x 64", heads((64, 1, 1000, 64), causal=True), ""),
        ("32 heads in 8 groups of 1024 x 128", heads((1, 32, 1024, 128), kv_heads=8), "≤ 1.0"),
        ("8 heads of 2048 x 64", heads((1, 8, 2048, 64)), "≤ 1.0"),
        ("alibi, 8 heads of 2048 x 64", alibi(2048), "≤ 1.0"),
        ("softcap 30, n = 4096 / its formula", softcap(4096), "≤ 1.0"),
        ("float16, n = 4096", heads((1, 1, 4096, 64), dtype="float16"), "≤ 1.0"),
        ("one head of 8192 x 64", heads((1, 1, 8192, 64)), "≤ 1.0"),
        ("one head of 370 x 64", heads((1, 1, 370, 64)), ""),
        ("one head of 512 x 64", heads((1, 1, 512, 64)), ""),
        ("one head of 1024 x 64", heads((1, 1, 1024, 64)), ""),
        ("embeddings 2048 x 64, and their projections", embedded(2048, 64), ""),
        ("embeddings 2048 x 1024, and their projections in float64", embedded(2048, 1024), ""),
    ):
        yield compare(title, ours, theirs, RUNS, aim)
    for count in (1024, 2048, 4096):
        title = f"one head of {count} x 64, a single call after a pause"
        yield compare(title, *heads((1, 1, count, 64)), SINGLE_CALLS, "≤ 1.07", burst=0)


def normal(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    """Normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32).astype(dtype)


def tensors(*arrays: np.ndarray) -> list[Any]:
    """The same numbers for the peer, with axes of batch items and heads."""
    import torch

    return [torch.from_numpy(x if x.ndim == 4 else x[None, None]) for x in arrays]


def heads(
    shape: tuple[int, int, int, int], keys: int = 0, kv_heads: int = 0, causal: bool = False, dtype: str = "float32"
) -> tuple[Work, Work]:
    """Queries [b h n d] over keys and values of as many features."""
    import torch

    items, count, queries, features = shape
    key_shape = (items, kv_heads or count, keys or queries, features)
    given = [normal(*size, seed=seed, dtype=dtype) for seed, size in enumerate((shape, key_shape, key_shape))]
    query, key, value = tensors(*given)
    attend, is_grouped = torch.nn.functional.scaled_dot_product_attention, key_shape[1] < count
    return (
        lambda: attncli.attention(*given, causal=causal),
        lambda: attend(query, key, value, is_causal=causal, enable_gqa=is_grouped),
    )


def embedded(count: int, width: int) -> tuple[Work, Work]:
    """One head of 64 features of embeddings by three matrices, which are multiplied in the wider type here."""
    import torch

    given = [normal(count, width), *(normal(width, 64, seed=seed) / width**0.5 for seed in range(1, 4))]
    x, *weights = (torch.from_numpy(array) for array in given)
    attend = torch.nn.functional.scaled_dot_product_attention
    names = ("embeddings", "w_q", "w_k", "w_v")
    return (
        lambda: attncli.attention(**dict(zip(names, given, strict=True))),
        lambda: attend(*((x @ w)[None, None] for w in weights)),
    )


def with_table(name: str, count: int) -> tuple[Work, Work]:
    """One head of 64 features, with a number or a truth value for each pair."""
    import torch

    given, table = [normal(count, 64, seed=seed) for seed in range(3)], normal(count, count, seed=3)
    table = table > 0 if name == "mask" else table
    query, key, value, peer_table = tensors(*given, table)
    attend = torch.nn.functional.scaled_dot_product_attention
    return (
        lambda: attncli.attention(*given, **{name: table}),
        lambda: attend(query, key, value, attn_mask=peer_table),
    )


def alibi(count: int) -> tuple[Work, Work]:
    """Eight heads with the slopes of ALiBi, for the peer as a table that is made in the same time."""
    import torch

    given = [normal(1, 8, count, 64, seed=seed) for seed in range(3)]
    query, key, value = tensors(*given)
    slopes, at = 2.0 ** -torch.arange(1, 9), torch.arange(count)
    attend = torch.nn.functional.scaled_dot_product_attention
    return (
        lambda: attncli.attention(*given, position="alibi"),
        lambda: attend(query, key, value, attn_mask=-slopes[:, None, None] * (at[:, None] - at).abs()[None, None]),
    )


def softcap(count: int) -> tuple[Work, Work]:
    """Scores within 30 of 0 by tanh, which the peer has as a formula only."""
    import torch

    given = [normal(count, 64, seed=seed) for seed in range(3)]
    query, key, value = tensors(*given)
    return (
        lambda: attncli.attention(*given, softcap=30),
        lambda: torch.softmax(30 * torch.tanh(query @ key.mT / 8 / 30), dim=-1) @ value,
    )

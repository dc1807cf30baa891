"""What is computed in whole rows of scores, beside PyTorch and the package entmax on the same number of threads."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from pairs import Row, compare

import attncli

FEATURES, RUNS = 64, 7
SLOPE, CAP, HEADS, BEST = 0.5, 30.0, 8, 32
Work = Callable[[], object]


def rows() -> Iterator[Row]:
    """Tables of scores and weights; normalizers without an online form; scores with a bias, a softcap or a network."""
    import torch

    from attncli.engine.threads import cores

    torch.set_num_threads(cores())
    for title, ours, theirs in (*_tables(), *_normalizers(), *_scores()):
        yield compare(title, ours, theirs, RUNS, "≤ 1")


def _arrays(*shape: int, dtype: str = "float32", count: int = 3) -> tuple[list[np.ndarray], list[Any]]:
    """Queries, keys and values, and the same as tensors."""
    import torch

    given = [np.random.default_rng(seed).standard_normal(shape).astype(dtype) for seed in range(count)]
    return given, [torch.from_numpy(x) for x in given]


def _tables() -> Iterator[tuple[str, Work, Work]]:
    """The scores and the weights themselves, for everything visible."""
    import torch

    scale = FEATURES**-0.5
    for count, dtype in ((4096, "float32"), (4096, "float64")):
        (q, k, _), (query, key, _) = _arrays(count, FEATURES, dtype=dtype)
        yield (
            f"weights, {dtype}, n = {count} / torch.softmax(q @ k.T * scale)",
            lambda q=q, k=k: attncli.attention(q, k, select=("weights",)).weights,
            lambda query=query, key=key: torch.softmax(query @ key.T * scale, -1),
        )
        yield (
            f"scores, {dtype}, n = {count} / q @ k.T * scale",
            lambda q=q, k=k: attncli.attention(q, k, select=("scores",)).scores,
            lambda query=query, key=key: query @ key.T * scale,
        )


def _normalizers() -> Iterator[tuple[str, Work, Work]]:
    """Normalizers that need all scores of a row, with both products."""
    import entmax
    import torch

    scale = FEATURES**-0.5
    given, (query, key, value) = _arrays(2048, FEATURES)

    def best(scores: Any) -> Any:
        found = scores.topk(BEST)
        return torch.full_like(scores, -torch.inf).scatter_(-1, found.indices, found.values).softmax(-1)

    peers = {
        "entmax:alpha=1.3": lambda scores: entmax.entmax_bisect(scores, alpha=1.3),
        "entmax:alpha=1.05": lambda scores: entmax.entmax_bisect(scores, alpha=1.05),
        "entmax:alpha=3": lambda scores: entmax.entmax_bisect(scores, alpha=3.0),
        "entmax": entmax.entmax15,
        "sparsemax": entmax.sparsemax,
        f"topk:k={BEST}": best,
    }
    for name, peer in peers.items():
        yield (
            f"{name}, n = 2048 / the package entmax, or PyTorch",
            lambda name=name: attncli.attention(*given, normalize=name).output,
            lambda peer=peer: peer(query @ key.T * scale) @ value,
        )


def _scores() -> Iterator[tuple[str, Work, Work]]:
    """Scores that are more than a product."""
    import torch

    attend = torch.nn.functional.scaled_dot_product_attention
    scale = FEATURES**-0.5
    given, tensors = _arrays(HEADS, 2048, FEATURES)
    mask = np.random.default_rng(3).random((2048, 2048)) < 0.7
    mask[:, 0] = True
    yield (
        f"{HEADS} heads × 2048, a dense mask / scaled_dot_product_attention",
        lambda: attncli.attention(*given, mask=mask).output,
        lambda: attend(*(x[None] for x in tensors), attn_mask=torch.from_numpy(mask)),
    )
    one, (query, key, value) = _arrays(2048, FEATURES)
    yield (
        "softcap, n = 2048 / PyTorch",
        lambda: attncli.attention(*one, softcap=CAP).output,
        lambda: torch.softmax(CAP * torch.tanh(query @ key.T * scale / CAP), -1) @ value,
    )
    distance = torch.arange(2048)[None] - torch.arange(2048)[:, None]
    slopes = torch.tensor([2.0 ** -(8 * (head + 1) / HEADS) for head in range(HEADS)])
    bias = -(slopes[:, None, None] * distance.abs())
    yield (
        f"alibi, {HEADS} heads × 2048 / scaled_dot_product_attention with its bias",
        lambda: attncli.attention(*given, position="alibi").output,
        lambda: attend(*(x[None] for x in tensors), attn_mask=bias),
    )
    halves, (query_16, key_16, value_16) = _arrays(2048, FEATURES, dtype="float16")
    yield (
        "float16, n = 2048 / scaled_dot_product_attention",
        lambda: attncli.attention(*halves).output,
        lambda: attend(query_16[None, None], key_16[None, None], value_16[None, None]),
    )
    (q, k, v, w1, w2, w3), (tq, tk, tv, t1, t2, t3) = _arrays(256, 16, count=6)
    w1, w2, w3, t1, t2, t3 = w1[:16], w2[:16], w3[0], t1[:16], t2[:16], t3[0]
    yield (
        "additive, n = 256, 16 hidden / PyTorch",
        lambda: attncli.attention(q, k, v, score={"additive": {"w1": w1, "w2": w2, "v": w3}}).output,
        lambda: torch.softmax(torch.tanh((tq @ t2)[:, None] + (tk @ t1)[None]) @ t3, -1) @ tv,
    )

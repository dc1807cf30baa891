"""How long the answer takes in one process, beside PyTorch on the same number of threads."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from pairs import Row, compare

import attncli

FEATURES, WINDOW = 64, 256
AIMS = {("float32", False): "≤ 1.25", ("float64", False): "≤ 1.20", ("float32", True): "≤ 1.25"}


def arrays(count: int, dtype: str) -> list[np.ndarray]:
    """Queries, keys and values of one head."""
    return [np.random.default_rng(seed).standard_normal((count, FEATURES)).astype(dtype) for seed in range(3)]


def rows() -> Iterator[Row]:
    """One head, everything visible, causal, and a window."""
    import torch

    from attncli.engine.threads import cores

    torch.set_num_threads(cores())
    attend = torch.nn.functional.scaled_dot_product_attention

    def peer(given: list[np.ndarray], **more: Any) -> Any:
        query, key, value = (torch.from_numpy(x)[None, None] for x in given)
        return lambda: attend(query, key, value, **more)

    def ours(given: list[np.ndarray], **more: Any) -> Any:
        return lambda: attncli.attention(*given, **more)

    # On some processors powers of 2 are slow in some processes: then all problems of float32 are.
    numbers = arrays(2048, "float32")[0]
    yield compare("NumPy's exp2 / its exp", lambda: np.exp2(numbers), lambda: np.exp(numbers), 3, "")
    for (dtype, causal), aim in AIMS.items():
        for count in (2048, 4096, 8192, 16384, 32768):
            given = arrays(count, dtype)
            title = f"{'causal, ' if causal else ''}{dtype}, n = {count} / scaled_dot_product_attention"
            runs = max(3, 2**15 // count)
            yield compare(title, ours(given, causal=causal), peer(given, is_causal=causal), runs, aim)
    for count in (8192, 16384):
        given = arrays(count, "float32")
        seen = torch.from_numpy(np.subtract.outer(np.arange(count), np.arange(count)))
        mask = (seen >= 0) & (seen <= WINDOW)
        title = f"window {WINDOW}, float32, n = {count} / the same as a dense mask"
        yield compare(title, ours(given, window=(WINDOW, 0)), peer(given, attn_mask=mask), 3, "≤ 0.05 at 131072")
    # At n = 131072 a dense mask does not fit: what it would cost grows with n², from the last n where it does.
    given, small = arrays(131072, "float32"), arrays(count, "float32")
    row = compare(f"window {WINDOW}, n = 131072 / dense mask at n = {count}", ours(given, window=(WINDOW, 0)),
                  peer(small, attn_mask=mask), 3, "≤ 0.05 × (131072 / 16384)² = 3.2")  # fmt: skip
    yield row

"""Problems of attention as PyTorch's kernels take them, drawn from a seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

TYPES = ("float16", "bfloat16", "float32", "float64")
KINDS = ("", "causal", "mask", "bias")


@dataclass(frozen=True)
class KernelCase:
    """Query, key and value as tensors [b h n d], and a mask or a bias, or neither; `kind` is one of KINDS."""

    query: Any
    key: Any
    value: Any
    kind: str
    table: Any = None

    @property
    def keys(self) -> dict[str, Any]:
        """The problem, as attncli has it."""
        kind = {"causal": {"causal": True}, "mask": {"mask": self.table}, "bias": {"bias": self.table}}.get(self.kind)
        return {"query": self.query, "key": self.key, "value": self.value, **(kind or {})}

    @property
    def options(self) -> dict[str, Any]:
        """The options of scaled_dot_product_attention."""
        kind = {"is_causal": True} if self.kind == "causal" else {"attn_mask": self.table} if self.kind else {}
        return {**kind, "enable_gqa": self.query.shape[1] > self.key.shape[1]}

    @property
    def repeated(self) -> tuple[Any, Any]:
        """The key and the value of each query head."""
        groups = self.query.shape[1] // self.key.shape[1]
        return self.key.repeat_interleave(groups, 1), self.value.repeat_interleave(groups, 1)

    @property
    def scale(self) -> float:
        """1/√d."""
        return float(self.query.shape[-1] ** -0.5)

    def masked(self, scores: Any) -> Any:
        """The scores with the mask or the bias."""
        import torch

        if self.kind == "causal":
            return scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
        if self.kind == "mask":
            return scores.masked_fill(~self.table, -torch.inf)
        return scores + self.table if self.kind == "bias" else scores


def kernel_case(dtype: str, seed: int) -> KernelCase:
    """A problem of some size, with scores that are flat or sharp, and values that cancel or not."""
    import torch

    random, stream = np.random.default_rng(seed), torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, generator=stream, dtype=torch.float64)

    b, g, groups = (int(random.integers(1, 3)) for _ in range(3))
    most = 6 if random.random() < 0.3 else 70
    n, m = (int(random.integers(1, most)) for _ in range(2))
    d = int(random.choice([1, 3, 8, 16, 32, 64]))
    query, key = normal(b, g * groups, n, d) * random.choice([0.1, 1, 5, 20]), normal(b, g, m, d)
    value = normal(b, g, m, d) + random.choice([0, 0, 100])
    kind, table = str(random.choice(KINDS)), None
    if kind == "mask":
        table = torch.rand(n, m, generator=stream) < 0.7
        table[:, 0] = True  # for a query without visible keys PyTorch has NaN
    elif kind == "bias":
        table = normal(n, m).to(getattr(torch, dtype))
    return KernelCase(*(x.to(getattr(torch, dtype)) for x in (query, key, value)), kind, table)

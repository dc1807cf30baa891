"""Masks that combine are those of PyTorch: expressions as mask functions of FlexAttention, by create_mask."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import attncli
from tests.arrays import normal

pytestmark = pytest.mark.peer
torch = pytest.importorskip("torch")

N = 13
IDS = (0, 0, 0, 2, 2, 1, 1, 1, 1, 0, 0, 2, 2)
MaskFunction = Callable[[Any, Any, Any, Any], Any]


def of_document(b: Any, h: Any, q: Any, k: Any) -> Any:
    """As the guide of FlexAttention has it."""
    ids = torch.tensor(IDS)
    return ids[q] == ids[k]


def of_global_tokens(b: Any, h: Any, q: Any, k: Any) -> Any:
    """As Longformer has it, by a table of tokens."""
    are_global = torch.zeros(N, dtype=torch.bool).index_fill(0, torch.tensor([0, 4]), True)
    return are_global[q] | are_global[k]


LEAVES: Mapping[str, MaskFunction] = {
    "causal": lambda b, h, q, k: q >= k,
    "window:left=3,right=1": lambda b, h, q, k: (q - k <= 3) & (k - q <= 1),
    "prefix:size=4": lambda b, h, q, k: (k < 4) & (q >= 0),
    "chunked:size=5": lambda b, h, q, k: q // 5 == k // 5,
    "block:size=3,around=1": lambda b, h, q, k: (q // 3 - k // 3).abs() <= 1,
    "dilated:step=2": lambda b, h, q, k: (q - k).remainder(2) == 0,
    "global:tokens=0 4": of_global_tokens,
    f"document:ids={' '.join(map(str, IDS))}": of_document,
}


def random_expression(stream: random.Random, depth: int = 0) -> tuple[str, MaskFunction]:
    """The text of an expression, and its mask function."""
    from torch.nn.attention.flex_attention import and_masks, or_masks

    kind = stream.choice(["not", "&", "|", "leaf"]) if depth < 3 else "leaf"
    if kind == "leaf":
        return stream.choice(list(LEAVES.items()))
    if kind == "not":
        text, function = random_expression(stream, depth + 1)
        return f"~({text})", lambda b, h, q, k: ~function(b, h, q, k)
    parts = [random_expression(stream, depth + 1) for _ in range(2)]
    combine = and_masks if kind == "&" else or_masks
    return f" {kind} ".join(f"({text})" for text, _ in parts), combine(*(function for _, function in parts))


@pytest.mark.parametrize("seed", range(200))
def test_an_expression_is_the_mask_that_pytorch_creates(seed: int) -> None:
    from torch.nn.attention.flex_attention import create_mask

    text, function = random_expression(random.Random(seed))
    expected = create_mask(function, None, None, N, N, device="cpu")[0, 0].numpy()
    found = attncli.attention(normal(N, 3), normal(N, 3), mask=text, select="visible").visible
    np.testing.assert_array_equal(np.broadcast_to(found, (N, N)), expected)

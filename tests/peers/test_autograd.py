"""PyTorch's autograd gives the same gradients, of attention that is written with its functions."""

from typing import Any

import numpy as np
import pytest

from attncli import Problem
from attncli.engine.run import run

torch = pytest.importorskip("torch")

CLOSE = {"rtol": 1e-9, "atol": 1e-11}
HEADS, KV_HEADS, FEATURES, MODEL = 4, 2, 6, 10
ARRAYS = (
    *("embeddings", "w_q", "w_k", "w_v", "w_o", "b_q", "b_o", "query", "key", "value", "past_key", "past_value"),
    *("bias", "sink"),
)


def drawn(seed: int) -> dict[str, Any]:
    """A problem in which each thing is there or not, by a seed."""
    random = np.random.default_rng(seed)

    def some() -> bool:
        return bool(random.integers(2))

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape)

    batch, n = int(random.integers(1, 3)), int(random.integers(2, 6))
    m = past = 0
    if some():
        m, width, kv_width = n, HEADS * FEATURES, KV_HEADS * FEATURES
        keys: dict[str, Any] = {"embeddings": normal(batch, n, MODEL), "heads": HEADS, "kv_heads": KV_HEADS}
        keys |= {"w_q": normal(MODEL, width), "w_k": normal(MODEL, kv_width), "w_v": normal(MODEL, kv_width)}
        keys |= {"b_q": normal(width)} if some() else {}
        keys |= {"w_o": normal(width, 3), "b_o": normal(3)} if some() else {}
    else:
        m = int(random.integers(2, 7))
        keys = {"query": normal(batch, HEADS, n, FEATURES)}
        keys |= {name: normal(batch, KV_HEADS, m, FEATURES) for name in ("key", "value")}
        if some():
            past = 2
            keys |= {name: normal(batch, KV_HEADS, past, FEATURES) for name in ("past_key", "past_value")}
    rows = m + past
    keys |= {"softcap": 1.5} if some() else {}
    keys |= {"scale": 0.4} if some() else {}
    keys |= {"bias": normal(*random.choice([[1, 1], [1, n], [HEADS, n]], axis=0), rows)} if some() else {}
    keys |= {"sink": normal(HEADS)} if some() else {}
    keys |= {"causal": True} if some() else {}
    if some():
        mask = random.random((batch, 1, n, rows)) < 0.7
        mask[..., 0] = True
        keys |= {"mask": mask}
    if some():
        keys |= {"qk_norm": {"rms": {"query_gain": normal(FEATURES), "key_gain": normal(FEATURES), "eps": 1e-3}}}
    keys |= {"position": "rope:base=50"} if some() else {}
    return keys


def rotated(x: Any, first: int) -> Any:
    """Rope with base 50 on the halves of the last axis, of rows from a position."""
    half = x.shape[-1] // 2
    frequencies = 50.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = (torch.arange(x.shape[-2], dtype=torch.float64) + first)[:, None] * frequencies
    turn = torch.polar(torch.ones_like(angles), angles)
    turned = torch.complex(x[..., :half], x[..., half:]) * turn
    return torch.cat([turned.real, turned.imag], dim=-1)


def by_torch(keys: dict[str, Any], tensors: dict[str, Any]) -> Any:
    """The output of a problem."""
    if "embeddings" in keys:
        x = tensors["embeddings"]
        query = (x @ tensors["w_q"] + tensors.get("b_q", 0)).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        key, value = ((x @ tensors[name]).unflatten(-1, (KV_HEADS, -1)).transpose(1, 2) for name in ("w_k", "w_v"))
    else:
        query, key, value = tensors["query"], tensors["key"], tensors["value"]
    past = tensors["past_key"].shape[2] if "past_key" in tensors else 0
    if "qk_norm" in keys:
        query, key = (
            torch.nn.functional.rms_norm(x, (FEATURES,), tensors[f"qk_norm.{name}_gain"], 1e-3)
            for name, x in (("query", query), ("key", key))
        )
    if "position" in keys:
        query, key = rotated(query, past), rotated(key, past)
    if past:
        key, value = torch.cat([tensors["past_key"], key], 2), torch.cat([tensors["past_value"], value], 2)
    key, value = (x.repeat_interleave(HEADS // KV_HEADS, dim=1) for x in (key, value))
    scores = torch.einsum("bhnd,bhmd->bhnm", query, key) * keys.get("scale", FEATURES**-0.5)
    if "softcap" in keys:
        scores = keys["softcap"] * torch.tanh(scores / keys["softcap"])
    scores = scores + tensors.get("bias", 0)
    visible = torch.tensor(keys["mask"]) if "mask" in keys else torch.ones(scores.shape[-2:], dtype=torch.bool)
    if "causal" in keys:
        visible = visible & torch.ones(scores.shape[-2:], dtype=torch.bool).tril(past)
    scores = scores.masked_fill(~visible, -torch.inf)
    if "sink" in keys:
        sink = tensors["sink"][:, None, None].expand(*scores.shape[:-1], 1)
        scores = torch.cat([scores, sink], dim=-1)
    weights = torch.softmax(scores, dim=-1)[..., : value.shape[-2]]
    output = weights @ value
    if "embeddings" not in keys:
        return output
    merged = output.transpose(1, 2).flatten(-2)
    return merged @ tensors["w_o"] + tensors["b_o"] if "w_o" in keys else merged


@pytest.mark.parametrize("seed", range(60))
def test_every_gradient_is_that_of_autograd(seed: int) -> None:
    keys = drawn(seed)
    arrays = {name: keys[name] for name in ARRAYS if name in keys}
    if "qk_norm" in keys:
        arrays |= {f"qk_norm.{name}": x for name, x in keys["qk_norm"]["rms"].items() if name != "eps"}
    tensors = {name: torch.tensor(x, dtype=torch.float64, requires_grad=True) for name, x in arrays.items()}
    output = by_torch(keys, tensors)
    grad = np.random.default_rng(seed).standard_normal(tuple(output.shape))
    output.backward(torch.tensor(grad))
    spec = Problem(**keys, grad_output=grad).spec
    trace = run(spec, ["output", *(f"grad_{name}" for name in arrays)]).trace
    np.testing.assert_allclose(trace["output"].value, output.detach().numpy(), **CLOSE)
    for name, tensor in tensors.items():
        gradient = trace[f"grad_{name}"].value.reshape(tensor.shape)
        np.testing.assert_allclose(gradient, tensor.grad.numpy(), **CLOSE, err_msg=name)

"""PyTorch's autograd gives the same gradients, of attention that is written with its functions."""

from collections.abc import Callable, Mapping
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


Tensors = dict[str, Any]
N, M, D = 4, 5, 6  # queries, keys, features


def normal(*shape: int) -> np.ndarray:
    """Random numbers, other ones for each shape."""
    return np.random.default_rng(shape).standard_normal(shape)


def vectors(heads: int = 1, groups: int = 1, batch: int = 1, rows: int = M) -> dict[str, Any]:
    """Queries, keys and values."""
    return {
        "query": normal(batch, heads, N, D),
        "key": normal(batch, groups, rows, D) / 2,
        "value": normal(batch, groups, rows, D) / 3,
    }


def attended(t: Tensors, change: Callable[[Any], Any] = lambda scores: scores, **changed: Any) -> Any:
    """The values by the softmax of scaled products, which are changed before."""
    query, key, value = (changed.get(name, t.get(name)) for name in ("query", "key", "value"))
    return torch.softmax(change(query @ key.mT * query.shape[-1] ** -0.5), dim=-1) @ value


def hidden(scores: Any, visible: Any) -> Any:
    """Scores, −∞ where a key is not visible."""
    return scores.masked_fill(~torch.as_tensor(visible), -torch.inf)


def with_sink(t: Tensors) -> Any:
    """A logit for each head in the denominator."""
    scores = t["query"] @ t["key"].mT * D**-0.5
    column = t["sink"][:, None, None].expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, column], dim=-1), dim=-1)[..., :-1] @ t["value"]


def rms(x: Any, gain: Any) -> Any:
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), gain, 1e-3)


def sparsemax(scores: Any) -> Any:
    """The projection onto the simplex: scores less a threshold, of the largest ones that stay positive."""
    ordered = scores.sort(dim=-1, descending=True).values
    count = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype)
    size = (1 + count * ordered > ordered.cumsum(-1)).sum(dim=-1, keepdim=True)
    threshold = (ordered.cumsum(-1).gather(-1, size - 1) - 1) / size
    return (scores - threshold).clamp(min=0)


def projected(x: Any, t: Tensors) -> Any:
    """Attention of one head among the rows of x."""
    return attended({}, query=x @ t["w_q"], key=x @ t["w_k"], value=x @ t["w_v"])


def packed(t: Tensors) -> Any:
    query, key, value = (t["embeddings"] @ t["w_qkv"] + t["b_qkv"]).chunk(3, dim=-1)
    return attended({}, query=query, key=key, value=value)


def additive(t: Tensors) -> Any:
    layer = (t["key"] @ t["score.w1"])[..., None, :, :] + (t["query"] @ t["score.w2"])[..., :, None, :]
    return torch.softmax(torch.tanh(layer) @ t["score.v"].flatten(), dim=-1) @ t["value"]


def gaussian(t: Tensors) -> Any:
    squares = (t["query"][..., :, None, :] - t["key"][..., None, :, :]).square().sum(dim=-1)
    return torch.softmax(-squares / (2 * 1.5**2), dim=-1) @ t["value"]


def cached(t: Tensors) -> Any:
    key, value = (torch.cat([t[f"past_{name}"], t[name]], dim=-2) for name in ("key", "value"))
    return attended(t, lambda s: hidden(s, np.tri(N, M + 2, 2, dtype=bool)), key=key, value=value)


DISTANCE = np.arange(M) - np.arange(N)[:, None]
CAUSAL = DISTANCE <= 0
WEIGHTS = {"w_q": normal(7, 6), "w_k": normal(7, 6) / 2, "w_v": normal(7, 3)}
EMBEDDED = {"embeddings": normal(N, 7), **WEIGHTS}
TABLE: dict[str, Any] = {"token_table": normal(9, 7), "tokens": [3, 0, 8, 3]}

# Each thing that attention may have: the keys, the arrays of operators, and the same with PyTorch's functions.
NAMED: Mapping[str, tuple[dict[str, Any], Callable[[Tensors], Any]]] = {
    "scaled dot products": (vectors(), attended),
    "causal": ({**vectors(), "causal": True}, lambda t: attended(t, lambda s: hidden(s, CAUSAL))),
    "softcap": ({**vectors(), "softcap": 1.5}, lambda t: attended(t, lambda s: 1.5 * torch.tanh(s / 1.5))),
    "a bias that broadcasts": (
        {**vectors(2, 2, 2), "bias": normal(1, 2, 1, M)},
        lambda t: attended(t, lambda s: s + t["bias"]),
    ),
    "sink": ({**vectors(2, 2, 2), "sink": normal(2)}, with_sink),
    "qk norm with gains": (
        {**vectors(), "qk_norm": {"rms": {"query_gain": normal(D), "key_gain": normal(D) + 1, "eps": 1e-3}}},
        lambda t: attended(t, query=rms(t["query"], t["qk_norm.query_gain"]), key=rms(t["key"], t["qk_norm.key_gain"])),
    ),
    "rope": (
        {**vectors(), "position": "rope:base=50"},
        lambda t: attended(t, query=rotated(t["query"], 0), key=rotated(t["key"], 0)),
    ),
    "alibi": (
        {**vectors(2, 2), "position": "alibi"},
        lambda t: attended(t, lambda s: s - torch.tensor([2**-4, 2**-8])[:, None, None] * torch.tensor(abs(DISTANCE))),
    ),
    "t5": (
        {**vectors(2, 2), "position": {"t5": {"table": normal(32, 2), "bidirectional": False}}},
        lambda t: attended(t, lambda s: s + t["position.table"][np.maximum(-DISTANCE, 0)].permute(2, 0, 1)),
    ),
    "learned positions": (
        {**EMBEDDED, "position": {"learned": {"table": normal(8, 7)}}},
        lambda t: projected(t["embeddings"] + t["position.table"][:N], t),
    ),
    "a table of tokens": ({**TABLE, **WEIGHTS}, lambda t: projected(t["token_vectors"], t)),
    "groups": (
        vectors(4, 2, 2),
        lambda t: attended(t, **{name: t[name].repeat_interleave(2, dim=1) for name in ("key", "value")}),
    ),
    "cache": (
        {**vectors(), "causal": True, "past_key": normal(1, 1, 2, D), "past_value": normal(1, 1, 2, D) / 2},
        cached,
    ),
    "batch": (vectors(batch=3), attended),
    "lengths": (
        {**vectors(batch=2), "key_lengths": [2, 4]},
        lambda t: attended(t, lambda s: hidden(s, np.arange(M) < np.array([2, 4])[:, None, None, None])),
    ),
    "gate": (
        {**EMBEDDED, "w_g": normal(7, 3), "b_g": normal(3)},
        lambda t: projected(t["embeddings"], t) * torch.sigmoid(t["embeddings"] @ t["w_g"] + t["b_g"]),
    ),
    "packed projections": (
        {"embeddings": normal(N, 7), "w_qkv": normal(7, 18) / 2, "b_qkv": normal(18)},
        packed,
    ),
    "a norm of the residual stream": (
        {"residual": normal(N, 7), "residual_norm": {"rms": {"gain": normal(7), "eps": 1e-3}}, **WEIGHTS},
        lambda t: projected(rms(t["residual"], t["residual_norm.gain"]), t),
    ),
    "sparsemax": (
        {**vectors(), "normalize": "sparsemax"},
        lambda t: sparsemax(t["query"] @ t["key"].mT * D**-0.5) @ t["value"],
    ),
    "distances": ({**vectors(), "score": "gaussian:sigma=1.5"}, gaussian),
    "additive": (
        {**vectors(), "score": {"additive": {"w1": normal(D, 3), "w2": normal(D, 4)[:, :3], "v": normal(3)}}},
        additive,
    ),
}


def real_arrays(keys: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The arrays of real numbers of a problem and of its operators, by the names of their steps."""
    found: dict[str, Any] = {}
    for name, value in keys.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            found[f"{prefix}{name}"] = value
        elif isinstance(value, dict):
            ((_, parameters),) = value.items()
            found |= real_arrays(parameters, f"{name}.")
    return found


@pytest.mark.parametrize("name", NAMED)
def test_the_gradients_of_each_thing_are_those_of_autograd(name: str) -> None:
    keys, attention = NAMED[name]
    arrays = real_arrays(keys)
    if "token_table" in arrays:  # of which the rows that are looked up have gradients
        arrays["token_vectors"] = arrays.pop("token_table")[keys["tokens"]]
    assert_same_gradients(keys, arrays, lambda _, tensors: attention(tensors), 0)


@pytest.mark.parametrize("seed", range(200))
def test_every_gradient_is_that_of_autograd(seed: int) -> None:
    keys = drawn(seed)
    arrays = {name: keys[name] for name in ARRAYS if name in keys}
    if "qk_norm" in keys:
        arrays |= {f"qk_norm.{name}": x for name, x in keys["qk_norm"]["rms"].items() if name != "eps"}
    assert_same_gradients(keys, arrays, by_torch, seed)


def assert_same_gradients(
    keys: dict[str, Any], arrays: dict[str, Any], attention: Callable[[dict[str, Any], Tensors], Any], seed: int
) -> None:
    """The output of a problem, and the gradients of its arrays, are those of the same attention in PyTorch."""
    tensors = {name: torch.tensor(x, dtype=torch.float64, requires_grad=True) for name, x in arrays.items()}
    output = attention(keys, tensors)
    grad = np.random.default_rng(seed).standard_normal(tuple(output.shape))
    output.backward(torch.tensor(grad))
    spec = Problem(**keys, grad_output=grad).spec
    trace = run(spec, ["output", *(f"grad_{name}" for name in arrays)]).trace
    np.testing.assert_allclose(trace["output"].value, output.detach().numpy(), **CLOSE)
    for name, tensor in tensors.items():
        gradient = trace[f"grad_{name}"].value.reshape(tensor.shape)
        np.testing.assert_allclose(gradient, tensor.grad.numpy(), **CLOSE, err_msg=name)

"""PyTorch gives the same results: `scaled_dot_product_attention`, `nn.MultiheadAttention`, transformer layers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli import Problem, attention
from attncli.ops.torch_stream import TorchStream
from tests.arrays import normal
from tests.cli.running import run_in_process

torch = pytest.importorskip("torch")

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Queries, keys and values of any sizes, groups of heads, a mask or a bias, causal or not, a cache or none."""
    sizes = st.integers(1, 6)
    batch, kv_heads, groups = draw(sizes), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    n, m, past, d, e = draw(sizes), draw(sizes), draw(st.integers(0, 4)), draw(sizes), draw(sizes)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (batch, kv_heads * groups, n, past + m)
    found: dict[str, Any] = {
        "query": random.standard_normal((batch, kv_heads * groups, n, d)) * draw(st.sampled_from([1, 10])),
        "key": random.standard_normal((batch, kv_heads, m, d)),
        "value": random.standard_normal((batch, kv_heads, m, e)),
        "scale": draw(st.sampled_from([None, 0.25, 3.0])),
    }
    if past:
        found["past_key"] = random.standard_normal((batch, kv_heads, past, d))
        found["past_value"] = random.standard_normal((batch, kv_heads, past, e))
    kind = draw(st.sampled_from(["", "mask", "bias", "causal"]))
    if kind == "causal":
        found["causal"] = True
    elif kind:
        axes = [size if draw(st.booleans()) else 1 for size in shape[:-1]] + [shape[-1]]
        visible = random.random(axes) < 0.7
        visible[..., 0] = True  # for a query without visible keys PyTorch gives NaN
        found[kind] = visible if kind == "mask" else np.where(visible, random.standard_normal(axes), -np.inf)
    return found


def by_torch(problem: dict[str, Any]) -> np.ndarray:
    """The same problem through scaled_dot_product_attention."""
    tensors = {name: torch.tensor(x) for name, x in problem.items() if isinstance(x, np.ndarray)}
    for name in ("key", "value"):
        if f"past_{name}" in tensors:
            tensors[name] = torch.cat([tensors[f"past_{name}"], tensors[name]], dim=2)
    mask = tensors.get("mask", tensors.get("bias"))
    n, m = tensors["query"].shape[2], tensors["key"].shape[2]
    if "causal" in problem:
        past = tensors["past_key"].shape[2] if "past_key" in tensors else 0
        mask = torch.ones(n, m, dtype=torch.bool).tril(past)
    return torch.nn.functional.scaled_dot_product_attention(
        tensors["query"], tensors["key"], tensors["value"], mask, scale=problem["scale"], enable_gqa=True
    ).numpy()


@settings(max_examples=80)
@given(problems())
def test_results_are_those_of_scaled_dot_product_attention(problem: dict[str, Any]) -> None:
    np.testing.assert_allclose(attention(**problem).output, by_torch(problem), **CLOSE)


def test_causal_is_aligned_with_the_first_key_as_is_causal_is() -> None:
    random = np.random.default_rng(3)
    query, key = random.standard_normal((1, 2, 3, 5)), random.standard_normal((1, 2, 7, 5))
    tensors = [torch.tensor(x) for x in (query, key, key)]
    expected = torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=True)
    np.testing.assert_allclose(attention(query, key, causal=True).output, expected.numpy(), **CLOSE)


@settings(max_examples=60, deadline=None)
@given(
    batch=st.integers(1, 4),
    heads=st.integers(1, 5),
    n=st.integers(1, 6),
    m=st.integers(1, 6),
    d=st.integers(1, 4),
    masked=st.sampled_from(["nothing", "padding", "key mask", "causal", "mask"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_results_are_those_of_multihead_attention(
    batch: int, heads: int, n: int, m: int, d: int, masked: str, seed: int
) -> None:
    torch.manual_seed(seed)
    width = heads * d
    layer = torch.nn.MultiheadAttention(width, heads, batch_first=True, dtype=torch.float64)
    torch.nn.init.normal_(layer.in_proj_bias)
    x, y = torch.randn(batch, n, width, dtype=torch.float64), torch.randn(batch, m, width, dtype=torch.float64)
    lengths = torch.randint(1, m + 1, (batch,))
    hidden = torch.rand(n, m) < 0.3
    hidden[:, 0] = False
    theirs: dict[str, Any] = {}
    ours: dict[str, Any] = {}
    if masked == "padding":
        theirs["key_padding_mask"] = torch.arange(m)[None] >= lengths[:, None]
        ours["key_lengths"] = lengths.numpy()
    elif masked == "key mask":
        padding = torch.rand(batch, m) < 0.3
        padding[:, 0] = False
        theirs["key_padding_mask"] = padding
        ours["key_mask"] = ~padding.numpy()
    elif masked == "causal":
        theirs["attn_mask"] = ~torch.ones(n, m, dtype=torch.bool).tril()  # true drops, here
        ours["causal"] = True
    elif masked == "mask":
        theirs["attn_mask"] = hidden
        ours["mask"] = ~hidden.numpy()
    expected, weights = layer(x, y, y, average_attn_weights=False, **theirs)
    w_q, w_k, w_v = layer.in_proj_weight.detach().numpy().reshape(3, width, width)
    b_q, b_k, b_v = layer.in_proj_bias.detach().numpy().reshape(3, width)
    result = Problem(
        query_embeddings=x.numpy(),
        embeddings=y.numpy(),
        w_q=w_q,
        w_k=w_k,
        w_v=w_v,
        w_o=layer.out_proj.weight.detach().numpy(),
        b_q=b_q,
        b_k=b_k,
        b_v=b_v,
        b_o=layer.out_proj.bias.detach().numpy(),
        weight_layout="out_in",
        heads=heads,
        **ours,
    ).compute(("output", "weights"))
    np.testing.assert_allclose(result.output, expected.detach().numpy(), **CLOSE)
    np.testing.assert_allclose(result.weights.reshape(weights.shape), weights.detach().numpy(), **CLOSE)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_transformer_layer_is_rebuilt_from_its_weights(tmp_path: Path, dtype: str) -> None:
    """A layer's attention, its weights saved as they are, with one YAML file and the command line."""
    from safetensors.torch import load_file, save_file

    torch.manual_seed(7)
    layer = torch.nn.TransformerEncoderLayer(24, 4, 32, batch_first=True, norm_first=True).eval()
    torch.nn.init.normal_(layer.self_attn.in_proj_bias)
    layer = layer.to(getattr(torch, dtype))
    x = torch.randn(2, 5, 24).to(layer.norm1.weight.dtype)
    normalized = layer.norm1(x)
    state = layer.state_dict(prefix="layers.0.")
    for name, part in zip("qkv", state.pop("layers.0.self_attn.in_proj_weight").chunk(3), strict=True):
        state[f"layers.0.{name}_proj.weight"] = part.contiguous()
    for name, part in zip("qkv", state.pop("layers.0.self_attn.in_proj_bias").chunk(3), strict=True):
        state[f"layers.0.{name}_proj.bias"] = part.contiguous()
    save_file({**state, "hidden_states": normalized.contiguous()}, tmp_path / "model.safetensors")
    lines = ["embeddings: model.safetensors#hidden_states", "heads: 4", "weight_layout: out_in", "causal: true"]
    for letter in "qkv":
        lines.append(f"w_{letter}: model.safetensors#layers.0.{letter}_proj.weight")
        lines.append(f"b_{letter}: model.safetensors#layers.0.{letter}_proj.bias")
    lines.append("w_o: model.safetensors#layers.0.self_attn.out_proj.weight")
    lines.append("b_o: model.safetensors#layers.0.self_attn.out_proj.bias")
    (tmp_path / "layer.yaml").write_text("\n".join(lines), encoding="utf-8")

    def computed(*options: str) -> np.ndarray:
        words = ("compute", "layer.yaml", "--json", "--select", "output", *options)
        return np.array(json.loads(run_in_process(*words, folder=tmp_path).stdout)["output"])

    hidden = ~torch.ones(5, 5, dtype=torch.bool).tril()
    exact = layer.to(torch.float64).self_attn(*[normalized.double()] * 3, attn_mask=hidden, need_weights=False)[0]
    np.testing.assert_allclose(computed("--dtype", "float64"), exact.detach().numpy(), rtol=1e-12, atol=1e-14)
    unit = {"float32": 2**-23, "bfloat16": 2**-8}[dtype]
    largest = float(exact.detach().abs().max())
    np.testing.assert_allclose(computed(), exact.detach().numpy(), rtol=0, atol=8 * unit * largest)
    assert run_in_process("compute", "layer.yaml", "-o", "o.safetensors", folder=tmp_path).returncode == 0
    saved = load_file(tmp_path / "o.safetensors")
    assert {name: tensor.dtype for name, tensor in saved.items()} == dict.fromkeys(
        ("scores", "weights", "output"), getattr(torch, dtype)
    )
    np.testing.assert_array_equal(saved["output"].double().numpy(), computed())


def test_the_attention_of_a_llama_layer_is_rebuilt_from_its_weights(tmp_path: Path) -> None:
    """Projections as a model's file names them, grouped heads, rotary positions in halves, causal; then a cache."""
    from safetensors.torch import save_file

    torch.manual_seed(13)
    heads, kv_heads, d, width, n = 6, 2, 8, 40, 7
    names = {"q_proj": heads * d, "k_proj": kv_heads * d, "v_proj": kv_heads * d}
    weights = {name: torch.randn(size, width, dtype=torch.float64) / width**0.5 for name, size in names.items()}
    weights["o_proj"] = torch.randn(width, heads * d, dtype=torch.float64)
    x = torch.randn(1, n, width, dtype=torch.float64)

    def rotated(states: Any) -> Any:
        angles = torch.outer(torch.arange(n).double(), 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d))
        cosine, sine = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
        half = torch.cat((-states[..., d // 2 :], states[..., : d // 2]), dim=-1)
        return states * cosine + half * sine

    query, key, value = (
        (x @ weights[name].T).reshape(1, n, -1, d).transpose(1, 2) for name in ("q_proj", "k_proj", "v_proj")
    )
    context = torch.nn.functional.scaled_dot_product_attention(
        rotated(query), rotated(key), value, is_causal=True, enable_gqa=True
    )
    expected = context.transpose(1, 2).reshape(1, n, -1) @ weights["o_proj"].T

    prefix = "model.layers.0.self_attn."
    save_file(
        {"hidden_states": x, **{f"{prefix}{name}.weight": w for name, w in weights.items()}},
        tmp_path / "model.safetensors",
    )
    (tmp_path / "layer.yaml").write_text(
        "embeddings: model.safetensors#hidden_states\n"
        + "".join(f"w_{letter}: model.safetensors#{prefix}{letter}_proj.weight\n" for letter in "qkvo")
        + "weight_layout: out_in\nheads: 6\nkv_heads: 2\nposition: rope\ncausal: true\n",
        encoding="utf-8",
    )
    command = ("compute", "layer.yaml", "--select")
    words = (*command, "output,present_key,present_value", "-o", "o.npz")
    assert run_in_process(*words, folder=tmp_path).returncode == 0
    whole = np.load(tmp_path / "o.npz")
    np.testing.assert_allclose(whole["output"], expected.numpy(), **CLOSE)

    # The last token alone, the others in the cache as an earlier run has left them there.
    past = {f"past_{name}": whole[f"present_{name}"][:, :-1] for name in ("key", "value")}
    for name, array in past.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.save(tmp_path / "x.npy", x[:, -1:].numpy())
    options = ("--embeddings", "x.npy", "--past-key", "past_key.npy", "--past-value", "past_value.npy")
    assert run_in_process(*command, "output", *options, "-o", "last.npy", folder=tmp_path).returncode == 0
    np.testing.assert_allclose(np.load(tmp_path / "last.npy"), expected[:, -1:].numpy(), **CLOSE)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_are_rounded_as_torch_rounds_them(dtype: str) -> None:
    x = np.random.default_rng(5).standard_normal((64, 64)) * 10.0 ** np.arange(-32, 32)
    result = attention(x[:1, :1], x[:1, :1], x.reshape(1, -1), select=("value",), dtype=dtype)
    with np.errstate(over="ignore"):
        expected = torch.tensor(x.reshape(1, -1)).to(getattr(torch, dtype)).to(torch.float64).numpy()
    # PyTorch goes from double to bfloat16 by way of float32, and so rounds twice now and then.
    different = result.value.astype(float) != expected
    assert different.sum() <= (0 if dtype == "float16" else 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_tensors_keep_their_dtype(dtype: str) -> None:
    x = torch.tensor(np.random.default_rng(2).standard_normal((3, 4))).to(getattr(torch, dtype))
    result = attention(x, x, select=("query",))
    assert result.trace.precision.name == dtype
    np.testing.assert_array_equal(result.query.astype(float), x.double().numpy())


def test_rope_is_a_product_of_complex_numbers() -> None:
    """The way of the original Llama code: neighbours are the parts of a complex number."""
    random = np.random.default_rng(11)
    x = random.standard_normal((2, 3, 7, 10))
    frequencies = 1.0 / (500.0 ** (torch.arange(0, 10, 2, dtype=torch.float64) / 10))
    turns = torch.polar(torch.ones(7, 5, dtype=torch.float64), torch.outer(torch.arange(7).double(), frequencies))
    pairs = torch.view_as_complex(torch.tensor(x).reshape(2, 3, 7, 5, 2))
    expected = torch.view_as_real(pairs * turns).reshape(2, 3, 7, 10).numpy()
    result = attention(x, x, position="rope:base=500,interleaved=true", select=("rotated_query", "rotated_key"))
    np.testing.assert_allclose(result.rotated_query, expected, **CLOSE)
    np.testing.assert_allclose(result.rotated_key, expected, **CLOSE)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("heads", [1, 2, 3])
def test_multi_head_attention_is_that_of_pytorch(heads: int, cross: bool, bias: bool) -> None:
    width = 6
    layer = torch.nn.MultiheadAttention(width, heads, bias=bias, batch_first=True, dtype=torch.float64)
    if bias:
        torch.nn.init.normal_(layer.in_proj_bias)
        torch.nn.init.normal_(layer.out_proj.bias)
    keys, queries = normal(5, width), normal(3, width)
    query_source = queries if cross else keys
    with torch.no_grad():
        expected, weights = layer(
            *(torch.from_numpy(x)[None] for x in (query_source, keys, keys)), average_attn_weights=False
        )
    w_q, w_k, w_v = layer.in_proj_weight.detach().numpy().reshape(3, width, width)
    given = {"embeddings": keys, "w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": layer.out_proj.weight.detach().numpy()}
    if bias:
        given |= dict(zip(("b_q", "b_k", "b_v"), layer.in_proj_bias.detach().numpy().reshape(3, width), strict=True))
        given["b_o"] = layer.out_proj.bias.detach().numpy()
    if cross:
        given["query_embeddings"] = queries
    result = Problem(**given, heads=heads, weight_layout="out_in").compute()
    np.testing.assert_allclose(result.output, expected[0].numpy(), rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        result.weights.reshape(heads, *result.weights.shape[-2:]), weights[0].numpy(), atol=1e-14
    )


@given(problems())
@settings(max_examples=100, deadline=None)
def test_the_log_sum_exp_is_that_of_the_masked_scores(problem: dict[str, Any]) -> None:
    found = attention(**problem, select=("lse", "masked_scores"))
    expected = torch.logsumexp(torch.tensor(found.masked_scores), dim=-1)
    np.testing.assert_allclose(found.lse, expected.numpy(), **CLOSE)


@given(seed=st.integers(0, 2**64 - 1), sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5))
@settings(max_examples=200, deadline=None)
def test_a_seed_draws_the_numbers_of_pytorch(seed: int, sizes: list[int]) -> None:
    """One array after the other, also where an odd count of normal numbers leaves one for the next."""
    torch.manual_seed(seed)
    stream = TorchStream(seed)
    for size in sizes:
        normal_numbers = stream.normal(0, 1, (size,))
        if size < 16:
            np.testing.assert_array_equal(normal_numbers, torch.randn(size).numpy())
        else:
            np.testing.assert_allclose(normal_numbers, torch.randn(size).numpy(), rtol=3e-7, atol=3e-7)
        np.testing.assert_array_equal(stream.uniform(0, 1, (size,)), torch.rand(size).numpy())
        whole = stream.integers(-size, 2**size, (3,), np.int64)
        np.testing.assert_array_equal(whole, torch.randint(-size, 2**size, (3,)).numpy())


@pytest.mark.parametrize("weight_layout", ["in_out", "out_in"])
@pytest.mark.parametrize("seed", range(4))
def test_layers_of_a_seed_are_those_of_pytorch(seed: int, weight_layout: str) -> None:
    torch.manual_seed(seed)
    layers = {letter: torch.nn.Linear(5, 3) for letter in "qkv"}
    keys = {f"{kind}_{letter}": "linear" for letter in "qkv" for kind in "wb"}
    drawn = Problem(
        embeddings=normal(2, 5), seed=seed, generator="torch", d_k=3, d_v=3, weight_layout=weight_layout, **keys
    ).spec
    for letter, layer in layers.items():
        np.testing.assert_array_equal(getattr(drawn, f"w_{letter}"), layer.weight.detach().numpy().T)
        np.testing.assert_array_equal(getattr(drawn, f"b_{letter}"), layer.bias.detach().numpy())

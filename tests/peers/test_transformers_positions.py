"""Positions, masks and scales of models: the attention of models of transformers with random weights, in small."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from attncli import attention

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

CLOSE = {"rtol": 0, "atol": 1e-9}
CLOSE_IN_SINGLE = {"rtol": 0, "atol": 2e-6}  # where the model computes angles, factors or a softmax in float32
SIZES = {"hidden_size": 32, "intermediate_size": 16, "num_attention_heads": 4, "vocab_size": 13}
GROUPED = {**SIZES, "num_key_value_heads": 2, "head_dim": 8, "num_hidden_layers": 2}
PROJECTIONS = {"w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "o_proj"}


@pytest.fixture(autouse=True)
def one_thread_and_seed() -> Iterator[None]:
    """PyTorch computes in one thread, with the same random weights every time."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def made(model_class: str, config_class: str, **config: Any) -> Any:
    """A model in float64 whose parameters are all random, also those that begin as 0 or 1."""
    settings = getattr(transformers, config_class)(attn_implementation="sdpa", **config)
    model = getattr(transformers, model_class)(settings).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model


def call_of(model: Any, module: Any, **inputs: Any) -> tuple[np.ndarray, np.ndarray]:
    """The hidden states that a module of a model gets, and its output."""
    calls = []
    hook = module.register_forward_hook(
        lambda _, positional, keywords, output: calls.append((positional, keywords, output)), with_kwargs=True
    )
    with torch.no_grad():
        model(**inputs)
    hook.remove()
    ((positional, keywords, output),) = calls
    hidden = keywords["hidden_states"] if "hidden_states" in keywords else positional[0]
    return hidden.numpy(), (output[0] if isinstance(output, tuple) else output).numpy()


def keys_of(module: Any, names: Mapping[str, str] = PROJECTIONS) -> dict[str, Any]:
    """The projections of a module, with their biases."""
    keys: dict[str, Any] = {"weight_layout": "out_in"}
    for name, own in names.items():
        linear = module.get_submodule(own)
        keys[name] = linear.weight.detach().numpy()
        if linear.bias is not None:
            keys[name.replace("w_", "b_")] = linear.bias.detach().numpy()
    return keys


TOKENS = {"input_ids": torch.tensor([[1, 5, 2, 7, 4, 3, 9], [8, 6, 1, 2, 10, 4, 5]])}


@pytest.fixture
def llama4() -> Any:
    """Llama 4 with chunks of 3 tokens; of its two layers the second is without rope."""
    return made(
        "Llama4TextModel",
        "Llama4TextConfig",
        **GROUPED,
        intermediate_size_mlp=16,
        num_local_experts=1,
        attention_chunk_size=3,
        no_rope_layers=[1, 0],
        layer_types=["chunked_attention", "full_attention"],
        use_qk_norm=False,
        attn_temperature_tuning=True,
        floor_scale=2,
        attn_scale=0.3,
    )


@pytest.mark.parametrize("padding", [[0, 0], [2, 0]], ids=["no padding", "padding on the left"])
def test_chunks_are_those_of_llama_4(llama4: Any, padding: list[int]) -> None:
    key_mask = np.arange(7) >= np.array(padding)[:, None]
    module = llama4.layers[0].self_attn
    hidden, expected = call_of(llama4, module, **TOKENS, attention_mask=torch.tensor(key_mask))
    result = attention(
        embeddings=hidden,
        **keys_of(module),
        heads=4,
        kv_heads=2,
        causal=True,
        mask="chunked:size=3",
        key_mask=key_mask,
        position={"rope": {"base": 500000, "interleaved": True}},
    )
    np.testing.assert_allclose(result.output[key_mask], expected[key_mask], **CLOSE_IN_SINGLE)


def test_queries_without_rope_are_scaled_as_those_of_llama_4(llama4: Any) -> None:
    module = llama4.layers[1].self_attn
    hidden, expected = call_of(llama4, module, **TOKENS)
    scale = {"log_steps": {"length": 2, "factor": 0.3}}
    result = attention(embeddings=hidden, **keys_of(module), heads=4, kv_heads=2, causal=True, query_scale=scale)
    np.testing.assert_allclose(result.output, expected, **CLOSE_IN_SINGLE)


def test_queries_are_scaled_as_those_of_ministral_3() -> None:
    rope = {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "llama_4_scaling_beta": 0.3,
        "original_max_position_embeddings": 2,
    }
    model = made("Ministral3Model", "Ministral3Config", **GROUPED, rope_parameters=rope)
    module = model.layers[0].self_attn
    hidden, expected = call_of(model, module, **TOKENS)
    result = attention(
        embeddings=hidden,
        **keys_of(module),
        heads=4,
        kv_heads=2,
        causal=True,
        position="rope",
        query_scale={"log_steps": {"length": 2, "factor": 0.3, "offset": 0}},
    )
    np.testing.assert_allclose(result.output, expected, **CLOSE_IN_SINGLE)


def test_relative_keys_are_those_of_wav2vec2_bert() -> None:
    model = made(
        "Wav2Vec2BertModel",
        "Wav2Vec2BertConfig",
        **SIZES,
        num_hidden_layers=1,
        feature_projection_input_dim=5,
        left_max_position_embeddings=3,
        right_max_position_embeddings=1,
        conv_depthwise_kernel_size=3,
    )
    module = model.encoder.layers[0].self_attn
    hidden, expected = call_of(model, module, input_features=torch.randn(2, 7, 5, dtype=torch.float64))
    table = module.distance_embedding.weight.detach().numpy()
    result = attention(
        embeddings=hidden,
        **keys_of(module, {"w_q": "linear_q", "w_k": "linear_k", "w_v": "linear_v", "w_o": "linear_out"}),
        heads=4,
        position={"shaw": {"table": table, "left": 3}},
    )
    np.testing.assert_allclose(result.output, expected, **CLOSE)


def test_the_biases_of_a_grid_are_those_of_swin() -> None:
    model = made(
        "SwinModel", "SwinConfig", image_size=8, patch_size=1, embed_dim=8, depths=[2], num_heads=[2], window_size=4
    )
    layer = model.encoder.layers[0].blocks[0]
    hidden, expected = call_of(model, layer.attention, pixel_values=torch.randn(1, 3, 8, 8, dtype=torch.float64))
    table = layer.attention.relative_position_bias.relative_position_bias_table.detach().numpy()
    result = attention(
        embeddings=hidden,
        **keys_of(layer.attention),
        heads=2,
        position={"grid_bias": {"table": table, "height": 4}},
    )
    np.testing.assert_allclose(result.output, expected, **CLOSE)


DATA2VEC = {
    "w_q": "attention.query",
    "w_k": "attention.key",
    "w_v": "attention.value",
    "w_o": "output.dense",
}


@pytest.mark.parametrize(("name", "projections"), [("Beit", PROJECTIONS), ("Data2VecVision", DATA2VEC)])
def test_the_biases_of_a_grid_and_a_class_token_are_those_of_beit(name: str, projections: dict[str, str]) -> None:
    sizes = {**SIZES, "num_hidden_layers": 1, "image_size": 6, "patch_size": 2}
    model = made(f"{name}Model", f"{name}Config", **sizes, use_relative_position_bias=True)
    layer = model.layers[0] if name == "Beit" else model.encoder.layer[0]
    hidden, expected = call_of(model, layer.attention, pixel_values=torch.randn(2, 3, 6, 6, dtype=torch.float64))
    biases = [x for x in model.modules() if hasattr(x, "relative_position_bias_table")]
    table = biases[0].relative_position_bias_table.detach().numpy()
    result = attention(
        embeddings=hidden,
        **keys_of(layer.attention, projections),
        heads=4,
        position={"grid_bias": {"table": table, "height": 3, "class_token": True}},
    )
    np.testing.assert_allclose(result.output, expected, **CLOSE)

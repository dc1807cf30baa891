"""The rotations of transformers' models: frequencies and attention factors of every type, and rotated queries."""

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attncli import attention
from tests.arrays import normal

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

D, MODEL_LENGTH, TRAINED_LENGTH = 16, 40, 24
SHORT, LONG = [1 + 0.1 * pair for pair in range(D // 2)], [2 + 0.7 * pair for pair in range(D // 2)]
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": TRAINED_LENGTH}
LONGROPE = {
    "rope_type": "longrope",
    "short_factor": SHORT,
    "long_factor": LONG,
    "original_max_position_embeddings": TRAINED_LENGTH,
}
SCALINGS: dict[str, dict[str, Any]] = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 4.0},
    "linear, the first half of a head": {"rope_type": "linear", "factor": 4.0, "partial_rotary_factor": 0.5},
    "dynamic": {"rope_type": "dynamic", "factor": 3.0},
    "yarn": YARN,
    "yarn with numbers of turns": {**YARN, "beta_fast": 3.0, "beta_slow": 0.5},
    "yarn of pairs with a fraction": {**YARN, "beta_fast": 3.0, "beta_slow": 0.5, "truncate": False},
    "yarn with an attention factor": {**YARN, "attention_factor": 1.7},
    "yarn with two magnitudes": {**YARN, "mscale": 0.7, "mscale_all_dim": 1.3},
    "yarn, the factor of the lengths": {**YARN, "factor": None},
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": TRAINED_LENGTH,
    },
    "longrope": {**LONGROPE, "factor": 4.0},
    "longrope, the factor of the lengths": LONGROPE,
    "longrope with an attention factor": {**LONGROPE, "factor": 4.0, "attention_factor": 1.3},
    "proportional": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "factor": 2.0},
}


def model_rotation(scaling: dict[str, Any], positions: Any, **settings: Any) -> tuple[Any, Any, Any]:
    """The module of Llama, and its cosines and sines of some positions."""
    from transformers.models.llama.modeling_llama import LlamaConfig, LlamaRotaryEmbedding

    config = LlamaConfig(
        hidden_size=2 * D,
        num_attention_heads=2,
        max_position_embeddings=MODEL_LENGTH,
        rope_parameters={"rope_theta": 500.0, **scaling},
        **settings,
    )
    module = LlamaRotaryEmbedding(config)
    cosine, sine = module(torch.zeros(1, dtype=torch.float32), torch.as_tensor(positions)[None])
    return module, cosine, sine


@pytest.mark.parametrize("count", [10, 30, 60])  # within training, within the model, beyond both
@pytest.mark.parametrize("name", SCALINGS)
def test_frequencies_attention_factor_and_rotation_are_those_of_transformers(name: str, count: int) -> None:
    scaling = SCALINGS[name]
    module, cosine, sine = model_rotation(scaling, np.arange(count))
    x = normal(count, D)
    given = {"rope_theta": 500.0, **scaling, "max_position_embeddings": MODEL_LENGTH}
    result = attention(x, x, position={"rope": {"scaling": given}}, select=("rotated_query",))
    steps = {step.name: step.value for step in result.trace.steps}
    if name != "default":
        np.testing.assert_allclose(steps["frequencies"], module.inv_freq, rtol=3e-7, atol=1e-12)
    factor = steps.get("attention_factor", given.get("attention_factor", 1.0))
    np.testing.assert_allclose(factor, module.attention_scaling, rtol=1e-15)
    from transformers.models.glm4_moe.modeling_glm4_moe import apply_rotary_pos_emb

    query = torch.from_numpy(x)[None, None]
    expected, _ = apply_rotary_pos_emb(query, query, cosine.double(), sine.double())
    np.testing.assert_allclose(steps["rotated_query"], expected[0, 0].numpy(), atol=2e-5)  # angles of float32


N, AXES = 7, [[0, 1, 1, 1, 2, 5, 6], [0, 1, 1, 2, 3, 5, 6], [0, 1, 2, 1, 3, 5, 6]]


def model_module(model: str, name: str) -> Any:
    """A class or function in the code of a model."""
    return getattr(importlib.import_module(f"transformers.models.{model}.modeling_{model}"), name)


def text_config(**rope: Any) -> Any:
    return SimpleNamespace(
        head_dim=D,
        max_position_embeddings=MODEL_LENGTH,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0, **rope},
        rope_theta=500.0,
    )


def rotated_by(model: str, cosine: Any, sine: Any, x: np.ndarray) -> np.ndarray:
    """The rows of x as the queries of one head of a model, rotated by cosines and sines."""
    query = torch.from_numpy(x)[None, None]
    rotated, _ = model_module(model, "apply_rotary_pos_emb")(query, query, cosine.double(), sine.double())
    return np.asarray(rotated[0, 0])


def ours(x: np.ndarray, rope: dict[str, Any], **keys: Any) -> np.ndarray:
    result = attention(x, x, position={"rope": {"scaling": {"rope_theta": 500}, **rope}}, **keys)
    return np.asarray(result.trace["rotated_query"].value)


TEXT_MODELS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "the halves of Llama": ("llama", "LlamaRotaryEmbedding", {}, {}),
    "the neighbours of Cohere": ("cohere", "CohereRotaryEmbedding", {}, {"interleaved": True}),
    "half the head, neighbours: GLM": (
        "glm",
        "GlmRotaryEmbedding",
        {"partial_rotary_factor": 0.5},
        {"interleaved": True, "dims": D // 2},
    ),
    "the other way: NanoChat": ("nanochat", "NanoChatRotaryEmbedding", {}, {"reverse": True}),
}


@pytest.mark.parametrize("name", TEXT_MODELS)
def test_rotations_of_text_are_those_of_the_models_at_any_positions(name: str) -> None:
    model, module_name, parameters, rope = TEXT_MODELS[name]
    module = model_module(model, module_name)(text_config(**parameters))
    positions, x = [3, 4, 5, 0, 1, 2, 9], normal(N, D)
    cosine, sine = module(torch.zeros(1), torch.tensor([positions]))
    computed = ours(x, rope, positions=positions)
    np.testing.assert_allclose(computed, rotated_by(model, cosine, sine, x), atol=2e-6)


MROPE_MODELS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "sections side by side: Qwen2-VL": (
        "qwen2_vl",
        "Qwen2VLRotaryEmbedding",
        {"mrope_section": [3, 3, 2]},
        {"scaling": {"type": "mrope", "mrope_section": [3, 3, 2], "rope_theta": 500}},
    ),
    "sections that take turns: Qwen3-VL": (
        "qwen3_vl",
        "Qwen3VLTextRotaryEmbedding",
        {"mrope_section": [4, 2, 2], "mrope_interleaved": True},
        {"scaling": {"rope_theta": 500, "mrope_section": [4, 2, 2], "mrope_interleaved": True}},
    ),
    "height and width in turns, then time: Ernie 4.5 VL": (
        "ernie4_5_vl_moe",
        "Ernie4_5_VLMoeTextRotaryEmbedding",
        {"mrope_section": [3, 3, 2]},
        {"scaling": {"rope_theta": 500, "axis_of_pair": [1, 2, 1, 2, 1, 2, 0, 0]}, "interleaved": True},
    ),
}


@pytest.mark.parametrize("name", MROPE_MODELS)
def test_rotations_on_three_axes_are_those_of_the_models(name: str) -> None:
    model, module_name, parameters, rope = MROPE_MODELS[name]
    module = model_module(model, module_name)(text_config(**parameters))
    x = normal(N, D)
    cosine, sine = module(torch.zeros(1), torch.tensor(AXES)[:, None])
    computed = ours(x, rope, positions=AXES)
    np.testing.assert_allclose(computed, rotated_by(model, cosine, sine, x), atol=2e-6)


VISION_MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "half the pairs by rows: Qwen2-VL": ("qwen2_vl", "Qwen2VLVisionRotaryEmbedding", {}),
    "every second frequency: Pixtral": ("pixtral", "PixtralVisionRotaryEmbedding", {"alternating": True}),
}


@pytest.mark.parametrize("name", VISION_MODELS)
def test_rotations_on_the_axes_of_an_image_are_those_of_the_models(name: str) -> None:
    model, module_name, parameters = VISION_MODELS[name]
    module = model_module(model, module_name)(text_config(rope_type="axial"))
    x = normal(N, D)
    cosine, sine = module(torch.zeros(1), torch.tensor(AXES[:2])[None])
    computed = ours(x, {"scaling": {"rope_type": "axial", "rope_theta": 500, **parameters}}, positions=AXES[:2])
    np.testing.assert_allclose(computed, rotated_by(model, cosine, sine, x), atol=2e-6)


def test_the_rotation_of_llama_4_on_images_turns_neighbours_by_column_and_row() -> None:
    config = text_config()
    config.image_size, config.patch_size, config.hidden_size, config.num_attention_heads = 6, 2, D, 1
    turns = model_module("llama4", "Llama4VisionRotaryEmbedding")(config).freqs_ci
    x = normal(10, D)
    query = torch.from_numpy(x)[None, :, None]
    expected, _ = model_module("llama4", "vision_apply_rotary_emb")(query, query, turns)
    columns_and_rows = [[*(at % 3 + 1 for at in range(9)), 0], [*(at // 3 + 1 for at in range(9)), 0]]
    rope = {"scaling": {"rope_type": "axial", "rope_theta": 500}, "interleaved": True}
    computed = ours(x, rope, positions=columns_and_rows)
    np.testing.assert_allclose(computed, expected[0, :, 0].numpy(), atol=2e-6)


def test_the_rotation_of_gpt_j_turns_the_first_neighbours() -> None:
    table = model_module("gptj", "create_sinusoidal_positions")(N, 8)
    sine, cosine = torch.split(table, 4, dim=-1)
    x = normal(N, D)
    heads = torch.from_numpy(x)[None, :, None]
    rotated = model_module("gptj", "apply_rotary_pos_emb")(heads[..., :8], sine[None], cosine[None])
    expected = np.concatenate([rotated[0, :, 0].numpy(), x[:, 8:]], axis=-1)
    result = attention(x, x, position="rope:dims=8,interleaved=true")
    np.testing.assert_allclose(result.trace["rotated_query"].value, expected, atol=2e-6)

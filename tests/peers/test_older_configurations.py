"""Configurations as older versions of transformers wrote them mean what the newer ones do."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from attncli.io.inputs import Inputs
from attncli.models.checkpoint import read_checkpoint
from attncli.models.config import ModelPart
from attncli.models.families import family_names, read_family
from attncli.models.layer import LayerRows, find_part

transformers = pytest.importorskip("transformers")

# What a family calls the kinds of layers, where transformers has one name for all that is linear.
KINDS = {"mamba": "linear_attention", "recurrent": "linear_attention", "attention": "sliding_attention"}
WITH_WINDOW = {"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 3}
SCALED = {"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0, "partial_rotary_factor": 0.25}


def families_with_kinds() -> list[str]:
    """The decoders whose layers have kinds, which transformers names `layer_types`."""
    parts = {name: read_family(name, "").parts.get("decoder") for name in family_names()}
    rules = {name: part.layer_type or "" for name, part in parts.items() if part and not part.config}
    found = [name for name, rule in rules.items() if rule and "layer_types" not in rule]
    of_layer_count = [name for name in found if parts[name].layers == "num_hidden_layers"]
    known = [name for name in of_layer_count if name in transformers.CONFIG_MAPPING]
    return [name for name in known if hasattr(transformers.CONFIG_MAPPING[name], "layer_types")]


def part_of(config: Mapping[str, Any], folder: Path) -> ModelPart:
    """The first part of a model with this configuration, of whose tensors none is there."""
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    return find_part(read_checkpoint(str(folder), Inputs()), None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("window", [{}, WITH_WINDOW], ids=["defaults", "window"])
@pytest.mark.parametrize("name", families_with_kinds())
def test_kinds_of_layers_follow_without_layer_types(name: str, window: Mapping[str, Any], tmp_path: Path) -> None:
    config = transformers.AutoConfig.for_model(name, **window)
    older = {key: value for key, value in config.to_dict().items() if key not in ("layer_types", "layers_block_type")}
    part = part_of({**older, "model_type": name, **window}, tmp_path)
    found = [LayerRows(part, layer).layer_type for layer in range(part.layer_count)]
    assert [KINDS.get(kind, kind) for kind in found] == config.layer_types


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["llama", "stablelm", "phi", "glm", "nemotron", "granite"])
def test_rope_of_older_configurations_is_that_of_newer_ones(name: str, tmp_path: Path) -> None:
    newer = transformers.AutoConfig.for_model(name, rope_parameters=SCALED).to_dict()
    assert "rope_scaling" not in newer
    older = {key: value for key, value in newer.items() if key != "rope_parameters"}
    older |= {"rope_theta": 500.0, "partial_rotary_factor": 0.25, "rope_scaling": {"type": "linear", "factor": 4.0}}
    positions = [position_of(part_of(config, tmp_path)) for config in (newer, older)]
    assert positions[0].pop("scaling")["factor"] == positions[1].pop("scaling")["factor"] == 4
    assert positions[0] == positions[1]
    assert positions[0]["base"] == 500


@pytest.mark.parametrize("said", [{}, {"use_bidirectional_attention": None}])
def test_image_and_prompt_of_paligemma_see_each_other_where_the_configuration_does_not_say(
    said: Mapping[str, Any], tmp_path: Path
) -> None:
    text = {"model_type": "gemma", "num_hidden_layers": 1, "num_attention_heads": 4, "hidden_size": 32, **said}
    images = {"model_type": "siglip_vision_model"}
    part = part_of({"model_type": "paligemma", "text_config": text, "vision_config": images}, tmp_path)
    assert LayerRows(part, 0).entries(with_tensors=False)["causal"].value is False


@pytest.mark.parametrize(("said", "causal"), [(None, True), ("vision", True), ("all", False)])
def test_only_an_encoder_of_gemma_4_sees_what_comes_later(said: str | None, causal: bool, tmp_path: Path) -> None:
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 4, "hidden_size": 32, "num_key_value_heads": 4}
    part = part_of({"model_type": "gemma4_text", "use_bidirectional_attention": said, **sizes}, tmp_path)
    assert LayerRows(part, 0).entries(with_tensors=False)["causal"].value is causal


def test_w2v_bert_with_turned_positions_is_refused(tmp_path: Path) -> None:
    part = part_of({"model_type": "wav2vec2-bert", "position_embeddings_type": "rotary"}, tmp_path)
    assert LayerRows(part, 0).unsupported


def position_of(part: ModelPart) -> dict[str, Any]:
    """The parameters of rope of the first layer."""
    rope = LayerRows(part, 0).entries(with_tensors=False)["position"].value["rope"]
    return {name: entry.value for name, entry in rope.value.items()}

"""The rows of a family, filled in for one layer of a checkpoint, and where each value is from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.inputs import Inputs
from attncli.models import families
from attncli.models.checkpoint import Checkpoint, read_checkpoint
from attncli.models.config import ModelPart, model_parts
from attncli.models.families import Family, Part
from attncli.models.layer import Origins, find_layer, find_part, has_tensors
from attncli.models.layer_file import entry_value, layer_document
from tests.checkpoints import LLAMA, llama_tensors, write_checkpoint, write_index

pytest.importorskip("safetensors")


def part_of(folder: Path, config: dict[str, Any] | None = None, **fields: Any) -> ModelPart:
    """A part with these fields in a small checkpoint."""
    checkpoint = read_checkpoint(str(write_checkpoint(folder)), Inputs())
    part = Part(layers="2", **fields)
    return ModelPart(checkpoint, Family("mine"), "decoder", part, config or {})


def values(part: ModelPart, layer: int = 0) -> dict[str, Any]:
    """The keys of a layer that its rows give, and their values."""
    entries = find_layer(part, layer).entries()
    return {key: entry_value(entry, part.checkpoint.folder) for key, entry in entries.items() if key in part.part.keys}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (True, True),
        ({"value": True, "note": "always"}, True),
        ({"is": "count * 2"}, 6),
        ({"is": "missing"}, None),
        ({"value": 1, "when": "count == 3"}, 1),
        ({"value": 1, "when": "count == 4"}, None),
        ([{"value": 1, "when": "count == 4"}, {"value": 2, "when": "layer == 0"}, {"value": 3}], 2),
        ([{"value": 1, "when": "count == 4"}, {"value": 2, "when": "layer == 1"}, 3], 3),
        ({"rope": {"base": {"is": "count"}, "dims": {"is": "missing"}}}, {"rope": {"base": 3}}),
        ({"rope": {"base": [{"value": 1, "when": "missing"}, {"value": 2}]}}, {"rope": {"base": 2}}),
        ({"value": {"rope": {}}, "when": "has('layers.0.self_attn.q_proj.weight')"}, {"rope": {}}),
        ({"value": {"rope": {}}, "when": "has('layers.0.self_attn.q_norm.weight')"}, None),
        (None, None),
    ],
)
def test_a_row_gives_the_value_of_its_key_where_it_holds(row: Any, expected: Any, tmp_path: Path) -> None:
    part = part_of(tmp_path, {"count": 3}, keys={"position": row})
    assert values(part).get("position") == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"tensor": "{own}.q_proj.weight"}, "model.safetensors#model.layers.1.self_attn.q_proj.weight"),
        ({"tensor": "{own}.q_proj.weight[0:{n}]"}, "model.safetensors#model.layers.1.self_attn.q_proj.weight[0:2]"),
        ({"tensor": "{own}.q_proj.bias", "optional": True}, None),
    ],
)
def test_a_tensor_is_found_behind_any_root(row: Any, expected: str | None, tmp_path: Path) -> None:
    part = part_of(tmp_path, {"n": 2}, names={"own": "layers.{layer}.self_attn"}, keys={"w_q": row})
    assert values(part, layer=1).get("w_q") == expected


def test_a_tensor_that_is_missing_is_named_with_those_of_the_layer(tmp_path: Path) -> None:
    part = part_of(tmp_path, keys={"w_q": {"tensor": "layers.1.self_attn.qkv.weight"}})
    with pytest.raises(AttnError, match=r"has no tensor layers\.1\.self_attn\.qkv\.weight; there are .*k_proj"):
        values(part)


def test_a_name_that_two_tensors_end_in_is_refused_unless_the_family_has_the_root(tmp_path: Path) -> None:
    tensors = {**llama_tensors(root="text."), **llama_tensors(root="vision.")}
    keys = {"w_q": {"tensor": "layers.0.self_attn.q_proj.weight"}}
    part = part_of(tmp_path, keys=keys)
    write_checkpoint(tmp_path, LLAMA, [tensors])
    with pytest.raises(AttnError, match=r"has several tensors layers\.0\.self_attn\.q_proj\.weight; text\.layers"):
        values(ModelPart(read_checkpoint(str(tmp_path), Inputs()), part.family, "decoder", part.part, {}))
    of_vision = Part(layers="2", keys=keys, roots=["vision.", "model.vision."])
    found = values(ModelPart(read_checkpoint(str(tmp_path), Inputs()), part.family, "decoder", of_vision, {}))
    assert found["w_q"].endswith("#vision.layers.0.self_attn.q_proj.weight")


@pytest.mark.parametrize(("key", "value"), [("heads", "four"), ("heads", 2.5), ("heads", True), ("causal", 1)])
def test_a_value_of_another_type_is_an_error_of_the_configuration(key: str, value: Any, tmp_path: Path) -> None:
    part = part_of(tmp_path, {"given": value}, keys={key: {"is": "given"}})
    with pytest.raises(AttnError, match=rf"config\.json: {key} would be .*, which is not of the kind (integer|flag)"):
        values(part)


@pytest.mark.parametrize(("given", "expected"), [(None, "alternating 1"), (["a", "b"], "b")])
def test_the_kind_of_a_layer_is_that_of_the_configuration_or_of_the_family(
    given: Any, expected: str, tmp_path: Path
) -> None:
    part = part_of(tmp_path, {"layer_types": given}, layer_type="'alternating 1' if layer % 2 else 'alternating 0'")
    assert find_layer(part, 1).layer_type == expected


def test_layers_count_from_the_end_too(tmp_path: Path) -> None:
    part = part_of(tmp_path)
    assert (find_layer(part, -1).layer, find_layer(part, -2).layer) == (1, 0)
    for layer in (2, -3):
        with pytest.raises(AttnError, match=f"has no layer {layer}; expected 0 to 1, or -1 for the last"):
            find_layer(part, layer)


def test_a_layer_that_no_problem_can_say_is_refused_by_what_it_is(tmp_path: Path) -> None:
    part = part_of(tmp_path, unsupported=[{"when": "layer == 0", "what": "a convolution"}])
    with pytest.raises(AttnError, match="layer 0 is a convolution; attn reads layers 1"):
        find_layer(part, 0)


def test_a_part_has_the_values_of_its_own_config_upon_its_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = {"num_attention_heads": 8, "sliding_window": 4096}
    part = Part(config="text_config", defaults=defaults, keys={"heads": {"is": "num_attention_heads"}})
    monkeypatch.setattr(families, "family_names", lambda: ["mine"])
    family = Family("mine")
    family.parts = {"text": part}
    monkeypatch.setattr("attncli.models.config.read_family", lambda *_: family)
    text = {"num_hidden_layers": 3, "sliding_window": None}
    write_checkpoint(tmp_path, {"model_type": "mine", "num_attention_heads": 2, "text_config": text})
    found = find_part(read_checkpoint(str(tmp_path), Inputs()), None)
    assert found.config == {"num_hidden_layers": 3, "num_attention_heads": 8, "sliding_window": None}
    assert found.layer_count == 3


def test_a_problem_of_python_has_the_same_keys(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(str(write_checkpoint(tmp_path)), Inputs())
    document = layer_document(checkpoint, -1, None)
    assert document["heads"].value == 2
    assert document["w_q"].value.endswith("model.safetensors#model.layers.1.self_attn.q_proj.weight")
    with pytest.raises(AttnError, match=r"unknown part 'encoder'; .*'decoder'"):
        layer_document(checkpoint, 0, "encoder")


def quantized(folder: Path, config: dict[str, Any], tensors: dict[str, Any], **fields: Any) -> Any:
    """The value of w_q in a checkpoint whose only matrix is stored so."""
    quantization = {"model_type": "mine", "quantization_config": config}
    write_checkpoint(folder, quantization, [{f"model.q_proj.{name}": array for name, array in tensors.items()}])
    rows = {"w_q": {"tensor": "q_proj.weight"}, "weight_layout": "out_in", **fields}
    part = Part(layers="1", keys=rows)
    family = Family("mine")
    return values(ModelPart(read_checkpoint(str(folder), Inputs()), family, "decoder", part, {}))["w_q"]


def test_a_matrix_that_is_quantized_names_all_its_parts(tmp_path: Path) -> None:
    packed, scales = np.zeros((1, 4), np.int32), np.ones((1, 4))
    found = quantized(
        tmp_path, {"quant_method": "gptq", "bits": 4}, {"qweight": packed, "qzeros": packed, "scales": scales}
    )
    file = "model.safetensors#model.q_proj"
    parts = {"qweight": f"{file}.qweight", "qzeros": f"{file}.qzeros", "scales": f"{file}.scales", "bits": 4}
    assert found == {"gptq": parts}


@pytest.mark.parametrize(
    ("method", "fields", "message"),
    [
        ("hqq", {}, r"q_proj\.weight is quantized by hqq, which attn does not read; load the model"),
        (
            "awq",
            {"weight_layout": "in_out"},
            r"q_proj\.weight is quantized; attn reads only whole",
        ),
        ("awq", {"w_q": {"tensor": "q_proj.weight[0:2]"}}, r"q_proj\.weight is quantized; attn reads only whole"),
    ],
)
def test_what_is_quantized_otherwise_is_refused_by_name(
    method: str, fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    packed, scales = np.zeros((1, 4), np.int32), np.ones((1, 4))
    tensors = {"qweight": packed, "qzeros": packed, "scales": scales}
    with pytest.raises(AttnError, match=message):
        quantized(tmp_path, {"quant_method": method, "bits": 4}, tensors, **fields)


@pytest.mark.parametrize("heads", [0, -2, 2.5, "two", True])
def test_a_number_of_heads_that_is_none_is_named(heads: Any, tmp_path: Path) -> None:
    write_checkpoint(tmp_path, {**LLAMA, "num_attention_heads": heads})
    with pytest.raises(AttnError, match=r"config\.json, num_attention_heads: is .*; expected a whole number from 1"):
        find_layer(find_part(read_checkpoint(str(tmp_path), Inputs()), None), 0)


def test_heads_that_are_not_said_are_not_one_head(tmp_path: Path) -> None:
    write_checkpoint(
        tmp_path, {**LLAMA, "model_type": "gpt2", "num_attention_heads": None, "n_head": None, "n_layer": 1}
    )
    layer = find_layer(find_part(read_checkpoint(str(tmp_path), Inputs()), None), 0)
    with pytest.raises(
        AttnError, match=r"config\.json: does not say the number of heads; expected num_attention_heads"
    ):
        layer.entries(with_tensors=False)


@pytest.mark.parametrize("root", ["model.", "base_model.model.model."])
def test_tensors_with_an_adapter_beside_them_are_to_be_merged(root: str, tmp_path: Path) -> None:
    tensors = {
        name.replace("q_proj.weight", "q_proj.base_layer.weight"): values
        for name, values in llama_tensors(root=root).items()
    }
    tensors[f"{root}layers.0.self_attn.q_proj.lora_A.default.weight"] = np.zeros((1, 4))
    write_checkpoint(tmp_path, LLAMA, [tensors])
    layer = find_layer(find_part(read_checkpoint(str(tmp_path), Inputs()), None), 0)
    with pytest.raises(AttnError, match=r"has an adapter next to the tensor .*q_proj\.weight; merge it into its model"):
        layer.entries()


ORIGINS = Origins({"count": ("n_head",), "layer": (), "size": ("d", "n_head")}, frozenset({"eps", "rope_parameters"}))


@pytest.mark.parametrize(
    ("read", "note", "expected"),
    [
        ([], "", "the model's code"),
        ([], "as in the paper", "as in the paper"),
        (["layer"], "", "the model's code"),
        (["d"], "", "config.json: d"),
        (["size", "count"], "of a head", "config.json: d, n_head; of a head"),
        (["eps"], "", "default of eps, not in config.json"),
        (["rope_parameters.rope_theta"], "", "default of rope_parameters.rope_theta, not in config.json"),
        (["d", "eps"], "", "config.json: d; default of eps, not in config.json"),
    ],
)
def test_a_comment_has_the_names_in_config_json_the_defaults_and_the_note(
    read: list[str], note: str, expected: str
) -> None:
    assert ORIGINS.comment(read, note) == expected


pytest.importorskip("safetensors")

BLIP = {"model_type": "blip", "text_config": {"num_hidden_layers": 1}, "vision_config": {"num_hidden_layers": 1}}
BART = {"model_type": "bart", "encoder_layers": 1, "decoder_layers": 1}


def with_tensors(folder: Path, config: dict[str, object], names: Sequence[str]) -> Checkpoint:
    """A checkpoint with tensors of these names."""
    write_checkpoint(folder, config, [{name: np.ones((2, 2)) for name in names}])
    return read_checkpoint(str(folder), Inputs())


@pytest.mark.parametrize(
    ("config", "names", "part"),
    [
        (BLIP, ["text_model.encoder.layer.0.attention.self.query.weight"], "text"),
        (BLIP, ["text_decoder.bert.encoder.layer.0.attention.self.query.weight"], "decoder"),
        (BLIP, ["vision_model.encoder.layers.0.self_attn.qkv.weight"], "vision"),
        (BART, ["model.encoder.layers.0.self_attn.q_proj.weight"], "encoder"),
        (BART, ["model.decoder.layers.0.self_attn.q_proj.weight"], "decoder"),
        (BART, ["model.decoder.layers.0.encoder_attn.q_proj.weight", "model.shared.weight"], "cross"),
        (BART, ["model.decoder.layers.0.self_attn.q_proj.qweight"], "decoder"),
        (BART, ["other"], "encoder"),
    ],
)
def test_without_a_name_the_part_is_the_first_with_tensors(
    config: dict[str, object], names: list[str], part: str, tmp_path: Path
) -> None:
    assert find_part(with_tensors(tmp_path, config, names), None).name == part


def test_a_part_that_is_named_is_that_part_whatever_the_checkpoint_has(tmp_path: Path) -> None:
    checkpoint = with_tensors(tmp_path, BART, ["model.decoder.layers.0.self_attn.q_proj.weight"])
    assert find_part(checkpoint, "encoder").name == "encoder"
    with pytest.raises(AttnError, match="unknown part 'text'; expected one of encoder, decoder, cross"):
        find_part(checkpoint, "text")


def test_which_part_has_tensors_is_known_from_the_index_alone(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, BART)
    write_index(tmp_path, {"decoder.layers.0.self_attn.q_proj.weight": "not-downloaded.safetensors"})
    parts = model_parts(read_checkpoint(str(tmp_path), Inputs()))
    assert [name for name, part in parts.items() if has_tensors(part)] == ["decoder"]


def test_of_a_part_without_attention_nothing_is_missing(tmp_path: Path) -> None:
    jamba = {**LLAMA, "model_type": "jamba", "attn_layer_period": 9, "attn_layer_offset": 8}
    assert has_tensors(find_part(with_tensors(tmp_path, jamba, ["other"]), None))


SWIN = {"model_type": "swin", "image_size": 48, "patch_size": 2, "window_size": 6, "depths": [2, 2, 2, 2]}


@pytest.mark.parametrize(
    ("config", "part", "layer", "is_needed"),
    [
        ({**SWIN, "num_heads": [2, 2, 2, 2]}, "stage1", 0, False),
        ({**SWIN, "num_heads": [2, 2, 2, 2]}, "stage1", 1, True),
        ({**SWIN, "num_heads": [2, 2, 2, 2]}, "stage2", 1, True),
        ({**SWIN, "num_heads": [2, 2, 2, 2]}, "stage3", 1, False),  # 6 × 6 patches are one window, which is not shifted
        ({**SWIN, "num_heads": [2, 2, 2, 2], "image_size": [48, 96]}, "stage3", 1, False),
        ({"model_type": "gemma3", "text_config": {"num_hidden_layers": 2}}, "decoder", 0, True),
        ({"model_type": "gemma3_text", "num_hidden_layers": 2}, "decoder", 0, False),
    ],
)
def test_a_layer_whose_mask_no_checkpoint_has_needs_one(
    config: dict[str, Any], part: str, layer: int, is_needed: bool, tmp_path: Path
) -> None:
    found = model_parts(read_checkpoint(str(write_checkpoint(tmp_path, config)), Inputs()))[part]
    mask = find_layer(found, layer).entries(with_tensors=False).get("mask")
    assert (mask is not None and [*mask.value] == ["needed"]) == is_needed

"""The part that is read where none is named: the first of which the checkpoint has tensors."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.inputs import Inputs
from attncli.models.checkpoint import Checkpoint, read_checkpoint
from attncli.models.config import model_parts
from attncli.models.layer import find_part, has_tensors
from tests.checkpoints import LLAMA, write_checkpoint, write_index

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

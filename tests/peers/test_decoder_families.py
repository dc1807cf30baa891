"""Families of decoders: the problem file that `attn model` writes gives what the model of transformers computes."""

from pathlib import Path

import pytest

from tests.peers.decoder_families import DECODERS
from tests.peers.family_comparison import assert_layers_agree
from tests.peers.tiny_models import TinyModel

pytest.importorskip("transformers")


@pytest.mark.parametrize("row", DECODERS, ids=lambda row: row.name)
def test_the_file_of_a_layer_computes_what_the_model_does(row: TinyModel, tmp_path: Path) -> None:
    assert_layers_agree(row, tmp_path)

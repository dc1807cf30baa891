"""Families of encoders, of encoder-decoders, of vision and of audio: their files give what transformers computes."""

from pathlib import Path

import pytest

from tests.peers.family_comparison import assert_layers_agree
from tests.peers.family_tables import TABLES
from tests.peers.tiny_models import TinyModel

pytest.importorskip("transformers")


@pytest.mark.parametrize("row", [row for table in TABLES for row in table.FAMILIES], ids=lambda row: row.name)
def test_the_file_of_a_layer_computes_what_the_model_does(row: TinyModel, tmp_path: Path) -> None:
    assert_layers_agree(row, tmp_path)

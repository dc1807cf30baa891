"""Every part of every family is compared with a model of transformers, or is like a part that is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attncli.io.inputs import Inputs
from attncli.models.checkpoint import read_checkpoint
from attncli.models.families import Part, family_names, read_family
from attncli.models.layer import find_part
from tests.checkpoints import write_safetensors
from tests.peers.family_tables import ROWS
from tests.peers.tiny_models import TinyModel, make_config

pytest.importorskip("transformers")


def test_every_part_of_every_family_is_in_a_row_or_like_one_that_is(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", {"none": np.zeros(1)})
    types, parts = set(), []
    for row in ROWS:
        types.add(row.model_type)
        parts.append(compared_part(row, tmp_path))
    missing = [
        f"{name}.{part_name}"
        for name in family_names()
        for part_name, part in read_family(name, "").parts.items()
        if (name not in types if part.model else without_place(part) not in parts)
    ]
    assert not missing


def compared_part(row: TinyModel, folder: Path) -> Part:
    """The part of a family that a row compares, which may be another family's than that of its model type."""
    make_config(row).save_pretrained(folder)
    return without_place(find_part(read_checkpoint(str(folder), Inputs()), row.part).part)


def without_place(part: Part) -> Part:
    """What a part is wherever its config and its tensors stand."""
    return replace(part, config=None, roots=())

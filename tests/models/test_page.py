"""The object of a model's page: the numbers that it has and leaves out, and what layers share."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.inputs import Inputs
from attncli.io.maps import LayerMaps
from attncli.models import page as model_page
from attncli.models.captured_maps import ModelFile, read_model_maps
from attncli.models.heads_document import HeadsView
from attncli.models.page import model_object, render_model
from tests.captures import write_tiny_capture
from tests.page.plans import sections_of


def maps_file(layers: int, heads: int, tokens: int) -> ModelFile:
    weights = np.random.default_rng(1).dirichlet(np.ones(tokens), size=(layers, heads, tokens)).astype(np.float32)
    words = tuple(f"t{at}" for at in range(tokens))
    return ModelFile(tuple(LayerMaps(str(at), own, words) for at, own in enumerate(weights)), "maps.npy")


@pytest.fixture
def captured(tmp_path: Path) -> ModelFile:
    pytest.importorskip("safetensors")
    write_tiny_capture(tmp_path / "captured.safetensors")
    return read_model_maps(str(tmp_path / "captured.safetensors"), Inputs())


def numbers(entry: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(entry["data"]), "<f4").reshape(entry["shape"])


def test_it_has_the_maps_bit_for_bit_in_four_bytes() -> None:
    file = maps_file(2, 3, 4)
    content = model_object(file)
    for layer, maps in zip(content["layers"], file.maps, strict=True):
        assert np.array_equal(numbers(layer["weights"]), maps.weights)
        assert layer["values"] == {}  # a problem of weights alone has nothing else
    places = [(head["layer"], head["head"]) for head in content["heads"]]
    assert places == [(layer, head) for layer in range(2) for head in range(3)]
    assert len(content["templates"]) == 1  # the layers differ in their numbers alone


def test_twelve_layers_of_twelve_heads_are_few_megabytes() -> None:
    assert len("".join(render_model(maps_file(12, 12, 32)))) < 5_000_000 / 2


def test_a_captured_layer_has_what_its_arithmetic_begins_with(captured: ModelFile) -> None:
    content = model_object(captured)
    causal, scaled, cross = content["layers"]
    assert {*scaled["values"]} == {*cross["values"]} == {"query", "key", "value"}
    assert {*causal["values"]} == {"query", "key", "value", "key_positions", "query_rows"}  # of which the mask is made
    assert [layer["template"] for layer in content["layers"]] == [0, 1, 2]  # a mask, a scale, other queries
    assert "values" not in content["templates"][0]


@pytest.mark.parametrize(("most", "kept"), [(400, {"query", "key", "value"}), (300, {"query", "key"}), (10, set())])
def test_what_has_no_room_is_left_out_and_named(
    most: int, kept: set[str], captured: ModelFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_page, "MOST_INPUTS", most)
    content = model_object(captured)
    assert {*content["layers"][1]["values"]} == kept
    assert bool(content["left_out"]) == (len(kept) < 3)
    sections = sections_of(content["templates"][-1])
    assert any(section["names"] == ["context"] for section in sections) == (len(kept) == 3)


def test_more_maps_than_it_has_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_page, "MOST_WEIGHTS", 30)
    file = maps_file(2, 3, 4)
    with pytest.raises(AttnError, match="a page has room for 30"):
        model_object(file)
    monkeypatch.setattr(model_page, "MOST_WEIGHTS", 48)
    assert len(model_object(file, HeadsView(layers=[1]))["layers"]) == 1

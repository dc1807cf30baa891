"""What heads do from Python: of arrays and tensors, files and captures; as a data frame, and as a page."""

import json
from pathlib import Path

import numpy as np
import pytest

import attncli
from tests.captures import write_tiny_capture

BACK = np.eye(4, k=-1) + np.diag([1.0, 0, 0, 0])
MAPS = np.stack([[np.eye(4), BACK], [BACK, BACK]])


@pytest.mark.parametrize("maps", [MAPS, list(MAPS), tuple(MAPS[:, None]), MAPS.tolist()], ids=str)
def test_maps_are_one_array_or_an_array_for_each_layer(maps: object) -> None:
    found = attncli.heads(maps, tokens=["a", "b", "a", "b"])
    assert [head.kind for head in found.heads] == ["itself", *["previous token"] * 3]
    assert found.heads[0].statistics["duplicates"] == 0


@pytest.mark.parametrize(
    "known", [{"lengths": [4, 2]}, {"mask": [[1, 1, 1, 1], [1, 1, 0, 0]]}], ids=["lengths", "mask"]
)
def test_padding_of_a_batch_item_does_not_count(known: dict[str, object]) -> None:
    """The second item has two tokens, and its rows of padding look at the first key."""
    padded = np.eye(4)[[0, 1, 0, 0]]
    batch = np.stack([np.eye(4), padded])[:, None]  # [b h n m]
    (without,) = attncli.heads([batch], batch=1).heads
    (found,) = attncli.heads([batch], batch=1, **known).heads
    assert (without.kind, without.received) == ("first token", (3, 1, 0, 0))
    assert (found.kind, found.kinds["itself"], found.received) == ("itself", 1, (1, 1, 0, 0))


def test_a_file_is_read_by_its_name(tmp_path: Path) -> None:
    np.save(tmp_path / "maps.npy", MAPS)
    assert repr(attncli.heads(tmp_path / "maps.npy")) == "Heads(2 layers, 4 heads: itself, previous token)"


def test_it_shows_itself_and_is_json(tmp_path: Path) -> None:
    found = attncli.heads(MAPS)
    assert "0.1 previous token 1.00" in str(found)
    assert "<table" in found._repr_html_()
    assert [head["kind"] for head in json.loads(found.to_json())["heads"]] == [head.kind for head in found.heads]
    found.save_page(tmp_path / "model.html")
    assert (tmp_path / "model.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_capture_is_of_its_words_and_rolls_out(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    write_tiny_capture(tmp_path / "captured.safetensors")
    found = attncli.heads(tmp_path / "captured.safetensors")
    assert len(found.weights) == 3
    with pytest.raises(attncli.AttnError, match="can't be multiplied"):
        found.rollout()
    assert np.allclose(attncli.heads(MAPS).rollout().sum(axis=-1), 1)


def test_a_capture_says_what_is_padding_and_which_keys_queries_see(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    write_tiny_capture(tmp_path / "c.safetensors", masks=[[1, 1, 1, 1, 0], [1, 1]], window=[1, 0])
    found = attncli.heads(tmp_path / "c.safetensors").heads
    own, crossing = found[0], found[8]
    assert (own.received[-1], crossing.received[-1]) == (0, 0)  # the last key is padding
    assert np.isnan(own.kinds["offset -2"])  # no query sees two keys back
    assert np.isnan(own.kinds["separators"])


@pytest.mark.parametrize(
    ("maps", "words", "message"),
    [
        ((), {}, 'maps: has no maps; .*attn_implementation="eager"'),
        ([MAPS[0], None], {}, 'maps, layer 1: is None; .*attn_implementation="eager"'),
        (MAPS, {"lengths": 5}, "lengths: 5 is not a number of tokens, but the maps have 4 keys"),
        (MAPS, {"lengths": [2, 2]}, "lengths: 2 lengths, but the maps have 1 batch item; one for each batch item"),
        (MAPS, {"mask": [1, 1]}, "mask: 2 numbers in a row, but the maps have 4 keys"),
        (MAPS, {"mask": [1, 1, 2, 1]}, "mask: 2 is neither 0 nor 1; 1 for a token, 0 for padding"),
        (MAPS, {"mask": [1, 1, 1, 0], "lengths": 3}, "lengths and mask: contradict each other; give one of them"),
        (MAPS, {"tokens": ["a"]}, "tokens: 1 words, and no layer has so many"),
        (np.stack([MAPS, MAPS], axis=1), {}, "maps: has 2 batch items; choose one"),
        ([MAPS, MAPS], {"batch": 2}, "there is no batch item 2"),
        ("missing.npy", {}, "missing.npy: there is no such file"),
        (3, {}, "maps: 3 is not a matrix"),
    ],
)
def test_what_is_no_map_is_an_error(maps: object, words: dict[str, object], message: str) -> None:
    with pytest.raises(attncli.AttnError, match=message):
        attncli.heads(maps, **words)

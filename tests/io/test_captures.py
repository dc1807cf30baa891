"""Captures: a file with a problem for each layer of a model's run, and what the model made of it."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.io.assemble import assemble
from attncli.io.captures import FORMAT, capture_of, read_capture
from attncli.io.inputs import Inputs
from attncli.io.problem_files import read_document
from tests.captures import STARTS, WORDS, write_tiny_capture


@pytest.fixture(name="file")
def captured_file(tmp_path: Path) -> Path:
    """A capture of two layers and a cross-attention."""
    file = tmp_path / "captured.safetensors"
    write_tiny_capture(file)
    return file


def test_a_captured_layer_is_a_problem_with_its_tokens(file: Path) -> None:
    found = read_capture(str(file), Inputs())
    assert [layer.name for layer in found.capture.layers] == ["0", "1", "decoder.1.cross"]
    problem = assemble(found.document(found.capture.layer("decoder.1.cross")))
    assert problem.key_labels == WORDS
    assert problem.query_labels == STARTS
    weights = found.weights(found.capture.layers[1])
    result = attncli.load(f"{file}#1").compute()
    np.testing.assert_allclose(weights.array, result.weights, rtol=2e-6)
    assert result.weights.shape == (1, 4, 5, 5)


def test_a_file_without_layers_is_not_a_capture(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("query: [[1, 0]]\nkey: [[1, 0]]\n")
    with pytest.raises(AttnError, match="is not a capture; attn capture CHECKPOINT"):
        read_capture(str(file), Inputs())


DAMAGE = {
    "a later format": ({"format": "attn.capture/2"}, "is a capture of format attn.capture/2"),
    "no JSON": ({"capture": "{"}, "its metadata can't be read"),
    "no layers": ({"capture": "{}"}, "its metadata can't be read"),
    "a field of another version": (
        {"capture": {"layers": [], "sequences": [], "more": 1}},
        "its metadata can't be read",
    ),
    "a layer without tensors": (
        {"capture": {"layers": [{"name": "0", "keys": {}, "arrays": [], "results": {}}], "sequences": []}},
        "a layer has no names of tensors",
    ),
    "tokens that are not there": (
        {"capture": {"layers": [{"name": "0", "keys": {}, "arrays": {}, "results": {}, "tokens": 1}], "sequences": []}},
        "there are no tokens 1",
    ),
    "masks of other tokens": (
        {"capture": {"layers": [], "sequences": [["a"]], "masks": [[1, 0]]}},
        "its masks do not match its tokens",
    ),
    "masks of other numbers": (
        {"capture": {"layers": [], "sequences": [["a"]], "masks": [[2]]}},
        "its masks have numbers other than 0 and 1",
    ),
    "notes that are no text": ({"capture": {"layers": [], "sequences": [], "notes": [1]}}, "its notes are not a list"),
    "tokens that are not text": ({"capture": {"layers": [], "sequences": [[1]]}}, "its tokens are not lists of text"),
    "a key of another program": (
        {"capture": {"layers": [{"name": "0", "keys": {"sclae": 1}, "arrays": {}, "results": {}}], "sequences": []}},
        "unknown key 'sclae'; did you mean 'scale'",
    ),
}


@pytest.mark.parametrize(("metadata", "said"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_capture_is_an_error_that_says_where(metadata: dict[str, object], said: str) -> None:
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in metadata.items()}
    with pytest.raises(AttnError, match=r"^c\.safetensors.*: ") as error:
        capture_of({"format": FORMAT, **texts}, "c.safetensors")
    assert said in str(error.value)


def test_a_part_of_a_problem_file_is_named_after_its_name(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("key: [[1, 0]]\nparts:\n- title: first\n  query: [[1, 0]]\n- query: [[2, 0]]\n")
    assert read_document(f"{file}#first")["query"].value == [[1, 0]]
    assert read_document(f"{file}#first")["title"].value == "p.yaml#first"
    assert read_document(f"{file}#2")["query"].value == [[2, 0]]
    with pytest.raises(AttnError, match="unknown part 'last'; expected one of first, 2"):
        read_document(f"{file}#last")


def test_a_stream_is_a_capture_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert attncli.load("-#1").compute().output.shape == (1, 4, 5, 3)

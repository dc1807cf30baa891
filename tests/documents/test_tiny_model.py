"""The checkpoint samples/tiny_model is what its generator writes."""

import numpy as np

from docs.generation import tiny_model
from tests.documents.reading import ROOT


def test_the_files_of_the_checkpoint_are_those_of_the_generator() -> None:
    assert (tiny_model.FOLDER / "config.json").read_text(encoding="utf-8") == tiny_model.config_text()
    assert (tiny_model.FOLDER / "model.safetensors").read_bytes() == tiny_model.safetensors_bytes()


def test_the_numbers_of_the_checkpoint_have_two_decimals() -> None:
    for tensor in tiny_model.tensors().values():
        assert np.array_equal(tensor, np.round(tensor.astype(np.float64), 2).astype(np.float32))


def test_what_the_model_computed_is_stored_for_each_of_the_words() -> None:
    for path in sorted((ROOT / "samples" / "tiny_run").iterdir()):
        assert np.load(path).shape == (1, len(tiny_model.WORDS), tiny_model.CONFIG["hidden_size"])

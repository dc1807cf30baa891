"""Sentences split by the package tokenizers, and the first layer of a BERT computed from a sentence."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from tests.cli.running import run_in_process
from tests.peers.encoder_families import BERT
from tests.peers.tiny_models import ITEMS, make_config

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = [*SPECIAL, "the", "cat", "sat", "##s", ","]


def wordpiece() -> Any:
    """A tokenizer as BERT has it, with the padding and truncation that files of sentence transformers keep."""
    import tokenizers as t

    numbers = {word: number for number, word in enumerate(WORDS)}
    made = t.Tokenizer(t.models.WordPiece(numbers, unk_token="[UNK]"))
    made.normalizer = t.normalizers.BertNormalizer()
    made.pre_tokenizer = t.pre_tokenizers.BertPreTokenizer()
    made.decoder = t.decoders.WordPiece()
    made.post_processor = t.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.enable_padding(length=16)
    made.enable_truncation(4)
    return made


def bytes_alone() -> Any:
    """A tokenizer of bytes, as GPT-2's without its merges."""
    import tokenizers as t

    letters = sorted(t.pre_tokenizers.ByteLevel.alphabet())
    made = t.Tokenizer(t.models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    made.pre_tokenizer = t.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = t.decoders.ByteLevel()
    return made


@pytest.mark.parametrize(
    ("make", "sentence", "labels"),
    [
        (wordpiece, "The cats, sat", ["[CLS]", "the", "cat", "##s", ",", "sat", "[SEP]"]),
        (bytes_alone, "a ä", ["a", "Ġ", "ä", "ä"]),
    ],
)
def test_a_token_is_called_as_it_is_read(make: Any, sentence: str, labels: list[str]) -> None:
    table = np.eye(256, 4)
    problem = attncli.Problem(sentence=sentence, tokenizer=make(), token_table=table, seed=1)
    assert list(problem.tokens) == labels
    plain = make()
    plain.no_padding()
    plain.no_truncation()
    np.testing.assert_array_equal(problem.embeddings, table[plain.encode(sentence).ids])


def test_the_first_layer_of_a_checkpoint_is_computed_from_a_sentence(tmp_path: Path) -> None:
    import torch
    import transformers

    torch.manual_seed(3)
    model = transformers.BertModel(make_config(BERT), add_pooling_layer=False).double().eval()
    model.set_attn_implementation("eager")
    model.save_pretrained(tmp_path / "tiny")
    wordpiece().save(str(tmp_path / "tiny" / "tokenizer.json"))
    ids = torch.tensor([[2, 4, 5, 7, 6, 3]] * ITEMS)
    with torch.no_grad():
        expected = model(input_ids=ids, output_attentions=True).attentions[0][0].numpy()
    words = ("tiny", "--layer", "0", "--sentence", "The cats sat", "-o", "layer.yaml")
    assert run_in_process("model", *words, folder=tmp_path).returncode == 0
    result = attncli.load(tmp_path / "layer.yaml").compute("weights")
    np.testing.assert_allclose(result.weights, expected, rtol=1e-9)
    by_numbers = attncli.load(tmp_path / "layer.yaml", tokens=[2, 4, 5, 7, 6, 3]).compute("weights")
    np.testing.assert_allclose(by_numbers.weights, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("{}"), "tokenizer.json: is not a tokenizer of the package tokenizers ("),
        (lambda path: path.symlink_to("/dev/zero"), "tokenizer.json: is not a file"),
        (
            lambda path: (path.touch(), os.truncate(path, 2**33)),
            "tokenizer.json: has 8.6 GB; a tokenizer has",
        ),
        (lambda path: path.write_bytes(b"\0" * 9), "tokenizer.json: is not text"),
        (lambda path: None, "--tokenizer: there is no file 'tokenizer.json'; name the"),
    ],
)
def test_what_is_no_tokenizer_is_said_at_once(make: Any, message: str, tmp_path: Path) -> None:
    make(tmp_path / "tokenizer.json")
    words = ("--sentence", "the cat", "--tokenizer", "tokenizer.json", "--token-table", "1 2; 3 4")
    ran = run_in_process("compute", *words, folder=tmp_path)
    assert (ran.returncode, ran.stderr.startswith(f"attn: {message}")) == (2, True), ran.stderr

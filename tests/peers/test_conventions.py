"""Each convention that is marked as run gives what its framework gives, when both get the same words."""

from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from attncli.engine.run import run
from attncli.problem.build import build
from attncli.problem.conventions import CONVENTIONS
from tests.arrays import normal
from tests.peers.convention_cases import CASES, Words
from tests.peers.frameworks import FRAMEWORKS


def words_of(convention: str, name: str) -> Words:
    """The words of a case, with the arrays that the framework gets besides."""
    return {**FRAMEWORKS[convention].arrays(CASES[name]), **CASES[name].words}


RECURRENT = {"decay", "beta"}  # of ONNX's LinearAttention, of which test_recurrences.py runs every case


def keys_of(convention: str) -> set[str]:
    """The keys of the words that a framework has."""
    return {word.split()[0] for word in CONVENTIONS[convention].words}


def takes(convention: str, name: str) -> bool:
    """Whether the framework has every word of the case, with that value, and takes them together."""
    if not CASES[name].words.keys() <= keys_of(convention):
        return False
    use = build(words_of(convention, name), convention=convention).convention
    return use is not None and not use.remarks


RUN = [(convention, name) for convention in FRAMEWORKS for name in CASES if takes(convention, name)]


@pytest.mark.parametrize(("convention", "name"), RUN)
def test_a_convention_gives_what_its_framework_gives(convention: str, name: str) -> None:
    framework, words = FRAMEWORKS[convention], words_of(convention, name)
    close = {"rtol": framework.tolerance, "atol": framework.tolerance}
    np.testing.assert_allclose(output(words, convention), framework.run(dict(words)), **close)


def output(words: Words, convention: str) -> Any:
    """What attn computes of the words, read as the convention reads them."""
    return run(build(words, convention=convention), ("output",)).output


def test_the_conventions_with_cases_are_those_that_are_marked_as_run() -> None:
    assert FRAMEWORKS.keys() | {"attn"} == {name for name, record in CONVENTIONS.items() if record.is_run}


@pytest.mark.parametrize("convention", FRAMEWORKS)
def test_the_version_of_a_convention_is_the_one_that_runs(convention: str) -> None:
    package = FRAMEWORKS[convention].package
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    assert version(package).startswith(f"{CONVENTIONS[convention].version}.")


@pytest.mark.parametrize("convention", FRAMEWORKS)
def test_every_word_of_a_convention_is_in_a_case_that_is_run(convention: str) -> None:
    words = {word for found, name in RUN if found == convention for word in words_of(convention, name)}
    assert keys_of(convention) - RECURRENT <= words


def test_causal_lower_right_of_pytorch_is_bottom_right() -> None:
    torch, bias = pytest.importorskip("torch"), pytest.importorskip("torch.nn.attention.bias")
    words = {"query": normal(1, 1, 2, 5), "key": normal(1, 1, 3, 5), "value": normal(1, 1, 3, 7)}
    arrays = [torch.from_numpy(array) for array in words.values()]
    expected = torch.nn.functional.scaled_dot_product_attention(*arrays, attn_mask=bias.causal_lower_right(2, 3))
    words |= {"causal": True, "align": "bottom_right"}
    np.testing.assert_allclose(output(words, "torch-sdpa"), expected, rtol=1e-12, atol=1e-15)


def test_the_hint_of_multihead_attention_takes_the_place_of_its_mask_and_counts_from_the_first_key() -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.MultiheadAttention(6, 2, bias=False, batch_first=True, dtype=torch.float64)
    query, key, nothing_hidden = torch.randn(1, 3, 6).double(), torch.randn(1, 5, 6).double(), torch.zeros(3, 5).bool()
    triangle = torch.ones(3, 5, dtype=torch.bool).triu(1)
    with torch.no_grad():
        hinted, _ = layer(query, key, key, attn_mask=nothing_hidden, is_causal=True, need_weights=False)
        expected, _ = layer(query, key, key, attn_mask=triangle)
    np.testing.assert_allclose(hinted, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("words", ["offset = nonpad_kv_seqlen - q_sequence_length", "zero output row, not `NaN`"])
def test_the_specification_of_onnx_says_what_the_page_says(words: str) -> None:
    onnx = pytest.importorskip("onnx")
    assert words in " ".join(onnx.defs.get_schema("Attention", 25).doc.split())

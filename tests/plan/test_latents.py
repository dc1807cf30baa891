"""Latent attention: the absorbed form, which attends to the latent itself, and the expanded one agree."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import attncli
from tests.arrays import booleans, normal

N, X, LATENT, OWN, SHARED, E, OUT = 7, 11, 6, 3, 4, 5, 9
EXACT = {"rtol": 1e-12, "atol": 1e-12}

Keys = Mapping[str, Any]

MASKS: Mapping[str, Keys] = {
    "no mask": {},
    "causal": {"causal": True},
    "a window": {"causal": True, "window": (2, 0)},
    "names with signs": {"mask": "causal & (window:left=2,right=0 | prefix:size=2)"},
    "a file's mask, which hides a row": {"mask": booleans(N, N) & (np.arange(N) != 3)[:, None]},
    "lengths, a limit of scores": {"key_lengths": [4, N], "softcap": 3.0},
    "a logit in softmax": {"sink": True, "causal": True},
}
HEADS = [(1, 1), (3, 3), (4, 2), (4, 1)]
NORMS = {"q_latent_norm": "rms", "kv_latent_norm": {"rms": {"gain": normal(LATENT)}}}


def expanded(seed: int, heads: int, groups: int) -> dict[str, Any]:
    """Keys of a problem whose queries, keys and values are made of latents, with random numbers."""
    shapes = {
        "embeddings": (2, N, X),
        "w_q_latent": (X, LATENT),
        "w_q": (LATENT, heads * (OWN + SHARED)),
        "w_kv_latent": (X, LATENT),
        "w_k": (LATENT, groups * OWN),
        "w_v": (LATENT, groups * E),
        "w_k_rope": (X, SHARED),
        "w_o": (heads * E, OUT),
    }
    arrays = {name: normal(*shape, seed=seed + at) / 2 for at, (name, shape) in enumerate(shapes.items())}
    return {**arrays, **NORMS, "heads": heads, "kv_heads": groups, "position": "rope:interleaved=true"}


def absorbed(keys: Keys) -> dict[str, Any]:
    """The same layer with one head of keys, the latent and the shared features, and of values, the latent."""
    heads, groups = keys["heads"], keys["kv_heads"]
    queries, outputs = np.split(keys["w_q"], heads, axis=1), np.split(keys["w_o"], heads)
    read = [head // (heads // groups) for head in range(heads)]
    to_keys, to_values = (np.split(keys[name], groups, axis=1) for name in ("w_k", "w_v"))
    of_heads = [
        np.concatenate([query[:, :OWN] @ to_keys[group].T, query[:, OWN:]], axis=1)
        for query, group in zip(queries, read, strict=True)
    ]
    w_o = np.concatenate([to_values[group] @ output for group, output in zip(read, outputs, strict=True)])
    one = {"kv_heads": 1, "w_k": np.eye(LATENT), "w_v": np.eye(LATENT), "scale": 1 / np.sqrt(OWN + SHARED)}
    return {**keys, **one, "w_q": np.concatenate(of_heads, axis=1), "w_o": w_o}


def results(keys: Keys, *names: str) -> list[np.ndarray]:
    computed = attncli.attention(select=names, **keys)
    return [getattr(computed, name) for name in names]


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize(("heads", "groups"), HEADS)
@pytest.mark.parametrize("seed", range(3))
def test_the_absorbed_form_has_the_scores_weights_and_output_of_the_expanded_one(
    seed: int, heads: int, groups: int, mask: Keys
) -> None:
    sink = {"sink": normal(heads, seed=seed)} if "sink" in mask else {}
    keys = {**expanded(seed, heads, groups), **mask, **sink}
    names = ("scores", "weights", "output")
    for name, right, found in zip(names, results(keys, *names), results(absorbed(keys), *names), strict=True):
        np.testing.assert_allclose(found, right, **EXACT, err_msg=name)


@pytest.mark.parametrize(("heads", "groups"), HEADS)
def test_token_by_token_the_absorbed_form_needs_no_cache_but_latents_and_shared_features(
    heads: int, groups: int
) -> None:
    keys = {**expanded(5, heads, groups), "causal": True}
    (whole,) = results(keys, "output")
    cache: dict[str, np.ndarray] = {}
    for token in range(N):
        new = {**absorbed(keys), **cache, "embeddings": keys["embeddings"][:, token : token + 1]}
        output, past_key, past_value = results(new, "output", "present_key", "present_value")
        np.testing.assert_allclose(output[:, 0], whole[:, token], **EXACT)
        assert past_key.shape == (2, token + 1, LATENT + SHARED)
        np.testing.assert_array_equal(past_key[..., :LATENT], past_value)
        cache = {"past_key": past_key, "past_value": past_value}


def test_the_gradient_of_the_embeddings_is_that_of_the_expanded_form() -> None:
    keys = {**expanded(1, 4, 2), "causal": True, "grad_output": normal(2, N, OUT, seed=3)}
    (right,), (found,) = (results(each, "grad_embeddings") for each in (keys, absorbed(keys)))
    np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-10)


def test_an_absorbed_kernel_that_scales_by_the_width_of_what_it_reads_is_named() -> None:
    keys = {**expanded(2, 4, 2), "causal": True}
    kernel = {**absorbed(keys), "scale": 1 / np.sqrt(LATENT + SHARED)}
    first, *_ = attncli.check(against={"output": results(kernel, "output")[0]}, **keys).explained_by
    assert first.slips == ("scale_of_latent",)
    assert "the latent and the shared features, 10, instead of 7." in first.sentence

"""A capture of a few layers, computed in NumPy."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attncli.io.captures import Capture, CapturedLayer
from attncli.io.safetensors import write_capture
from attncli.problem.arrays import GivenArray

WORDS = ("[CLS]", "the", "cat", "the", "[SEP]")
STARTS = ("<s>", "die")


def _drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _layer(name: str, tensors: dict[str, GivenArray], query_count: int = 5, **keys: object) -> CapturedLayer:
    """A layer of 4 query heads and 2 key heads, in NumPy's products."""
    shapes = (1, 4, query_count, 3), (1, 2, 5, 3), (1, 2, 5, 3)
    query, key, value = (_drawn(seed, *shape) for seed, shape in enumerate(shapes))
    scores = keys.get("scale", 3**-0.5) * query @ np.repeat(key, 2, 1).swapaxes(-1, -2)
    if keys.get("causal"):
        scores = np.where(np.tri(5, dtype=bool), scores, -np.inf)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    arrays = {"query": query, "key": key, "value": value}
    results = {"weights": weights, "output": weights @ np.repeat(value, 2, 1)}
    tensors |= {f"{name}.{what}": GivenArray(array, dtype="float32") for what, array in {**arrays, **results}.items()}
    named = ({what: f"{name}.{what}" for what in group} for group in (arrays, results))
    return CapturedLayer(name, keys, *named, tokens=0, query_tokens=int(query_count != 5))


def write_tiny_capture(
    file: Path, masks: Sequence[Sequence[int]] = (), notes: Sequence[str] = (), **keys: object
) -> None:
    """Write a capture of two layers, the first with some keys of a problem, and a cross-attention."""
    tensors: dict[str, GivenArray] = {}
    layers = [
        _layer("0", tensors, **{"causal": True, **keys}),
        _layer("1", tensors, scale=0.25),
        _layer("decoder.1.cross", tensors, query_count=2),
    ]
    with file.open("wb") as stream:
        write_capture(
            stream, Capture((WORDS, STARTS), layers, "tiny", "bert", "float32", masks=masks, notes=notes), tensors
        )

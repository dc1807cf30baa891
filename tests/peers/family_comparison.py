"""A tiny model's attention against the problem files that `attn model` writes of its checkpoint."""

from pathlib import Path
from typing import Any

import numpy as np

import attncli
from tests.cli.running import run_in_process
from tests.peers.tiny_models import CapturedAttention, TinyModel, make_checkpoint


def assert_layers_agree(row: TinyModel, folder: Path) -> None:
    """Each layer's file, which the command line writes, gives the module's output without a warning.

    The first layer begins with tokens or the residual stream, where it can; the others with every other input.
    """
    for number, (layer, captured) in enumerate(
        zip(row.layers, make_checkpoint(row, folder / "checkpoint"), strict=True)
    ):
        part = ("--part", row.part) if row.part else ()
        file = folder / f"layer{layer}.yaml"
        run("model", "checkpoint", "--layer", str(layer), *part, "-o", file.name, folder=folder)
        size = np.abs(captured.output).max()
        ways = inputs_of(captured, has_tokens="token_table:" in file.read_text(encoding="utf-8"))
        is_only = len(row.layers) == 1
        for inputs in ways if is_only else ways[-1:] if number == 0 else ways[:2]:
            result = attncli.load(file, **inputs).compute("output")
            expected = captured.output[0] if "tokens" in inputs else captured.output
            difference = np.abs(result.output.reshape(expected.shape) - expected).max() / size
            place = f"{row.name}, layer {layer}, from {' and '.join(inputs)}"
            assert difference <= row.tolerance, f"{place}: {difference:.2g} of the output's size"
            assert not result.trace.notes, place


def inputs_of(captured: CapturedAttention, *, has_tokens: bool) -> list[dict[str, Any]]:
    """The ways in which a layer may be given what it attends to: each as the keys of a problem."""
    own = {"embeddings": captured.embeddings, "query_embeddings": captured.query_embeddings}
    ways: list[dict[str, Any]] = [{key: array for key, array in own.items() if array is not None}]
    if captured.residual is not None:
        ways.append({"residual": captured.residual})
    if captured.tokens is not None and has_tokens:
        ways.append({"tokens": captured.tokens})
    return [{**way, **captured.given} for way in ways]


def run(*words: str, folder: Path) -> None:
    """Call `attn`; it must end well, and warn of nothing."""
    ran = run_in_process(*words, folder=folder)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr

"""A tiny model's attention against the problem files that `attn model` writes of its checkpoint."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.cli.running import run_in_process
from tests.peers.tiny_models import CapturedAttention, TinyModel, make_checkpoint


def assert_layers_agree(row: TinyModel, folder: Path) -> None:
    """Each layer's file, written and computed by the command line without a warning, gives the module's output."""
    for layer, captured in zip(row.layers, make_checkpoint(row, folder / "checkpoint"), strict=True):
        part = ("--part", row.part) if row.part else ()
        file = folder / f"layer{layer}.yaml"
        run("model", "checkpoint", "--layer", str(layer), *part, "-o", file.name, folder=folder)
        size = np.abs(captured.output).max()
        for inputs in inputs_of(captured, has_tokens="token_table:" in file.read_text(encoding="utf-8")):
            computed = compute(file.name, inputs, folder)
            expected = captured.output[0] if "tokens" in inputs else captured.output
            difference = np.abs(computed.reshape(expected.shape) - expected).max() / size
            place = f"{row.name}, layer {layer}, from {' and '.join(inputs)}"
            assert difference <= row.tolerance, f"{place}: {difference:.2g} of the output's size"


def inputs_of(captured: CapturedAttention, *, has_tokens: bool) -> list[dict[str, Any]]:
    """The ways in which a layer may be given what it attends to: each as the keys of a problem."""
    own = {"embeddings": captured.embeddings, "query_embeddings": captured.query_embeddings}
    ways = [{key: array for key, array in own.items() if array is not None}]
    if captured.residual is not None:
        ways.append({"residual": captured.residual})
    if captured.tokens is not None and has_tokens:
        ways.append({"tokens": ",".join(map(str, captured.tokens))})
    return [{**way, **captured.given} for way in ways]


def compute(file: str, inputs: dict[str, Any], folder: Path) -> np.ndarray:
    """The output of a problem file with these inputs: arrays, or words of the command line."""
    words = []
    for key, value in inputs.items():
        if isinstance(value, np.ndarray):
            np.save(folder / f"{key}.npy", value)
        words += [f"--{key.replace('_', '-')}", f"{key}.npy" if isinstance(value, np.ndarray) else value]
    run("compute", file, *words, "--select", "output", "-o", "output.npz", folder=folder)
    output: np.ndarray = np.load(folder / "output.npz")["output"]
    (folder / "output.npz").unlink()
    return output


def run(*words: str, folder: Path) -> None:
    """Call `attn`; it must end well, and warn of nothing."""
    ran = run_in_process(*words, folder=folder)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr

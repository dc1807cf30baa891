"""Commands from their start to their end, and programs that do as much."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml
from pairs import compare, run

RUNS = 15
# The tutorial's steps and nothing else; and the commands of `attn`, each with as many options as `compute`.
LEAST = """
import json, sys
import numpy as np, typer, yaml
app = typer.Typer()

@app.command()
def compute(path: str, as_json: bool = typer.Option(False, "--json")):
    with open(path) as file:
        given = yaml.load(file, yaml.CSafeLoader)
    x = np.array(given["embeddings"])
    query, key, value = (x @ np.array(given[name]) for name in ("w_q", "w_k", "w_v"))
    scores = query @ key.T / np.sqrt(key.shape[1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    json.dump({"weights": weights.tolist(), "output": (weights @ value).tolist()}, sys.stdout)

app()
"""
MANY = """
import typer
app = typer.Typer()
options = ", ".join(f"x{number}: str = typer.Option('', help='What it does.')" for number in range(60))
for name in "compute demo generate list show check compare model init completion".split():
    exec(f"@app.command()\\ndef {name}({options}): print()")
app(prog_name="many")
"""
TORCH = """
import sys
import numpy, torch
folder = sys.argv[1]
query, key, value = (torch.from_numpy(numpy.load(f"{folder}/{name}.npy"))[None, None] for name in "qkv")
numpy.save(f"{folder}/peer.npy", torch.nn.functional.scaled_dot_product_attention(query, key, value)[0, 0].numpy())
"""
CSV = "import json, numpy, sys; print(json.dumps(numpy.loadtxt(sys.argv[1], delimiter=',').tolist()))"
YAML = "import json, sys, yaml; print(json.dumps(yaml.load(open(sys.argv[1]), yaml.CSafeLoader)))"


def rows() -> Iterator[str]:
    """A problem of four words, help, variants, and files. The package must not be editable, and have its bytecode."""
    attn = str(Path(sys.executable).with_name("attn"))
    with TemporaryDirectory() as name:
        folder = Path(name)
        for title, text in {"least": LEAST, "many": MANY, "torch": TORCH}.items():
            (folder / f"{title}_.py").write_text(text)
        peers = {title: [sys.executable, str(folder / f"{title}_.py")] for title in ("least", "many", "torch")}
        problem, weights = str(folder / "tutorial.yaml"), np.random.default_rng(0).standard_normal((3, 8192, 64), "f4")
        run([attn, "demo", "tutorial", "--save", problem])
        for letter, array in zip("qkv", weights, strict=True):
            np.save(folder / f"{letter}.npy", array)
        np.savetxt(folder / "x.csv", weights[0], delimiter=",")
        (folder / "x.yaml").write_text(yaml.safe_dump({"scores": weights[0].tolist()}, default_flow_style=None))
        files = [word for role in ("query", "key", "value") for word in (f"--{role}", f"{folder}/{role[0]}.npy")]
        sentence = ["--sentence", "the cat sat", "--dim", "4", "--json"]
        for title, ours, theirs, aim in (
            (
                "compute tutorial.yaml --json / a Typer program that does it",
                ["compute", problem, "--json"],
                [*peers["least"], problem, "--json"],
                "≤ 0.80",
            ),
            ("--help / a Typer program of its size", ["--help"], [*peers["many"], "--help"], "≤ 1"),
            (
                "compare of 100 variants / compute of one",
                ["compare", *sentence, "--vary", "seed=1..100"],
                [attn, "compute", *sentence, "--seed", "1"],
                "≤ 3",
            ),
            (
                "from files to a file, n = 8192 / a PyTorch script",
                ["compute", *files, "--select", "output", "-o", f"{folder}/o.npy"],
                [*peers["torch"], str(folder)],
                "≤ 1",
            ),
            (
                "CSV to JSON, 8192 × 64 / NumPy and json",
                ["compute", "--scores", f"{folder}/x.csv", "--select", "scores", "--json"],
                [sys.executable, "-c", CSV, f"{folder}/x.csv"],
                "≤ 1",
            ),
            (
                "YAML to JSON, 8192 × 64 / PyYAML's C loader and json",
                ["compute", f"{folder}/x.yaml", "--select", "scores", "--json"],
                [sys.executable, "-c", YAML, f"{folder}/x.yaml"],
                "≤ 1",
            ),
        ):
            command = [attn, *ours]
            yield compare(title, lambda command=command: run(command), lambda peer=theirs: run(peer), aim, RUNS)

"""How long `attn` takes to start, beside programs that only import what it must import."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from help_peer import program
from pairs import Row, compare, run

from attncli.cli.commands import COMMANDS

RUNS = 25
BARE = """
import typer, numpy
app = typer.Typer()

@app.command()
def main(x: int = 3):
    print(x)

app()
"""
MANY = """
import typer
app = typer.Typer()
for name in ("compute", "demo", "generate", "list", "show"):
    def command(x: str = "3"):
        print(x)
    app.command(name)(command)
app(prog_name="many")
"""
# The tutorial's steps and nothing else: what any program of these packages takes, the collector off, ended at once.
LEAST = """
import gc
gc.disable()
import json, os, sys
import numpy as np, typer, yaml
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

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
    sys.stdout.flush()
    os._exit(0)

app()
"""


def rows() -> Iterator[Row]:
    """A problem of four words; a hundred variants; help, version, completion. The package must not be editable.

    Its bytecode must be there, as an installer writes it, and PYTHONDONTWRITEBYTECODE unset.
    """
    attn = str(Path(sys.executable).with_name("attn"))
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bare.py").write_text(BARE)
        (folder / "many.py").write_text(MANY)
        (folder / "least.py").write_text(LEAST)
        problem = str(folder / "tutorial.yaml")
        run([attn, "demo", "tutorial", "--save", problem])
        bare, many = [sys.executable, str(folder / "bare.py")], [sys.executable, str(folder / "many.py")]
        ours, theirs = [attn, "compute", problem, "--json"], bare
        title = "attn compute tutorial.yaml --json / typer and numpy"
        yield compare(title, lambda: run(ours), lambda: run(theirs), RUNS, "≤ 0.80")
        numpy = [sys.executable, "-c", "import numpy"]
        for option, aim in (("--json", "≤ 1.20"), ("", "≤ 1.40"), ("--explain", "≤ 1.40")):
            shown = [attn, "compute", problem, *option.split()]
            title = f"attn compute tutorial.yaml {option} / import numpy"
            yield compare(title, lambda shown=shown: run(shown), lambda: run(numpy), RUNS, aim)
        imports = [sys.executable, "-c", "import numpy, typer, yaml"]  # what attn must import
        yield compare("  import numpy, typer, yaml / import numpy", lambda: run(imports), lambda: run(numpy), RUNS, "")
        least = [sys.executable, str(folder / "least.py"), problem, "--json"]
        title = "attn compute --json / the least Typer program that does it"
        yield compare(title, lambda: run([attn, "compute", problem, "--json"]), lambda: run(least), RUNS, "≤ 1.00")
        yield compare("  that program / import numpy", lambda: run(least), lambda: run(numpy), RUNS, "")
        words = ["--sentence", "the cat sat", "--dim", "4", "--json"]
        hundred = [attn, "compare", *words, "--vary", "seed=1..100"]
        one = [attn, "compute", *words, "--seed", "1"]
        title = "attn compare of 100 variants / attn compute of one"
        yield compare(title, lambda: run(hundred), lambda: run(one), RUNS, "≤ 3.00")
        for word in ("--help", "--version"):
            title = f"attn {word} / help of five commands"
            yield compare(title, lambda word=word: run([attn, word]), lambda: run([*many, "--help"]), RUNS, "≤ 1.10")
        (folder / "peer.py").write_text(program())
        for command in ("", *COMMANDS):
            asked = [*command.split(), "--help"]
            peer = [sys.executable, str(folder / "peer.py"), *asked]
            title = f"attn {' '.join(asked)} / a Typer program of its size"
            yield compare(title, lambda asked=asked: run([attn, *asked]), lambda peer=peer: run(peer), RUNS, "≤ 1.00")
        title = "completion of attn ge / of five commands"
        yield compare(title, lambda: complete("attn", [attn]), lambda: complete("many", many), RUNS, "≤ 1.10")


def complete(name: str, command: list[str]) -> None:
    """What a shell asks for when TAB is pressed after `attn ge`."""
    asked = {f"_{name.upper()}_COMPLETE": "complete_bash", "COMP_WORDS": f"{name} ge", "COMP_CWORD": "1"}
    subprocess.run(command, env=os.environ | asked, check=True, stdout=subprocess.DEVNULL)

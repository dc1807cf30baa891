"""Command lines that run each reader, each writer and each engine, from the tables of formats."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from attncli.base.dtypes import Precision
from attncli.io.formats import INPUT_FORMATS
from attncli.io.safetensors import write_safetensors
from attncli.render.formats import FORMATS

PROBLEM = b"query: [[1, 0], [0, 2], [1, 1]]\nkey: [[1, 2], [0, 1], [1, 1]]\nvalue: [[1, 0], [0, 1], [2, 2]]\n"
EXPECTED = b"expected:\n  weights: [[0.5, 0.25, 0.25], [0.6, 0.2, 0.2], [0.7, 0.15, 0.15]]\n"
OLD = b"what was there before\n"
SPREADSHEET = ".xlsx"  # needs a package that is not among those of the quick tests, as figures do


@dataclass(frozen=True)
class CommandRun:
    """A command line with the files in its folder."""

    words: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    is_slow: bool = False  # a second of processor time


def _readers() -> Iterator[tuple[str, CommandRun]]:
    """A run for each format of inputs."""
    x = np.arange(6.0).reshape(3, 2)
    np.save(npy := io.BytesIO(), x)
    np.savez_compressed(npz := io.BytesIO(), query=x, key=x)
    write_safetensors(safetensors := io.BytesIO(), {"query": x, "key": x}, Precision("float64"))
    contents = {
        "table": b"cat,1,2\ndog,3,4\n",
        "table of tabs": b"1\t2\n3\t4\n",
        "table of text": b"1 2\n3 4\n",
        "JSON": b'{"query": [[1, 2]], "key": [[1, 0], [0, 1]]}',
        "JSON Lines": b'{"text": "a", "embedding": [1, 2]}\n{"text": "b", "embedding": [2, 3]}\n',
        "YAML": PROBLEM,
        "NumPy array": npy.getvalue(),
        "NumPy archive": npz.getvalue(),
        "safetensors": safetensors.getvalue(),
    }
    for row in INPUT_FORMATS:
        if SPREADSHEET not in row.suffixes:
            file = f"x{row.suffixes[0]}"
            words = (file,) if row.holds_problems else ("--embeddings", file)
            yield f"read {row.name}", CommandRun(("compute", *words), {file: contents[row.name]})


def _writers() -> Iterator[tuple[str, CommandRun]]:
    """A run for each format of outputs, which replaces a file; and for each text on standard output."""
    for row in FORMATS:
        if not row.is_figure and SPREADSHEET not in row.suffixes:
            file = f"out{row.suffixes[0]}" if row.suffixes else None
            words = ("-o", file) if file else ("--format", row.name)
            words = (*words, "--select", "output") if row.holds_one_array else words
            files = {"p.yaml": PROBLEM, **({file: OLD} if file else {})}
            yield f"write {row.name}", CommandRun(("compute", "p.yaml", *words), files)


def _commands() -> Iterator[tuple[str, CommandRun]]:
    """Other engines, and other commands that write files."""
    problem = {"p.yaml": PROBLEM}
    agreeing = b"query: [[0, 0]]\nkey: [[1, 2], [0, 1]]\nexpected: {weights: [[0.5, 0.5]]}\n"
    drawn = ("--seed", "1", "--token-count", "400", "--dim", "8")
    yield "blocks", CommandRun(("compute", *drawn, "--executor", "serial", "--select", "output", "-o", "x.npy"))
    yield "gradient", CommandRun(("compute", "p.yaml", "--gradient", "--json"), problem)
    yield "explain", CommandRun(("compute", "p.yaml", "--explain"), problem)
    yield "recurrence", CommandRun(("compute", "p.yaml", "--recurrence", "linear"), problem)
    yield "check", CommandRun(("check", "p.yaml"), {"p.yaml": PROBLEM + EXPECTED}, is_slow=True)
    yield (
        "check --junit",
        CommandRun(("check", "p.yaml", "--junit", "r.xml"), {"p.yaml": agreeing, "r.xml": OLD}),
    )
    yield "compare", CommandRun(("compare", "p.yaml", "--vary", "scale=1,2", "-o", "c.html"), problem)
    yield "generate", CommandRun(("generate", *drawn, "-o", "folder"))
    yield (
        "generate --force",
        CommandRun(("generate", "p.yaml", "-o", "q.yaml", "--force"), {**problem, "q.yaml": OLD}),
    )
    learn = ("--scale", "1", "--learn", "scale", "--target", "output=1 1; 1 1; 1 1")
    yield "fit", CommandRun(("fit", "p.yaml", *learn, "-o", "f.yaml"), problem, is_slow=True)
    yield "worksheet", CommandRun(("worksheet", "p.yaml", "-o", "s.md"), problem)
    yield (
        "worksheets",
        CommandRun(
            (
                "worksheet",
                "--seed",
                "1",
                "--token-count",
                "2",
                "--dim",
                "4",
                "--by-hand",
                "--variants",
                "2",
                "-o",
                "folder",
            )
        ),
    )
    yield "demo --save", CommandRun(("demo", "tutorial", "--save", "mine.yaml"))
    yield "init", CommandRun(("init",))
    np.save(maps := io.BytesIO(), np.array([[[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]]))
    yield "heads", CommandRun(("heads", "m.npy"), {"m.npy": maps.getvalue()})


# Problems that are computed in blocks on all cores, by products, sums and exponentials of many numbers.
_LARGE = (
    "--seed",
    "3",
    "--token-count",
    "1100",
    "--dim",
    "48",
    "--dtype",
    "float32",
    "--select",
    "output,lse",
    "--json",
)
LARGE_RUNS: Mapping[str, CommandRun] = {
    f"blocks {name}": CommandRun(("compute", *_LARGE, *words), is_slow=True)
    for name, words in {
        "in tiles": (),
        "of heads": ("--heads", "6", "--kv-heads", "2", "--causal"),
        "in whole rows": ("--normalize", "sparsemax"),
        "of distances": ("--score", "gaussian:sigma=3", "--window", "300,0"),
        "with gradients": ("--gradient", "--select", "output,grad_embeddings"),
    }.items()
}
RUNS: Mapping[str, CommandRun] = dict([*_readers(), *_writers(), *_commands()])

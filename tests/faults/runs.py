"""The runs in which everything fails in turn: each reader, each writer and each engine, from the tables of formats."""

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
NEEDS_PACKAGE = (".png", ".pdf", ".xlsx")  # of extras that are not among those of the quick tests


@dataclass(frozen=True)
class FaultyRun:
    """A command line with the files in its folder."""

    words: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    is_slow: bool = False  # a second of processor time


def _readers() -> Iterator[tuple[str, FaultyRun]]:
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
        if row.suffixes[0] not in NEEDS_PACKAGE:
            file = f"x{row.suffixes[0]}"
            words = (file,) if row.holds_problems else ("--embeddings", file)
            yield f"read {row.name}", FaultyRun(("compute", *words), {file: contents[row.name]})


def _writers() -> Iterator[tuple[str, FaultyRun]]:
    """A run for each format of outputs, which replaces a file; and for each text on standard output."""
    for row in FORMATS:
        if not set(row.suffixes) & {*NEEDS_PACKAGE}:
            file = f"out{row.suffixes[0]}" if row.suffixes else None
            words = ("-o", file) if file else ("--format", row.name)
            words = (*words, "--select", "output") if row.holds_one_array else words
            files = {"p.yaml": PROBLEM, **({file: OLD} if file else {})}
            yield f"write {row.name}", FaultyRun(("compute", "p.yaml", *words), files)


def _commands() -> Iterator[tuple[str, FaultyRun]]:
    """Other engines, and other commands that write files."""
    problem = {"p.yaml": PROBLEM}
    agreeing = b"query: [[0, 0]]\nkey: [[1, 2], [0, 1]]\nexpected: {weights: [[0.5, 0.5]]}\n"
    drawn = ("--seed", "1", "--token-count", "400", "--dim", "8")
    yield "blocks", FaultyRun(("compute", *drawn, "--executor", "serial", "--select", "output", "-o", "x.npy"))
    yield "gradient", FaultyRun(("compute", "p.yaml", "--gradient", "--json"), problem)
    yield "explain", FaultyRun(("compute", "p.yaml", "--explain"), problem)
    yield "recurrence", FaultyRun(("compute", "p.yaml", "--recurrence", "linear"), problem)
    yield "check", FaultyRun(("check", "p.yaml"), {"p.yaml": PROBLEM + EXPECTED}, is_slow=True)
    yield (
        "check --junit",
        FaultyRun(("check", "p.yaml", "--junit", "r.xml"), {"p.yaml": agreeing, "r.xml": OLD}),
    )
    yield "compare", FaultyRun(("compare", "p.yaml", "--vary", "scale=1,2", "-o", "c.html"), problem)
    yield "generate", FaultyRun(("generate", *drawn, "-o", "folder"))
    yield (
        "generate --force",
        FaultyRun(("generate", "p.yaml", "-o", "q.yaml", "--force"), {**problem, "q.yaml": OLD}),
    )
    learn = ("--scale", "1", "--learn", "scale", "--target", "output=1 1; 1 1; 1 1")
    yield "fit", FaultyRun(("fit", "p.yaml", *learn, "-o", "f.yaml"), problem, is_slow=True)
    yield "worksheet", FaultyRun(("worksheet", "p.yaml", "-o", "s.md"), problem)
    yield (
        "worksheets",
        FaultyRun(
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
    yield "demo --save", FaultyRun(("demo", "tutorial", "--save", "mine.yaml"))
    yield "init", FaultyRun(("init",))
    np.save(maps := io.BytesIO(), np.array([[[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]]))
    yield "heads", FaultyRun(("heads", "m.npy"), {"m.npy": maps.getvalue()})


RUNS: Mapping[str, FaultyRun] = dict([*_readers(), *_writers(), *_commands()])

"""How long it takes to read and write numbers as text, beside the libraries that read and write them."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml
from pairs import Row, against, compare, peak

import attncli
from attncli.cli.streams import buffer_chunks
from attncli.io.origin import Origin
from attncli.io.parse.matrix import read_text_array
from attncli.io.readers import json as json_reader
from attncli.io.readers import yaml as yaml_reader
from attncli.render.formats import csv as csv_view
from attncli.render.formats import json as json_view
from attncli.render.view import View

READ = (
    "from attncli.io.parse.matrix import read_text_array; from attncli.io.origin import Origin; "
    "read_text_array({!r}, ('embeddings',), Origin())"
)


def rows() -> Iterator[Row]:
    """CSV, YAML and JSON in; JSON and CSV out. With orjson installed those that use it are there twice."""
    numbers = np.random.default_rng(0).standard_normal((100_000, 64))
    with TemporaryDirectory() as name:
        yield from _read(numbers, Path(name))
    yield from _write(numbers[:20_000])


def _read(numbers: np.ndarray, folder: Path) -> Iterator[Row]:
    table = str(folder / "x.csv")
    np.savetxt(table, numbers, delimiter=",", fmt="%.17g")
    for extra in _with_and_without_orjson():
        title = f"CSV in, 100000 × 64{extra} / numpy.loadtxt"
        yield compare(
            title,
            lambda: read_text_array(table, ("embeddings",), Origin()),
            lambda: np.loadtxt(table, delimiter=","),
            3,
            "≤ 1",
        )
    own, size = peak([sys.executable, "-c", "import numpy"]), numbers.nbytes / 2**20
    above = peak([sys.executable, "-c", READ.format(table)]) - own
    yield against("  peak memory in MB above NumPy's own / the array", [above], size, "≤ 3")
    text = "".join(f"- {row}\n" for row in numbers[:3000].tolist())
    yield compare(
        "YAML in, inline numbers / PyYAML's C loader",
        lambda: yaml_reader.read(text, ""),
        lambda: yaml.load(text, Loader=yaml.CSafeLoader),
        3,
        "≤ 1.20",
    )
    text = json.dumps(numbers[:30_000].tolist())
    yield compare("JSON in / json.loads", lambda: json_reader.read(text, ""), lambda: json.loads(text), 5, "1")


def _write(numbers: np.ndarray) -> Iterator[Row]:
    for columns in (64, 1000):
        array = numbers.reshape(-1, columns)
        view = View(attncli.attention(array, array[:4], array[:4], select=("query",)))
        for extra, aim in _with_and_without_orjson(("≤ 0.125", "≤ 1")):
            for form, render in (("JSON", json_view.render), ("CSV", csv_view.render)):
                title = f"{form} out, {columns} columns{extra} / json.dumps(array.tolist())"
                yield compare(
                    title,
                    lambda view=view, render=render: _sink(render(view)),
                    lambda array=array: json.dumps(array.tolist()),
                    5,
                    aim,
                )


def _sink(contents: Iterator[str]) -> None:
    stream = io.BytesIO()
    for piece in buffer_chunks(contents):
        stream.write(piece.encode())
        stream.seek(0)


def _with_and_without_orjson(aims: tuple[str, str] | None = None) -> Iterator:
    """The words for both, and the aim; where it is installed it is hidden the second time."""
    try:
        import orjson
    except ImportError:
        pass
    else:
        yield (", with orjson", aims[0]) if aims else ", with orjson"
        sys.modules["orjson"] = None
        yield (", without", aims[1]) if aims else ", without"
        sys.modules["orjson"] = orjson
        return
    yield (", without orjson", aims[1]) if aims else ", without orjson"

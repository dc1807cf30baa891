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
from attncli.io import documents
from attncli.io import yaml as yaml_reader
from attncli.io.parse import read_text_array
from attncli.io.problem_files import Origin
from attncli.render.formats import find_format
from attncli.render.target import TEXT_FILE
from attncli.render.view import View

READ = (
    "from attncli.io.parse import read_text_array; from attncli.io.problem_files import Origin; "
    "read_text_array({!r}, ('embeddings',), Origin())"
)


SHAPES = (50_000, 2), (2, 10_000)  # narrow and wide: what is done for each row, and for each column


def rows() -> Iterator[Row]:
    """CSV, YAML and JSON in; JSON, CSV and tables out. With orjson installed those that use it are there twice."""
    numbers = np.random.default_rng(0).standard_normal((100_000, 64))
    with TemporaryDirectory() as name:
        yield from _read(numbers, Path(name))
        for shape in SHAPES:
            yield from _read_shape(numbers.reshape(-1)[: shape[0] * shape[1]].reshape(shape), Path(name))
    yield from _write(numbers[:20_000])
    for shape in SHAPES:
        yield from _write_shape(numbers.reshape(-1)[: shape[0] * shape[1]].reshape(shape))
    yield from _tables(numbers.reshape(-1)[: 2048 * 2048].reshape(2048, 2048))


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
    yield compare("JSON in / json.loads", lambda: documents.read_json(text, ""), lambda: json.loads(text), 5, "1")


def _write(numbers: np.ndarray) -> Iterator[Row]:
    for columns in (64, 1000):
        array = numbers.reshape(-1, columns)
        view = View(attncli.attention(array, array[:4], array[:4], select=("query",)))
        for extra, aim in _with_and_without_orjson(("≤ 0.125", "≤ 1")):
            for form, render in (("JSON", find_format("json").render), ("CSV", find_format("csv").render)):
                title = f"{form} out, {columns} columns{extra} / json.dumps(array.tolist())"
                yield compare(
                    title,
                    lambda view=view, render=render: _sink(render(view, TEXT_FILE)),
                    lambda array=array: json.dumps(array.tolist()),
                    5,
                    aim,
                )


def _read_shape(numbers: np.ndarray, folder: Path) -> Iterator[Row]:
    """A table of few columns or of few rows, in each format."""
    plain, labelled = str(folder / "plain.csv"), str(folder / "labelled.csv")
    np.savetxt(plain, numbers, delimiter=",", fmt="%.17g")
    lines = Path(plain).read_text().splitlines()
    Path(labelled).write_text("".join(f"word_{number},{line}\n" for number, line in enumerate(lines)))
    shape = " × ".join(map(str, numbers.shape))
    for extra in _with_and_without_orjson():
        for title, table in ((f"CSV in, {shape}", plain), (f"CSV in, {shape}, with labels", labelled)):
            yield compare(
                f"{title}{extra} / numpy.loadtxt",
                lambda table=table: read_text_array(table, ("embeddings",), Origin()),
                lambda: np.loadtxt(plain, delimiter=","),
                5,
                "≤ 3",
            )
    text = "".join(f"- {row}\n" for row in numbers.tolist())
    yield compare(
        f"YAML in, {shape} / PyYAML's C loader",
        lambda: yaml_reader.read(text, ""),
        lambda: yaml.load(text, Loader=yaml.CSafeLoader),
        3,
        "≤ 1.20",
    )
    document = json.dumps(numbers.tolist())
    yield compare(
        f"JSON in, {shape} / json.loads",
        lambda: documents.read_json(document, ""),
        lambda: json.loads(document),
        5,
        "≤ 3",
    )


def _write_shape(numbers: np.ndarray) -> Iterator[Row]:
    """A table of few columns or of few rows as JSON and CSV."""
    view = View(attncli.attention(numbers, numbers[:2], numbers[:2], select=("query",)))
    labels, shape = list(view.result.trace.labels["n"]), " × ".join(map(str, numbers.shape))
    for extra in _with_and_without_orjson():
        for form, render in (("JSON", find_format("json").render), ("CSV", find_format("csv").render)):
            yield compare(
                f"{form} out, {shape}{extra} / json.dumps(numbers, labels)",
                lambda render=render: _sink(render(view, TEXT_FILE)),
                lambda: json.dumps([numbers.tolist(), labels]),
                5,
                "≤ 3",
            )


def _tables(weights: np.ndarray) -> Iterator[Row]:
    """What a pipe and a Markdown file get of a large table of weights."""
    view = View(attncli.attention(scores=weights, select=("weights",)))
    table = view.result.weights
    for title, name in (("Table in a pipe", "table"), ("Table of Markdown", "markdown")):
        yield compare(
            f"{title}, 2048 × 2048 / numpy.savetxt",
            lambda name=name: _sink(find_format(name).render(view, TEXT_FILE)),
            lambda: np.savetxt(io.BytesIO(), table, fmt="%.4f"),
            3,
            "≤ 1",
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

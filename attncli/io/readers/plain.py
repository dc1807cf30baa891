"""Large tables of plain numbers, under a header or beside labels or neither: read by a library, a part at a time.

Whatever takes care (quotes, comments, cells that are no number, rows of several lengths) is left to the careful reader
of `csv.py`, which then reads the whole file and says what is wrong.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from attncli.arrays import Array, np
from attncli.errors import AttnError
from attncli.io.readers import csv

LEAST = 2**19  # bytes: a smaller table is read with care at once
HEAD = 2**16  # bytes that show how the table is laid out
AT_ONCE = 2**20  # bytes
NUMERALS = b"0123456789+-.eE \t\n"

Parse = Callable[[bytes], Array]


def read(path: Path, delimiter: str | None = None) -> csv.Table | None:
    """The table in a file; None where it is small, or not as plain as that."""
    with path.open("rb") as stream:
        head = stream.read(HEAD)
        if len(head) + len(stream.read(LEAST)) < LEAST:
            return None
    try:
        first = head[: head.rfind(b"\n")].decode("utf-8-sig")
        layout = csv.layout(first, str(path), delimiter)
    except (UnicodeDecodeError, AttnError):
        return None
    parse = _parser(layout.delimiter)
    parts: list[Array] = []
    labels: list[str] = []
    try:
        for number, block in enumerate(_blocks(path)):
            lines = block.partition(b"\n")[2] if layout.columns is not None and number == 0 else block
            if layout.labelled:
                lines = _apart(lines, layout.delimiter.encode(), labels)
            lines = lines.replace(b"\r\n", b"\n")
            if lines.translate(None, NUMERALS + layout.delimiter.encode()):
                return None
            if lines.strip():
                parts.append(parse(lines))
        numbers = np.concatenate(parts)
    except ValueError:  # a row of another length, an empty cell, two points in a number, a label in no known letters
        return None
    named = not layout.labelled or csv.are_labels(labels, layout)
    fits = layout.columns is None or len(layout.columns) in (numbers.shape[1], numbers.shape[1] + layout.labelled)
    if not (named and fits and np.isfinite(numbers).all()):
        return None
    columns = layout.columns[-numbers.shape[1] :] if layout.columns is not None else None
    return csv.Table(numbers, tuple(labels) if layout.labelled else None, columns)


def _blocks(path: Path) -> Iterator[bytes]:
    """The lines of a file, some of them at a time."""
    with path.open("rb") as stream:
        rest = stream.read(3).removeprefix(b"\xef\xbb\xbf")  # the mark that some editors put before UTF-8
        while part := stream.read(AT_ONCE):
            lines, _, after = part.rpartition(b"\n")
            if lines or part.startswith(b"\n"):
                yield rest + lines
                rest = after
            else:
                rest += part
        yield rest


def _apart(lines: bytes, delimiter: bytes, labels: list[str]) -> bytes:
    """The lines without their first cells, which join the labels."""
    cells = [line.partition(delimiter) for line in lines.split(b"\n") if line.strip()]
    if any(b'"' in label or b"#" in label for label, _, _ in cells):
        raise ValueError
    labels += [label.decode("utf-8").strip() for label, _, _ in cells]
    return b"\n".join(numbers for _, _, numbers in cells)


def _parser(delimiter: str) -> Parse:
    """How lines of numbers become an array: by orjson where it is installed, by NumPy elsewhere.

    Both raise ValueError where a line is not plain. What JSON does not take (`.5`, `+1`, `007`) NumPy does.
    """

    def by_numpy(lines: bytes) -> Array:
        separator = None if delimiter == " " else delimiter
        text = lines.decode("ascii").split("\n")
        numbers: Array = np.loadtxt(text, delimiter=separator, comments=None, ndmin=2)
        return numbers

    try:
        import orjson  # noqa: PLC0415 - an optional extra
    except ImportError:
        return by_numpy
    if delimiter == " ":
        return by_numpy

    def by_orjson(lines: bytes) -> Array:
        rows = lines.strip().replace(delimiter.encode(), b",").replace(b"\n", b"],[")
        try:
            numbers = np.array(orjson.loads(b"[[" + rows + b"]]"), dtype=np.float64)
        except ValueError:
            return by_numpy(lines)
        if numbers.ndim != 2 or not numbers.size:
            return by_numpy(lines)
        return numbers

    return by_orjson

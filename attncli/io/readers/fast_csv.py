"""Large tables of plain numbers, with a header, labels, both or neither: parsed by a library, block by block.

Tables with quotes, comments, cells that are no number or rows of several lengths are left to `csv.py`, which reads the
whole file again and raises the errors.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.io.inputs import Input
from attncli.io.paths import opening
from attncli.io.readers import csv

MIN_SIZE = 2**19  # bytes: a smaller table is parsed by csv.py at once
HEAD_SIZE = 2**16  # bytes that the layout is found in
BLOCK_SIZE = 2**20  # bytes
NUMERALS = csv.NUMERALS.encode() + b"\t\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some editors begin UTF-8 text with it

Loads = Callable[[bytes], Any]


def read(source: Input, delimiter: str | None = None) -> csv.Table | None:
    """The table in an input; None where it is small, or has anything but numbers and labels.

    Raises AttnError where the input can't be read, or is larger than its limit.
    """
    with source.open() as stream, opening(source.name):
        head = stream.read(HEAD_SIZE)
        if len(head) + len(stream.read(MIN_SIZE)) < MIN_SIZE:
            return None
    source.check_size()
    try:
        first = head[: head.rfind(b"\n")].decode("utf-8-sig")
        layout = csv.layout(first, source.name, delimiter)
    except (UnicodeDecodeError, AttnError):
        return None
    labels: list[str] = []
    try:
        with opening(source.name):
            numbers = _numbers(source, layout, labels)
    except ValueError:  # a row of another length, an empty cell, two points in a number, a label that is not UTF-8
        return None
    labels_fit = not layout.has_labels or ("\0" not in "".join(labels) and csv.are_labels(labels, layout))
    width = numbers.shape[1]
    columns_fit = layout.columns is None or len(layout.columns) in (width, width + layout.has_labels)
    if not (labels_fit and columns_fit and np.isfinite(numbers).all()):
        return None
    columns = layout.columns[-numbers.shape[1] :] if layout.columns is not None else None
    return csv.Table(numbers, tuple(labels) if layout.has_labels else None, columns)


def _numbers(source: Input, layout: csv.Layout, labels: list[str]) -> Array:
    """The numbers; labels are appended to the list. Raises ValueError where a line has anything else."""
    loads = _orjson() if layout.delimiter != " " else None
    skip = 0 if layout.columns is None else 1
    if loads is None and not layout.has_labels and source.content is None:
        # NumPy is fastest where it opens the file itself.
        return _by_numpy(source.path, layout.delimiter, encoding="utf-8-sig", skiprows=skip)
    parts: list[Array] = []
    for number, block in enumerate(_blocks(source)):
        lines = block.partition(b"\n")[2] if skip and number == 0 else block
        lines = _split_labels(lines, layout.delimiter.encode(), labels) if layout.has_labels else lines
        if lines.strip():
            parts.append(_by_orjson(loads, lines, layout.delimiter) if loads else _by_text(lines, layout.delimiter))
    return np.concatenate(parts)


def _blocks(source: Input) -> Iterator[bytes]:
    """The lines of a file, some of them at a time."""
    with source.open() as stream:
        rest = stream.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
        while part := stream.read(BLOCK_SIZE):
            lines, _, after = part.rpartition(b"\n")
            if lines or part.startswith(b"\n"):
                yield rest + lines
                rest = after
            else:
                rest += part
        yield rest


def _split_labels(lines: bytes, delimiter: bytes, labels: list[str]) -> bytes:
    """The lines without their first cells, which are appended to the labels."""
    cells = [line.partition(delimiter) for line in lines.split(b"\n") if line.strip()]
    if any(b'"' in label or b"#" in label for label, _, _ in cells):
        raise ValueError
    labels += [label.decode("utf-8").strip() for label, _, _ in cells]
    return b"\n".join(numbers for _, _, numbers in cells)


def _by_numpy(lines: Iterable[str] | Path, delimiter: str, **more: Any) -> Array:
    """Lines of numbers as an array, by NumPy."""
    separator = None if delimiter == " " else delimiter
    numbers: Array = np.loadtxt(lines, delimiter=separator, comments=None, ndmin=2, **more)
    return numbers


def _by_text(lines: bytes, delimiter: str) -> Array:
    """Bytes of such lines."""
    return _by_numpy(lines.decode("ascii").splitlines(), delimiter)


def _orjson() -> Loads | None:
    """The parser of orjson, where it is installed."""
    try:
        import orjson  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None
    loads: Loads = orjson.loads
    return loads


def _by_orjson(loads: Loads, lines: bytes, delimiter: str) -> Array:
    """Lines of numbers by orjson; spellings that are not JSON (`.5`, `+1`, `007`, `-0`) by NumPy."""
    lines = lines.replace(b"\r\n", b"\n").strip()
    if lines.translate(None, NUMERALS + delimiter.encode()):
        raise ValueError
    rows = lines.replace(delimiter.encode(), b",").replace(b"\n", b"],[") + b"]"
    try:
        numbers = np.array(loads(b"[[" + rows + b"]"), dtype=np.float64)
    except ValueError:
        return _by_text(lines, delimiter)
    loses_sign = not numbers.all() and (b"-0," in rows or b"-0]" in rows)  # -0 is a whole number there, without a sign
    return _by_text(lines, delimiter) if loses_sign or numbers.ndim != 2 or not numbers.size else numbers

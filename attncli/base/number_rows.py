"""Rows of numbers as text, every digit kept, a chunk of rows at a time."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attncli.base.lazy_numpy import Array, np

NUMBERS_PER_CHUNK = 2**15  # text of a few hundred kilobytes
MAX_WHOLE = 2**53  # whole numbers from here on are not all floating-point numbers


def format_rows(
    table: Array,
    non_finite: Mapping[str, str],
    separator: str = ", ",
    format_finite: Callable[[Any], str] | None = None,
) -> Iterator[list[str]]:
    """The text of each row of a table [rows columns], its numbers separated, in chunks of rows.

    Every number reads back the same. `non_finite` has the text for `nan`, `inf` and `-inf`; without it these words
    are written. `format_finite` writes every other number. Without it Python writes them, or orjson where that is
    installed: the same numbers, in its own spelling (`1e-7`, where Python has `1e-07`), and with a comma alone where
    `separator` begins with one.

    >>> import numpy
    >>> list(format_rows(numpy.array([[1, 2], [3, 4]]), {}, " "))
    [['1 2', '3 4']]
    """
    rows_per_chunk = max(NUMBERS_PER_CHUNK // max(table.shape[1], 1), 1)
    is_orjson_table = table.dtype.kind == "f" and table.dtype.itemsize <= 8 and bool(table.shape[1])
    dumps = _orjson_rows() if is_orjson_table and format_finite is None else None
    for first in range(0, len(table), rows_per_chunk):
        chunk = table[first : first + rows_per_chunk]
        is_finite = chunk.dtype.kind != "f" or bool(np.isfinite(chunk).all())
        if is_finite and dumps is not None:
            lines = dumps(chunk)
            yield lines if separator.startswith(",") else [line.replace(",", separator) for line in lines]
        else:
            format_number = _number_formatter(chunk, is_finite, non_finite, format_finite)
            yield [separator.join(map(format_number, row)) for row in chunk.tolist()]


def format_whole(number: Any) -> str:
    """A finite number as Python writes it, a whole one without a point where it reads back the same.

    >>> format_whole(3.0), format_whole(-0.0), format_whole(0.1), format_whole(2.0**53)
    ('3', '-0.0', '0.1', '9007199254740992.0')
    """
    text = str(number)
    return text[:-2] if text.endswith(".0") and abs(number) < MAX_WHOLE and text != "-0.0" else text


def _number_formatter(
    chunk: Array, is_finite: bool, non_finite: Mapping[str, str], format_finite: Callable[[Any], str] | None
) -> Callable[[Any], str]:
    """The function that writes one number of a chunk, after `tolist`."""
    if chunk.dtype.kind == "b":
        return {True: "true", False: "false"}.__getitem__
    if format_finite is None:
        format_finite = repr if chunk.dtype.itemsize <= 8 else str
    if is_finite:
        return format_finite
    return lambda number: (
        non_finite.get(str(number), str(number)) if not math.isfinite(number) else format_finite(number)
    )


def _orjson_rows() -> Any:
    """The function that writes a chunk of rows with orjson, or None where it is not installed.

    Numbers of four bytes are written as the numbers of eight bytes that they equal, as Python writes them.
    """
    try:
        import orjson  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None

    def dumps(chunk: Array) -> list[str]:
        doubles = np.ascontiguousarray(chunk, dtype=np.float64)
        text: str = orjson.dumps(doubles, option=orjson.OPT_SERIALIZE_NUMPY)[2:-2].decode("ascii")
        return text.split("],[")

    return dumps

"""Numerals: rows of numbers as text, in full, some rows at a time."""

from collections.abc import Iterator, Mapping
from typing import Any

from attncli.arrays import Array, np

AT_ONCE = 2**15  # numbers: text of a few hundred kilobytes


def rows(table: Array, spelled: Mapping[str, str]) -> Iterator[list[str]]:
    """The numbers of each row [r c], separated by a comma (and perhaps a space), so that they read back the same.

    Some rows at a time; `spelled` has the words for what is not finite. Where orjson is installed it writes: its
    numbers are the same, in a spelling of its own (`1e-7`, where Python has `1e-07`).
    """
    count = max(AT_ONCE // max(table.shape[1], 1), 1)
    dumps = _orjson() if table.dtype.kind == "f" and table.dtype.itemsize <= 8 and table.shape[1] else None
    for first in range(0, len(table), count):
        part = table[first : first + count]
        if (part.dtype.kind == "f" and not np.isfinite(part).all()) or part.dtype.itemsize > 8:
            yield [", ".join(spelled.get(text, text) for text in map(str, row)) for row in part.tolist()]
        elif dumps is not None:
            yield dumps(part)
        elif part.dtype.kind == "b":
            yield [repr(row)[1:-1].lower() for row in part.tolist()]
        else:
            yield [repr(row)[1:-1] for row in part.tolist()]


def _orjson() -> Any:
    """How orjson writes rows, where it is installed: floats of four bytes as the floats of eight that they are."""
    try:
        import orjson  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None

    def dumps(part: Array) -> list[str]:
        doubles = np.ascontiguousarray(part, dtype=np.float64)
        text: str = orjson.dumps(doubles, option=orjson.OPT_SERIALIZE_NUMPY)[2:-2].decode("ascii")
        return text.split("],[")

    return dumps

"""Numerals: rows of numbers as text, in full, some rows at a time."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attncli.base.lazy_numpy import Array, np

AT_ONCE = 2**15  # numbers: text of a few hundred kilobytes


def rows(table: Array, spelled: Mapping[str, str], separator: str = ", ") -> Iterator[list[str]]:
    """The numbers of each row [r c], separated, so that they read back the same; some rows at a time.

    `spelled` has the words for what is not finite. Where orjson is installed it writes: its numbers are the same, in a
    spelling of its own (`1e-7`, where Python has `1e-07`), and with a comma alone where `separator` begins with one.
    """
    count = max(AT_ONCE // max(table.shape[1], 1), 1)
    dumps = _orjson() if table.dtype.kind == "f" and table.dtype.itemsize <= 8 and table.shape[1] else None
    for first in range(0, len(table), count):
        part = table[first : first + count]
        finite = part.dtype.kind != "f" or bool(np.isfinite(part).all())
        if finite and dumps is not None:
            lines = dumps(part)
            yield lines if separator.startswith(",") else [line.replace(",", separator) for line in lines]
        else:
            spell = _speller(part, finite, spelled)
            yield [separator.join(map(spell, row)) for row in part.tolist()]


def _speller(part: Array, finite: bool, spelled: Mapping[str, str]) -> Callable[[Any], str]:
    """How Python writes one of these numbers."""
    if part.dtype.kind == "b":
        return {True: "true", False: "false"}.__getitem__
    if finite and part.dtype.itemsize <= 8:
        return repr
    return lambda number: spelled.get(str(number), str(number))


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

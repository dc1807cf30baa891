"""Rows as delimited text: a cell is quoted where a reader would take it for something else."""

from collections.abc import Iterable, Sequence


def text(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """The rows, a line each; numbers in full, words in quotes where need be."""
    return "".join(delimiter.join(cell(entry, delimiter) for entry in row) + "\n" for row in rows)


def cell(entry: object, delimiter: str) -> str:
    """A number as Python writes it, or a word: `#` begins a comment, and marks that delimit elsewhere mislead."""
    if not isinstance(entry, str):
        return str(entry)
    if entry.isidentifier():
        return entry
    special = entry.startswith("#") or entry != entry.strip() or any(mark in entry for mark in f',;\t\r\n"{delimiter}')
    return '"' + entry.replace('"', '""') + '"' if special else entry

"""Rows as delimited text: a cell is quoted where a reader would take it for something else."""

from collections.abc import Iterable, Sequence


def text(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """The rows, a line each; numbers in full, words in quotes where need be."""
    return "".join(delimiter.join(_cell(cell, delimiter) for cell in row) + "\n" for row in rows)


def _cell(cell: object, delimiter: str) -> str:
    """A number as Python writes it, or a word: `#` begins a comment, and marks that delimit elsewhere mislead."""
    if not isinstance(cell, str):
        return str(cell)
    special = cell.startswith("#") or cell != cell.strip() or any(mark in cell for mark in f',;\t\r\n"{delimiter}')
    return '"' + cell.replace('"', '""') + '"' if special else cell

"""Text: users' words shown literally, and rows as delimited text."""

from collections.abc import Iterable, Sequence


def escape_control(text: str) -> str:
    """The text with control characters as escapes, so that no terminal obeys them and a line stays a line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shorten(text: str, most: int = 40) -> str:
    """The text, cut off where it is longer than an error can say."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def delimited_rows(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """The rows, a line each; numbers in full, words in quotes where need be."""
    return "".join(delimiter.join(delimited_cell(entry, delimiter) for entry in row) + "\n" for row in rows)


def delimited_cell(entry: object, delimiter: str) -> str:
    """A number as Python writes it, or a word: `#` begins a comment, and marks that delimit elsewhere mislead."""
    if not isinstance(entry, str):
        return str(entry)
    if entry.isidentifier():
        return entry
    special = entry.startswith("#") or entry != entry.strip() or any(mark in entry for mark in f',;\t\r\n"{delimiter}')
    return '"' + entry.replace('"', '""') + '"' if special else entry


def json_excerpt(value: object) -> str:
    """A value as JSON writes it, cut off after 40 characters: `null`, `true`, `"yes"`."""
    import json  # noqa: PLC0415 - only an error needs it

    return shorten(json.dumps(value, ensure_ascii=False, default=repr))

"""Text: control characters escaped, long text shortened, words in a sentence, equal words, and delimited rows."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Value = TypeVar("Value", bound=Hashable)


def escape_control(text: str) -> str:
    r"""The text with control characters as escapes, so that no terminal interprets them and a line stays one line.

    >>> escape_control("a\nb")
    'a\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def join_words(words: Sequence[str]) -> str:
    """The words as a list in a sentence.

    >>> join_words(["query", "key", "value"])
    'query, key and value'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def count_of(number: int, noun: str) -> str:
    """A number of things.

    >>> count_of(1, "row"), count_of(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop.

    >>> sentence("starts the random numbers")
    'Starts the random numbers.'
    """
    return f"{text[0].upper()}{text[1:]}."


def shorten(text: str, max_length: int = 40) -> str:
    """The text, cut off with `...` where it is longer than `max_length`.

    >>> shorten("one two three", 8)
    'one t...'
    """
    return text if len(text) <= max_length else f"{text[: max_length - 3]}..."


def repr_excerpt(value: object) -> str:
    r"""A value as Python writes it, on one line and cut off after 40 characters.

    >>> repr_excerpt([["a\nb"], (1, 2)])
    "[['a\\nb'], (1, 2)]"
    """
    try:
        return shorten(one_line(repr(value)))
    except (ValueError, RecursionError):  # Python writes no integer of many thousand digits, nor lists nested too deep
        return f"<{type(value).__name__} too long to show>"


def one_line(text: str) -> str:
    r"""The lines of a text as one line, without their indentation.

    >>> one_line("[1,\n 2]")
    '[1, 2]'
    """
    return " ".join(line.strip() for line in text.splitlines())


def most_common(values: Sequence[Value]) -> Value:
    """The value that occurs most often, of equally common ones the first.

    >>> most_common([2, 3, 3, 2])
    2
    """
    return Counter(values).most_common(1)[0][0]


def first_duplicate(values: Sequence[Value]) -> Value:
    """The first of the values that occur more than once; there is one.

    >>> first_duplicate(["the", "cat", "sat", "cat", "the"])
    'the'
    """
    counts = Counter(values)
    return next(value for value in values if counts[value] > 1)


def delimited_rows(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    r"""The rows as delimited text (CSV, TSV), each ending in a newline.

    >>> delimited_rows([["cat", 1.5], ["a, b", 2]])
    'cat,1.5\n"a, b",2\n'
    """
    return "".join(delimiter.join(delimited_cell(cell, delimiter) for cell in row) + "\n" for row in rows)


def delimited_cell(cell: object, delimiter: str) -> str:
    """A number as Python writes it, or text, in quotes where readers would otherwise change it.

    Quotes are needed where the text begins with `#` (a comment), has blanks at an end, or has any character that
    delimits cells in this or another dialect.
    """
    if not isinstance(cell, str):
        return str(cell)
    if cell.isidentifier():
        return cell
    needs_quotes = cell.startswith("#") or cell != cell.strip() or any(c in cell for c in f',;\t\r\n"{delimiter}')
    return '"' + cell.replace('"', '""') + '"' if needs_quotes else cell


def json_excerpt(value: object) -> str:
    """A value as JSON writes it, cut off after 40 characters.

    >>> json_excerpt([True, None, "yes"])
    '[true, null, "yes"]'
    """
    import json  # noqa: PLC0415 - only an error needs it

    try:
        return shorten(json.dumps(value, ensure_ascii=False, default=repr))
    except (TypeError, ValueError, RecursionError):  # keys that JSON does not have, or what can't be written at all
        return repr_excerpt(value)

"""Blocks of text side by side: as many in a row as fit."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from attncli.render.grid import column_blocks
from attncli.render.text_width import text_width

GAP = "    "  # between two blocks

Block = Sequence[str]  # the lines of a text, which may have styles as escape sequences


def side_by_side(blocks: Sequence[Block], width: int) -> Iterator[str]:
    """The lines of rows of blocks, as wide as `width` at most, with an empty line between two rows.

    >>> list(side_by_side([["ab", "c"], ["d"], ["ef"]], 9))
    ['ab    d', 'c', '', 'ef']
    """
    widths = [max(map(_length, block), default=0) for block in blocks]
    for number, row in enumerate(column_blocks([width + len(GAP) for width in widths], width + len(GAP))):
        if number:
            yield ""
        for lines in zip_longest(*(blocks[at] for at in row), fillvalue=""):
            cells = zip(lines, (widths[at] for at in row), strict=True)
            yield GAP.join(line + " " * (width - _length(line)) for line, width in cells).rstrip()


def _length(line: str) -> int:
    """The columns that a line takes without its styles, which begin with a character that is not printable."""
    if line.isprintable():
        return text_width(line)
    from rich.text import Text  # noqa: PLC0415 - lines of a pipe or a file have no styles

    return text_width(Text.from_ansi(line).plain)

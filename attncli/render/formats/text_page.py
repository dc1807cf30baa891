"""A page of text: lines and tables printed to memory, as a target shows them.

Rich prints styled or wrapped lines; others are written unchanged.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING

from attncli.render.document import Grid, column_blocks
from attncli.render.formats.text_table import text_table
from attncli.render.target import TextTarget, text_width

if TYPE_CHECKING:
    from rich.segment import Segment

    from attncli.render.formats.rich_printer import RichPrinter

MIN_TEXT_WIDTH = 24  # of the second of two columns, and of a line with indented continuations
CONTINUATION = "  "  # the indentation of a wrapped line after the first
BLOCK_GAP = "    "  # between two blocks of text side by side
NO_BREAK = "\ue002"  # a space at which no line ends; nothing else uses this private character

Part = str | tuple[str, str]  # text, or text and its style


class TextPage:
    """Text for a target, printed piece by piece; lines are wrapped to the width of the target, and no number is cut."""

    def __init__(self, target: TextTarget) -> None:
        self.target = target
        self._file = io.StringIO()

    @cached_property
    def _printer(self) -> "RichPrinter":
        """The printer of styles and wrapped lines."""
        from attncli.render.formats.rich_printer import RichPrinter  # noqa: PLC0415 - most pages of a pipe have neither

        return RichPrinter(self.target, self._file)

    @property
    def text(self) -> str:
        """Everything printed, without spaces at the ends of lines."""
        return self.target.encodable("\n".join(line.rstrip() for line in self._file.getvalue().split("\n")))

    @property
    def page_width(self) -> int:
        """The width of the target; in a pipe or a file the page's width, for blocks side by side."""
        return self.target.page_width

    @property
    def colors(self) -> int:
        """How many colours the target shows, as Rich reads the environment; 0 for none."""
        return self._printer.colors if self.target.has_styles else 0

    def skip_line(self) -> None:
        """Print an empty line."""
        self._file.write("\n")

    def print(self, *parts: Part, is_wrapped: bool = True) -> None:
        """Print a line of pieces, wrapped to the width of the target unless it is for copying."""
        styled = [(part, "") if isinstance(part, str) else part for part in parts]
        shown = [(self.target.text(text), style) for text, style in styled]
        line = "".join(text for text, _ in shown)
        fits = not is_wrapped or self.target.width is None or text_width(line) <= self.target.width
        if fits and not self.target.has_styles:
            self.write([line])
        else:
            self._printer.print_line(shown, is_wrapped=is_wrapped)

    def print_lines(self, lines: Iterable[str], style: str = "") -> None:
        """Print each line; continuations of a wrapped line are indented, and no vector that fits is broken."""
        for line in lines:
            for part in self._wrapped(line):
                self.print((part, style))

    def _wrapped(self, line: str) -> Iterable[str]:
        """The pieces of a line that fit the target."""
        indentation = " " * (len(line) - len(line.lstrip(" ")))
        if self.target.width is None or self.target.width < MIN_TEXT_WIDTH or not indentation:
            return [line]
        width = self.target.width - len(indentation) - len(CONTINUATION)
        fitting_vector = rf"\[[^]]{{0,{width - 2}}}]"
        text = re.sub(fitting_vector, lambda vector: vector[0].replace(" ", NO_BREAK), self.target.text(line.strip()))
        first, *others = [text] if text_width(text) <= width else self._printer.wrap(text, width)
        parts = [f"{indentation}{first}", *(f"{indentation}{CONTINUATION}{part}" for part in others)]
        return [part.replace(NO_BREAK, " ") for part in parts]

    def write(self, lines: Iterable[str]) -> None:
        """Write lines that another page has printed, with their styles."""
        self._file.writelines(f"{line}\n" for line in lines)

    def print_grid(self, grid: Grid, decimals: int) -> None:
        """Print a grid under its slice's label, with the legend of its signs, and next to it the table before a change.

        They are one below the other if the target, or a page if it has no width, is too narrow.
        """
        if grid.before is not None:
            blocks = [grid_lines(part, decimals, self.target) for part in grid.before_and_after]
            self.write(side_by_side(blocks, self.page_width))
            return
        if grid.slice_label:
            self.print((grid.slice_label, "italic"))
        if self.target.width is None and not self.target.has_styles:
            self.write(text_table(grid, decimals, self.target))
        else:
            self._printer.print_grid(grid, decimals)
        if grid.legend:
            self.print((f"  {grid.legend}", "dim"))

    def print_segments(self, lines: Iterable[Iterable["Segment"]]) -> None:
        """Print lines of pieces that have styles of their own; none is wrapped."""
        self._printer.print_segments(lines)

    def print_pairs(self, pairs: Iterable[tuple[str, str]], style: str = "") -> None:
        """Print a table of two columns without rules, the first in a style and the second wrapped.

        On a narrower screen the second text is below the first.
        """
        pairs, width = list(pairs), self.target.width
        if width is not None and width - max((len(title) for title, _ in pairs), default=0) < MIN_TEXT_WIDTH:
            for title, text in pairs:
                if title:
                    self.print((f" {title}", style))
                self.print_lines(f"   {line}" for line in text.split("\n"))
            return
        show = self.target.text
        rows = [(show(title), [show(line) for line in text.split("\n")]) for title, text in pairs]
        if self.target.has_styles or width is not None:
            self._printer.print_columns(rows, style)
            return
        title_width = max((text_width(title) for title, _ in rows), default=0)
        for title, (first, *others) in rows:
            lines = [f"{title}{' ' * (title_width - text_width(title))}  {first}"]
            self.write(f" {line}" for line in [*lines, *(f"{' ' * title_width}  {line}" for line in others)])


def grid_lines(grid: Grid, decimals: int, target: TextTarget) -> list[str]:
    """The lines of a grid, printed on its own page."""
    page = TextPage(target)
    page.print_grid(grid, decimals)
    return page.text.rstrip("\n").split("\n")


def side_by_side(blocks: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """The lines of rows of blocks, at most `width` wide, with an empty line between two rows.

    The lines of a block may have styles as escape sequences.

    >>> list(side_by_side([["ab", "c"], ["d"], ["ef"]], 9))
    ['ab    d', 'c', '', 'ef']
    """
    widths = [max(map(line_width, block), default=0) for block in blocks]
    for number, row in enumerate(column_blocks([width + len(BLOCK_GAP) for width in widths], width + len(BLOCK_GAP))):
        if number:
            yield ""
        for lines in zip_longest(*(blocks[at] for at in row), fillvalue=""):
            cells = zip(lines, (widths[at] for at in row), strict=True)
            yield BLOCK_GAP.join(line + " " * (width - line_width(line)) for line, width in cells).rstrip()


def line_width(line: str) -> int:
    """The width of a line in columns, without its styles."""
    return text_width(without_styles(line))


def without_styles(line: str) -> str:
    """A line without its styles, which begin with an unprintable character."""
    if line.isprintable():
        return line
    from rich.text import Text  # noqa: PLC0415 - lines of a pipe or a file have no styles

    return Text.from_ansi(line).plain

"""What Rich prints of a page of text: lines with styles, what is wrapped, and tables for a screen.

It is apart from the page since to import Rich takes longer than a small problem: pages of a pipe or a file rarely need
it.
"""

from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console
from rich.segment import Segment, Segments
from rich.text import Text

from attncli.render.formats.screen_table import left_out_note, screen_tables
from attncli.render.grid import Grid
from attncli.render.target import TextTarget

UNLIMITED_WIDTH = 1_000_000
COLORS = {"256": 256, "truecolor": 2**24}  # by Rich's names; of its other terminals 16


class RichPrinter:
    """Prints to a file in memory; Rich reads neither markup, emoji codes nor the environment's width.

    The console is wide enough for any table, so that no number is cut; lines are wrapped to the width of the target.
    """

    def __init__(self, target: TextTarget, file: TextIO) -> None:
        self.target = target
        self._console = Console(
            file=file,
            width=UNLIMITED_WIDTH,
            force_terminal=target.has_styles,
            color_system=target.color_system,
            no_color=None if target.color_system == "auto" else False,  # None: NO_COLOR is obeyed
            force_jupyter=False,  # in a notebook Rich would show each line there, and the text would be empty
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
        )

    @property
    def colors(self) -> int:
        """How many colours the target shows, as Rich reads the environment; 0 for none."""
        system = None if self._console.no_color else self._console.color_system
        return 0 if system is None else COLORS.get(system, 16)

    def print_line(self, parts: Iterable[str | tuple[str, str]], *, is_wrapped: bool = True) -> None:
        """Print a line of texts, or of texts and their styles, wrapped to the target unless it is to be copied."""
        self._console.print(Text.assemble(*parts), width=self.target.width, soft_wrap=not is_wrapped)

    def wrap(self, text: str, width: int) -> list[str]:
        """The parts of a text that fit a width."""
        return [line.plain for line in Text(text).wrap(self._console, width)]

    def print_grid(self, grid: Grid, decimals: int) -> None:
        """Print a grid as tables that fit the target, and how to see what they leave out."""
        self._print_pieces(screen_tables(grid, decimals, self.target))
        if self.target.width and (note := left_out_note(grid)):
            self.print_line([(f"  {note}", "dim")])

    def print_segments(self, lines: Iterable[Iterable[Segment]]) -> None:
        """Print lines of pieces that have styles of their own; none is wrapped."""
        self._print_pieces(piece for line in lines for piece in (*line, Segment("\n")))

    def _print_pieces(self, pieces: Iterable[Segment]) -> None:
        """Print pieces as they are."""
        self._console.print(Segments(pieces), crop=False, end="")

    def print_columns(self, rows: Iterable[tuple[str, Sequence[str]]], style: str) -> None:
        """Print titles in a style, and the lines of the text of each beside it, wrapped to the width of the target."""
        from rich.table import Table  # noqa: PLC0415 - few pages have one

        table = Table(box=None, show_header=False, pad_edge=True)
        table.add_column(style=style, no_wrap=True)
        table.add_column(overflow="fold")
        for title, lines in rows:
            table.add_row(Text(title), Text("\n".join(lines)))
        self._console.print(table, width=self.target.width)

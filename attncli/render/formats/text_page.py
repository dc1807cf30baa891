"""A page of text: lines and tables printed to memory, as a target shows them.

With Rich where they have styles or are wrapped: others are written as they are, since to import it takes longer than a
small problem.
"""

import io
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from attncli.render.formats.blocks import side_by_side
from attncli.render.formats.text_table import text_table
from attncli.render.grid import Grid
from attncli.render.target import TextTarget
from attncli.render.text_width import text_width

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

UNLIMITED_WIDTH = 1_000_000
PAGE_WIDTH = 80
MIN_TEXT_WIDTH = 24  # of the second of two columns, and of a line whose other parts are indented
CONTINUATION = "  "  # the indentation of the parts of a wrapped line after the first
COLORS = {"256": 256, "truecolor": 2**24}  # by Rich's names; of its other terminals 16
NO_BREAK = "\ue002"  # in place of a blank where no line ends; nothing else has this character of private use

Part = str | tuple[str, str]  # text, or text and its style


class TextPage:
    """Text for a target, printed piece by piece; Rich reads neither markup, emoji codes nor the environment's width.

    The console is wide enough for any table, so that no number is cut; lines are wrapped to the width of the target.
    """

    def __init__(self, target: TextTarget) -> None:
        self.target = target
        self._file = io.StringIO()

    @cached_property
    def _console(self) -> "Console":
        """What prints lines with styles, and lines that are wrapped."""
        from rich.console import Console  # noqa: PLC0415 - see above

        return Console(
            file=self._file,
            width=UNLIMITED_WIDTH,
            force_terminal=self.target.has_styles,
            color_system=self.target.color_system,
            no_color=None if self.target.color_system == "auto" else False,  # None: NO_COLOR is obeyed
            force_jupyter=False,  # in a notebook Rich would show each line there, and the text would be empty
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
        )

    @property
    def text(self) -> str:
        """Everything that was printed, without blanks at the ends of lines."""
        return self.target.encodable("\n".join(line.rstrip() for line in self._file.getvalue().split("\n")))

    @property
    def page_width(self) -> int:
        """The width of the target; for what stands side by side in a pipe or a file that of a page."""
        return self.target.width or PAGE_WIDTH

    @property
    def colors(self) -> int:
        """How many colours the target shows, as Rich reads the environment; 0 for none."""
        if not self.target.has_styles:
            return 0
        system = None if self._console.no_color else self._console.color_system
        return 0 if system is None else COLORS.get(system, 16)

    def skip_line(self) -> None:
        """Print an empty line."""
        self._file.write("\n")

    def print(self, *parts: Part, is_wrapped: bool = True) -> None:
        """Print a line of parts, wrapped to the width of the target unless it is to be copied."""
        if not self.target.has_styles:
            line = "".join(self.target.text(part if isinstance(part, str) else part[0]) for part in parts)
            if not is_wrapped or self.target.width is None or text_width(line) <= self.target.width:
                self.write([line])
                return
        from rich.text import Text  # noqa: PLC0415 - see above

        self._console.print(Text.assemble(*map(self._part, parts)), width=self.target.width, soft_wrap=not is_wrapped)

    def print_lines(self, lines: Iterable[str], style: str = "") -> None:
        """Print each line; where one is wrapped its other parts are indented, and no vector is broken that fits."""
        for line in lines:
            for part in self._wrapped(line):
                self.print((part, style))

    def _wrapped(self, line: str) -> Iterable[str]:
        """The parts of a line that fit the target."""
        indentation = " " * (len(line) - len(line.lstrip(" ")))
        if self.target.width is None or self.target.width < MIN_TEXT_WIDTH or not indentation:
            return [line]
        width = self.target.width - len(indentation) - len(CONTINUATION)
        fitting_vector = rf"\[[^]]{{0,{width - 2}}}]"
        text = re.sub(fitting_vector, lambda vector: vector[0].replace(" ", NO_BREAK), self.target.text(line.strip()))
        if text_width(text) <= width:
            return [f"{indentation}{text.replace(NO_BREAK, ' ')}"]
        from rich.text import Text  # noqa: PLC0415 - see above

        first, *others = Text(text).wrap(self._console, width)
        parts = [f"{indentation}{first}", *(f"{indentation}{CONTINUATION}{part}" for part in others)]
        return [part.replace(NO_BREAK, " ") for part in parts]

    def write(self, lines: Iterable[str]) -> None:
        """Write lines that another page has printed, with their styles."""
        self._file.writelines(f"{line}\n" for line in lines)

    def print_grid(self, grid: Grid, decimals: int) -> None:
        """Print a grid under the label of its slice, and the legend of its signs; one before a change beside it.

        Both are one below the other where the target, or without a width a page, is too narrow.
        """
        if grid.before is not None:
            self.write(side_by_side([self._block(part, decimals) for part in grid.before_and_after], self.page_width))
            return
        if grid.slice_label:
            self.print((grid.slice_label, "italic"))
        if self.target.width is None and not self.target.has_styles:
            self.write(text_table(grid, decimals, self.target))
        else:
            from attncli.render.formats.screen_table import left_out_note, screen_tables  # noqa: PLC0415 - needs Rich

            self._print_pieces(screen_tables(grid, decimals, self.target))
            if self.target.width and (note := left_out_note(grid)):
                self.print((f"  {note}", "dim"))
        if grid.legend:
            self.print((f"  {grid.legend}", "dim"))

    def _block(self, grid: Grid, decimals: int) -> list[str]:
        """The lines of a grid, printed on a page of its own."""
        page = TextPage(self.target)
        page.print_grid(grid, decimals)
        return page.text.rstrip("\n").split("\n")

    def print_segments(self, lines: Iterable[Iterable["Segment"]]) -> None:
        """Print lines of pieces that have styles of their own; none is wrapped."""
        from rich.segment import Segment  # noqa: PLC0415 - see above

        self._print_pieces(piece for line in lines for piece in (*line, Segment("\n")))

    def _print_pieces(self, pieces: Iterable["Segment"]) -> None:
        """Print pieces as they are."""
        from rich.segment import Segments  # noqa: PLC0415 - see above

        self._console.print(Segments(pieces), crop=False, end="")

    def print_pairs(self, pairs: Iterable[tuple[str, str]], style: str = "") -> None:
        """Print a table of two columns without rules, the first one in a style and the second one wrapped.

        On a screen too narrow for that the second text is below the first one.
        """
        pairs, width = list(pairs), self.target.width
        if width is not None and width - max((len(title) for title, _ in pairs), default=0) < MIN_TEXT_WIDTH:
            for title, text in pairs:
                if title:
                    self.print((f" {title}", style))
                self.print_lines(f"   {line}" for line in text.split("\n"))
            return
        rows = [
            (self.target.text(title), [self.target.text(line) for line in text.split("\n")]) for title, text in pairs
        ]
        if self.target.has_styles or width is not None:
            self._print_columns(rows, style)
            return
        title_width = max((text_width(title) for title, _ in rows), default=0)
        for title, (first, *others) in rows:
            lines = [f"{title}{' ' * (title_width - text_width(title))}  {first}"]
            self.write(f" {line}" for line in [*lines, *(f"{' ' * title_width}  {line}" for line in others)])

    def _print_columns(self, rows: Iterable[tuple[str, Sequence[str]]], style: str) -> None:
        """Print titles in a style, and the lines of the text of each beside it, wrapped to the width of the target."""
        from rich.table import Table  # noqa: PLC0415 - see above
        from rich.text import Text  # noqa: PLC0415 - see above

        table = Table(box=None, show_header=False, pad_edge=True)
        table.add_column(style=style, no_wrap=True)
        table.add_column(overflow="fold")
        for title, lines in rows:
            table.add_row(Text(title), Text("\n".join(lines)))
        self._console.print(table, width=self.target.width)

    def _part(self, part: Part) -> Part:
        """A part as the target shows it."""
        return self.target.text(part) if isinstance(part, str) else (self.target.text(part[0]), part[1])

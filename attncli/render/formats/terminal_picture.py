"""A picture of a terminal as SVG: the text that it shows of a view, in colour, 80 columns wide."""

import io
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from attncli.analysis.compare import Comparison
from attncli.base.text import escape_control
from attncli.render.formats import terminal
from attncli.render.reports import compare
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View

SCREEN = TextTarget(width=80, has_styles=True, color_system="truecolor")

MARGIN_COLUMNS = 3  # on the left and on the right together

# Dark on white, with a colour for each of the eight that a terminal has: readable on paper and on a screen.
_THEME = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [
        (36, 41, 47),
        (180, 35, 40),
        (26, 110, 50),
        (130, 90, 0),
        (9, 85, 190),
        (120, 60, 180),
        (0, 105, 115),
        (95, 105, 115),
    ],
)
# An SVG that loads no font from elsewhere: each piece of text has the width that it takes in a terminal.
_FORMAT = """<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve"
     viewBox="0 0 {terminal_width} {terminal_height}">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px; }}
{styles}
</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="8" fill="#ffffff" stroke="#d0d7de"/>
<g transform="translate(16, 12)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def render(view: View, target: TextTarget = TEXT_FILE) -> Iterator[str]:
    """The picture of a view as a terminal shows it, under the title of the view."""
    page = Text.from_ansi("".join(terminal.render(view, SCREEN)))
    title = (Text(f"{escape_control(view.title)}\n", "bold"),) if view.title else ()
    yield _draw(Text.assemble(*title, page))


def render_comparison(comparison: Comparison, target: TextTarget, decimals: int) -> Iterator[str]:
    """The picture of a comparison of variants as a terminal shows it."""
    yield _draw(Text.from_ansi("".join(compare.render_comparison(comparison, SCREEN, decimals))))


def _draw(page: Text) -> str:
    """A page of text as SVG."""
    width = max(cell_len(line) for line in page.plain.splitlines()) + MARGIN_COLUMNS
    console = Console(
        record=True,
        file=io.StringIO(),
        width=width,
        height=1,  # with a height Rich takes the width in a dumb terminal too
        force_terminal=True,
        color_system="truecolor",
        no_color=False,
        legacy_windows=False,
    )
    console.print(page)
    svg = console.export_svg(theme=_THEME, code_format=_FORMAT, unique_id="attn")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"

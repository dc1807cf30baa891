"""The picture samples/explanation.svg: a cell of the tutorial worked out in a terminal, drawn from what is printed."""

import io

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from . import console_blocks

PICTURE = console_blocks.ROOT / "samples" / "explanation.svg"
COMMAND = "attn compute samples/tutorial.yaml --cell word_1,word_1"

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


def draw() -> str:
    """The picture of the command and of what it prints."""
    with console_blocks.new_folder() as folder:
        printed = console_blocks.run(f"FORCE_COLOR=1 {COMMAND}", folder)
    page = Text.assemble(("$ ", "dim"), (COMMAND, "bold"), "\n", Text.from_ansi(printed))
    width = max(len(line) for line in page.plain.splitlines()) + 1  # as much room on the right as on the left
    console = Console(record=True, file=io.StringIO(), width=width, force_terminal=True, legacy_windows=False)
    console.print(page)
    svg = console.export_svg(theme=_THEME, code_format=_FORMAT, unique_id="attn")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"

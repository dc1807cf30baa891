"""The legend of a group of panels: a colour or a hatch, a sign and its meaning, for each kind of cell."""

from collections.abc import Sequence

from attncli.base.dataclasses import dataclass
from attncli.render.figure.canvas import ENTRY_GAP, SWATCH, SWATCH_GAP, Canvas
from attncli.render.figure.colors import Hatch
from attncli.render.figure.fonts import Fonts
from attncli.render.figure.layout import LINE_HEIGHT

MAX_LINE = 3.2  # inches: a longer legend has a line for each entry


@dataclass(frozen=True)
class LegendEntry:
    """A kind of cell: how it is drawn, the sign in it, and what it means."""

    hatch: Hatch
    meaning: str
    sign: str = ""
    has_lines: bool = True
    ink: str = ""  # of the sign


def legend_size(entries: Sequence[LegendEntry], fonts: Fonts) -> tuple[int, float]:
    """The lines of a legend, and its width."""
    if not entries:
        return 0, 0.0
    widths = [_width(entry, fonts) for entry in entries]
    whole = sum(widths) + ENTRY_GAP * (len(widths) - 1)
    return (1, whole) if whole <= MAX_LINE else (len(entries), max(widths))


def draw_legend(canvas: Canvas, entries: Sequence[LegendEntry], left: float, top: float) -> None:
    """Draw a legend, in one line or in a line for each entry."""
    lines, _ = legend_size(entries, canvas.fonts)
    for entry in entries:
        swatch_top = top + (LINE_HEIGHT - SWATCH[1]) / 2
        canvas.swatch(left, swatch_top, entry.hatch, has_lines=entry.has_lines)
        if entry.sign:
            middle = (left + SWATCH[0] / 2, top + LINE_HEIGHT / 2)
            canvas.text(*middle, entry.sign, 7, color=entry.ink, ha="center", va="center")
        text_left = left + SWATCH[0] + SWATCH_GAP
        canvas.text(text_left, top + LINE_HEIGHT / 2, entry.meaning, va="center")
        if lines == 1:
            left += _width(entry, canvas.fonts) + ENTRY_GAP
        else:
            top += LINE_HEIGHT


def _width(entry: LegendEntry, fonts: Fonts) -> float:
    """The width of an entry."""
    return SWATCH[0] + SWATCH_GAP + fonts.width(entry.meaning)

"""The colour bar of a group of heat maps: round numbers between the least and the largest."""

from collections.abc import Sequence
from typing import Any

from attncli.render.figure.canvas import Canvas
from attncli.render.figure.drawing import FONT_SIZE
from attncli.render.figure.fonts import Fonts
from attncli.render.figure.layout import Box

MAX_TICKS = 5
LABEL = "<colorbar>"  # as Matplotlib labels the axes that it makes for one
TICK_ROOM = 0.08  # inches of a tick and the gap behind it
INTERVALS_PER_INCH = 3
ROUND_STEPS = (1, 2, 2.5, 5, 10)


def bar_ticks(least: float, largest: float, height: float = 1.0) -> Sequence[tuple[float, str]]:
    """Round numbers of a range with their texts, so many as a bar of that height in inches has room for."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an extra

    intervals = min(max(int(height * INTERVALS_PER_INCH), 1), MAX_TICKS)
    places = MaxNLocator(intervals, steps=ROUND_STEPS).tick_values(least, largest)
    slack = (largest - least) * 1e-9
    inside = [float(place) for place in places if least - slack <= place <= largest + slack]
    return [(place, f"{place:.6g}".replace("-", "−")) for place in inside]


def bar_label_width(bounds: tuple[float, float], fonts: Fonts) -> float:
    """The room that the numbers of a colour bar of any height take beside it, in inches."""
    texts = {text for height in range(1, MAX_TICKS + 1) for _, text in bar_ticks(*bounds, height / INTERVALS_PER_INCH)}
    return fonts.widest(texts) + TICK_ROOM


def draw_color_bar(canvas: Canvas, drawn: Any, box: Box, bounds: tuple[float, float]) -> None:
    """Draw the colour bar of something that has colours between two bounds."""
    axes = canvas.axes(box)
    axes.set_label(LABEL)
    bar = canvas.figure.colorbar(drawn, cax=axes)
    ticks = bar_ticks(*bounds, box.height)
    bar.outline.set_visible(False)
    bar.set_ticks(
        [place for place, _ in ticks], labels=[text for _, text in ticks], size=FONT_SIZE, family=canvas.fonts.families
    )
    axes.tick_params(length=2, width=0.6, pad=2)

"""A page that is drawn on: a figure of Matplotlib whose places are inches from the upper left corner."""

from typing import Any

from attncli.render.figure.colors import INK, Hatch
from attncli.render.figure.drawing import FONT_SIZE
from attncli.render.figure.fonts import Fonts
from attncli.render.figure.layout import Box
from attncli.render.figure.size import Size

SWATCH = (0.26, 0.12)  # the width and height of a colour of a legend
SWATCH_GAP = 0.07
ENTRY_GAP = 0.22  # between two entries of a legend


class Canvas:
    """A figure of a size, with the fonts of its texts."""

    def __init__(self, size: Size, fonts: Fonts) -> None:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
        from matplotlib.transforms import Affine2D  # noqa: PLC0415

        self.size = size
        self.fonts = fonts
        self.figure = Figure(figsize=(size.width, size.height), facecolor="white")
        inches = Affine2D().scale(1 / size.width, -1 / size.height).translate(0, 1)
        self.transform = inches + self.figure.transFigure

    def axes(self, box: Box) -> Any:
        """Axes in a rectangle, without a frame and without ticks."""
        bottom = self.size.height - box.top - box.height
        shares = (
            box.left / self.size.width,
            bottom / self.size.height,
            box.width / self.size.width,
            box.height / self.size.height,
        )
        axes = self.figure.add_axes(shares)
        axes.tick_params(length=0, pad=3, colors=INK)
        axes.spines[:].set_visible(False)
        return axes

    def text(self, left: float, top: float, text: str, points: float = FONT_SIZE, **style: Any) -> None:
        """Write a line at a place; `style` has what Matplotlib knows of a text."""
        options = {"color": INK, "ha": "left", "va": "top", **style}
        self.figure.text(left, top, text, size=points, family=self.fonts.families, transform=self.transform, **options)

    def swatch(self, left: float, top: float, hatch: Hatch, *, has_lines: bool = True) -> None:
        """Draw how a kind of cells looks, as a legend shows it."""
        from matplotlib.patches import Rectangle  # noqa: PLC0415 - an extra

        pattern = hatch.pattern if has_lines else None
        self.figure.add_artist(
            Rectangle(
                (left, top), *SWATCH, facecolor=hatch.ground, edgecolor=hatch.line, hatch=pattern, linewidth=0,
                transform=self.transform,
            )
        )  # fmt: skip

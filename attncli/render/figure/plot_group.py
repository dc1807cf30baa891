"""A group of plots of points and curves: what it takes in room, and its drawing."""

from collections.abc import Iterator, Sequence
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.render.color_map import color
from attncli.render.curve import Series
from attncli.render.figure.canvas import Canvas
from attncli.render.figure.color_bar import TICK_ROOM, bar_ticks
from attncli.render.figure.colors import FAINT, INK, hex_color
from attncli.render.figure.drawing import FONT_SIZE
from attncli.render.figure.fonts import Fonts
from attncli.render.figure.layout import GroupLayout, GroupSize
from attncli.render.figure.panels import Plots
from attncli.render.figure.size import Size
from attncli.render.figure.table_group import HEADING_SIZE

ONE_PLOT, OF_SEVERAL = Size(4.5, 3.0), Size(2.6, 1.8)  # inches
CURVE, BEFORE = hex_color(color(0.45)), "#9aa0a6"
SPACE = 0.04  # of the range, between the curves and the frame


class PlotGroup:
    """Plots of one quantity, which share the ranges of their axes."""

    def __init__(self, plots: Plots) -> None:
        self.title = plots.title
        self.plots = plots.plots
        self.count = len(plots.plots)

    @property
    def texts(self) -> Iterator[str]:
        """Every text that is drawn, numbers apart."""
        yield self.title
        for plot in self.plots:
            yield plot.title
            yield from (series.name for series in (plot.points, *plot.curves))

    def number_width(self, fonts: Fonts) -> float:
        """The width of a cell that has room for the widest number: there are no cells."""
        return 0.0

    def measure(self, fonts: Fonts, number_width: float, largest: Size) -> GroupSize:
        """What the layout knows of the group."""
        return GroupSize(
            count=self.count,
            per_slice=1,
            cells=(1, 1),
            panel=ONE_PLOT if self.count == 1 else OF_SEVERAL,
            row_labels=fonts.widest(text for _, text in bar_ticks(*self._bounds("y"))) + TICK_ROOM,
            column_labels=TICK_ROOM,
            has_axis_names=False,
            title=fonts.width(self.title, HEADING_SIZE),
            panel_title=fonts.widest(plot.title for plot in self.plots),
            subtitle=0.0,
            legend_lines=0,
            legend=0.0,
            color_bar=0.0,
        )

    def pooling(self, place: GroupLayout) -> tuple[int, int]:
        """How many rows and columns of cells one pixel stands for: there are no cells."""
        return 1, 1

    def number_size(self, fonts: Fonts, place: GroupLayout) -> float | None:
        """The size of the numbers in the cells: there are no cells."""
        return None

    def draw(self, canvas: Canvas, place: GroupLayout, points: float | None) -> None:
        """Draw the group at its place."""
        canvas.text(*place.heading, self.title, HEADING_SIZE)
        style: dict[str, Any] = {"size": FONT_SIZE, "family": canvas.fonts.families}
        x_bounds, y_bounds = self._bounds("x"), self._bounds("y")
        for at, (plot, box) in enumerate(zip(self.plots, place.panels, strict=True)):
            axes = canvas.axes(box)
            axes.spines[["left", "bottom"]].set_visible(True)
            axes.spines[["left", "bottom"]].set_color(FAINT)
            axes.tick_params(length=3, width=0.6, color=FAINT)
            for before, curve in zip((True, False) if len(plot.curves) > 1 else (False,), plot.curves, strict=True):
                shown = {"color": BEFORE, "linestyle": "--"} if before else {"color": CURVE}
                axes.plot(*_in_order(curve), linewidth=1.6, label=curve.name, **shown)
            axes.plot(plot.points.x, plot.points.y, "o", markersize=4, color=INK, label=plot.points.name)
            for set_ticks, set_bounds, bounds, size in (
                (axes.set_xticks, axes.set_xlim, x_bounds, box.width),
                (axes.set_yticks, axes.set_ylim, y_bounds, box.height),
            ):
                ticks = bar_ticks(*bounds, size)
                set_ticks([number for number, _ in ticks], labels=[text for _, text in ticks], **style)
                space = (bounds[1] - bounds[0]) * SPACE
                set_bounds(bounds[0] - space, bounds[1] + space)
            if plot.title:
                axes.set_title(plot.title, color=FAINT, pad=3, **style)
            if at == 0:
                axes.legend(frameon=False, prop=style, labelcolor=INK)

    def _bounds(self, axis: str) -> tuple[float, float]:
        """The least and the largest finite number on an axis (`x`, `y`) of all plots."""
        series = [each for plot in self.plots for each in (plot.points, *plot.curves)]
        numbers = np.concatenate([np.asarray(getattr(each, axis), np.float64) for each in series])
        numbers = numbers[np.isfinite(numbers)]
        least, largest = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
        return (least, largest) if least < largest else (least - 0.5, largest + 0.5)


def _in_order(series: Series) -> Sequence[Array]:
    """The numbers of a curve from left to right."""
    x, y = np.asarray(series.x, np.float64), np.asarray(series.y, np.float64)
    order = np.argsort(x, kind="stable")
    return x[order], y[order]

"""A group of plots: points and curves over one axis, one for each head and feature."""

from collections.abc import Iterator
from dataclasses import dataclass

from attncli.base.lazy_numpy import np
from attncli.figure.drawing import HEADING_SIZE, TICK_ROOM, Canvas, Fonts, hex_color, name_axes, round_ticks
from attncli.figure.layout import GroupLayout, GroupSize
from attncli.render.curve import Plot
from attncli.render.figure_style import Size

ONE_PLOT, SMALL_PLOT = Size(4.5, 3.0), Size(2.6, 1.8)  # inches
SPACE = 0.04  # share of the range, between the curves and the frame


@dataclass(frozen=True)
class PlotGroup:
    """Plots of one quantity, one for each head and feature, which share the ranges of their axes."""

    title: str
    plots: tuple[Plot, ...]

    @property
    def count(self) -> int:
        """The number of panels in the group."""
        return len(self.plots)

    @property
    def texts(self) -> Iterator[str]:
        """Every text to draw, except numbers."""
        yield self.title
        for plot in self.plots:
            yield from (plot.title, plot.x_name, plot.y_name)
            yield from (series.name for series in (plot.points, *plot.curves))

    def number_width(self, fonts: Fonts) -> float:
        """The width of a cell: a plot has none."""
        return 0.0

    def measure(self, fonts: Fonts, number_width: float, largest: Size) -> GroupSize:
        """The group's measures for the layout."""
        return GroupSize(
            count=self.count,
            cells=(1, 1),
            panel=ONE_PLOT if self.count == 1 else SMALL_PLOT,
            title=fonts.width(self.title, HEADING_SIZE),
            row_labels=fonts.widest(text for _, text in round_ticks(*self._bounds("y"))) + TICK_ROOM,
            column_labels=TICK_ROOM,
            has_axis_names=True,
            panel_title=fonts.widest(plot.title for plot in self.plots),
        )

    def pooling(self, layout: GroupLayout) -> tuple[int, int]:
        """The rows and columns of cells per pixel: a plot has no cells."""
        return 1, 1

    def number_size(self, fonts: Fonts, layout: GroupLayout) -> float | None:
        """The size of the numbers in cells: a plot has none."""
        return None

    def draw(self, canvas: Canvas, layout: GroupLayout, points: float | None) -> None:
        """Draw the group at its layout's position."""
        canvas.text(*layout.heading, self.title, HEADING_SIZE)
        name_axes(canvas, layout, (self.plots[0].y_name, self.plots[0].x_name))
        style, theme = canvas.label_style(), canvas.theme
        x_bounds, y_bounds = self._bounds("x"), self._bounds("y")
        for at, (plot, box) in enumerate(zip(self.plots, layout.panels, strict=True)):
            axes = canvas.axes(box)
            axes.spines[["left", "bottom"]].set_visible(True)
            axes.spines[["left", "bottom"]].set_color(theme.faint)
            axes.tick_params(length=3, width=0.6, color=theme.faint)
            for at_curve, curve in enumerate(plot.curves):
                is_last = at_curve == len(plot.curves) - 1
                ink = hex_color(canvas.style.curve) if is_last else theme.before
                axes.plot(*curve.in_order, "-" if is_last else "--", linewidth=1.6, label=curve.name, color=ink)
            axes.plot(plot.points.x, plot.points.y, "o", markersize=4, color=theme.ink, label=plot.points.name)
            for set_ticks, set_bounds, bounds, size in (
                (axes.set_xticks, axes.set_xlim, x_bounds, box.width),
                (axes.set_yticks, axes.set_ylim, y_bounds, box.height),
            ):
                ticks = round_ticks(*bounds, size)
                set_ticks([number for number, _ in ticks], labels=[text for _, text in ticks], **style)
                space = (bounds[1] - bounds[0]) * SPACE
                set_bounds(bounds[0] - space, bounds[1] + space)
            if plot.title:
                axes.set_title(plot.title, color=theme.faint, pad=3, **canvas.label_style(layout.title_size))
            if at == 0:
                axes.legend(frameon=False, prop=style, labelcolor=theme.ink)

    def _bounds(self, axis: str) -> tuple[float, float]:
        """The least and the largest finite number on an axis (`x`, `y`) of all plots."""
        series = [each for plot in self.plots for each in (plot.points, *plot.curves)]
        numbers = np.concatenate([np.asarray(getattr(each, axis), np.float64) for each in series])
        numbers = numbers[np.isfinite(numbers)]
        least, largest = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
        return (least, largest) if least < largest else (least - 0.5, largest + 0.5)

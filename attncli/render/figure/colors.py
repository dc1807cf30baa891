"""The colours of a figure: the colour map of numbers, and hatches of the cells that have none to show."""

from collections.abc import Mapping, Sequence
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.render.color_map import Rgb, color, text_color
from attncli.render.grid import Grid

COLORS = 256  # of the colour map
INK = "#24292f"  # of text and axes
FAINT = "#57606a"  # of what stands beside them


@dataclass(frozen=True)
class Hatch:
    """How cells without a number to show are drawn: their pattern, the colours of it and below it."""

    pattern: str
    ground: str = "#eeeeee"
    line: str = "#9aa0a6"


MASKED, BELOW, ABOVE, NOT_A_NUMBER = "masked", "−∞", "+∞", "NaN"
HATCHES: Mapping[str, Hatch] = {
    MASKED: Hatch("/////"),
    BELOW: Hatch("\\\\\\\\\\"),
    ABOVE: Hatch("+++++"),
    NOT_A_NUMBER: Hatch("xxxxx", "#fde8e8", "#c0392b"),
}
# Of the rules of a mask, one after the other.
RULE_HATCHES: Sequence[Hatch] = [
    Hatch("/////"),
    Hatch(".....", "#f7f7f7"),
    Hatch("\\\\\\\\\\", "#dcdcdc"),
    Hatch("xxxxx", "#f7f7f7"),
    Hatch("-----"),
    Hatch("|||||", "#f7f7f7"),
]


def color_map() -> Any:
    """The colour map as Matplotlib has it; cells without a number have no colour."""
    from matplotlib.colors import ListedColormap  # noqa: PLC0415 - an extra

    colors = [tuple(part / 255 for part in color(at / (COLORS - 1))) for at in range(COLORS)]
    return ListedColormap(colors, name="attn").with_extremes(bad=(0, 0, 0, 0))


def cells_by_hatch(table: Grid) -> Mapping[str, Array]:
    """Where a table [rows columns] has cells that are hatched, by the name of the hatch, as far as it has any."""
    hidden = np.zeros(table.values.shape, bool) if table.hidden is None else table.hidden
    values = table.values
    where = {
        MASKED: hidden,
        BELOW: np.isneginf(values) & ~hidden,
        ABOVE: np.isposinf(values) & ~hidden,
        NOT_A_NUMBER: np.isnan(values) & ~hidden,
    }
    return {name: cells for name, cells in where.items() if cells.any()}


def hex_color(rgb: Rgb) -> str:
    """A colour as `#rrggbb`.

    >>> hex_color((255, 0, 16))
    '#ff0010'
    """
    return "#" + "".join(f"{part:02x}" for part in rgb)


def ink_on(rgb: Rgb) -> str:
    """The colour of text on a colour."""
    return hex_color(text_color(rgb))


VISIBLE_HATCH = Hatch("", hex_color(color(0.45)))
VISIBLE_INK = ink_on(color(0.45))

"""Section: one quantity as a reader sees it, independent of the format."""

from attncli.base.dataclasses import dataclass
from attncli.render.curve import Plot
from attncli.render.grid import Grid


@dataclass(frozen=True)
class Section:
    """One quantity: title, purpose, formula, shapes, its grids or plots, the arithmetic of some cells, and remarks."""

    title: str
    grids: tuple[Grid, ...] = ()
    symbol: str = ""
    formula: str = ""
    shapes: str = ""
    purpose: str = ""  # what it is for, in one sentence
    plots: tuple[Plot, ...] = ()
    arithmetic: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The title and the symbol."""
        return "  ".join(part for part in (self.title, self.symbol) if part)

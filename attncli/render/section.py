"""Section: one quantity as a reader sees it, independent of the format."""

from dataclasses import dataclass

from attncli.render.grid import Grid


@dataclass(frozen=True)
class Section:
    """One quantity: its title, purpose, formula and shapes, its grids, the arithmetic of some cells, and remarks."""

    title: str
    grids: tuple[Grid, ...] = ()
    symbol: str = ""
    formula: str = ""
    shapes: str = ""
    purpose: str = ""  # what it is for, in one sentence
    arithmetic: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The title and the symbol."""
        return "  ".join(part for part in (self.title, self.symbol) if part)

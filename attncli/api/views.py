"""The view of a result that keywords of Python describe: cells, one head or batch item, terms and decimals."""

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.text import repr_excerpt
from attncli.problem.convert.numbers import to_integer
from attncli.problem.labels import EVERY
from attncli.problem.layout import Layout
from attncli.problem.spec import ProblemSpec
from attncli.render.view import MAX_DECIMALS, Cell, View, find_cell, parse_cell
from attncli.trace.result import RunResult

ALL = "all"
CELL_PARAMETER = "explain((query, key))"

Label = str | SupportsIndex  # of a token: its text, or its position from 0; "*" is every one
CellLabels = str | tuple[Label, Label]  # "cat,sat", or ("cat", "sat")
Cells = CellLabels | Sequence[CellLabels] | None
Position = int | Literal["all"] | None


@dataclass(frozen=True)
class ShownPart:
    """The cells that are worked out, the head and batch item that are shown, and how sums and numbers are written."""

    cells: Cells
    head: Position
    batch: Position
    terms: int | Literal["all"]
    decimals: int

    def view(self, result: RunResult, *, explain: bool, before: RunResult | None) -> View:
        """The view of a result; raises AttnError where it has no such cell, head or item, or a number is wrong."""
        problem = result.trace.problem
        positions, expanded_axes = axis_positions(problem.layout, self.head, self.batch)
        decimals = to_integer(self.decimals, ("decimals",), 0)
        if decimals > MAX_DECIMALS:
            hint = f"expected 0 to {MAX_DECIMALS}"
            raise AttnError(f"{decimals} decimals can't be shown", where="decimals", hint=hint)
        return View(
            result,
            explain,
            decimals=decimals,
            cells=_cells(self.cells, problem),
            positions=positions,
            expanded_axes=expanded_axes,
            max_terms=None if self.terms == ALL else to_integer(self.terms, ("terms",), 1),
            before=before,
            cell_option=CELL_PARAMETER,
        )


def _cells(cells: Any, problem: ProblemSpec) -> tuple[Cell, ...]:
    """The cells that are chosen, each once: one by a text or a pair of labels, several in a list."""
    is_one = cells is not None and (not isinstance(cells, (list, tuple)) or _is_pair(cells))
    chosen = [cells] if is_one else cells or []
    return tuple(dict.fromkeys(_cell(cell, problem) for cell in chosen))


def _cell(cell: Any, problem: ProblemSpec) -> Cell:
    """The cell of a text or of a pair of labels or positions; raises AttnError for any other value."""
    if isinstance(cell, str):
        return parse_cell(cell, problem, "cells")
    if not _is_pair(cell):
        hint = f'expected ("cat", "sat"), with "{EVERY}" for every query or key, or a list of such pairs'
        raise AttnError(f"{repr_excerpt(cell)} is no cell", where="cells", hint=hint)
    query, key = map(str, cell)
    return find_cell(query, key, problem, "cells")


def _is_pair(value: Any) -> bool:
    """Whether a value is a pair of labels or positions."""
    is_pair = isinstance(value, tuple) and len(value) == 2
    return is_pair and all(isinstance(label, (str, SupportsIndex)) for label in value)


def axis_positions(layout: Layout, head: Position, batch: Position) -> tuple[dict[str, int], frozenset[str]]:
    """The position on each axis that is chosen, and the axes of which all are shown."""
    given = {"b": (batch, "batch", layout.batch or 1), "h": (head, "head", layout.heads)}
    expanded = frozenset(letter for letter, (position, *_) in given.items() if position == ALL)
    positions = {
        letter: _position(position, name, count)
        for letter, (position, name, count) in given.items()
        if position is not None and letter not in expanded
    }
    return {letter: at for letter, at in positions.items() if letter in layout.score_axes}, expanded


def _position(position: Any, name: str, count: int) -> int:
    """The position of a head or batch item; raises AttnError where there is none."""
    at = to_integer(position, (name,), 0)
    if at >= count:
        noun = "head" if name == "head" else "batch item"
        raise AttnError(f"there is no {noun} {at}", where=name, hint=f"expected 0 to {count - 1}, or {ALL!r}")
    return at

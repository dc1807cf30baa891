"""The view of a result that keywords of Python describe: cells, one head or batch item, terms and decimals."""

from typing import Any, Literal, SupportsIndex

from attncli.base.errors import AttnError
from attncli.base.text import repr_excerpt
from attncli.problem.convert.numbers import to_integer
from attncli.problem.layout import Layout
from attncli.problem.spec import ProblemSpec
from attncli.render.cell_choice import find_cell, parse_cell
from attncli.render.view import Cell, View
from attncli.trace.result import Result

ALL = "all"
MAX_DECIMALS = 17  # more than any number of eight bytes has

Label = str | SupportsIndex  # of a token: its text, or its position from 0; "*" is every one
CellLabels = str | tuple[Label, Label]  # "cat,sat", or ("cat", "sat")
Cells = CellLabels | list[CellLabels]
Position = int | Literal["all"] | None


def make_view(
    result: Result,
    *,
    explain: bool,
    cells: Cells = (),
    head: Position = None,
    batch: Position = None,
    terms: int | Literal["all"],
    decimals: int,
) -> View:
    """The view of a result; raises AttnError where there is no such cell, head or batch item, or a number is wrong."""
    problem = result.trace.problem
    positions, expanded_axes = _positions(problem.layout, head, batch)
    shown_decimals = to_integer(decimals, ("decimals",), 0)
    if shown_decimals > MAX_DECIMALS:
        raise AttnError(f"{decimals} decimals can't be shown", where="decimals", hint=f"expected 0 to {MAX_DECIMALS}")
    return View(
        result,
        explain,
        decimals=shown_decimals,
        cells=_cells(cells, problem),
        positions=positions,
        expanded_axes=expanded_axes,
        max_terms=None if terms == ALL else to_integer(terms, ("terms",), 1),
    )


def _cells(cells: Any, problem: ProblemSpec) -> tuple[Cell, ...]:
    """The cells that are chosen, each once: one by a text or a pair of labels, several in a list."""
    chosen = cells if isinstance(cells, list) or cells == () else [cells]
    return tuple(dict.fromkeys(_cell(cell, problem) for cell in chosen))


def _cell(cell: Any, problem: ProblemSpec) -> Cell:
    """The cell of a text or of a pair of labels or positions; raises AttnError for any other value."""
    if isinstance(cell, str):
        return parse_cell(cell, problem, "cells")
    if (
        not isinstance(cell, tuple)
        or len(cell) != 2
        or not all(isinstance(label, (str, SupportsIndex)) for label in cell)
    ):
        hint = 'expected ("cat", "sat"), with "*" for every query or key, or a list of such pairs'
        raise AttnError(f"{repr_excerpt(cell)} is no cell", where="cells", hint=hint)
    query, key = cell
    return find_cell(str(query), str(key), problem, "cells")


def _positions(layout: Layout, head: Position, batch: Position) -> tuple[dict[str, int], frozenset[str]]:
    """The position on each axis that is chosen, and the axes of which all are shown."""
    given = {"b": (batch, "batch", layout.batch or 1), "h": (head, "head", layout.heads)}
    positions = {
        letter: _position(position, name, count)
        for letter, (position, name, count) in given.items()
        if position is not None and position != ALL
    }
    expanded = frozenset(letter for letter, (position, *_) in given.items() if position == ALL)
    return {letter: at for letter, at in positions.items() if letter in layout.score_axes}, expanded


def _position(position: int, name: str, count: int) -> int:
    """The position of a head or batch item; raises AttnError where there is none."""
    at = to_integer(position, (name,), 0)
    if at >= count:
        noun = "head" if name == "head" else "batch item"
        raise AttnError(f"there is no {noun} {at}", where=name, hint=f"expected 0 to {count - 1}, or {ALL!r}")
    return at

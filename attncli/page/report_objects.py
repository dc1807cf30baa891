"""Common content of report pages: their colours and version, tables with their labels, and blocks of text."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attncli.base.axes import LEGEND
from attncli.base.program import __version__
from attncli.render.color_map import ANCHORS, DOTS, SIGNED_ON_DARK, SIGNED_ON_LIGHT
from attncli.render.document import Block, Grid, Lines, Pairs, Section, Statement


def shared_content(title: str, decimals: int) -> dict[str, Any]:
    """The content of every page's object: its title, decimals, the meanings of letters, and the colours of numbers."""
    return {
        "version": __version__,
        "title": title,
        "decimals": decimals,
        "axes": {letter: {"meaning": meaning} for letter, meaning in LEGEND.items()},
        "colors": [list(rgb) for rgb in ANCHORS],
        "signed_colors": {"light": SIGNED_ON_LIGHT, "dark": SIGNED_ON_DARK, "dots": DOTS},
    }


def table_object(grid: Grid) -> dict[str, Any]:
    """A table: its slice's label, its labels and numbers in the order of rows, and the cells that a mask hides.

    `hidden` is null if no mask acts before the table; `signs` has the text of each cell in a table of masks, and
    `meanings` their meaning.
    """
    return {
        "label": grid.slice_label,
        "corner": grid.corner,
        "rows": list(grid.rows),
        "columns": list(grid.columns),
        "shape": list(grid.values.shape),
        "data": grid.values.reshape(-1),
        "hidden": None if grid.hidden is None else grid.hidden.astype("uint8").reshape(-1),
        "signs": None if grid.signs is None else [sign for row in grid.signs for sign in row],
        "meanings": dict(grid.meanings),
    }


def block_objects(blocks: Iterable[Block]) -> Iterator[Mapping[str, Any]]:
    """Blocks of text for scripts; blocks that depend on the width of a screen are left out.

    `kind` is statement (`start`, `rest`, `style`), lines (`lines`, and `is_mathematics`) or pairs (`pairs`).
    """
    for block in blocks:
        match block:
            case Statement(start, rest, style):
                yield {"kind": "statement", "start": start, "rest": rest, "style": style.rpartition(" ")[2]}
            case Lines(lines, kind=kind) if any(map(str.strip, lines)):
                texts = [line.strip() for line in lines]
                yield {"kind": "lines", "lines": texts, "is_mathematics": kind == "mathematics"}
            case Pairs(pairs):
                yield {"kind": "pairs", "pairs": [list(pair) for pair in pairs]}
            case Section():
                yield from section_blocks([block])


def section_blocks(sections: Iterable[Section]) -> Iterator[Mapping[str, Any]]:
    """The texts of sections without their tables: titles, remarks and blocks."""
    for section in sections:
        if section.title:
            yield {"kind": "statement", "start": section.heading, "rest": "", "style": ""}
        yield from block_objects([Lines(section.remarks), *section.blocks])

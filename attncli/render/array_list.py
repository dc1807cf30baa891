"""The arrays of a file as text: a line for each."""

from collections.abc import Sequence

from rich.cells import cell_len

from attncli.base.axes import format_lengths
from attncli.io.formats import ArrayDescription
from attncli.render.target import TextTarget


def render_array_list(arrays: Sequence[ArrayDescription], target: TextTarget) -> str:
    """A line for each array of a file: its name, its shape and its type, in columns; empty columns are left out."""
    shapes = ["" if one.shape is None else format_lengths(one.shape) or "one number" for one in arrays]
    rows = [
        [target.text(text) for text in (one.name, shape, one.type)] for one, shape in zip(arrays, shapes, strict=True)
    ]
    widths = [max((cell_len(row[column]) for row in rows), default=0) for column in (0, 1)]
    lines = []
    for *cells, last in rows:
        padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True) if width]
        lines.append("  ".join([*padded, last]))
    return "".join(f"{line.rstrip()}\n" for line in lines) or "no arrays\n"

"""The arrays of a file as text: a line for each, with its shape and its type."""

from collections.abc import Sequence

from rich.cells import cell_len

from attncli.base.axes import format_lengths
from attncli.io.formats import ArrayDescription
from attncli.render.target import TextTarget


def render_array_list(arrays: Sequence[ArrayDescription], target: TextTarget) -> str:
    """A line for each array: its name, its shape and its type, in columns."""
    rows = [
        (
            target.text(array.name),
            "" if array.shape is None else target.text(_shape(array.shape)),
            target.text(array.type),
        )
        for array in arrays
    ]
    widths = [max((cell_len(row[column]) for row in rows), default=0) for column in (0, 1)]
    lines = ["  ".join([*_padded(row, widths), row[-1]]).rstrip() for row in rows]
    return "".join(f"{line}\n" for line in lines) or "no arrays\n"


def _padded(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The cells with blanks up to these widths, without those of empty columns."""
    pairs = zip(cells, widths, strict=False)
    return [cell + " " * (width - cell_len(cell)) for cell, width in pairs if width]


def _shape(shape: tuple[int, ...]) -> str:
    """The lengths of the axes: `3 × 4`."""
    return format_lengths(shape) or "one number"

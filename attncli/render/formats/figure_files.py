"""Figures as files: SVG, PDF and PNG."""

from collections.abc import Iterable, Sequence
from typing import IO

from attncli.base.program import __version__
from attncli.render.figure.drawing import drawing
from attncli.render.figure.figure import make_figure, missing_characters
from attncli.render.view import View

DOTS_PER_INCH = 300  # of PNG, and of what is an image in the others
MAX_NAMED = 12  # characters that a warning names


def write_svg(view: View, stream: IO[bytes]) -> None:
    """Write a figure as SVG, its text as text."""
    _write(view, stream, "svg", ("Date", "Type"))


def write_pdf(view: View, stream: IO[bytes]) -> None:
    """Write a figure as PDF, with its fonts."""
    _write(view, stream, "pdf", ("CreationDate",))


def write_png(view: View, stream: IO[bytes]) -> None:
    """Write a figure as PNG of DOTS_PER_INCH."""
    _write(view, stream, "png", ("Software",))


def warnings_of_fonts(view: View) -> Sequence[str]:
    """A warning of the characters that no installed font has, where there are some."""
    missing = missing_characters(view)
    if not missing:
        return []
    named = " ".join(missing[:MAX_NAMED]) + (" …" if len(missing) > MAX_NAMED else "")
    return [f"no installed font has {named}: the figure has boxes in their place; a .svg leaves them to its viewer"]


_CREATOR = f"attn {__version__}"


def _write(view: View, stream: IO[bytes], file_format: str, unwritten: Iterable[str]) -> None:
    """Write the figure of a view with its title, and with other facts of Matplotlib's `unwritten`."""
    figure = make_figure(view)
    metadata = {**dict.fromkeys(unwritten), "Creator": _CREATOR, **({"Title": view.title} if view.title else {})}
    with drawing():
        figure.savefig(stream, format=file_format, dpi=DOTS_PER_INCH, metadata=metadata)

"""A figure in a file: SVG, PDF or PNG."""

from collections.abc import Iterable
from functools import partial
from typing import IO

from attncli.base.program import __version__
from attncli.base.text import escape_control
from attncli.figure import Drawn, make_figure
from attncli.figure.drawing import drawing

DOTS_PER_INCH = 300  # for PNG, and for images in other figures


def _write_figure(view: Drawn, stream: IO[bytes], file_format: str, unwritten: Iterable[str]) -> None:
    """Write the figure with its title, without Matplotlib's metadata in `unwritten`.

    SVG has its text as text, PDF its fonts, PNG so many DOTS_PER_INCH.
    """
    figure = make_figure(view)
    title = {"Title": escape_control(view.title)} if view.title else {}
    metadata = {**dict.fromkeys(unwritten), "Creator": f"attn {__version__}", **title}
    with drawing():
        figure.savefig(stream, format=file_format, dpi=DOTS_PER_INCH, metadata=metadata)


write_svg = partial(_write_figure, file_format="svg", unwritten=("Date", "Type"))
write_pdf = partial(_write_figure, file_format="pdf", unwritten=("CreationDate",))
write_png = partial(_write_figure, file_format="png", unwritten=("Software",))

"""Files of bytes: arrays under their names, and figures."""

from collections.abc import Iterable
from functools import partial
from typing import IO, TYPE_CHECKING

from attncli.base.lazy_numpy import Array
from attncli.base.program import __version__
from attncli.base.text import escape_control
from attncli.io import npy, safetensors
from attncli.io.output_files import atomic_write
from attncli.io.paths import path_of
from attncli.render.view import View, selected_value

if TYPE_CHECKING:
    from attncli.render.figure import Drawn

DOTS_PER_INCH = 300  # of PNG, and of what is an image in the other figures


def write_npy(view: View, stream: IO[bytes]) -> None:
    """Write the one array that is shown."""
    (array,) = _arrays(view).values()
    npy.write_npy(stream, array)


def write_beside(file: str, name: str, array: Array) -> None:
    """Write one array to a file of a name in the folder of another file; raises AttnError where it can't be written."""
    with atomic_write(str(path_of(file).with_name(name))) as stream:
        npy.write_npy(stream, array)


def write_npz(view: View, stream: IO[bytes]) -> None:
    """Write an archive of the arrays."""
    npy.write_npz(stream, _arrays(view))


def write_safetensors(view: View, stream: IO[bytes]) -> None:
    """Write the arrays as tensors; raises AttnError where the package is missing or has no such type."""
    safetensors.write_safetensors(stream, _arrays(view), view.result.trace.precision)


def _arrays(view: View) -> dict[str, Array]:
    """What is selected of every result that is shown, by its name."""
    return {name: selected_value(view, view.result.trace[name]) for name in view.names}


def _write_figure(view: "Drawn", stream: IO[bytes], file_format: str, unwritten: Iterable[str]) -> None:
    """Write the figure of what is drawn with its title, without the facts of Matplotlib's that are in `unwritten`.

    SVG has its text as text, PDF its fonts, PNG so many DOTS_PER_INCH.
    """
    from attncli.render.figure import make_figure  # noqa: PLC0415
    from attncli.render.figure.drawing import drawing  # noqa: PLC0415 - arrays do not need them

    figure = make_figure(view)
    title = {"Title": escape_control(view.title)} if view.title else {}
    metadata = {**dict.fromkeys(unwritten), "Creator": f"attn {__version__}", **title}
    with drawing():
        figure.savefig(stream, format=file_format, dpi=DOTS_PER_INCH, metadata=metadata)


write_svg = partial(_write_figure, file_format="svg", unwritten=("Date", "Type"))
write_pdf = partial(_write_figure, file_format="pdf", unwritten=("CreationDate",))
write_png = partial(_write_figure, file_format="png", unwritten=("Software",))

"""Files of bytes: arrays under their names."""

from typing import IO

from attncli.base.lazy_numpy import Array
from attncli.io import npy, safetensors
from attncli.io.output_files import atomic_write
from attncli.io.paths import path_of
from attncli.render.view import View, selected_value


def write_npy(view: View, stream: IO[bytes]) -> None:
    """Write the one array of the view."""
    (array,) = _arrays(view).values()
    npy.write_npy(stream, array)


def write_beside(file: str, name: str, array: Array) -> None:
    """Write one array to a named file in another file's folder; raises AttnError if it can't be written."""
    with atomic_write(str(path_of(file).with_name(name))) as stream:
        npy.write_npy(stream, array)


def write_npz(view: View, stream: IO[bytes]) -> None:
    """Write an archive of the arrays."""
    npy.write_npz(stream, _arrays(view))


def write_safetensors(view: View, stream: IO[bytes]) -> None:
    """Write the arrays as tensors; raises AttnError if the package is missing or lacks the type."""
    safetensors.write_safetensors(stream, _arrays(view), view.result.trace.precision)


def _arrays(view: View) -> dict[str, Array]:
    """The selected content of every shown result, by name."""
    return {name: selected_value(view, view.result.trace[name]) for name in view.names}

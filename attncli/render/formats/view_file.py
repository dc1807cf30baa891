"""A view in a file: as bytes where its format has them, otherwise as text in UTF-8."""

from collections.abc import Callable, Iterable
from typing import IO

from attncli.render.formats import OutputFormat
from attncli.render.target import TEXT_FILE
from attncli.render.view import View

Chunks = Iterable[str]


def write_view(
    view: View, output_format: OutputFormat, stream: IO[bytes], on_text: Callable[[Chunks], Chunks] = iter
) -> None:
    """Write a view to the stream of a file.

    The chunks of a text pass through `on_text`, which may count or join them. Raises AttnError where the format can't
    hold the view.
    """
    if output_format.is_binary:
        output_format.write(view, stream)
        return
    for chunk in on_text(output_format.render(view, TEXT_FILE)):
        stream.write(chunk.encode("utf-8", "surrogateescape"))

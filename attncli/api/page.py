"""The page of a result inside a notebook, and as a file."""

from html import escape
from os import PathLike, fspath

from attncli.io.output_files import atomic_write_file
from attncli.page import render
from attncli.render.view import View

HEIGHT, LEAST, MOST = 760, 420, 1100  # pixels of the frame: its height without scripts, otherwise its limits
# The frame is as high as its page, within limits; a reader can change it.
_FIT = f"this.style.height=Math.min(Math.max(this.contentDocument.documentElement.scrollHeight,{LEAST}),{MOST})+'px'"


class NotebookPage:
    """The page of a result, as `Result.page` returns it: a notebook shows it in a frame, `save` writes it to a file.

    >>> import attncli
    >>> attncli.attention([[2, 0]], [[1, 0], [0, 1]]).page(title="One query")
    NotebookPage('One query')
    """

    def __init__(self, view: View) -> None:
        self._view = view

    @property
    def html(self) -> str:
        """The text of the page, which needs no other file and no network."""
        return "".join(render(self._view))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, such as `page.html`; raises AttnError if it can't be written."""
        atomic_write_file(fspath(path), self.html)

    def __repr__(self) -> str:
        return f"NotebookPage({self._view.title or self._view.heading!r})"

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{HEIGHT}px;border:0;resize:vertical;overflow:auto"
        title = escape(self._view.title or self._view.heading, quote=True)
        attributes = f'title="{title}" style="{style}" onload="{_FIT}"'
        return f'<iframe {attributes} srcdoc="{escape(self.html, quote=True)}"></iframe>'

"""Files of results and explanations from Python: the suffix picks the format, as with `attn compute -o`."""

import warnings
from dataclasses import replace
from os import PathLike
from typing import NoReturn

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.text import join_words, repr_excerpt
from attncli.io.writers.atomic import atomic_write
from attncli.render.figure.layout import Size, to_size
from attncli.render.formats import OutputFormat, format_of_suffix, known_suffixes, write_view
from attncli.render.view import View

FilePath = str | PathLike[str]
FigureSize = str | tuple[float, float] | None  # "15x10cm", or a width and a height in inches


@dataclass(frozen=True)
class SavedFile:
    """A file to be written: its name, its format, and the title and size that the user has given."""

    name: str
    format: OutputFormat
    title: str
    size: Size | None

    @classmethod
    def of(cls, path: object, title: object, size: FigureSize) -> "SavedFile":
        """The file of a path.

        Raises AttnError where it is no path or its suffix is no format's, where title or size is none, and where the
        format has none.
        """
        if not isinstance(path, (str, PathLike)):
            hint = 'give the name of a file, such as "page.html"'
            raise AttnError(f"{repr_excerpt(path)} is no path", where="path", hint=hint)
        row = format_of_suffix(str(path))
        if row is None:
            hint = f"expected one of {', '.join(known_suffixes())}"
            raise AttnError("the suffix names no format", where=str(path), hint=hint)
        file = cls(str(path), row, to_title(title), to_size(size))
        if title and not row.has_title:
            file.refuse("title", "has no title")
        if size is not None and not row.is_figure:
            file.refuse("size", "is no figure")
        return file

    def refuse(self, parameter: str, reason: str) -> NoReturn:
        """Raise AttnError for a parameter that the format does not read."""
        raise AttnError(f"has no effect: {self.format.name} {reason}", where=parameter, hint="leave it out")

    def save(self, view: View) -> None:
        """Write a view; a file of that name is replaced when all is written.

        What the format can't show of it is a warning. Raises AttnError where it can't hold the view, or the file can't
        be written.
        """
        view = replace(view, title=self.title, size=self.size)
        try:
            self._check(view)
            for message in self.format.warnings_of(view):
                warnings.warn(message, stacklevel=3)
        except AttnError as error:
            raise error.at(self.name) from None
        with atomic_write(self.name) as stream:
            write_view(view, self.format, stream)

    def _check(self, view: View) -> None:
        """Raise AttnError where the format has no room for what a view shows."""
        row, plan = self.format, view.result.trace.plan
        row.check_results(plan, view.names, view.positions)
        if row.holds_one_array and len(view.names) != 1:
            hint = "select one, or name a .npz file"
            raise AttnError(f"the file holds one array, and these are {join_words(view.names)}", hint=hint)


def to_title(value: object) -> str:
    """The title that a value of Python is; raises AttnError, which names the parameter, where it is no text."""
    if not isinstance(value, str):
        raise AttnError(f"{repr_excerpt(value)} is no text", where="title", hint='"" for none')
    return value

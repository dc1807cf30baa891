"""An explanation: its text, which is shown as it is at a prompt, and as tables in a notebook."""

from attncli.api.saving import FigureSize, FilePath, SavedFile
from attncli.render.formats import html_tables, terminal
from attncli.render.sections import document_of, sections
from attncli.render.target import TextTarget
from attncli.render.view import View

WIDTH = 80  # of texts: no terminal is asked


class ExplanationText(str):
    """The worked steps of a result, as `attn compute --explain` writes them: a text of lines of at most 80 columns.

    A prompt shows the text itself, a notebook the same with shaded tables.

    >>> import attncli
    >>> text = attncli.attention([[2, 0]], [[1, 0], [0, 1]], score="dot").explain((0, 0))
    >>> "Q(query_1)·K(key_1) = 2·1 + 0·0 = 2" in text
    True
    """

    _view: View

    @classmethod
    def of_view(cls, view: View) -> "ExplanationText":
        """The explanation of what a view shows."""
        explanation = cls(view_text(view))
        explanation._view = view
        return explanation

    def save(self, path: FilePath, *, title: str = "", size: FigureSize = None) -> None:
        """Write what is explained to a file, whose suffix picks the format: `attn compute --explain -o`.

        The parameters and what is raised are those of `Result.save`; decimals are those of the
        explanation, and the page begins at the cell that is worked out.

        >>> import attncli
        >>> attncli.attention([[2, 0]], [[1, 0], [0, 1]]).explain().save("steps.md", size="6x4")
        Traceback (most recent call last):
            ...
        attncli.base.errors.AttnError: size: has no effect: markdown is no figure; leave it out
        """
        file = SavedFile.of(path, title, size)
        if self._view.cells and not file.format.is_text_for_readers:
            file.refuse("cells", "has no worked lines")
        file.save(self._view)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return view_html(self._view)


def view_text(view: View) -> str:
    """What a view shows, as text of 80 columns."""
    return "".join(terminal.render(document_of(view), TextTarget(WIDTH))).rstrip("\n")


def view_html(view: View) -> str:
    """What a view shows, as tables of HTML, with the warnings of its result and what its convention does not have."""
    trace = view.result.trace
    convention = trace.problem.convention
    notes = (*(convention.remarks if convention is not None else ()), *trace.notes)
    return html_tables.render_sections(sections(view), view.decimals, view.heading, notes)

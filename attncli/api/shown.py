"""How results, reports and comparisons display in Python: as text of 80 columns, and as HTML in a notebook."""

from collections.abc import Sequence

from attncli.base.option_texts import with_keywords
from attncli.render.document import Document, with_texts
from attncli.render.formats import html_tables, terminal
from attncli.render.sections import document_of, marked_document_of
from attncli.render.target import PAGE_WIDTH, TextTarget
from attncli.render.view import View


def document_text(document: Document) -> str:
    """A document as text, independent of any terminal, with keywords in place of options."""
    return "".join(terminal.render(with_texts(document, with_keywords), TextTarget(PAGE_WIDTH))).rstrip("\n")


def document_html(document: Document, notes: Sequence[str] = ()) -> str:
    """A document as an element of HTML, above notes, with keywords in place of options."""
    return html_tables.render(with_texts(document, with_keywords), [with_keywords(note) for note in notes])


def view_text(view: View) -> str:
    """A view as text."""
    return document_text(document_of(view))


def view_html(view: View) -> str:
    """A view as tables of HTML, with its result's warnings and options that its convention lacks."""
    trace = view.result.trace
    convention = trace.problem.convention
    notes = (*(convention.remarks if convention is not None else ()), *trace.notes)
    return document_html(marked_document_of(view), notes)

"""HTML: a self-contained page of a result, whose steps can be walked through and changed."""

from collections.abc import Iterator

from attncli.render.page.document import page_document
from attncli.render.page.page_object import page_object
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View


def render(view: View, target: TextTarget = TEXT_FILE) -> Iterator[str]:
    """The document as text, in chunks."""
    content = page_object(view)
    yield from page_document(content, content["title"])

"""A worked example in pieces that fit a screen, each under the title of the example."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from attncli.demos.document import PROMPT, RULE
from attncli.render.document import Document
from attncli.render.formats import terminal
from attncli.render.formats.text_page import line_width, without_styles
from attncli.render.target import TextTarget

MAX_LINES = 20  # of a piece, with its title: a terminal of 24 lines shows it
LAST_LINES = 2  # the verdict, and what to type next


def document_pages(document: Document, target: TextTarget) -> Iterator[str]:
    """The text of a document in pages, with its heading on top of each: `The heading · 2 of 5`.

    A section begins a page unless it continues the one before. Longer ones are split at empty lines.
    """
    chunks = terminal.render(replace(document, heading=""), target)
    pages = [page for part in _parts(chunks) for page in _pages_of_part(part, target.page_width)]
    for number, page in enumerate(pages, 1):
        heading = f"{document.heading} · {number} of {len(pages)}" if len(pages) > 1 else document.heading
        yield "".join(("\n" if number > 1 else "", *terminal.render(Document((), 0, heading), target), page))


def _parts(chunks: Iterable[str]) -> Iterator[str]:
    """The chunks of a text, those that continue one joined to it: others begin with an empty line."""
    part = ""
    for chunk in chunks:
        if part and chunk.startswith("\n"):
            yield part
            part = ""
        part += chunk
    yield part


def _pages_of_part(part: str, width: int) -> Iterator[str]:
    """Paragraphs of a part, as many at once as fit; the last lines, a verdict and what is next, are not left alone."""
    paragraphs = part.strip("\n").split("\n\n")
    if len(paragraphs) > 1 and len(paragraphs[-1].splitlines()) <= LAST_LINES:
        paragraphs[-2:] = ["\n\n".join(paragraphs[-2:])]
    page: list[str] = []
    height = 1  # of the heading
    for block in (block for paragraph in paragraphs for block in _blocks(paragraph, width)):
        lines = _height(block, width)
        if page and height + lines > MAX_LINES:
            yield "".join(page).strip("\n") + "\n"
            page, height = [], 1
        height += lines
        page.append(block)
    yield "".join(page).strip("\n") + "\n"


def _blocks(paragraph: str, width: int) -> Iterator[str]:
    """A paragraph and the empty line before it; one that is too long is split before its titles and commands."""
    text = f"\n{paragraph}\n"
    if _height(text, width) < MAX_LINES:
        yield text
        return
    block = before = ""
    for line in text.splitlines(keepends=True):
        plain = without_styles(line.rstrip("\n"))
        if plain.startswith(RULE) or (plain.startswith(PROMPT) and not before.startswith(RULE)):
            yield block
            block = ""
        block += line
        before = plain
    yield block


def _height(text: str, width: int) -> int:
    """The lines of a screen that a text takes: longer ones are wrapped."""
    return sum(max(1, -(-line_width(line) // width)) for line in text.splitlines())

"""Tables and headings in Markdown."""

from collections.abc import Iterable, Sequence


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with these titles; a bar in a cell is escaped."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def title_of(page: str) -> str:
    """The heading of a page, its first line."""
    return page.partition("\n")[0].removeprefix("# ")

"""Tables and headings in Markdown, and how what is released is installed."""

import re
from collections.abc import Iterable, Sequence

_OF_A_CHECKOUT = re.compile(r"(?<=install )('?)\.((?:\[\w+\])?)\1(?! && pytest)(?=[ ;`)]|$)", re.MULTILINE)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with these titles; a bar in a cell is escaped."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def title_of(page: str) -> str:
    """The heading of a page, its first line."""
    return page.partition("\n")[0].removeprefix("# ")


def as_released(text: str) -> str:
    """A text for who has no checkout: what is installed from one comes from the index of packages; tests stay.

    >>> as_released("`pipx install .`, `pip install '.[plot]'`; pip install '.[test]' && pytest")
    "`pipx install attncli`, `pip install 'attncli[plot]'`; pip install '.[test]' && pytest"
    """
    return _OF_A_CHECKOUT.sub(r"\1attncli\2\1", text)

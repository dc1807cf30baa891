"""How many columns of a terminal a text takes."""

from rich.cells import cell_len


def text_width(text: str) -> int:
    """The columns that a text without control characters takes; there may be a label for each of very many rows.

    >>> text_width("cat"), text_width("猫")
    (3, 2)
    """
    return len(text) if text.isascii() else cell_len(text)

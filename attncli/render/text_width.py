"""How many columns of a terminal a text takes."""


def text_width(text: str) -> int:
    """The columns that a text without control characters takes; there may be a label for each of very many rows.

    >>> text_width("cat"), text_width("猫")
    (3, 2)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - most labels are ASCII

    return cell_len(text)

"""Text from a user, shown literally."""


def clean(text: str) -> str:
    """The text with control characters as escapes, so that no terminal obeys them and a line stays a line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortly(text: str, most: int = 40) -> str:
    """The text, cut off where it is longer than an error can say."""
    return text if len(text) <= most else f"{text[: most - 3]}..."

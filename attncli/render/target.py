"""The target of text, a terminal, a pipe or a file: its width, its encoding, and its abilities."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from attncli.base.text import escape_control, transliterate

PAGE_WIDTH = 80
_WORDS = re.compile(r"(?<!\S)'[^']+'[^\s\w]*(?!\S)|\S+")  # a quoted name is one word, even with spaces


@dataclass(frozen=True, eq=False)
class TextTarget:
    """The target of text: its width in columns (None: a pipe or a file, no line is cut), and its abilities."""

    width: int | None = None
    has_styles: bool = False  # colours, bold and italic
    encoding: str = "utf-8"
    column_gap: int = 3  # spaces between two columns of a table
    height: int | None = None  # lines of the screen
    quotes_formulas: bool = False  # in CSV: whether text that looks like a formula gets an apostrophe
    decimals: int | None = None  # in CSV: decimals of numbers; None for every digit
    file: str | None = None  # its file name, if other files can be next to it
    is_light: bool = False  # whether its ground is white, as in a picture
    color_system: Literal["auto", "truecolor"] = "auto"  # Rich's name for them; "auto": from the environment

    @property
    def page_width(self) -> int:
        """Its width; in a pipe or a file the page's width, for blocks side by side."""
        return self.width or PAGE_WIDTH

    @property
    def has_unicode(self) -> bool:
        """Whether its encoding has every character."""
        return self.encoding.lower().startswith("utf")

    def text(self, text: str) -> str:
        r"""The text with control characters escaped, and with substitutes for signs that the encoding lacks.

        >>> TextTarget(encoding="ascii").text("a\nb → √d")
        'a\\nb -> sqrt(d)'
        """
        return self.encodable(escape_control(text))

    def encodable(self, text: str) -> str:
        """The text, of any number of lines, with substitutes for signs that the encoding lacks."""
        return text if self.has_unicode else transliterate(text, self.encoding)

    def escaped(self, text: str) -> str:
        r"""Text for formats with escapes, such as YAML: non-ASCII characters are escaped unless the encoding has all.

        >>> TextTarget(encoding="cp1252").escaped("é")
        '\\xe9'
        """
        return text if self.has_unicode else text.encode("ascii", "backslashreplace").decode()


TEXT_FILE = TextTarget()  # UTF-8, of any width, without styles
TEXT_PAGE = TextTarget(PAGE_WIDTH)


def text_width(text: str) -> int:
    """The columns of a text without control characters; very many rows may each have a label.

    >>> text_width("cat"), text_width("猫")
    (3, 2)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - most labels are ASCII

    return cell_len(text)


def wrapped_words(text: str, width: int) -> Iterator[str]:
    """A text in lines of at most that many columns, broken between words; a longer word stays whole.

    >>> list(wrapped_words("there is no 'my file.yaml' here", 16))
    ['there is no', "'my file.yaml'", 'here']
    """
    line = ""
    for quoted in _WORDS.findall(text):
        for word in [quoted] if text_width(quoted) <= width else quoted.split():
            joined = f"{line} {word}" if line else word
            if line and text_width(joined) > width:
                yield line
                joined = word
            line = joined
    yield line

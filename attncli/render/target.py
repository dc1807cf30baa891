"""The target of text, a terminal, a pipe or a file: its width and what it can show."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TextTarget:
    """The target of text: its width in columns (None: a pipe or a file, no line is cut), and what it can show."""

    width: int | None = None
    has_styles: bool = False  # colours, bold and italic
    ascii_only: bool = False  # its encoding has no other characters


TEXT_FILE = TextTarget()  # UTF-8, of any width, without styles

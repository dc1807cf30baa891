"""The fonts of a figure: DejaVu Sans, and for the characters that it lacks others that are installed."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.render.figure.drawing import FONT_SIZE

BASE = "DejaVu Sans"  # comes with Matplotlib
_PLACEHOLDERS = "Last Resort"  # a font that has a box for every character
_POINTS_PER_INCH = 72


@dataclass(frozen=True)
class Fonts:
    """The families that have the characters of some texts, the first ones preferred, and the characters none has."""

    families: tuple[str, ...]
    missing: tuple[str, ...] = ()

    def width(self, text: str, points: float = FONT_SIZE, weight: str = "normal") -> float:
        """The width of a line of text in inches."""
        from matplotlib.font_manager import FontProperties  # noqa: PLC0415 - an extra
        from matplotlib.textpath import text_to_path  # noqa: PLC0415

        properties = FontProperties(family=self.families, size=points, weight=weight)
        width, _, _ = text_to_path.get_text_width_height_descent(text, properties, ismath=False)
        return float(width) / _POINTS_PER_INCH

    def widest(self, texts: Iterable[str], points: float = FONT_SIZE) -> float:
        """The width of the widest of some texts in inches, whose digits are equally wide; 0 of none."""
        return max((self.width(text, points) for text in {re.sub(r"\d", "0", text) for text in texts}), default=0.0)

    def wrap(self, text: str, width: float, points: float, weight: str = "normal") -> Sequence[str]:
        """A text in lines of a width in inches at most; a word that is wider has a line of its own."""
        lines = list[str]()
        for word in text.split(" ") if text else ():
            longer = f"{lines[-1]} {word}" if lines else word
            if lines and self.width(longer, points, weight) <= width:
                lines[-1] = longer
            else:
                lines.append(word)
        return lines


def fonts_for(texts: Iterable[str]) -> Fonts:
    """The fonts that some texts need: of the installed ones the fewest that have the characters DejaVu Sans lacks."""
    from matplotlib import font_manager  # noqa: PLC0415 - an extra

    base = font_manager.get_font(font_manager.findfont(BASE)).get_charmap()
    missing = {character for text in texts for character in text if ord(character) not in base}
    families = [BASE]
    candidates = _regular_fonts(font_manager.fontManager.ttflist) if missing else []
    while missing:
        name, found = max(
            ((entry.name, _drawable(entry.fname, missing)) for entry in candidates),
            key=lambda candidate: len(candidate[1]),
            default=("", frozenset()),
        )
        if not found:
            break
        families.append(name)
        missing -= found
    return Fonts(tuple(families), tuple(sorted(missing)))


def _regular_fonts(entries: Iterable[Any]) -> Sequence[Any]:
    """Upright fonts of regular weight, one of each name, in the order of their names."""
    regular = {
        entry.name: entry
        for entry in sorted(entries, key=lambda entry: (entry.name, entry.fname), reverse=True)
        if entry.style == "normal" and entry.weight in (400, "normal", "regular") and _PLACEHOLDERS not in entry.name
    }
    return [regular[name] for name in sorted(regular)]


def _drawable(file: str, characters: Iterable[str]) -> frozenset[str]:
    """Those of some characters that a font has outlines of; a font of pictures, as of emoji, has none."""
    from matplotlib.ft2font import FT2Font  # noqa: PLC0415 - an extra

    try:
        font = FT2Font(file)
        known = font.get_charmap()
        found = [character for character in characters if ord(character) in known]
        font.set_size(FONT_SIZE, _POINTS_PER_INCH)
        for character in found:
            font.load_char(ord(character))
    except (RuntimeError, OSError):  # FreeType can't read or draw it
        return frozenset()
    return frozenset(found)

"""The size of a figure: `6x4` in inches, `15x10cm`, `150x100mm`."""

import re
from numbers import Real

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.text import repr_excerpt

UNITS = {"in": 1.0, "cm": 2.54, "mm": 25.4}  # in an inch
PARAMETER = "size"  # in Python
MIN_EDGE, MAX_EDGE = 1.0, 30.0  # inches: a PNG of the largest size takes some 300 MB of memory
_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_UNIT = rf"({'|'.join(UNITS)})?"
_SIZE = re.compile(rf"{_NUMBER}\s*{_UNIT}\s*[x×]\s*{_NUMBER}\s*{_UNIT}", re.IGNORECASE)


@dataclass(frozen=True)
class Size:
    """A width and a height in inches."""

    width: float
    height: float


def parse_size(text: str, where: str) -> Size:
    """The size that a text names: width and height, with a unit for each or one for both, without one in inches.

    Raises AttnError where it names none, or one that is too small or too large; `where` names the option.

    >>> parse_size("6x4", "--size")
    Size(width=6.0, height=4.0)
    >>> parse_size("25.4 x 50.8mm", "--size")
    Size(width=1.0, height=2.0)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        hint = f"expected a width and a height, such as 6x4 (inches) or 15x10cm; units are {', '.join(UNITS)}"
        raise AttnError(f"{text!r} is no size", where=where, hint=hint)
    width, width_unit, height, height_unit = found.groups()
    width_unit, height_unit = width_unit or height_unit or "in", height_unit or width_unit or "in"
    return checked_size(float(width) / UNITS[width_unit.lower()], float(height) / UNITS[height_unit.lower()], where)


def to_size(value: object) -> Size | None:
    """The size that a value of Python is: a text, or a width and a height in inches; None of None.

    Raises AttnError, which names the parameter, where it is none.

    >>> to_size((6, 4))
    Size(width=6.0, height=4.0)
    """
    if value is None or isinstance(value, str):
        return None if value is None else parse_size(value, PARAMETER)
    numbers = value if isinstance(value, (tuple, list)) else ()
    if len(numbers) != 2 or not all(isinstance(number, Real) for number in numbers):
        hint = 'expected a width and a height in inches, such as (6, 4), or "15x10cm"'
        raise AttnError(f"{repr_excerpt(value)} is no size", where=PARAMETER, hint=hint)
    return checked_size(float(numbers[0]), float(numbers[1]), PARAMETER)


def checked_size(width: float, height: float, where: str) -> Size:
    """The size of a width and a height in inches; raises AttnError where one is too small or too large."""
    if not (MIN_EDGE <= width <= MAX_EDGE and MIN_EDGE <= height <= MAX_EDGE):
        limits = f"expected {MIN_EDGE:g} to {MAX_EDGE:g} inches each, {MIN_EDGE * 2.54:.3g} to {MAX_EDGE * 2.54:.3g} cm"
        raise AttnError(f"{width:.3g} × {height:.3g} inches are out of range", where=where, hint=limits)
    return Size(width, height)

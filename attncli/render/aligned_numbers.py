"""The numbers of one grid as text, aligned on the point."""

from attncli.base.arithmetic import decimal
from attncli.base.lazy_numpy import Array, np


def aligned(values: Array, places: int) -> list[list[str]]:
    """Each cell as text of one length a column, so that points stand under points.

    All cells have as many decimals as the one that needs most, up to `places`; a cell that is exactly 0 is `0`, one
    that only rounds to 0 is `0.0000`. A table of very large or very small numbers is written with powers of ten.
    """
    values = values.astype(np.float64) if values.dtype.itemsize < 8 else values  # a half can't be held against 1e9
    finite = abs(values[np.isfinite(values) & (values != 0)])
    if finite.size and (finite.max() >= 1e9 or finite.max() < 10.0**-places):
        return [[decimal(cell, places) for cell in row] for row in values]
    decimals = 0
    for cell in values[np.isfinite(values)].ravel():
        decimals = max(decimals, _decimals(cell, places))
        if decimals == places:  # as many as there may be
            break
    return [[_cell(cell, decimals) for cell in row] for row in values]


def _decimals(number: float, places: int) -> int:
    """How many decimals a number needs, up to `places`."""
    if number == round(float(number)):
        return 0
    text = f"{number:.{places}f}".rstrip("0")
    return places if text.endswith(".") or text in ("-0.", "0.") else len(text.partition(".")[2])


def _cell(number: float, decimals: int) -> str:
    """A number with its decimals; a whole part alone is padded to where the point would stand."""
    padding = " " * (decimals + 1) if decimals else ""
    if not np.isfinite(number):
        return decimal(number, 0) + padding
    return f"0{padding}" if number == 0 else f"{number:.{decimals}f}"

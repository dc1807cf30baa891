"""What was set, in a line: `set w_q[0,1]: 0 → 3`."""

from collections.abc import Iterable
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.numbers.formatting import decimal
from attncli.problem.edits import EditedCell

MAX_NUMBERS = 8  # of a whole row or column, that a line has


def edits_text(cells: Iterable[EditedCell], decimals: int) -> str:
    """Each cell with its number before and after, of a whole row or column those before, or how many there were.

    >>> edits_text([EditedCell("w_q[0,1]", 0.0, 3.0), EditedCell("w_q[*,2]", [1.0, 0.25], 0.0)], 4)
    'set w_q[0,1]: 0 → 3; w_q[*,2]: 1 0.25 → 0'
    """
    edits = (f"{cell.cell}: {_numbers(cell.before, decimals)} → {_numbers(cell.after, decimals)}" for cell in cells)
    return f"set {'; '.join(edits)}"


def _numbers(value: Any, decimals: int) -> str:
    """One number, or several between blanks."""
    numbers = np.asarray(value).ravel()
    if numbers.size > MAX_NUMBERS:
        return f"{numbers.size} numbers"
    return " ".join(decimal(float(number), decimals) for number in numbers)

"""Edits from Python: cells, each with its new number."""

from collections.abc import Mapping
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import repr_excerpt
from attncli.io.edit import parse_edit
from attncli.problem.arrays import to_python_number
from attncli.problem.edits import Edit
from attncli.problem.numbers import is_number, to_float

OPTION = "set"


def to_edits(numbers: Any) -> tuple[Edit, ...]:
    """The edits of a mapping from cells to numbers; raises AttnError for any other value, and for no number.

    >>> to_edits({"w_q[0,1]": 3})[0].value
    3.0
    """
    if not isinstance(numbers, Mapping) or not all(isinstance(cell, str) for cell in numbers):
        hint = 'expected cells and their numbers, such as {"w_q[0,1]": 3}'
        raise AttnError(f"{repr_excerpt(numbers)} has no cells", where=OPTION, hint=hint)
    return tuple(parse_edit(f"{cell}={_text(value)}", OPTION) for cell, value in numbers.items())


def _text(value: Any) -> str:
    """A number or a truth value as text; a text as it is."""
    number = to_python_number(value)
    if isinstance(number, bool):
        return "true" if number else "false"
    return repr(to_float(number)) if is_number(number) else str(value)

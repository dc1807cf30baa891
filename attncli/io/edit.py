"""The text of an edit, `w_q[0,1]=3`: a key, a label or position on each axis, and the new number."""

import re

from attncli.base.errors import AttnError
from attncli.base.text import shorten
from attncli.io.literals import read_number
from attncli.numbers.parsing import number_hint
from attncli.problem.edits import Edit, check_has_cells
from attncli.problem.fields import option_name
from attncli.problem.numbers import is_number

_PART = re.compile(r'\s*(?:"([^"]*)"|([^,]*?))\s*,')
_CELL = re.compile(r"([^\[\]]*)\[(.*)\]", re.DOTALL)  # a label may have brackets
FORM = "KEY[ROW,COLUMN]=X"
EXAMPLE = "'w_q[0,1]=3'"


def parse_edit(text: str, option: str = "--set") -> Edit:
    """The edit that a text is; a label with a comma is in double quotes, the number is as anywhere: `1/2`, `sqrt(2)`.

    Raises AttnError, which names the option, where the text is not an edit, or its key does not hold an array.

    >>> edit = parse_edit('embeddings["cat, the", x2]=1/2')
    >>> edit.key, edit.index, edit.value
    ('embeddings', ('cat, the', 'x2'), 0.5)
    """
    place = f"{option} {text.strip()}".strip()
    try:
        return _parse(text, place)
    except AttnError as error:
        raise error.at(place) from None


def _parse(text: str, place: str) -> Edit:
    """The edit; errors do not have its place yet."""
    cell, equals, number = text.rpartition("=")
    if not equals:
        raise AttnError("has no number", hint=f"write {FORM}, such as {EXAMPLE}")
    match = _CELL.fullmatch(cell.strip())
    if match is None or not match[1].strip():
        key = cell.strip()
        if re.fullmatch(r"[\w.]+", key):
            check_has_cells(key, number.strip())
            raise AttnError(f"names no cell of {key}", hint=_hint_of_cell(key, number.strip()))
        raise AttnError("names no cell", hint=f"write {FORM}, such as {EXAMPLE}")
    key = match[1].strip()
    check_has_cells(key, number.strip())
    return Edit(key, _split(match[2]), _number(number.strip()), place)


def _hint_of_cell(key: str, number: str) -> str:
    """How a cell of a key is written; of an operator's parameter, which may be one number, also how that is."""
    name, dot, parameter = key.partition(".")
    if not dot:
        return f"write {key}[ROW,COLUMN]=X, or {key}[POSITION]=X"
    return f"write {key}[ROW,COLUMN]=X, or where it is one number {option_name(name)} NAME:{parameter}={number or 'X'}"


def _split(text: str) -> tuple[str, ...]:
    """The labels and positions between commas, without the quotes around them."""
    parts = [match[1] or match[2] for match in _PART.finditer(f"{text},")]
    if not all(parts):
        raise AttnError("a label or position is empty", hint=f"write {FORM}, such as {EXAMPLE}")
    return tuple(parts)


def _number(text: str) -> float | bool:
    """The new number, or true or false."""
    value = read_number(text, ())
    if is_number(value) or isinstance(value, bool):
        return value if isinstance(value, bool) else float(value)
    problem = f"{shorten(repr(text))} is not a number" if text else "nothing follows the ="
    raise AttnError(problem, hint=number_hint(text))

"""The values of varied keys, from `KEY=VALUE`, `KEY=0.5,1,2` and `KEY=1..100`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import shorten
from attncli.io.origin import Origin, RawValue
from attncli.io.parse import grammar
from attncli.io.parse.option_value import read_option
from attncli.problem.build import check_name
from attncli.problem.fields import Field
from attncli.problem.spec import FIELDS

VARY = "--vary"
NOT_GIVEN = "null"  # as in a problem file: the key is as if it were not given
MAX_RANGE = 10_000
_RANGE = re.compile(r"\s*([+-]?\d+)\s*\.\.\s*([+-]?\d+)\s*\Z")
_HINT = "expected KEY=VALUE, such as normalize=sparsemax, scale=0.5,1,2 or seed=1..10"


@dataclass(frozen=True)
class VariedValue:
    """One value of a varied key: its text, and the raw value; None is that of a key that is not given."""

    text: str
    raw: RawValue


def read_varied(texts: Iterable[str], origin: Origin) -> dict[str, list[VariedValue]]:
    """The values of each varied key, in the order in which the keys first appear; a key given again adds values.

    Of keys of one number several values may stand between commas, and a range of whole numbers is `1..100`. Raises
    AttnError where a text is no KEY=VALUE, a value is given twice, and UnknownNameError where no problem has the key.
    """
    varied: dict[str, list[VariedValue]] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        key = key.strip()
        if not sign or not key:
            raise AttnError(f"{shorten(repr(text))} is no KEY=VALUE", where=VARY, hint=_HINT)
        check_name(key, where=VARY)
        if not value.strip():
            hint = f"{key}={NOT_GIVEN} is the problem without the key"
            raise AttnError("nothing follows the sign =", where=(VARY, key), hint=hint)
        values = varied.setdefault(key, [])
        values += _values(FIELDS[key], value, origin)
    for key, values in varied.items():
        _check_duplicates(key, values)
    return varied


def _values(field: Field, text: str, origin: Origin) -> Iterator[VariedValue]:
    """The values of a text: one, or of a key of one number several."""
    is_number = field.kind in ("integer", "number")
    for part in text.split(",") if is_number else (text,):
        for word in _range(field, part) if is_number else (part,):
            yield VariedValue(word.strip(), RawValue(_value(field, word.strip()), origin))


def _range(field: Field, text: str) -> Sequence[str]:
    """The numbers of `1..100`, both ends included; another text is one value."""
    if ".." not in text:
        return (text,)
    ends = _RANGE.match(text)
    if ends is None:
        hint = f"expected two whole numbers, such as {field.name}=1..10"
        raise AttnError(f"{text.strip()!r} is no range", where=(VARY, field.name), hint=hint)
    first, last = int(ends[1]), int(ends[2])
    if last < first:
        raise AttnError(f"the range {text.strip()} has no numbers", where=(VARY, field.name), hint=f"{last}..{first}?")
    if last - first >= MAX_RANGE:
        message = f"the range {text.strip()} has {last - first + 1:,} numbers"
        raise AttnError(message, where=(VARY, field.name), hint=f"at most {MAX_RANGE:,} variants are compared")
    return [str(number) for number in range(first, last + 1)]


def _value(field: Field, text: str) -> Any:
    """The value as a problem file would hold it; None for a key that is not given."""
    path = (VARY, field.name)
    if text == NOT_GIVEN:
        return None
    if field.kind == "flag":
        return grammar.inline(text, path)
    return read_option(field, [text] if field.kind == "labels" else text, path)


def _check_duplicates(key: str, values: Sequence[VariedValue]) -> None:
    """Raise AttnError where a value is given twice."""
    seen: list[Any] = []
    for value in values:
        if value.raw.value in seen:
            raise AttnError(f"{key}={value.text} is given twice", where=VARY, hint="give each value once")
        seen.append(value.raw.value)

"""The values of varied keys: from `KEY=VALUE`, `KEY=0.5,1,2` and `KEY=1..100`, or from lists of Python."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.errors import AttnError, ErrorPath
from attncli.base.text import repr_excerpt, shorten
from attncli.io.converted_values import convert_value
from attncli.io.origin import PYTHON, Origin, RawValue
from attncli.io.parse import grammar
from attncli.io.parse.option_value import read_option
from attncli.ops.records import Operator, format_value
from attncli.problem.build import check_name
from attncli.problem.convert.numbers import is_number
from attncli.problem.convert.operators import PendingRandom
from attncli.problem.fields import Field
from attncli.problem.spec import FIELDS

VARY = "--vary"
NOT_GIVEN = "null"  # as in a problem file: the key is as if it were not given
MAX_VARIANTS = 10_000  # nobody reads more of them, and all of their results are in memory
_RANGE = re.compile(r"\s*([+-]?\d+)\s*\.\.\s*([+-]?\d+)\s*\Z")
_HINT = "expected KEY=VALUE, such as normalize=sparsemax, scale=0.5,1,2 or seed=1..10"


@dataclass(frozen=True)
class VariedValue:
    """One value of a varied key: its text, and the converted value; None is that of a key that is not given."""

    text: str
    raw: RawValue


Varied = dict[str, list[VariedValue]]


def read_varied(texts: Iterable[str], origin: Origin) -> Varied:
    """The values of each varied key, in the order in which the keys first appear; a key given again adds values.

    Of keys of one number several values may stand between commas, and a range of whole numbers is `1..100`. Every value
    is converted, and its file read, once. Raises AttnError where a text is no KEY=VALUE, a value can't be converted or
    is given twice, and UnknownNameError where no problem has the key.
    """
    origin = replace(origin, options=True, option=VARY)
    varied: Varied = {}
    for text in texts:
        key, sign, value = text.partition("=")
        key = key.strip()
        if not sign or not key:
            raise AttnError(f"{shorten(repr(text))} is no KEY=VALUE", where=VARY, hint=_HINT)
        check_name(key, where=VARY)
        path = origin.path(key)
        for word in _words(FIELDS[key], value, path):
            raw = RawValue(_value(FIELDS[key], word, path), origin)
            varied.setdefault(key, []).append(VariedValue(word, convert_value(FIELDS[key], raw)))
    for key, values in varied.items():
        _check_duplicates(values, origin.path(key))
    return varied


def varied_keywords(vary: Mapping[str, Iterable[Any]]) -> Varied:
    """The values of each varied key of Python: a list of values, as keywords of a problem take them, for each key.

    An array has its number in the list as its text. Raises AttnError where a key has no list of values, or where one
    can't be converted or is given twice.

    >>> [value.text for value in varied_keywords({"normalize": ["softmax", {"entmax": {"alpha": 1.5}}]})["normalize"]]
    ['softmax', 'entmax:alpha=1.5']
    """
    varied: Varied = {}
    for key, values in vary.items():
        check_name(key, where="vary")
        path = ("vary", key)
        if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
            message = f"{repr_excerpt(values)} is no list of values"
            raise AttnError(message, where=path, hint=f"give a list, such as {{{key!r}: [{repr_excerpt(values)}]}}")
        raw = (convert_value(FIELDS[key], RawValue(value, PYTHON)) for value in values)
        varied[key] = [VariedValue(_text(value.value, number), value) for number, value in enumerate(raw, 1)]
        if not varied[key]:
            raise AttnError("has no values", where=path, hint="give one or more, or leave it out")
        _check_duplicates(varied[key], path)
    return varied


def _words(field: Field, text: str, path: ErrorPath) -> Iterator[str]:
    """The words of a text: one, or of a key of one number those between commas, and the numbers of ranges."""
    is_number_key = field.kind in ("integer", "number")
    for part in text.split(",") if is_number_key else (text,):
        word = part.strip()
        if not word:
            hint = f"{field.name}={NOT_GIVEN} is the problem without the key"
            raise AttnError("a value is empty", where=path, hint=hint)
        yield from _range(field, word, path) if is_number_key and ".." in word else (word,)


def _range(field: Field, text: str, path: ErrorPath) -> Sequence[str]:
    """The numbers of `1..100`, both ends included."""
    ends = _RANGE.match(text)
    if ends is None:
        hint = f"expected two whole numbers, such as {field.name}=1..10"
        raise AttnError(f"{text!r} is no range", where=path, hint=hint)
    first, last = int(ends[1]), int(ends[2])
    if last < first:
        raise AttnError(f"the range {text} is empty", where=path, hint=f"did you mean {last}..{first}?")
    if last - first >= MAX_VARIANTS:
        message = f"the range {text} has {last - first + 1:,} numbers"
        raise AttnError(message, where=path, hint=f"at most {MAX_VARIANTS:,} variants are compared")
    return [str(number) for number in range(first, last + 1)]


def _value(field: Field, word: str, path: ErrorPath) -> Any:
    """The value as a problem file would hold it; None for a key that is not given."""
    if word == NOT_GIVEN:
        return None
    if field.kind == "flag":
        return grammar.inline(word, path)
    return read_option(field, [word] if field.kind == "labels" else word, path)


def _text(value: Any, number: int) -> str:
    """The text of a converted value of Python: a number, a word or an operator; otherwise its number in the list."""
    if value is None:
        return NOT_GIVEN
    if isinstance(value, (Operator, PendingRandom)):
        return str(value.generator if isinstance(value, PendingRandom) else value)
    if isinstance(value, tuple):  # labels, or the sides of a window
        return ",".join(map(format_value, value))
    return format_value(value) if is_number(value) or isinstance(value, (str, bool)) else f"array {number}"


def _check_duplicates(values: Sequence[VariedValue], path: ErrorPath) -> None:
    """Raise AttnError where a value is given twice: the same text, or the same number in other digits."""
    seen = set[Any]()
    for value in values:
        number = value.raw.value
        identity = float(number) if is_number(number) else value.text
        if identity in seen:
            raise AttnError(f"{value.text} is given twice", where=path, hint="give each value once")
        seen.add(identity)

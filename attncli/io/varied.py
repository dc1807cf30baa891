"""What varies: keys of a problem, or parameters of its operators (`normalize.temperature`), and the values of each.

Values are from `KEY=VALUE`, `KEY=0.5,1,2` and `KEY=1..100`, or from lists of Python.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.text import repr_excerpt, shorten
from attncli.io.assemble import convert_value, read_option
from attncli.io.origin import PYTHON, Origin, RawValue
from attncli.io.parse import read_inline
from attncli.io.problem_files import Document
from attncli.ops.records import Operator, format_value
from attncli.ops.registry import operators
from attncli.problem.build import check_name
from attncli.problem.fields import Field
from attncli.problem.numbers import is_number
from attncli.problem.operators import PendingRandom
from attncli.problem.spec import DEFAULTS, FIELDS, OPERATOR_FIELDS

NOT_GIVEN = "null"  # as in a problem file: the key is as if it were not given
NUMBERS = ("integer", "number")  # the kinds of values of which several may be given between commas
VARY = "--vary"
MAX_VARIANTS = 10_000  # nobody reads more of them, and all of their results are in memory
_RANGE = re.compile(r"\s*([+-]?\d+)\s*\.\.\s*([+-]?\d+)\s*\Z")
_HINT = "expected KEY=VALUE, such as normalize=sparsemax, scale=0.5,1,2 or seed=1..10"


@dataclass(frozen=True)
class VariedKey:
    """A key of a problem; with a `parameter` that of the operator which the key names."""

    key: str
    parameter: str = ""

    def __str__(self) -> str:
        return f"{self.key}.{self.parameter}" if self.parameter else self.key

    @property
    def field(self) -> Field:
        """The field of the key."""
        return FIELDS[self.key]

    @property
    def takes_numbers(self) -> bool:
        """Whether its values are single numbers, of which several may be given between commas."""
        kinds = parameter_kinds(self.key)[self.parameter] if self.parameter else {self.field.kind}
        return not kinds.isdisjoint(NUMBERS)

    def read(self, word: str, origin: Origin) -> RawValue:
        """The value of a word as its option, or `NAME:key=value`, takes it, its texts and files read."""
        path = origin.path(str(self))
        if word == NOT_GIVEN:
            return RawValue(None, origin)
        if self.parameter or self.field.kind == "flag":
            value = read_inline(word, path)
        else:
            value = read_option(self.field, [word] if self.field.kind == "labels" else word, path)
        return self.convert(RawValue(value, origin))

    def convert(self, raw: RawValue) -> RawValue:
        """The value of a key converted; that of a parameter stays as it is, for it depends on the operator."""
        return raw if self.parameter else convert_value(self.field, raw)

    def put(self, document: Document, raw: RawValue) -> Document:
        """The values of a problem with this one among them; None takes the key, or the parameter, out."""
        if not self.parameter:
            return {**document, self.key: raw}
        given = document.get(self.key)
        operator = DEFAULTS[self.key] if given is None or given.value is None else given.value
        if not isinstance(operator, Operator):
            hint = f"give {self.key} the name of one that has {self.parameter}"
            raise AttnError(f"{self.key} names no operator", where=raw.origin.path(str(self)), hint=hint)
        parameters = {name: value for name, value in operator.given.items() if name != self.parameter}
        if raw.value is not None:
            parameters[self.parameter] = raw.value
        return {**document, self.key: RawValue({operator.record.name: parameters}, raw.origin)}


def varied_key(text: str, where: str) -> VariedKey:
    """The key of a text; raises UnknownNameError, which suggests the nearest key or parameter.

    >>> varied_key("normalize.temperature", "--vary")
    VariedKey(key='normalize', parameter='temperature')
    """
    key, dot, parameter = text.partition(".")
    if not dot or key not in OPERATOR_FIELDS:
        check_name(text, where=where)
        return VariedKey(text)
    if parameter not in parameter_kinds(key):
        raise UnknownNameError(f"parameter of {key}", parameter, parameter_kinds(key), where=where)
    return VariedKey(key, parameter)


def parameter_kinds(key: str) -> dict[str, set[Any]]:
    """The kinds of values that each parameter of the operators of a key may have."""
    kind = "mask" if FIELDS[key].kind == "boolean_matrix" else FIELDS[key].kind
    kinds: dict[str, set[Any]] = {}
    for record in operators(kind).values():
        for parameter in record.parameters:
            kinds.setdefault(parameter.name, set()).add(parameter.kind)
    return kinds


@dataclass(frozen=True)
class VariedValue:
    """One value of a varied key: its text, and the converted value; None is that of a key that is not given."""

    key: VariedKey
    text: str
    raw: RawValue


Varied = dict[str, list[VariedValue]]


def read_varied(texts: Iterable[str], origin: Origin) -> Varied:
    """The values of each varied key, in the order in which the keys first appear; a key given again adds values.

    Keys of one number may have several values between commas, and a range of whole numbers is `1..100`. Every value is
    converted, and its file read, once. Raises AttnError where a text is not KEY=VALUE, a value can't be converted or is
    given twice, and UnknownNameError where no problem has the key.
    """
    origin = replace(origin, options=True, option=VARY)
    varied: Varied = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise AttnError(f"{shorten(repr(text))} is not KEY=VALUE", where=VARY, hint=_HINT)
        key = varied_key(name.strip(), VARY)
        words = _words(key, value, origin.path(str(key)))
        varied.setdefault(str(key), []).extend(VariedValue(key, word, _read(key, word, origin)) for word in words)
    for name, values in varied.items():
        _check_duplicates(values, origin.path(name))
    return varied


def varied_keywords(vary: Mapping[str, Iterable[Any]]) -> Varied:
    """The values of each varied key of Python: a list of values, as keywords of a problem take them, for each key.

    An array has its number in the list as its text. Raises AttnError where a key has no list of values, or where one
    can't be converted or is given twice.

    >>> [value.text for value in varied_keywords({"normalize": ["softmax", {"entmax": {"alpha": 1.5}}]})["normalize"]]
    ['softmax', 'entmax:alpha=1.5']
    """
    varied: Varied = {}
    for name, values in vary.items():
        key, path = varied_key(name, "vary"), ("vary", name)
        if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
            message = f"{repr_excerpt(values)} is not a list of values"
            raise AttnError(message, where=path, hint=f"give a list, such as {{{name!r}: [{repr_excerpt(values)}]}}")
        converted = [key.convert(RawValue(value, PYTHON)) for value in values]
        if not converted:
            raise AttnError("has no values", where=path, hint="give one or more, or leave it out")
        varied[name] = [VariedValue(key, _text(raw.value, number), raw) for number, raw in enumerate(converted, 1)]
        _check_duplicates(varied[name], path)
    return varied


def _words(key: VariedKey, text: str, path: ErrorPath) -> Iterator[str]:
    """The words of a text: one, or of a key of one number those between commas, and the numbers of ranges."""
    for part in text.split(",") if key.takes_numbers else (text,):
        word = part.strip()
        if not word:
            raise AttnError("a value is empty", where=path, hint=f"{key}={NOT_GIVEN} is the problem without the key")
        yield from _range(key, word, path) if key.takes_numbers and ".." in word else (word,)


def _read(key: VariedKey, word: str, origin: Origin) -> RawValue:
    """The value of a word; where it has several between commas the error says how they are given."""
    try:
        return key.read(word, origin)
    except AttnError as error:
        error.hint = _hint_of_several(key, word) or error.hint
        raise


def _hint_of_several(key: VariedKey, word: str) -> str | None:
    """How several names between commas are given, or several values of a parameter; None of what is neither."""
    names = [name.strip() for name in word.split(",")]
    if len(names) > 1 and all(name.isidentifier() for name in names):
        return f"give each value once: {' '.join(f'{VARY} {key}={name}' for name in names)}"
    operator, _, rest = word.partition(":")
    parameter, sign, values = rest.partition("=")
    if not sign or "," not in values or "=" in values:
        return None
    return f"vary the parameter: {VARY} {key}={operator} {VARY} {key}.{parameter}={values}"


def _range(key: VariedKey, text: str, path: ErrorPath) -> Sequence[str]:
    """The numbers of `1..100`, both ends included."""
    ends = _RANGE.match(text)
    if ends is None:
        hint = f"expected two whole numbers, such as {key}=1..10"
        raise AttnError(f"{text!r} is not a range", where=path, hint=hint)
    first, last = int(ends[1]), int(ends[2])
    if last < first:
        raise AttnError(f"the range {text} is empty", where=path, hint=f"did you mean {last}..{first}?")
    if last - first >= MAX_VARIANTS:
        message = f"the range {text} has {last - first + 1:,} numbers"
        raise AttnError(message, where=path, hint=f"at most {MAX_VARIANTS:,} variants are compared")
    return [str(number) for number in range(first, last + 1)]


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

"""Variants of a problem: varied keys or operators' parameters, and each combination of values as a problem."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.memory import missing_memory
from attncli.base.text import count_of, repr_excerpt, shorten
from attncli.io.assemble import assemble, convert_document, convert_value, read_option
from attncli.io.parse import read_inline, split_outside_brackets
from attncli.io.problem_files import PYTHON, Document, Origin, RawValue
from attncli.ops.records import Operator, format_value
from attncli.ops.registry import operators, taken_kinds
from attncli.problem.build import check_name
from attncli.problem.edits import Edit, apply_edits
from attncli.problem.fields import Field
from attncli.problem.layout import Layout
from attncli.problem.names_elsewhere import varied_elsewhere
from attncli.problem.numbers import is_number
from attncli.problem.operators import PendingRandom
from attncli.problem.spec import DEFAULTS, FIELDS, OPERATOR_FIELDS, ProblemSpec

NOT_GIVEN = "null"  # as in a problem file: the key is not given
NUMBERS = ("integer", "number")  # kinds whose values may be separated by commas
VARY = "--vary"
MAX_VARIANTS = 10_000  # nobody reads more, and all results are in memory
NAMED = ("word", "flag", "boolean")  # kinds whose values are names, like operators
_RANGE = re.compile(r"\s*([+-]?\d+)\s*\.\.\s*([+-]?\d+)\s*\Z")
_RANGE_ELSEWHERE = re.compile(r"\s*(\d+)\s*(?:[-–:]|to)\s*(\d+)\s*")  # `1-30`, others' form of `1..30`
_BEGINS_WITH_NAME = re.compile(r"\s*[^\W\d][\w./-]*\s*(:|\Z)")  # `dot`, `gaussian:…`, `mask.csv`, and not `sigma=2`
_HINT = "expected KEY=VALUE, such as normalize=softmax,sparsemax, scale=0.5,1,2 or seed=1..10"
AS_GIVEN = "as given"  # the name of the unchanged problem
FILE, CONVENTION, EDITS = "file", "as", "set"  # varied besides a problem's keys
PROBLEM = "problem"  # instead of a file, in Python
PART = "part"  # of a worked example


@dataclass(frozen=True, eq=False)
class VariedKey:
    """A key of a problem, or a `parameter` of its operator."""

    key: str
    parameter: str = ""

    def __str__(self) -> str:
        return f"{self.key}.{self.parameter}" if self.parameter else self.key

    @property
    def field(self) -> Field:
        """The field of the key."""
        return FIELDS[self.key]

    @property
    def kinds(self) -> set[Any]:
        """The kinds of its values."""
        return parameter_kinds(self.key)[self.parameter] if self.parameter else {self.field.kind}

    @property
    def takes_numbers(self) -> bool:
        """Whether its values are single numbers, which commas may separate."""
        return not self.kinds.isdisjoint(NUMBERS)

    @property
    def takes_names(self) -> bool:
        """Whether its values are names, which commas may separate: words, operators."""
        return not self.kinds.isdisjoint((*NAMED, *taken_kinds()))

    def read(self, word: str, origin: Origin) -> RawValue:
        """The value of a word, read like its option or `NAME:key=value`, with texts and files."""
        path = origin.path(str(self))
        if word == NOT_GIVEN:
            return RawValue(None, origin)
        if self.parameter or self.field.kind == "flag":
            value = read_inline(word, path)
        else:
            value = read_option(self.field, [word] if self.field.kind == "labels" else word, path)
        return self.convert(RawValue(value, origin))

    def convert(self, raw: RawValue) -> RawValue:
        """The converted value of a key; a parameter's is unchanged, because it depends on the operator."""
        return raw if self.parameter else convert_value(self.field, raw)

    def put(self, document: Document, raw: RawValue) -> Document:
        """The values of a problem with this one; None removes the key, or the parameter."""
        if not self.parameter:
            return {**document, self.key: raw}
        given = document.get(self.key)
        operator = DEFAULTS[self.key] if given is None or given.value is None else given.value
        if not isinstance(operator, Operator):
            hint = f"give {self.key} the name of one that has {self.parameter}"
            raise AttnError(f"{self.key} is not the name of an operator", where=raw.origin.path(str(self)), hint=hint)
        parameters = {name: value for name, value in operator.given.items() if name != self.parameter}
        if raw.value is not None:
            parameters[self.parameter] = raw.value
        return {**document, self.key: RawValue({operator.record.name: parameters}, raw.origin)}


def varied_key(text: str, where: str) -> VariedKey:
    """The varied key of a text; raises UnknownNameError with the nearest key or parameter.

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
    """The kinds of values of each parameter of a key's operators."""
    kind = "mask" if FIELDS[key].kind == "boolean_matrix" else FIELDS[key].kind
    kinds: dict[str, set[Any]] = {}
    for record in operators(kind).values():
        for parameter in record.parameters:
            kinds.setdefault(parameter.name, set()).add(parameter.kind)
    return kinds


@dataclass(frozen=True, eq=False)
class VariedValue:
    """One value of a varied key: its text, and the converted value; None means that the key is not given."""

    key: VariedKey
    text: str
    raw: RawValue


Varied = dict[str, list[VariedValue]]


def read_varied(texts: Iterable[str], origin: Origin) -> Varied:
    """The values of each varied key, in the order in which the keys first appear; a key given again adds values.

    Every value is converted, and its file read, once. Raises AttnError if a text is not KEY=VALUE, or a value can't be
    converted or is given twice, and UnknownNameError for an unknown key.
    """
    origin = replace(origin, options=True, option=VARY)
    varied: Varied = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise AttnError(f"{shorten(repr(text))} is not KEY=VALUE", where=VARY, hint=_HINT)
        try:
            key = varied_key(name.strip(), VARY)
        except UnknownNameError as error:
            error.hint = _hint_elsewhere(name.strip(), value) or error.hint
            raise
        varied.setdefault(str(key), []).extend(_read_several(key, value, origin))
    for name, values in varied.items():
        _check_duplicates(values, origin.path(name))
    return varied


def read_varied_options(texts: Mapping[str, str], origin: Origin) -> Varied:
    """The values of keys' options with several values: `--seed 1..30`. Raises AttnError like `read_varied`."""
    varied = {name: list(_read_several(VariedKey(name), text, origin)) for name, text in texts.items()}
    for name, values in varied.items():
        _check_duplicates(values, origin.path(name))
    return varied


def has_several_values(name: str, text: Any) -> bool:
    """Whether the text of a key's option has several values.

    >>> has_several_values("seed", "1..30"), has_several_values("score", "dot,cosine"), has_several_values("seed", "1")
    (True, True, False)
    """
    if not isinstance(text, str) or not ("," in text or _is_range(text)):  # the common case
        return False
    key = VariedKey(name)
    return len(_split(key, text)) > 1 or (key.takes_numbers and _is_range(text))


def _is_range(text: str) -> bool:
    """Whether a text is, or is meant as, a range of numbers."""
    return ".." in text or _RANGE_ELSEWHERE.fullmatch(text) is not None


def spelled_range(text: str) -> str:
    """A range in its correct spelling; any other text unchanged.

    >>> spelled_range("1-30"), spelled_range(".5,1")
    ('1..30', '.5,1')
    """
    found = _RANGE_ELSEWHERE.fullmatch(text)
    return f"{found[1]}..{found[2]}" if found else text


def varied_keywords(vary: Mapping[str, Iterable[Any]]) -> Varied:
    """The values of each varied key in Python: each key has a list of values, in the form of a problem's keywords.

    An array's text is its number in the list. Raises AttnError if a key has no list of values, or a value can't be
    converted or is given twice.

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


def _read_several(key: VariedKey, text: str, origin: Origin) -> Iterator[VariedValue]:
    """The values of a text, each with its word; an error explains the form of a parameter's values."""
    for word in _words(key, text, origin.path(str(key))):
        try:
            yield VariedValue(key, word, key.read(word, origin))
        except AttnError as error:
            error.hint = _hint_of_parameter(key, text) or error.hint
            raise


def _words(key: VariedKey, text: str, path: ErrorPath) -> Iterator[str]:
    """The words of a text, one or several; for a key of one number also the numbers of ranges."""
    for part in _split(key, text):
        word = part.strip()
        if not word:
            raise AttnError("a value is empty", where=path, hint=f"{key}={NOT_GIVEN} is the problem without the key")
        yield from _range(key, word, path) if key.takes_numbers and _is_range(word) else (word,)


def _split(key: VariedKey, text: str) -> Sequence[str]:
    """The values in a text.

    For a key of one number every comma separates values. For names a comma separates values if a name follows;
    otherwise it belongs to parameters. All other values contain commas themselves.

    >>> _split(VariedKey("score"), "gaussian:sigma=2,additive:w1=a.csv,w2=b.csv,dot")
    ['gaussian:sigma=2', 'additive:w1=a.csv,w2=b.csv', 'dot']
    """
    if not (key.takes_numbers or key.takes_names):
        return [text]
    parts: list[str] = []
    for part in split_outside_brackets(text):
        if parts and key.takes_names and not _BEGINS_WITH_NAME.match(part):
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def _hint_elsewhere(name: str, values: str) -> str | None:
    """The hint for varying another library's name; None if it is not one number."""
    found = varied_elsewhere(name)
    if found is None:
        return None
    key, operator, parameter = found
    is_default = not operator or str(DEFAULTS[key]) == operator
    varied = VariedKey(key, parameter)
    return f"give {'' if is_default else f'{VARY} {key}={operator} '}{VARY} {varied}={values}"


def _hint_of_parameter(key: VariedKey, text: str) -> str | None:
    """The hint for several values of a parameter; None for other texts."""
    operator, _, rest = text.partition(":")
    parameter, sign, values = rest.partition("=")
    if not sign or "," not in values or "=" in values:
        return None
    return f"vary the parameter: {VARY} {key}={operator} {VARY} {key}.{parameter}={values}"


def _range(key: VariedKey, text: str, path: ErrorPath) -> Sequence[str]:
    """The numbers of `1..100`, both ends included."""
    ends = _RANGE.match(text)
    if ends is None:
        spelled = spelled_range(text)
        hint = f"write {key}={spelled}" if spelled != text else f"expected two whole numbers, such as {key}=1..10"
        raise AttnError(f"{text!r} is not a range", where=path, hint=hint)
    first, last = int(ends[1]), int(ends[2])
    if last < first:
        raise AttnError(f"the range {text} is empty", where=path, hint=f"did you mean {last}..{first}?")
    if last - first >= MAX_VARIANTS:
        message = f"the range {text} has {last - first + 1:,} numbers"
        raise AttnError(message, where=path, hint=f"at most {MAX_VARIANTS:,} variants are compared")
    return [str(number) for number in range(first, last + 1)]


def _text(value: Any, number: int) -> str:
    """The text of a converted Python value: a number, a word or an operator; otherwise its number in the list."""
    if value is None:
        return NOT_GIVEN
    if isinstance(value, (Operator, PendingRandom)):
        return str(value.generator if isinstance(value, PendingRandom) else value)
    if isinstance(value, tuple):  # labels, or the sides of a window
        return ",".join(map(format_value, value))
    return format_value(value) if is_number(value) or isinstance(value, (str, bool)) else f"array {number}"


def _check_duplicates(values: Sequence[VariedValue], path: ErrorPath) -> None:
    """Raise AttnError if a value is given twice: the same text, or the same number in other digits."""
    seen = set[Any]()
    for value in values:
        number = value.raw.value
        identity = float(number) if is_number(number) else value.text
        if identity in seen:
            raise AttnError(f"{value.text} is given twice", where=path, hint="give each value once")
        seen.add(identity)


@dataclass(frozen=True, eq=False)
class NamedDocument:
    """The values of a problem by key, and its distinguishing name: a file, or a part of one.

    A Python problem may have its own convention and edits; a variant's convention replaces it, and a variant's edits
    come later. `noun` is the key for the name in variants, if there are several documents.
    """

    name: str
    document: Document
    convention: str | None = None
    edits: tuple[Edit, ...] = ()
    noun: str = FILE

    def converted(self) -> "NamedDocument":
        """The same with converted values, which registers the operators in its code."""
        return replace(self, document=convert_document(self.document))

    def problem(self) -> ProblemSpec:
        """The problem itself; raises AttnError if the values are not a problem."""
        problem = assemble(self.document, self.convention)
        return apply_edits(problem, self.edits) if self.edits else problem


@dataclass(frozen=True, eq=False)
class _Choice:
    """One alternative in combinations: its text, and its change."""

    text: str
    change: Callable[[NamedDocument], NamedDocument]
    is_parameter: bool = False  # it changes after its operator


@dataclass(frozen=True, eq=False)
class Variant:
    """A problem with a distinguishing name.

    `keys` has the varied values, as text by key, in the order of the command line, including `file` if there are
    several, `as` for a convention and `set` for changed cells. `remarks` are for the variant's reader, such as keys
    that a convention lacks.
    """

    name: str
    keys: Mapping[str, str]
    problem: ProblemSpec
    remarks: tuple[str, ...] = ()


def make_variants(
    documents: Sequence[NamedDocument],
    varied: Mapping[str, Sequence[VariedValue]],
    conventions: Sequence[str] = (),
    edits: Sequence[Edit] = (),
) -> tuple[Variant, ...]:
    """A variant for each document, convention and combination of values of the varied keys; the last varies fastest.

    The documents' values must be converted. With `edits` each variant comes twice, before and after them. If there is
    only one variant, the unchanged problem comes first, named `as given`. Raises AttnError, which names the variant, if
    one is not a problem, if nothing varies, or if there are more than MAX_VARIANTS.
    """
    choices = _choices(documents, varied, conventions, edits)
    count = math.prod(map(len, choices.values()))
    if count > MAX_VARIANTS:
        raise AttnError(f"there are {count:,} variants", hint=f"at most {MAX_VARIANTS:,} are compared: vary less")
    telling = [key for key, values in choices.items() if len(values) > 1] or list(choices)
    combinations = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    variants: list[Variant] = []
    for combination in combinations:
        variants.append(_variant(documents[0], combination, telling))
        _check_memory(variants[-1].problem, len(combinations) - len(variants))
    return tuple(variants) if count > 1 else (_as_given(documents[0], variants[0]), *variants)


def _as_given(document: NamedDocument, changed: Variant) -> Variant:
    """The unchanged problem; if it needs the changes, the error says what to compare instead."""
    try:
        return _variant(document, {}, ())
    except AttnError as error:
        value = ", ".join(f"{key}={text}" for key, text in changed.keys.items())
        error.hint = f"the only variant, {value}, is compared with the problem as given: give a second value instead"
        raise


def _check_memory(problem: ProblemSpec, count: int) -> None:
    """Raise AttnError if so many more problems like this one exceed the memory: each draws its own numbers."""
    drawn = [getattr(problem, name) for name in problem.generators if name in FIELDS and FIELDS[name].is_random_fill]
    missing = missing_memory(count * sum(array.nbytes for array in drawn))
    if missing is not None:
        message, hint = (
            f"to draw the numbers of {count_of(count, 'more variant')} {missing}",
            "vary less, or draw fewer numbers",
        )
        raise AttnError(message, hint=hint)


def _choices(
    documents: Sequence[NamedDocument],
    varied: Mapping[str, Sequence[VariedValue]],
    conventions: Sequence[str],
    edits: Sequence[Edit],
) -> dict[str, Sequence[_Choice]]:
    """The alternatives in combinations, by varied key, in order: the last varies fastest."""
    choices: dict[str, Sequence[_Choice]] = {}
    if len(documents) > 1:
        choices[documents[0].noun] = [_Choice(found.name, partial(_other, found)) for found in documents]
    if conventions:
        choices[CONVENTION] = [_Choice(name, partial(replace, convention=name)) for name in conventions]
    for key, values in varied.items():
        choices[key] = [_Choice(value.text, partial(_put, value), bool(value.key.parameter)) for value in values]
    if edits:
        text = ", ".join(f"{edit.cell}={format_value(edit.value)}" for edit in edits)
        choices[EDITS] = [_Choice("", partial(_edit, ())), _Choice(text, partial(_edit, edits))]
    if not choices:
        hint = f"give {VARY} KEY=VALUE, --as CONVENTION, or a second file"
        raise AttnError("one problem and nothing that varies", hint=hint)
    return choices


def _other(document: NamedDocument, _: NamedDocument) -> NamedDocument:
    """Another document instead."""
    return document


def _put(value: VariedValue, document: NamedDocument) -> NamedDocument:
    """A document with a value of a varied key."""
    return replace(document, document=value.key.put(document.document, value.raw))


def _edit(edits: Sequence[Edit], document: NamedDocument) -> NamedDocument:
    """A document with further edits."""
    return replace(document, edits=(*document.edits, *edits))


def positions_of_variants(
    variants: Sequence[Variant], choose: Callable[[Layout], Mapping[str, int]]
) -> Mapping[str, int]:
    """The chosen position on each axis for all variants; raises AttnError, which names a variant that lacks it."""
    positions: dict[str, int] = {}
    for variant in variants:
        try:
            positions |= choose(variant.problem.leading)
        except AttnError as error:
            raise error.at(f"variant {variant.name}") from None
    return positions


def shared_keys(variants: Sequence[Variant]) -> Mapping[str, str]:
    """The varied keys with one value in all variants, as text."""
    first = variants[0].keys
    return {key: text for key, text in first.items() if all(variant.keys.get(key) == text for variant in variants)}


def before_edits(variants: Sequence[Variant]) -> Mapping[int, int]:
    """The position of each variant with edits, and of the variant that differs only in them."""
    positions = {tuple(variant.keys.items()): position for position, variant in enumerate(variants)}
    unedited = {
        position: positions.get(tuple({**variant.keys, EDITS: ""}.items()))
        for position, variant in enumerate(variants)
        if variant.keys.get(EDITS)
    }
    return {position: before for position, before in unedited.items() if before is not None}


def _variant(document: NamedDocument, choices: Mapping[str, _Choice], telling: Sequence[str]) -> Variant:
    """The variant of one choice for each key, named by the keys that distinguish variants."""
    keys = {key: choice.text for key, choice in choices.items()}
    parts = (keys[key] if key == EDITS else f"{key}={keys[key]}" for key in telling if key in keys)
    name = ", ".join(part for part in parts if part) or AS_GIVEN
    try:
        for choice in sorted(choices.values(), key=lambda choice: choice.is_parameter):
            document = choice.change(document)
        problem = document.problem()
    except AttnError as error:
        raise error.at(f"variant {name}") from None
    return Variant(name, keys, problem, problem.convention.remarks if problem.convention is not None else ())

"""Expected results of a problem: the key `expected` of a file, or the options `--against`.

The numbers are in a text, in a file or in one of its entries, also written by `attn compute`; they know their typed
digits.
"""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError, did_you_mean
from attncli.base.lazy_numpy import np
from attncli.base.text import count_of, shorten
from attncli.io import formats
from attncli.io.entries import (
    WHOLE,
    ArchiveEntry,
    Index,
    alias_notes,
    hint_to_name_one,
    own_name,
    own_names,
    split_entry,
    take,
    take_labelled,
)
from attncli.io.inputs import Input, Inputs
from attncli.io.parse import open_file, read_inline
from attncli.io.paths import is_there
from attncli.io.problem_files import Origin, RawValue
from attncli.numbers.parsing import TypedNumber, number_of_text
from attncli.problem.arrays import GivenArray, is_row
from attncli.problem.fields import EXPECTED, LSE, OUTPUT, RESULTS
from attncli.problem.numbers import is_number, read_digits, read_typed_matrix
from attncli.problem.spec import FIELDS

AGAINST = "against"  # the option instead of the key
RESULT_FORMAT = "attn.result/"  # the prefix of `format` in objects written by `attn compute`
PARTIAL = "weights={cat: {sat: 0.6}}"  # some numbers of a result, by query and key
_CELL = re.compile(r"\s*([A-Za-z_]\w*)\s*\[([^\[\]]+)\]\s*=(.+)")
_UNKNOWN = re.compile(r"[\s,;][?_x-](?=$|[\s,;])|^[?_x-][\s,;]")  # a placeholder instead of a number
_NEXT_NAME = re.compile(r",(?=\s*[A-Za-z_]\w*\s*=)")
_NAME = re.compile(r"\s*[A-Za-z_]\w*\s*")


@dataclass(frozen=True)
class Expectation:
    """The expected numbers of one result, for `attncli.check`, and their origin."""

    value: Any
    key: str  # `expected`, or an option's: `against`
    origin: Origin

    def locate(self, error: AttnError) -> AttnError:
        """An error whose path begins with `expected` or a key, with the numbers' origin instead."""
        error.path = self.origin.path(self.key, *error.path[1:], subject=error.subject)
        return error


@dataclass(frozen=True)
class Expected:
    """The expected numbers of each result by name, the entries of files that name no result, and notes on names.

    `blank` has the count of requested but missing numbers of each result.
    """

    by_name: Mapping[str, Expectation]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    blank: Mapping[str, int] = field(default_factory=dict)


NOTHING = Expected({})


def read_expected(raw: RawValue, known: Collection[str] | None) -> Expected:
    """The expected numbers from a key `expected`, for results with the `known` names (None: any).

    NOTHING if the key is not given. It is a mapping from names to numbers or files, or one file with several names.
    Raises UnknownNameError for other names, AttnError for any other value, or one that can't be read.
    """
    if raw.value is None:
        return NOTHING
    if isinstance(raw.value, str):
        return _read_file(raw.value, EXPECTED, raw.origin, known)
    if not isinstance(raw.value, Mapping):
        raise AttnError("has no names", where=raw.origin.path(EXPECTED), hint="write NAME: its numbers")
    left_out = [name for name in raw.value if name == LSE and known is not None and name not in known]
    values = {name: value for name, value in raw.value.items() if name not in left_out}
    for name in values:
        _check_name(name, values if known is None else known, raw.origin.path(EXPECTED))
    read = _read_values(values, EXPECTED, raw.origin)
    left_out_entries = tuple(f"{raw.origin.name}#{name}" for name in left_out)
    return Expected(read.by_name, left_out_entries, blank=count_unanswered(replace(raw, value=values)))


def count_unanswered(raw: RawValue) -> Mapping[str, int]:
    """The count of numbers that a key `expected` leaves out, as null, for each result that has such."""

    def count(value: Any) -> int:
        parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        return int(value is None) + sum(map(count, parts))

    counts = {str(name): count(value) for name, value in raw.value.items()} if isinstance(raw.value, Mapping) else {}
    return {name: number for name, number in counts.items() if number}


def is_unanswered(raw: RawValue) -> bool:
    """Whether a key `expected` leaves out every number, as null."""

    def is_left_out(value: Any) -> bool:
        parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
        return value is None if parts is None else all(map(is_left_out, parts))

    return is_left_out(raw.value)


def read_against(texts: Sequence[str], inputs: Inputs, known: Collection[str], key: str = AGAINST) -> Expected:
    """The expected numbers from options `--against NAME=VALUE` and `--against FILE`, for results with `known` names.

    Another option has another `key`.

    Raises UnknownNameError for other names, AttnError if a name is given twice, or a value can't be read.
    """
    origin = Origin(options=True, inputs=inputs)
    found = NOTHING
    for text in (part for option in texts for part in _parts_of_option(option)):
        name, equals, value = text.partition("=")
        if equals and _NAME.fullmatch(name) and not is_there(Path(text)):
            name = own_name(name.strip())
            if name not in RESULTS:  # the plan explains a result that the problem lacks
                _check_name(name, known, origin.path(key))
            read = _read_values({name: value}, key, origin)
        elif text.strip() in known and not is_there(Path(text)):
            hint = f"write {text}='.6 .4' or {text}=FILE"
            raise AttnError("has no numbers", where=origin.path(key, text), hint=hint)
        else:
            _check_is_file(text, known, origin.path(key))
            read = _read_file(text, key, origin, known)
        for twice in read.by_name.keys() & found.by_name.keys():
            raise AttnError("is given twice", where=origin.path(key, twice), hint="give it once")
        by_name = {**found.by_name, **read.by_name}
        found = Expected(by_name, found.left_out + read.left_out, found.notes + read.notes)
    return found


def _check_is_file(text: str, known: Collection[str], path: ErrorPath) -> None:
    """Raise AttnError, with the text to write, if a text is numbers, or one cell's number, instead of a file."""
    if is_there(Path(text)):
        return
    cell = _CELL.fullmatch(text)
    if cell is not None and cell[1] in known:
        value = cell[3].strip()
        for label in reversed(cell[2].split(",")):
            value = f"{{{label.strip()}: {value}}}"
        raise AttnError(f"{text!r} is not NAME=NUMBERS", where=path, hint=f"write '{cell[1]}={value}'")
    if read_typed_matrix(text, path, read_digits) is not None:
        raise AttnError(f"{text!r} has no name", where=path, hint=f"write NAME=NUMBERS: {OUTPUT}={shlex.quote(text)}")


def _parts_of_option(text: str) -> list[str]:
    """Each `NAME=VALUE` of one option; a comma without a name after it belongs to a value.

    >>> _parts_of_option("dq=dq.npy,dk=dk.npy"), _parts_of_option("weights=.6,.4")
    (['dq=dq.npy', 'dk=dk.npy'], ['weights=.6,.4'])
    """
    value = text.partition("=")[2]
    return [text] if is_there(Path(text)) or is_there(Path(value)) else _NEXT_NAME.split(text)


def _check_name(name: str, known: Collection[str], path: ErrorPath) -> None:
    """Raise UnknownNameError for a name that is not a result's."""
    if name not in known:
        raise UnknownNameError("result", name, known, where=path)


def _read_values(values: Mapping[str, Any], key: str, origin: Origin) -> Expected:
    """The expected numbers of several results."""
    return Expected(
        {
            name: Expectation(read_expected_value(value, name, key, origin), key, origin)
            for name, value in values.items()
        }
    )


def _read_file(text: str, key: str, origin: Origin, known: Collection[str] | None) -> Expected:
    """The results in a file of several; entries whose names are not near a result's are left out.

    Raises AttnError if the file has one array without a name, UnknownNameError if it has no result.
    """
    source, entry = open_file(text, (key,), origin, None)
    content = _results_in(source)
    is_table = formats.formats_of(source)[-1].is_table
    if entry or is_table or not isinstance(content, Mapping):
        example = f"--{key} {OUTPUT}={text}" if key != EXPECTED else f"{EXPECTED}: {{{OUTPUT}: {text}}}"
        message = f"{text} is one array without a name"
        raise AttnError(message, where=origin.path(key), hint=f"say which result it is, such as {example}")
    names = own_names(content)
    known = names.values() if known is None else known
    unknown = [name for name in content if names[name] not in known]
    for name in unknown:
        if len(unknown) == len(content) or (did_you_mean(name, known) and names[name] not in FIELDS):
            raise UnknownNameError("result", name, known, where=source.name)
    if not content:
        raise AttnError("has no results", where=source.name)
    read = _read_values({names[name]: content[name] for name in content if name not in unknown}, key, origin)
    aliases = {name: names[name] for name in content if name not in unknown and names[name] != name}
    left_out = tuple(f"{source.name}#{name}" for name in unknown if names[name] not in FIELDS)
    return Expected(read.by_name, left_out, alias_notes(source.name, aliases))


def read_expected_value(value: Any, name: str, key: str, origin: Origin) -> Any:
    """The expected numbers of a result: an array, or lists and mappings whose numbers are TypedNumbers.

    A text is rows of numbers, nested lists, or a file, in which an entry with the result's name needs no `#`. `key` is
    the value's key. Raises AttnError for any other text, or one that can't be read.
    """
    path = origin.path(key, name)
    if isinstance(value, ArchiveEntry):
        return value.read()
    if isinstance(value, str):
        value = _read_text(value.strip(), name, key, origin)
    try:
        return _with_numbers(value)
    except AttnError as error:
        raise error.at(*path) from None


def _read_text(text: str, name: str, key: str, origin: Origin) -> Any:
    """The numbers of a text, or of the file that it names."""
    path = origin.path(key, name)
    typed = None if is_there(origin.folder / text) else read_typed_matrix(text, path, read_digits)
    if typed is not None:
        return [[typed]] if is_number(typed) else typed
    if text[:1] in ("[", "{"):
        return read_inline(text, path, typed_keys=None)
    if _UNKNOWN.search(text) and not is_there(origin.folder / text):
        message, hint = f"{shorten(repr(text))} leaves numbers out", f"give those that you know: {PARTIAL}"
        raise AttnError(message, where=path, hint=hint)
    source, entry = open_file(text, (key, name), origin, None)
    return _select(_results_in(source), entry, name, source)


def _select(content: Any, text: str, name: str, source: Input) -> Any:
    """One result in a file: the entry that a text names, the entry with its own name, or everything."""
    entries = content if isinstance(content, Mapping) else {}
    entry, index = split_entry(text, entries, source.name)
    if entry and not entries:
        raise AttnError(f"has no entries, so #{entry} names nothing", where=source.name)
    if entry and entry not in entries:
        raise UnknownNameError("entry", entry, entries, where=source.name)
    own = next((given for given, key in own_names(entries).items() if key == name), name)
    if entry or own in entries:
        return _part(entries[entry or own], index, source.name)
    if entries and all(isinstance(value, ArchiveEntry) for value in entries.values()):
        if len(entries) > 1:
            hint = hint_to_name_one(source.name, entries)
            raise AttnError(f"has {count_of(len(entries), 'entry')} and none is {name}", where=source.name, hint=hint)
        return _part(next(iter(entries.values())), index, source.name)
    return _part(content, index, source.name)


def _part(value: Any, index: Index, where: str) -> Any:
    """The slice of an entry, an array or nested lists; raises AttnError if it can't be sliced."""
    if isinstance(value, ArchiveEntry):
        return value.read(index)
    if isinstance(value, GivenArray):
        return take_labelled(value, index, where)
    if index == WHOLE:
        return value
    rows = list(value.values()) if isinstance(value, Mapping) and all(map(is_row, value.values())) else value
    if not isinstance(rows, list):
        raise AttnError("is not a list of rows and can't be sliced", where=where)
    return take(np.array(rows, dtype=object), index, where).tolist()


def _with_numbers(value: Any) -> Any:
    """Nested lists and mappings, with texts such as `1/2` and `NaN` as numbers.

    A list without such a text stays the same object, so that errors find its line.
    """
    if isinstance(value, Mapping):
        return {label: _with_numbers(part) for label, part in value.items()}
    if isinstance(value, list):
        parts = [_with_numbers(part) for part in value]
        return value if all(part is old for part, old in zip(parts, value, strict=True)) else parts
    number = number_of_text(value) if isinstance(value, str) else None
    return value if number is None else TypedNumber(value, number)


def _results_in(source: Input) -> Any:
    """A file's content; for an object written by `attn compute` its results and steps, by name.

    They are lists, without labels. Numbers of arrays are exact: `0.5` is 0.5, not 0.5 to one decimal. Damaged steps are
    left out.
    """
    content = formats.read_expected(source)
    if not isinstance(content, Mapping) or not str(content.get("format")).startswith(RESULT_FORMAT):
        return content
    lists = {name: value for name, value in content.items() if isinstance(value, list) and name != "steps"}
    results = {name: value for name, value in lists.items() if not all(isinstance(label, str) for label in value)}
    steps = content.get("steps")
    for step in steps if isinstance(steps, list) else ():
        match step:
            case {"name": str(name), "value": list(value)}:
                results[name] = value
    return {name: _array(value) for name, value in results.items()}


def _array(value: Any) -> Any:
    """Nested lists as an array; damaged lists unchanged."""
    try:
        return GivenArray(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        return value

"""Problem files: values by key, each with its origin, and the parts of a file with several problems."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError, did_you_mean
from attncli.io import formats
from attncli.io.entries import expected_entries, own_names
from attncli.io.inputs import Input, Inputs
from attncli.io.paths import STDIN, check_is_not_refused, locate, nearest_file, path_of
from attncli.numbers.parsing import with_decimal_points
from attncli.problem.arrays import ArrayOrigin
from attncli.problem.build import check_name
from attncli.problem.fields import EXPECTED, RESULTS, option_name
from attncli.problem.spec import FIELDS


@dataclass(frozen=True, eq=False)
class Origin:
    """The origin of a value: a file (its paths are relative to its folder), an option, or Python.

    `option` is the option that names the key (`--vary`); it is empty if the key has its own option. `lines` are the
    lines of lists, mappings and entries in the file. In Python texts never name files (`opens_files` is False);
    elsewhere `inputs` opens named files. An option, and a Python value that `overrides` a file, wins over the file's
    value. `aliases` are the file's names for other names.
    """

    name: str = ""
    folder: Path = Path()
    options: bool = False
    option: str = ""
    lines: formats.Lines = field(default_factory=dict)
    opens_files: bool = True
    overrides: bool = False
    inputs: Inputs = field(default_factory=Inputs)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def path(self, *parts: str, subject: Any = None, entry: int | None = None) -> ErrorPath:
        """The path of an error at a key and inside it: `p.yaml`, `line 3`, `w_q`; or `--w-q`.

        The line is the first one of `subject`, a list or mapping, or the line of its `entry`.
        """
        if self.options:
            name = f"{self.option} {parts[0]}" if self.option else option_name(parts[0])
            return (name, *parts[1:])
        of_entry = None if entry is None else self.lines.get((id(subject), entry))
        line = of_entry or self.lines.get(id(subject))
        return (*((self.name,) if self.name else ()), *((f"line {line}",) if line else ()), *parts)

    def place_of_key(self, key: str) -> ErrorPath:
        """The file and the line of its key, if known."""
        line = self.lines.get(key)
        return (*((self.name,) if self.name else ()), *((f"line {line}",) if line else ()))

    def of_array(self, value: Any) -> ArrayOrigin:
        """The origin of an array from nested lists in this file, with the line of each row."""
        lines = [self.lines.get(id(row)) for row in _rows(value)] if self.lines else []
        return ArrayOrigin(self.name, tuple(line for line in lines if line) if all(lines) else ())


def _rows(value: Any) -> Iterator[list[Any]]:
    """The innermost lists of nested lists and mappings."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    if isinstance(value, list) and not any(isinstance(part, (list, Mapping)) for part in value):
        yield value
    else:
        for part in parts:
            yield from _rows(part)


PYTHON = Origin(opens_files=False)
PYTHON_OVER_FILE = Origin(opens_files=False, overrides=True)


@dataclass(frozen=True, eq=False)
class RawValue:
    """A user's value and its origin."""

    value: Any
    origin: Origin


Document = dict[str, RawValue]

KEY_SUFFIX = ".key"  # before the suffix of a work sheet's key file
PARTS, DECIMAL_COMMA = "parts", "decimal_comma"
_KEYS = {EXPECTED, PARTS}  # files with one of them may have expected numbers
_INPUTS = FIELDS.keys() - RESULTS

# The keys of a worked example besides its problem's; `attn compute` ignores them. At the top of a file, results to show
# and expected numbers hold for every part.
SHOWN_KEYS = ("show", "cell", "numpy", "arrows")
PART_KEYS = (*SHOWN_KEYS, "title", "about", EXPECTED)
ABOUT_KEYS = ("title", "about", "topic", "teaches", "paper", "source")
_WORDS = ("labels", "text")  # kinds of fields whose texts never have numbers
PROBLEM_TEXT = "PROBLEM"  # the name of a problem given as an argument
EXAMPLE_KEYS = (*SHOWN_KEYS, *ABOUT_KEYS, "precision", EXPECTED, PARTS, "together", "curve")


def read_document(name: str, inputs: Inputs | None = None) -> Document:
    """The values by key of a problem file, of standard input for `-`, or of a part for `file#part`.

    `inputs` opens files. Raises AttnError if the file is not a problem, or its format can't hold one.
    """
    inputs = inputs or Inputs()
    name, part = _at_part(name)
    path = path_of(name)
    check_is_not_refused(path, name)
    is_known = name == STDIN or formats.format_of_suffix(path) is not None or os.path.lexists(path)
    if not is_known and nearest_file(path) is None:
        hint = f"expected {formats.expected('problem')} or -"
        raise AttnError("there is no such file or folder", where=name, hint=hint)
    source = inputs.open(name)
    document = _document(*formats.read_problem(source), Origin(source.name, path.parent, inputs=inputs))
    if not part:
        return document
    has_numbers = not formats.formats_of(source)[-1].is_archive  # a capture's parts are layers with their own numbers
    return _of_part(document, part, source.name, has_numbers=has_numbers)


def _at_part(name: str) -> tuple[str, str]:
    """The file and its part in `file#part`; a file with the whole name has precedence.

    >>> _at_part("captured.safetensors#decoder.3.cross"), _at_part("p.yaml"), _at_part("p.yaml#Head #2")
    (('captured.safetensors', 'decoder.3.cross'), ('p.yaml', ''), ('p.yaml', 'Head #2'))
    """
    if "#" not in name or os.path.lexists(path_of(name)):
        return name, ""
    file, part = locate(name)
    return (file, part) if file and name[len(file) :].startswith("#") else (name, "")


def names_of_parts(titles: Sequence[str]) -> list[str]:
    """The selector of each part after a `#`: its title, or its number if the title is missing or not unique.

    >>> names_of_parts(["one head", "", "two heads", "two heads"])
    ['one head', '2', '3', '4']
    """
    return [title if title and titles.count(title) == 1 else str(number) for number, title in enumerate(titles, 1)]


def _of_part(document: Document, name: str, file: str, *, has_numbers: bool) -> Document:
    """The document of one part of a file, by its title or its number; titles have precedence.

    Its own title also names the file. Raises UnknownNameError for an unknown part, AttnError if several have the title.
    """
    parts = file_parts(document, file)
    numbers = [number for number, part in enumerate(parts, 1) if part.name == name]
    if len(numbers) > 1:
        hint = f"name one by its number: {', '.join(shlex.quote(f'{file}#{number}') for number in numbers)}"
        raise AttnError(f"{len(numbers)} parts are called {name!r}", where=file, hint=hint)
    if not numbers and has_numbers and name.isascii() and name.isdecimal() and 1 <= int(name) <= len(parts):
        numbers = [int(name)]
    if not numbers:
        raise UnknownNameError("part", name, [part.name for part in parts if part.name], where=file)
    part = parts[numbers[0] - 1]
    keys = {**part.keys, "title": f"{Path(file).name}#{name}"}
    return {**part.problem, **{key: RawValue(value, part.origin) for key, value in keys.items() if value is not None}}


def is_problem_text(word: str) -> bool:
    """Whether an argument is itself a problem, a mapping in YAML or JSON, instead of a file.

    >>> is_problem_text("{query: [[1, 0]], key: [[1, 0]]}"), is_problem_text("p.yaml")
    (True, False)
    """
    return word.lstrip().startswith("{") and not os.path.lexists(word)


def read_problem_text(text: str, inputs: Inputs) -> Document:
    """The values of a problem given as an argument; its paths are relative to the working folder."""
    source = inputs.of_text(text, PROBLEM_TEXT)
    return _document(*formats.read_problem(source), Origin(source.name, inputs=inputs))


def read_decimal_commas(values: Mapping[str, Any]) -> dict[str, Any]:
    """These keys with numbers for texts with decimal commas; lists and mappings change in place."""

    def read(key: str, value: Any) -> Any:
        if key == PARTS and isinstance(value, list):
            return [read_decimal_commas(part) if isinstance(part, dict) else part for part in value]
        has_numbers = key == EXPECTED or (key in FIELDS and FIELDS[key].kind not in _WORDS)
        return with_decimal_points(value) if has_numbers else value

    return {key: read(key, value) for key, value in values.items()}


def parse_document(text: str, name: str) -> Document:
    """The values of a text by key; its format follows from the name's suffix, or from the text itself."""
    inputs = Inputs()
    return _document(*formats.read_problem(inputs.of_text(text, name)), Origin(name, inputs=inputs))


def _document(values: Mapping[str, Any], lines: formats.Lines, origin: Origin) -> Document:
    """Each value with its origin, by its own name; an alias counts only if the value may be an array."""
    arrays = {name: value for name, value in values.items() if not isinstance(value, (bool, int, float, type(None)))}
    keys = {name: key for name, key in own_names(arrays).items() if key in FIELDS and key not in values}
    aliases, expected = dict(keys), values.get(EXPECTED)
    if isinstance(expected, Mapping):
        results = own_names(expected)
        aliases |= {name: result for name, result in results.items() if name != result}
        if results.keys() != set(results.values()):  # otherwise the same object, so that errors find its line
            values = {**values, EXPECTED: {results[name]: value for name, value in expected.items()}}
    if values.get(DECIMAL_COMMA) is True:
        values = read_decimal_commas(values)
    origin = replace(origin, lines=lines, aliases=aliases)
    return {keys.get(name, name): RawValue(value, origin) for name, value in values.items()}


def check_keys(document: Mapping[str, RawValue]) -> None:
    """Raise UnknownNameError for the first key that belongs neither to a problem nor to a worked example."""
    for key, raw in document.items():
        check_name(key, where=raw.origin.place_of_key(key), others=EXAMPLE_KEYS)


def files_of_problems(folder: str) -> list[str]:
    """The files in a folder and its subfolders with a problem's suffix, sorted.

    Hidden files, key files of work sheets, and pipes, which would block, are left out; broken links are not. Raises
    AttnError if a folder can't be read.
    """

    def fail(error: OSError) -> None:
        raise AttnError(f"can't be read ({error.strerror})", where=str(error.filename)) from None

    found: list[str] = []
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(parent) / name for name in names if not name.startswith("."))
        paths = (path for path in paths if not path.stem.endswith(KEY_SUFFIX))
        problems = (path for path in paths if path.suffix.lower() in formats.suffixes("problem"))
        found += [str(path) for path in problems if path.is_file() or not path.exists()]
    return sorted(found)


def expects_something(file: str, inputs: Inputs) -> bool:
    """Whether a file is a problem with the key `expected`, with parts, or an archive with entries of results.

    An archive of only results is not: another file may expect it. A file with a key of nearly such a name is: the check
    then reports the mistake.
    """
    source = inputs.open(file)
    names = _names(source)
    inputs_given = not _INPUTS.isdisjoint(own_names(names).values())
    known = {*FIELDS, *RESULTS, *EXAMPLE_KEYS}
    if inputs_given and any(did_you_mean(name, (EXPECTED, *RESULTS)) for name in {*own_names(names).values()} - known):
        return True
    if formats.formats_of(source)[-1].is_archive:
        return bool(expected_entries(names)) and inputs_given
    return not _KEYS.isdisjoint(names)


def is_problem(file: str, inputs: Inputs) -> bool:
    """Whether a file has parts, or a problem's key that is not a result."""
    return not {*_INPUTS, *_KEYS}.isdisjoint(own_names(_names(inputs.open(file))).values())


def _names(source: Input) -> set[str]:
    """The names of the keys or entries of a file."""
    return {array.name for array in formats.list_arrays(source)}


@dataclass(frozen=True, eq=False)
class FilePart:
    """One part of a file: the keys of its problem, its own keys, and its description.

    `keys` includes the file's keys for every part, unless the part overrides them.
    """

    name: str  # the title or the number; empty without parts
    selector: str  # its name after the file and a `#`: the name, or the number if the name is not unique
    place: str  # the file and the part, for errors
    problem: Document
    own: Mapping[str, Any]
    keys: Mapping[str, Any]
    origin: Origin

    @property
    def expected(self) -> RawValue:
        """Its expected results, unread; None if there are none."""
        return RawValue(self.keys.get(EXPECTED), self.origin)


def file_parts(document: Document, file: str) -> Sequence[FilePart]:
    """The parts of a file's document, or all of it as one part.

    An option replaces the key of a part. Raises AttnError if `parts` is not a list of parts, UnknownNameError for an
    unknown key of a file or a part.
    """
    check_keys(document)
    values = {key: raw.value for key, raw in document.items()}
    shared = {key: values[key] for key in (*SHOWN_KEYS, EXPECTED) if key in values}
    parts = values.get("parts")
    if parts is None:
        return [_part(document, shared, ("", ""), file)]
    if not isinstance(parts, list) or not parts or not all(isinstance(part, Mapping) for part in parts):
        hint = "expected - title: … and the part's keys"
        raise AttnError("is not a list of parts", where=(file, "parts"), hint=hint)
    titles = [to_text(part.get("title")) for part in parts]
    found = []
    for number, (part, title, selector) in enumerate(zip(parts, titles, names_of_parts(titles), strict=True), 1):
        names = (title or str(number), selector)
        found.append(_part(document, {**shared, **part}, names, f"{file}, part {repr(title) if title else number}"))
    return found


def _part(document: Document, part: Mapping[str, Any], names: tuple[str, str], place: str) -> FilePart:
    """A part with its name and selector; its problem has the file's keys, overridden by the part's."""
    own = {key: value for key, value in part.items() if key not in PART_KEYS}
    for key in own:
        check_name(str(key), where=place, others=PART_KEYS)
    of_file = (raw.origin for raw in document.values() if not raw.origin.options)
    origin = replace(next(of_file, Origin()), name=place)
    base = {key: raw for key, raw in document.items() if key in FIELDS}
    options = {key: raw for key, raw in base.items() if raw.origin.options}
    problem = {**base, **{key: RawValue(value, origin) for key, value in own.items()}, **options}
    return FilePart(*names, place, problem, own, {key: part.get(key) for key in PART_KEYS}, origin)


def to_text(value: Any) -> str:
    """A value as text; empty if it is not given."""
    return "" if value is None else str(value)


def checked(value: Any, kind: type, noun: str, place: ErrorPath, hint: str) -> Any:
    """A text or a whole number; None if the key is not given. Raises AttnError for other values."""
    if value is not None and type(value) is not kind:
        raise AttnError(f"is not a {noun}", where=place, hint=hint)
    return value


def to_names(value: Any, place: ErrorPath) -> tuple[str, ...]:
    """The names of results, a list or a single one; none if the key is not given. Raises AttnError for other values.

    >>> to_names("output", ("p.yaml", "together")), to_names(None, ("p.yaml", "show"))
    (('output',), ())
    """
    names = [value] if isinstance(value, str) else value
    if names is None:
        return ()
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise AttnError("is not a list of names of results", where=place, hint="write one, such as [weights, output]")
    return tuple(names)

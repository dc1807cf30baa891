"""Input formats: a row for each, with its suffixes, its first bytes and its reader; and the forms of a matrix.

To add a format, add a file with its reader and a row here; a reader is imported at its first use.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import import_object
from attncli.io.inputs import Input
from attncli.io.paths import check_is_not_refused

if TYPE_CHECKING:
    pass  # cyclic imports
    from attncli.problem.arrays import EncodedArray, GivenArray

# An example of each form of a matrix, as typed in a shell, and its meaning: numbers, files, generators.
NUMBERS = (
    ("'1 0; 0 1'", "rows by ;, numbers by spaces or commas; also -2*sqrt(3)/3"),
    ("'[[1, 0], [0, 1]]'", "nested lists, as in YAML and JSON"),
)
FILES = (
    ("words.csv", "csv tsv txt yaml json jsonl npy npz safetensors xlsx"),
    ("model.npz#w_q", "an entry of it; a slice of that: 'model.npz#w_q[:, 0:64]'"),
    ("-", "standard input; '-#w_q' an entry of it"),
)
MATRIX_FORMS = (*NUMBERS, *FILES, ("normal:std=2", "drawn from --seed"))

Content = Literal["array", "problem"]
# The first line of each list and mapping, by the object's id; of an entry in a list of texts, by id and position; of a
# key in the outermost mapping, by name.
Lines = Mapping[int | str | tuple[int, int], int]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ArrayDescription:
    """One array in a file: its name ("" for none), its shape, and its type.

    A number or a name in a problem has no shape, and its text instead of a type.
    """

    name: str
    shape: tuple[int, ...] | None
    type: str


class Reader:
    """Reads the inputs of one format; each method raises AttnError for a damaged input."""

    def array(self, source: Input, entry: str) -> "GivenArray":
        """The array in an input, or in a named entry of it ("" for none)."""
        raise NotImplementedError

    def rows(self, source: Input, entry: str) -> "EncodedArray | GivenArray":
        """The same array, if only a few rows are needed: types that NumPy lacks stay encoded."""
        return self.array(source, entry)

    def problem(self, source: Input) -> tuple[Mapping[str, Any], Lines]:
        """The values of a problem by field names, and the lines of their lists and mappings."""
        raise NotImplementedError

    def descriptions(self, source: Input) -> Sequence[ArrayDescription]:
        """A description of each array, or of each key of a problem; numbers are read only if necessary."""
        raise NotImplementedError

    def metadata(self, source: Input) -> Mapping[str, str]:
        """The file's metadata; empty in most formats."""
        return {}

    def expected(self, source: Input) -> Any:
        """The whole content, for comparison with results.

        It is lists or mappings of TypedNumbers, an array, or unread entries by name.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class InputFormat:
    """One format: its name, its suffixes, and its reader as "module:name".

    `first_bytes` matches the beginning of an input without a known suffix.
    """

    name: str
    suffixes: tuple[str, ...]
    reader: str
    first_bytes: re.Pattern[bytes] | None = None
    is_table: bool = False
    is_archive: bool = False
    holds_problems: bool = True


TABLE = InputFormat("table", (".csv",), "attncli.io.tables:READER", is_table=True, holds_problems=False)
YAML = InputFormat(
    "YAML",
    (".yaml", ".yml"),
    "attncli.io.documents:YAML_READER",
    re.compile(rb"(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t\r]*(?:[\[{]|-\s|---|%|[^\n,;\t#]*:(?:\s|\Z)|\Z)"),
)
INPUT_FORMATS: list[InputFormat] = [
    TABLE,
    InputFormat("table of tabs", (".tsv",), "attncli.io.tables:TAB_READER", is_table=True, holds_problems=False),
    InputFormat("table of text", (".txt",), TABLE.reader, is_table=True, holds_problems=False),
    InputFormat("JSON", (".json",), "attncli.io.documents:JSON_READER", re.compile(rb"\s*[\[{]")),
    InputFormat(
        "JSON Lines",
        (".jsonl", ".ndjson"),
        "attncli.io.documents:JSON_LINES_READER",
        re.compile(rb"\s*\{(?:[^\n]*\}\s*\{|[^\n]*\Z)"),  # the line may be longer than the first bytes
        holds_problems=False,
    ),
    YAML,
    InputFormat("NumPy array", (".npy",), "attncli.io.npy:NPY_READER", re.compile(rb"\x93NUMPY"), holds_problems=False),
    InputFormat(
        "NumPy archive", (".npz",), "attncli.io.npy:NPZ_READER", re.compile(rb"PK(\x03\x04|\x05\x06)"), is_archive=True
    ),
    InputFormat(
        "safetensors",
        (".safetensors",),
        "attncli.io.safetensors:READER",
        re.compile(rb"(?s).{5}\0{3}\{"),  # the length of the header in eight bytes, and the header
        is_archive=True,
    ),
    InputFormat("spreadsheet", (".xlsx",), "attncli.io.spreadsheets:READER"),
]
# Other text: numbers are a table, and a problem is YAML, whose reader explains mistakes.
_OTHER_TEXT: Mapping[Content, InputFormat] = {"array": TABLE, "problem": YAML}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_array(source: Input, entry: str, *, are_rows_read: bool = False) -> "EncodedArray | GivenArray":
    """The array in an input, or in an entry of it; raises AttnError if its format can't hold one.

    With `are_rows_read` a type that NumPy lacks stays encoded, so that a few rows can be read.
    """
    return _read(source, lambda reader: (reader.rows if are_rows_read else reader.array)(source, entry))


def read_problem(source: Input) -> tuple[Mapping[str, Any], Lines]:
    """The values of the problem in an input, like `Reader.problem`; raises AttnError if its format can't hold one."""
    return _read(source, lambda reader: reader.problem(source), "problem")


def read_expected(source: Input) -> Any:
    """An input's content, like `Reader.expected`; raises AttnError if its format can't hold numbers."""
    return _read(source, lambda reader: reader.expected(source))


def list_arrays(source: Input) -> Sequence[ArrayDescription]:
    """An input's descriptions, like `Reader.descriptions`; raises AttnError if its format has none."""
    return _read(source, lambda reader: reader.descriptions(source))


def read_metadata(source: Input) -> Mapping[str, str]:
    """An input's metadata, like `Reader.metadata`; raises AttnError if its format can't hold numbers."""
    return _read(source, lambda reader: reader.metadata(source))


def _read(source: Input, read: Callable[[Reader], T], content: Content = "array") -> T:
    """The content from the first format's reader that succeeds; the error is the last one's."""
    check_is_not_refused(source.path, source.name)
    candidates = formats_of(source, content)
    if content == "problem":  # possible JSON Lines may be YAML
        candidates = [row for row in candidates if row.holds_problems] or candidates
    for number, row in enumerate(candidates, 1):
        if content == "problem" and not row.holds_problems:
            noun = "a table" if row.is_table else row.name if row.name.endswith("s") else f"a {row.name}"
            hint = f"give it as an option: --embeddings {source.name}"
            raise AttnError(f"is {noun}, not a problem", where=source.name, hint=hint)
        try:
            return read(import_object(row.reader))
        except AttnError:
            if number == len(candidates):
                raise
    kind = "problem file" if content == "problem" else "file of numbers"
    raise AttnError(f"is not a {kind}", where=source.name, hint=f"expected {expected(content)}")


def formats_of(source: Input, content: Content = "array") -> Sequence[InputFormat]:
    """The format of an input by its suffix; for an unknown suffix those that match its first bytes."""
    by_suffix = format_of_suffix(source.path)
    if by_suffix is not None:
        return [by_suffix]
    head = source.head().removeprefix(_BYTE_ORDER_MARK)
    matching = [row for row in INPUT_FORMATS if row.first_bytes is not None and row.first_bytes.match(head)]
    is_text = b"\0" not in head or head[:2] in (b"\xff\xfe", b"\xfe\xff")  # UTF-16 is text, but can't be read
    return matching or ([_OTHER_TEXT[content]] if is_text else [])


def format_of_suffix(path: Path) -> InputFormat | None:
    """The format of a file by its suffix."""
    suffix = path.suffix.lower()
    return next((row for row in INPUT_FORMATS if suffix in row.suffixes), None)


def suffixes(content: Content) -> Sequence[str]:
    """The suffixes of the formats that can hold a content."""
    rows = (row for row in INPUT_FORMATS if row.holds_problems or content == "array")
    return [suffix for row in rows for suffix in row.suffixes]


def expected(content: Content) -> str:
    """The suffixes in a sentence."""
    return ", ".join(suffixes(content))

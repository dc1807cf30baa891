"""Input formats: one row for each format, with its suffixes, its first bytes, and the functions that read it.

A format is added by one file with its functions and one row here; the functions are imported at their first use.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import import_object
from attncli.io.inputs import Input
from attncli.io.refused_files import check_is_not_refused

if TYPE_CHECKING:
    from attncli.io.readers.descriptions import ArrayDescription
    from attncli.problem.convert.arrays import LabelledArray
    from attncli.problem.convert.encoded_arrays import EncodedArray

# Rows: an array of which a few rows are read. A list: of the arrays that are there, with their shapes. Expected:
# numbers of results, with the digits typed.
Content = Literal["array", "rows", "problem", "list", "expected"]


@dataclass(frozen=True)
class InputFormat:
    """One format: its name, its suffixes, its first bytes, and its functions as "module:function".

    `read_array(input, entry)` returns the LabelledArray of an Input, or of an entry of it ("" where none is named).
    `read_problem(input)` returns the values of a problem by the names of their fields, and the first line of each
    list and mapping in them by the object's id. `list_arrays(input)` describes the arrays, where it can without reading
    their numbers. `read_expected(input)` returns all that it holds, for comparison with results: lists or mappings of
    TypedNumbers, an array, or the entries by their names, unread. A format without one of them can't hold that
    content. `open_array` is `read_array` that leaves what NumPy does not have as the file has it, for tables of which a
    few rows are read. `first_bytes` matches the beginning of an input whose name has no suffix of any format.
    """

    name: str
    suffixes: tuple[str, ...]
    read_array: str | None = None
    read_problem: str | None = None
    list_arrays: str | None = None
    first_bytes: re.Pattern[bytes] | None = None
    is_table: bool = False
    is_archive: bool = False
    read_expected: str | None = None
    open_array: str | None = None

    def reference(self, content: Content) -> str | None:
        """The function that reads a content, as "module:function"; None where the format can't hold it."""
        references: Mapping[Content, str | None] = {
            "array": self.read_array,
            "rows": self.open_array or self.read_array,
            "problem": self.read_problem,
            "list": self.list_arrays,
            "expected": self.read_expected,
        }
        return references[content]

    def reader(self, content: Content) -> Callable[..., Any] | None:
        """The function that reads a content, or None where the format can't hold it."""
        reference = self.reference(content)
        if reference is None:
            return None
        read: Callable[..., Any] = import_object(reference)
        return read


_READERS = "attncli.io.readers"
_LIST_TABLE = f"{_READERS}.tables:list_table"
_TYPED_TABLE = f"{_READERS}.tables:read_typed_table"
TABLE = InputFormat(
    "table",
    (".csv",),
    f"{_READERS}.tables:read_table_file",
    list_arrays=_LIST_TABLE,
    is_table=True,
    read_expected=_TYPED_TABLE,
)
YAML = InputFormat(
    "YAML",
    (".yaml", ".yml"),
    f"{_READERS}.documents:read_yaml_array",
    f"{_READERS}.documents:read_yaml_problem",
    f"{_READERS}.documents:list_yaml",
    re.compile(rb"(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t\r]*(?:[\[{]|-\s|---|%|[^\n,;\t#]*:(?:\s|\Z)|\Z)"),
    read_expected=f"{_READERS}.documents:read_typed_yaml",
)
INPUT_FORMATS: list[InputFormat] = [
    TABLE,
    InputFormat(
        "table of tabs",
        (".tsv",),
        f"{_READERS}.tables:read_tab_table_file",
        list_arrays=f"{_READERS}.tables:list_tab_table",
        is_table=True,
        read_expected=f"{_READERS}.tables:read_typed_tab_table",
    ),
    InputFormat(
        "table of text",
        (".txt",),
        f"{_READERS}.tables:read_table_file",
        list_arrays=_LIST_TABLE,
        is_table=True,
        read_expected=_TYPED_TABLE,
    ),
    InputFormat(
        "JSON",
        (".json",),
        f"{_READERS}.documents:read_json_array",
        f"{_READERS}.documents:read_json_problem",
        f"{_READERS}.documents:list_json",
        re.compile(rb"\s*[\[{]"),
        read_expected=f"{_READERS}.documents:read_typed_json",
    ),
    YAML,
    InputFormat(
        "NumPy array",
        (".npy",),
        f"{_READERS}.npy:read_npy",
        list_arrays=f"{_READERS}.npy:list_npy",
        first_bytes=re.compile(rb"\x93NUMPY"),
        read_expected=f"{_READERS}.npy:read_npy_array",
    ),
    InputFormat(
        "NumPy archive",
        (".npz",),
        f"{_READERS}.npz:read_npz",
        f"{_READERS}.npz:read_npz_problem",
        f"{_READERS}.npz:list_npz",
        re.compile(rb"PK(\x03\x04|\x05\x06)"),
        is_archive=True,
        read_expected=f"{_READERS}.npz:npz_entries",
    ),
    InputFormat(
        "safetensors",
        (".safetensors",),
        f"{_READERS}.safetensors:read_safetensors",
        f"{_READERS}.safetensors:read_safetensors_problem",
        f"{_READERS}.safetensors:list_safetensors",
        re.compile(rb"(?s).{5}\0{3}\{"),  # the length of the header in eight bytes, and the header
        is_archive=True,
        read_expected=f"{_READERS}.safetensors:safetensors_entries",
        open_array=f"{_READERS}.safetensors:open_safetensors",
    ),
]
# Text that no pattern matches: numbers are a table, and a problem is YAML, whose reader says what is missing.
_OTHER_TEXT: Mapping[Content, InputFormat] = {
    "array": TABLE,
    "rows": TABLE,
    "problem": YAML,
    "list": TABLE,
    "expected": TABLE,
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_array(source: Input, entry: str) -> "LabelledArray":
    """The array in an input, or in an entry of it; raises AttnError where it has no format that can hold one."""
    array: LabelledArray = _read(source, "array", (source, entry))
    return array


def open_array(source: Input, entry: str) -> "EncodedArray | LabelledArray":
    """The array of `read_array`, as the file has it where NumPy does not have its type: a few rows can be read."""
    array: EncodedArray | LabelledArray = _read(source, "rows", (source, entry))
    return array


def read_problem(source: Input) -> tuple[Mapping[str, Any], Mapping[int, int]]:
    """The values of the problem in an input by the names of their fields, and the lines of lists and mappings.

    Raises AttnError where it has no format that can hold a problem.
    """
    problem: tuple[Mapping[str, Any], Mapping[int, int]] = _read(source, "problem", (source,))
    return problem


def read_expected(source: Input) -> Any:
    """All that an input holds, for comparison with results: see `InputFormat`.

    Raises AttnError where it is damaged, or has no format that holds numbers.
    """
    return _read(source, "expected", (source,))


def list_arrays(source: Input) -> "Sequence[ArrayDescription]":
    """What an input holds: a line for each of its arrays, or for each key of a problem.

    Raises AttnError where it is damaged, or has no format that holds any.
    """
    descriptions: Sequence[ArrayDescription] = _read(source, "list", (source,))
    return descriptions


def _read(source: Input, content: Content, arguments: tuple[Any, ...]) -> Any:
    """What the first format reads that can; the error is that of the last."""
    check_is_not_refused(source.path, source.name)
    candidates = formats_of(source, content)
    for number, row in enumerate(candidates, 1):
        read = row.reader(content)
        if read is None:
            noun = "a table" if row.is_table else f"a {row.name}"
            hint = f"give it as an option: --embeddings {source.name}"
            raise AttnError(f"is {noun}, not a problem", where=source.name, hint=hint)
        try:
            return read(*arguments)
        except AttnError:
            if number == len(candidates):
                raise
    kind = "problem file" if content == "problem" else "file of numbers"
    raise AttnError(f"is no {kind}", where=source.name, hint=f"expected {expected(content)}")


def formats_of(source: Input, content: Content) -> Sequence[InputFormat]:
    """The format of an input by its suffix; without one that is known, those that its first bytes can be."""
    by_suffix = format_of_suffix(source.path)
    if by_suffix is not None:
        return [by_suffix]
    head = source.head().removeprefix(_BYTE_ORDER_MARK)
    matching = [row for row in INPUT_FORMATS if row.first_bytes is not None and row.first_bytes.match(head)]
    is_text = b"\0" not in head or head[:2] in (b"\xff\xfe", b"\xfe\xff")  # UTF-16 is text that can't be read
    return matching or ([_OTHER_TEXT[content]] if is_text else [])


def format_of_suffix(path: Path) -> InputFormat | None:
    """The format of a file by its suffix."""
    suffix = path.suffix.lower()
    return next((row for row in INPUT_FORMATS if suffix in row.suffixes), None)


def suffixes(content: Content) -> Sequence[str]:
    """The suffixes of the formats that can hold a content."""
    return [suffix for row in INPUT_FORMATS if row.reference(content) for suffix in row.suffixes]


def expected(content: Content) -> str:
    """The suffixes in a sentence."""
    return ", ".join(suffixes(content))

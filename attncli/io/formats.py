"""Input formats: one row for each format, with its suffixes and the functions that read it.

A format is added by one file with its functions and one row here; the functions are imported at their first use.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from attncli.base.lazy_import import import_object

Content = Literal["array", "problem"]


@dataclass(frozen=True)
class InputFormat:
    """One format: its name, its suffixes, and its functions as "module:function".

    `read_array(path, entry)` returns the LabelledArray of a file, or of an entry of it ("" where none is named).
    `read_problem(path, name)` returns the values of a problem by the names of their fields, and the first line of each
    list and mapping in them by the object's id. A format without one of them can't hold that content.
    """

    name: str
    suffixes: tuple[str, ...]
    read_array: str | None = None
    read_problem: str | None = None
    is_table: bool = False

    def reader(self, content: Content) -> Callable[..., Any] | None:
        """The function that reads a content, or None where the format can't hold it."""
        reference = self.read_array if content == "array" else self.read_problem
        if reference is None:
            return None
        read: Callable[..., Any] = import_object(reference)
        return read


_READERS = "attncli.io.readers"
INPUT_FORMATS: list[InputFormat] = [
    InputFormat("table", (".csv",), f"{_READERS}.tables:read_table_file", is_table=True),
    InputFormat("table of tabs", (".tsv",), f"{_READERS}.tables:read_tab_table_file", is_table=True),
    InputFormat("table of text", (".txt",), f"{_READERS}.tables:read_table_file", is_table=True),
    InputFormat(
        "YAML", (".yaml", ".yml"), f"{_READERS}.documents:read_yaml_array", f"{_READERS}.documents:read_yaml_problem"
    ),
    InputFormat("JSON", (".json",), f"{_READERS}.documents:read_json_array", f"{_READERS}.documents:read_json_problem"),
    InputFormat("NumPy array", (".npy",), f"{_READERS}.array_files:read"),
    InputFormat("NumPy archive", (".npz",), f"{_READERS}.array_files:read", f"{_READERS}.array_files:read_problem"),
    InputFormat(
        "safetensors", (".safetensors",), f"{_READERS}.array_files:read", f"{_READERS}.array_files:read_problem"
    ),
]


def format_of(path: Path) -> InputFormat | None:
    """The format of a file by its suffix."""
    suffix = path.suffix.lower()
    return next((row for row in INPUT_FORMATS if suffix in row.suffixes), None)


def suffixes(content: Content) -> Sequence[str]:
    """The suffixes of the formats that can hold a content."""
    rows = (row for row in INPUT_FORMATS if (row.read_array if content == "array" else row.read_problem))
    return [suffix for row in rows for suffix in row.suffixes]

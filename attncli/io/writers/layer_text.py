"""The problem file of a checkpoint's layer: each key with a comment that says where its value is from."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from attncli.base.text import escape_control
from attncli.io.checkpoint.document import reference
from attncli.io.checkpoint.layer import Entry
from attncli.io.checkpoint.tensors import TensorReference
from attncli.io.writers.yaml_text import quoted, yaml_text
from attncli.problem.spec import FIELDS

COMMENT_COLUMN = 40  # where a comment begins, unless the value is longer
_OTHER = "Other keys"

_Line = tuple[str, str]  # a line of YAML, and its comment


def layer_text(entries: Mapping[str, Entry], head: Sequence[str], folder: Path) -> str:
    """The text of a problem in YAML; files are named relative to `folder`, that of the problem file."""
    lines = [f"# {escape_control(line)}".rstrip() for line in head]
    for panel, keys in groupby(entries, key=_panel):
        lines += ["", f"# {panel}"]
        lines += _aligned([line for key in keys for line in _lines(key, entries[key], folder)])
    return "".join(f"{line}\n" for line in lines)


def _panel(key: str) -> str:
    """The title under which a key stands."""
    return FIELDS[key].panel if key in FIELDS else _OTHER


def _lines(name: str, entry: Entry, folder: Path) -> Iterator[_Line]:
    """The lines of a value, the first one with its comment, those of a mapping indented."""
    value = entry.value
    if isinstance(value, TensorReference):
        yield f"{name}: {quoted(reference(value, folder))}", entry.origin
    elif isinstance(value, Mapping) and value and all(isinstance(inner, Entry) for inner in value.values()):
        if len(value) == 1 and next(iter(value.values())).value == {}:
            yield f"{name}: {next(iter(value))}", entry.origin
            return
        yield f"{name}:", entry.origin
        for key, inner in value.items():
            yield from ((f"  {line}", comment) for line, comment in _lines(key, inner, folder))
    else:
        first, *others = "".join(yaml_text({name: value})).removesuffix("\n").split("\n")
        yield first, entry.origin
        yield from ((line, "") for line in others)


def _aligned(lines: Sequence[_Line]) -> list[str]:
    """The lines with their comments in one column, and those of long lines in a second one."""
    longest = max((len(line) for line, comment in lines if comment and len(line) > COMMENT_COLUMN), default=0)
    columns = (longest if len(line) > COMMENT_COLUMN else COMMENT_COLUMN for line, _ in lines)
    return [
        f"{line:{column}}  # {comment}" if comment else line
        for (line, comment), column in zip(lines, columns, strict=True)
    ]

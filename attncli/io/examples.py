"""Worked examples: a problem file that tells a story in parts and has the published numbers beside them."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array
from attncli.io.assemble import assemble
from attncli.io.origin import Origin, RawValue
from attncli.io.parse import matrix, nested_lists
from attncli.io.problem_files import EXAMPLE_KEYS, Document, parse_document, read_document
from attncli.problem.results import DEFAULT_SELECTION
from attncli.problem.spec import FIELDS, Problem

PART = ("title", "about", "show", "expected")


@dataclass(frozen=True)
class Part:
    """One step of the story: a problem, what is shown of it, and what was published."""

    title: str
    about: str
    problem: Problem
    show: tuple[str, ...]
    expected: Mapping[str, Array]
    options: str  # what `attn compute FILE` needs to reproduce it


@dataclass(frozen=True)
class Example:
    """A worked example: its story, and its parts in order; `together` is the result shown side by side at the end."""

    file: str
    title: str
    about: str
    source: str
    parts: Sequence[Part]
    together: str | None


def names() -> list[str]:
    """The worked examples that ship with the program; the tutorial comes first."""
    found = sorted(file.name.removesuffix(".yaml") for file in _folder().iterdir() if file.name.endswith(".yaml"))
    return sorted(found, key=lambda name: name != "tutorial")


def text(name: str) -> str:
    """The file of a worked example; raises UnknownNameError."""
    if name not in names():
        raise UnknownNameError("worked example", name, names())
    return str(_folder().joinpath(f"{name}.yaml").read_text(encoding="utf-8"))


def load(name: str) -> Example:
    """A worked example that ships with the program, or a file of the user's; each part is read and checked."""
    if Path(name).suffix.lower() in matrix.DOCUMENTS:
        return _example(read_document(name), name)
    return _example(parse_document(text(name), f"{name}.yaml"), f"{name}.yaml")


def _example(document: Document, file: str) -> Example:
    """The example that a document tells."""
    story = {key: written.value for key, written in document.items() if key in EXAMPLE_KEYS}
    base = {key: written for key, written in document.items() if key in FIELDS}
    told = story.get("parts", [{"expected": story.get("expected")}])
    if not isinstance(told, list) or not all(isinstance(part, Mapping) for part in told):
        raise AttnError("is no list of parts", where=f"{file}, parts", hint="expected - title: … and the part's keys")
    return Example(
        file=file,
        title=str(story.get("title", file)),
        about=str(story.get("about", "")),
        source=str(story.get("source", "")),
        parts=[_part(base, part, file) for part in told],
        together=story.get("together"),
    )


def _part(base: Document, told: Mapping[str, Any], name: str) -> Part:
    """A part's problem is the file's, with the part's own keys over it."""
    title = str(told.get("title", ""))
    origin = Origin(f"{name}, part {title!r}" if title else name, _folder_of(base))
    changed = {key: value for key, value in told.items() if key not in PART}
    show, expected = told.get("show") or DEFAULT_SELECTION, told.get("expected") or {}
    if not isinstance(show, (list, tuple)) or not isinstance(expected, Mapping):
        hint = "show is a list of names, expected has numbers under names"
        raise AttnError("show or expected can't be read", where=origin.name, hint=hint)
    return Part(
        title=title,
        about=str(told.get("about", "")),
        problem=assemble(base | {key: RawValue(value, origin) for key, value in changed.items()}),
        show=tuple(map(str, show)),
        expected={key: nested_lists.array(value, f"expected, {key}", origin) for key, value in expected.items()},
        options=_options(changed, show),
    )


def _folder_of(base: Document) -> Path:
    """The folder that paths in the document are relative to."""
    return next((written.origin.folder for written in base.values()), Path())


def _options(changed: Mapping[str, Any], show: Sequence[str]) -> str:
    """The options of `attn compute` that say the same as a part's keys."""
    said = [f"--{key.replace('_', '-')} {shlex.quote(_text(value))}" for key, value in changed.items()]
    if tuple(show) != DEFAULT_SELECTION:
        said.append(f"--select {','.join(show)}")
    return " ".join(said)


def _text(value: Any) -> str:
    """A value in the grammar of the options."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, parameters),) = value.items()
        return f"{name}:{','.join(f'{key}={parameter}' for key, parameter in (parameters or {}).items())}".rstrip(":")
    if isinstance(value, list) and not any(isinstance(entry, list) for entry in value):
        return ",".join(map(str, value))
    return str(value)


def _folder() -> Any:
    return resources.files("attncli").joinpath("demos")

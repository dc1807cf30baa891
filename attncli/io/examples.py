"""Worked examples: a problem file that tells a story in parts and has the published numbers beside them."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from attncli.arrays import Array
from attncli.errors import AttnError, UnknownNameError
from attncli.io import matrix
from attncli.io.problems import STORY, Document, Written, assemble, parse_document
from attncli.problem import KEYS, Problem
from attncli.trace import DEFAULT_SELECTION

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

    name: str
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
    """A worked example, each of its parts read and checked."""
    document = parse_document(text(name), f"{name}.yaml")
    story = {key: written.value for key, written in document.items() if key in STORY}
    base = {key: written for key, written in document.items() if key in KEYS}
    told = story.get("parts") or [{"expected": story.get("expected") or {}}]
    return Example(
        name=name,
        title=story.get("title", name),
        about=story.get("about", ""),
        source=story.get("source", ""),
        parts=[_part(base, part, f"{name}.yaml") for part in told],
        together=story.get("together"),
    )


def _part(base: Document, told: Mapping[str, Any], name: str) -> Part:
    """A part's problem is the file's, with the part's own keys over it."""
    origin = next(iter(base.values())).origin
    changed = {key: value for key, value in told.items() if key not in PART}
    show = tuple(told.get("show") or DEFAULT_SELECTION)
    try:
        problem = assemble(base | {key: Written(value, origin) for key, value in changed.items()})
    except AttnError as error:
        raise error.at(f"{name}, part {told.get('title', '')!r}") from None
    return Part(
        title=told.get("title", ""),
        about=told.get("about", ""),
        problem=problem,
        show=show,
        expected={key: matrix.array(value, key, origin) for key, value in (told.get("expected") or {}).items()},
        options=_options(changed, show),
    )


def _options(changed: Mapping[str, Any], show: Sequence[str]) -> str:
    """The options of `attn compute` that say the same as a part's keys."""
    said = [f"--{key.replace('_', '-')} {shlex.quote(_text(value))}" for key, value in changed.items()]
    if tuple(show) != DEFAULT_SELECTION:
        said.append(f"--select {','.join(show)}")
    return " ".join(said)


def _text(value: Any) -> str:
    """A value in the grammar of the options."""
    if isinstance(value, Mapping) and all(isinstance(entry, (Mapping, type(None))) for entry in value.values()):
        ((name, parameters),) = value.items()
        return f"{name}:{','.join(f'{key}={parameter}' for key, parameter in (parameters or {}).items())}".rstrip(":")
    if isinstance(value, list) and not any(isinstance(entry, list) for entry in value):
        return ",".join(map(str, value))
    return str(value)


def _folder() -> Any:
    return resources.files("attncli").joinpath("demos")

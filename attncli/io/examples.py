"""Worked examples: problem files in parts, each with the names of results to show and their published numbers."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array
from attncli.io import formats
from attncli.io.assemble import assemble
from attncli.io.inputs import Inputs
from attncli.io.origin import Origin, RawValue
from attncli.io.paths import STDIN, is_there
from attncli.io.problem_files import EXAMPLE_KEYS, Document, ExampleKeys, parse_document, read_document
from attncli.problem.convert.nested_lists import nested_lists_to_array
from attncli.problem.fields import Field
from attncli.problem.results import DEFAULT_SELECTION
from attncli.problem.spec import FIELDS, ProblemSpec


@dataclass(frozen=True)
class PartKeys:
    """The keys of a part that are not keys of its problem, with their values in the file."""

    title: Any = ""
    about: Any = ""
    show: Any = None
    expected: Any = None


PART_KEYS = tuple(key.name for key in fields(PartKeys))


@dataclass(frozen=True)
class Part:
    """One part of an example: a problem, the results that are shown, and those that were published."""

    title: str
    about: str
    problem: ProblemSpec
    show: tuple[str, ...]
    expected: Mapping[str, Array]
    options: str  # what `attn compute FILE` needs to reproduce it


@dataclass(frozen=True)
class Example:
    """A worked example and its parts in order; the result `together` is shown side by side at the end."""

    file: str
    title: str
    about: str
    source: str
    parts: Sequence[Part]
    together: str | None


def names() -> list[str]:
    """The worked examples that ship with the program; the tutorial comes first."""
    stems = sorted(file.name.removesuffix(".yaml") for file in _folder().iterdir() if file.name.endswith(".yaml"))
    return sorted(stems, key=lambda name: name != "tutorial")


def text(name: str) -> str:
    """The file of a worked example; raises UnknownNameError."""
    if name not in names():
        raise UnknownNameError("worked example", name, names())
    return str(_folder().joinpath(f"{name}.yaml").read_text(encoding="utf-8"))


def load(name: str, inputs: Inputs | None = None) -> Example:
    """A worked example that ships with the program, or a file of the user's; each part is read and checked.

    Raises UnknownNameError for a name that is neither, AttnError for a file that is no example.
    """
    is_file = name == STDIN or Path(name).suffix.lower() in formats.suffixes("problem") or is_there(Path(name))
    if name not in names() and is_file:
        return _example(read_document(name, inputs), name)
    return _example(parse_document(text(name), f"{name}.yaml"), f"{name}.yaml")


def _example(document: Document, file: str) -> Example:
    """The example in a document; without `parts` it is one part."""
    keys = ExampleKeys(**{key: raw.value for key, raw in document.items() if key in EXAMPLE_KEYS})
    base = {key: raw for key, raw in document.items() if key in FIELDS}
    parts = [{"expected": keys.expected}] if keys.parts is None else keys.parts
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        hint = "expected - title: … and the part's keys"
        raise AttnError("is no list of parts", where=(file, "parts"), hint=hint)
    if keys.together is not None and not isinstance(keys.together, str):
        raise AttnError("is no name of a result", where=(file, "together"), hint="write one, such as output")
    return Example(
        file=file,
        title=file if keys.title is None else str(keys.title),
        about="" if keys.about is None else str(keys.about),
        source="" if keys.source is None else str(keys.source),
        parts=[_part(base, part, file) for part in parts],
        together=keys.together,
    )


def _part(base: Document, part: Mapping[str, Any], file: str) -> Part:
    """A part, whose problem has the keys of the file, replaced by those of the part."""
    keys = PartKeys(**{key: value for key, value in part.items() if key in PART_KEYS})
    title = str(keys.title)
    origin = replace(_origin_of(base), name=f"{file}, part {title!r}" if title else file)
    own = {key: value for key, value in part.items() if key not in PART_KEYS}
    show, expected = keys.show or DEFAULT_SELECTION, keys.expected or {}
    are_names = isinstance(show, (list, tuple)) and all(isinstance(name, str) for name in show)
    if not are_names or not isinstance(expected, Mapping):
        hint = "show is a list of names, expected has numbers under names"
        raise AttnError("show or expected can't be read", where=origin.name, hint=hint)
    return Part(
        title=title,
        about=str(keys.about),
        problem=assemble(base | {key: RawValue(value, origin) for key, value in own.items()}),
        show=tuple(show),
        expected={key: _expected(value, key, origin) for key, value in expected.items()},
        options=_options(own, show),
    )


def _expected(value: Any, key: str, origin: Origin) -> Array:
    """The published numbers of one result."""
    try:
        return nested_lists_to_array(value, ("expected", key))
    except AttnError as error:
        error.path = origin.path(*error.path, subject=error.subject)
        raise


def _origin_of(base: Document) -> Origin:
    """The origin of the document's values."""
    return next((raw.origin for raw in base.values()), Origin())


def _options(own: Mapping[str, Any], show: Sequence[str]) -> str:
    """The options of `attn compute` that are equivalent to the keys of a part."""
    options = [_option(FIELDS[key], value) for key, value in own.items()]
    if tuple(show) != DEFAULT_SELECTION:
        options.append(f"--select {','.join(show)}")
    return " ".join(options)


def _option(field: Field, value: Any) -> str:
    """The option that is equivalent to a key and its value."""
    name = field.name.replace("_", "-")
    if field.kind == "flag":
        return f"--{name}" if value else f"--no-{name}"
    if isinstance(value, list) and field.kind in ("labels", "window"):
        return f"--{name} {shlex.quote(','.join(map(str, value)))}"
    return f"--{name} {shlex.quote(_text(value))}"


def _text(value: Any) -> str:
    """A value in the grammar of the options."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, parameters),) = value.items()
        if parameters is None or isinstance(parameters, Mapping):
            given = ",".join(f"{key}={_text(parameter)}" for key, parameter in (parameters or {}).items())
            return f"{name}:{given}".rstrip(":")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _folder() -> Any:
    """The folder of the examples in the package."""
    return resources.files("attncli").joinpath("demos")

"""Worked examples: problem files in parts, each with the names of results to show and their expected numbers."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.io import formats
from attncli.io.assemble import assemble
from attncli.io.inputs import Inputs
from attncli.io.paths import STDIN, is_there
from attncli.io.problem_files import (
    ABOUT_KEYS,
    EXAMPLE_KEYS,
    Document,
    FilePart,
    RawValue,
    checked,
    file_parts,
    parse_document,
    read_document,
    to_names,
    to_text,
)
from attncli.problem.fields import DEFAULT_SELECTION, Field, option_name
from attncli.problem.spec import FIELDS, ProblemSpec

FROM_KEY = "key_to_query"  # das → the: translation
_PRECISION_HINT = "write how many decimals are shown"
ARROWS = ("query_to_key", FROM_KEY)  # sat → cat: attention


@dataclass(frozen=True)
class Part:
    """One part of an example: a problem, the results to show, and the expected numbers."""

    title: str
    about: str
    place: str  # the file and the title or the number, for errors
    problem: ProblemSpec
    show: tuple[str, ...]
    expected: RawValue  # unread: attncli.io.expected reads it
    cell: str | None  # the query and the key for the worked arithmetic
    numpy: Mapping[str, str]  # lines of NumPy, by the result that they compute
    arrows: str | None  # one of ARROWS
    problem_options: tuple[str, ...]  # the options of `attn compute FILE` for the same problem

    @property
    def options(self) -> str:
        """The options of `attn compute FILE` that show the same results."""
        return " ".join((*self.problem_options, *select_option(self.show, self.problem.default_selection)))


@dataclass(frozen=True)
class Example:
    """A worked example and its parts in order.

    One table at the end shows the results `together` of all parts; a plot shows the result `curve` over the labels.
    """

    file: str
    title: str
    about: str
    topic: str
    teaches: str
    paper: str
    source: str  # the publication of the expected numbers, or empty
    precision: int | None
    parts: Sequence[Part]
    together: tuple[str, ...]
    curve: str | None


def names() -> list[str]:
    """The worked examples in the package; the tutorial comes first."""
    stems = sorted(file.name.removesuffix(".yaml") for file in _folder().iterdir() if file.name.endswith(".yaml"))
    return sorted(stems, key=lambda name: name != "tutorial")


def text(name: str) -> str:
    """The file of a worked example; raises UnknownNameError."""
    if name not in names():
        raise UnknownNameError("worked example", name, names())
    return str(_folder().joinpath(f"{name}.yaml").read_text(encoding="utf-8"))


def load(name: str, inputs: Inputs | None = None) -> Example:
    """A worked example of the package, or a user's file; each part is read and checked.

    Raises UnknownNameError for a name that is neither, AttnError for a file that is not an example.
    """
    return example_of(*read(name, inputs))


def read(name: str, inputs: Inputs | None = None) -> tuple[Document, str]:
    """The document of a worked example, and the name of its file; raises UnknownNameError, AttnError like `load`."""
    is_file = name == STDIN or Path(name).suffix.lower() in formats.suffixes("problem") or is_there(Path(name))
    if name not in names() and is_file:
        return read_document(name, inputs), name
    return parse_document(text(name), f"{name}.yaml"), f"{name}.yaml"


def by_topic() -> Mapping[str, Mapping[str, str]]:
    """The subject of each example, by name, under topics in the order of their first example."""
    topics: dict[str, dict[str, str]] = {}
    for name in names():
        document = parse_document(text(name), f"{name}.yaml")
        topics.setdefault(str(document["topic"].value), {})[name] = str(document["teaches"].value)
    return topics


def example_of(document: Document, file: str) -> Example:
    """The example in a document; without `parts` it is one part."""
    parts = file_parts(document, file)
    keys = {key: document[key].value if key in document else None for key in EXAMPLE_KEYS}
    return Example(
        file=file,
        **{**{key: to_text(keys[key]) for key in ABOUT_KEYS}, "title": to_text(keys["title"]) or file},
        precision=checked(keys["precision"], int, "whole number", (file, "precision"), _PRECISION_HINT),
        parts=[_part(part) for part in parts],
        together=to_names(keys["together"], (file, "together")),
        curve=checked(keys["curve"], str, "name of a result", (file, "curve"), "write one, such as output"),
    )


def _part(part: FilePart) -> Part:
    """A part with its problem and the results to show."""
    keys, place = part.keys, part.place
    lines, arrows = keys["numpy"], keys["arrows"]
    if lines is not None and not isinstance(lines, Mapping):
        hint = "write NAME: a line of NumPy that computes it"
        raise AttnError("has no names", where=(place, "numpy"), hint=hint)
    if arrows is not None and arrows not in ARROWS:
        raise UnknownNameError("direction", str(arrows), ARROWS, where=(place, "arrows"))
    problem = assemble(part.problem)
    return Part(
        title=to_text(keys["title"]),
        about=to_text(keys["about"]),
        place=place,
        problem=problem,
        show=to_names(keys["show"], (place, "show")) or problem.default_selection,
        expected=part.expected,
        cell=checked(keys["cell"], str, "cell", (place, "cell"), "expected QUERY,KEY, such as word_1,word_3"),
        numpy={str(name): to_text(line) for name, line in (lines or {}).items()},
        arrows=arrows,
        problem_options=tuple(options_of_keys(part.own)),
    )


def _folder() -> Any:
    """The folder of the examples in the package."""
    return resources.files("attncli").joinpath("demos")


def options_of_keys(keys: Mapping[str, Any]) -> list[str]:
    """The options that are equivalent to keys of a problem, each as text for a shell.

    >>> options_of_keys({"causal": True, "normalize": {"topk": {"k": 2}}, "only": ["the cat", "sat"]})
    ['--causal', '--normalize topk:k=2', "--only 'the cat,sat'"]
    """
    return [_option(FIELDS[key], value) for key, value in keys.items()]


def select_option(show: Sequence[str], default: Sequence[str] = DEFAULT_SELECTION) -> list[str]:
    """The option that selects a part's results; empty for the problem's default results.

    >>> select_option(["weights", "output"])
    ['--select weights,output']
    """
    return [] if tuple(show) == tuple(default) else [f"--select {shlex.quote(','.join(show))}"]


def _option(field: Field, value: Any) -> str:
    """The option that is equivalent to a key and its value."""
    name = option_name(field.name)
    if field.kind == "flag":
        return name if value else f"--no-{name.removeprefix('--')}"
    if isinstance(value, list) and field.kind in ("labels", "window"):
        return f"{name} {shlex.quote(','.join(map(str, value)))}"
    if isinstance(value, Mapping) and field.kind == "decimals_of_steps":
        return f"{name} {','.join(f'{step}={count}' for step, count in value.items())}"
    return f"{name} {shlex.quote(_text(value))}"


def _text(value: Any) -> str:
    """A value in the grammar of the options."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, parameters),) = value.items()
        if parameters is None or isinstance(parameters, Mapping):
            given = ",".join(f"{key}={_text(parameter)}" for key, parameter in (parameters or {}).items())
            return f"{name}:{given}".rstrip(":")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

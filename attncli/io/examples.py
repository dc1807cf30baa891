"""Worked examples: problem files in parts, each with the names of results to show and their expected numbers."""

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import UnknownNameError
from attncli.io import formats
from attncli.io.assemble import assemble, check_keys
from attncli.io.inputs import Inputs
from attncli.io.origin import RawValue
from attncli.io.parse import example_keys
from attncli.io.part_options import options_of_keys, select_option
from attncli.io.parts import FilePart, file_parts
from attncli.io.paths import STDIN, is_there
from attncli.io.problem_files import EXAMPLE_KEYS, Document, ExampleKeys, parse_document, read_document
from attncli.problem.spec import ProblemSpec

FROM_KEY = "key_to_query"  # das → the: what is translated to what
ARROWS = ("query_to_key", FROM_KEY)  # sat → cat: who looks where


@dataclass(frozen=True)
class Part:
    """One part of an example: a problem, what is shown of its result, and the numbers that are expected."""

    title: str
    about: str
    place: str  # the file and the title or the number, as an error names them
    problem: ProblemSpec
    show: tuple[str, ...]
    expected: RawValue  # as the file has it: attncli.io.expected reads it
    cell: str | None  # the query and the key whose arithmetic is shown
    numpy: Mapping[str, str]  # lines of NumPy, by the name of the result that they compute
    arrows: str | None  # one of ARROWS
    problem_options: tuple[str, ...]  # the options of `attn compute FILE` for the same problem

    @property
    def options(self) -> str:
        """The options of `attn compute FILE` that show the same results."""
        return " ".join((*self.problem_options, *select_option(self.show, self.problem.default_selection)))


@dataclass(frozen=True)
class Example:
    """A worked example and its parts in order.

    The results `together` of all parts are shown in one table at the end, the result `curve` as a plot over the labels.
    """

    file: str
    title: str
    about: str
    topic: str
    teaches: str
    paper: str
    source: str  # who published the expected numbers; nobody where it is empty
    precision: int | None
    parts: Sequence[Part]
    together: tuple[str, ...]
    curve: str | None


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


def by_topic() -> Mapping[str, Mapping[str, str]]:
    """What each example of the package teaches, by its name, under the topics in the order of their first example."""
    topics: dict[str, dict[str, str]] = {}
    for name in names():
        document = parse_document(text(name), f"{name}.yaml")
        topics.setdefault(str(document["topic"].value), {})[name] = str(document["teaches"].value)
    return topics


def _example(document: Document, file: str) -> Example:
    """The example in a document; without `parts` it is one part."""
    check_keys(document)
    keys = ExampleKeys(**{key: raw.value for key, raw in document.items() if key in EXAMPLE_KEYS})
    return Example(
        file=file,
        title=example_keys.to_text(keys.title) or file,
        about=example_keys.to_text(keys.about),
        topic=example_keys.to_text(keys.topic),
        teaches=example_keys.to_text(keys.teaches),
        paper=example_keys.to_text(keys.paper),
        source=example_keys.to_text(keys.source),
        precision=example_keys.to_whole_number(
            keys.precision, (file, "precision"), "write how many decimals are shown"
        ),
        parts=[_part(part) for part in file_parts(document, file)],
        together=example_keys.to_names(keys.together, (file, "together")),
        curve=example_keys.to_word(keys.curve, "name of a result", (file, "curve"), "write one, such as output"),
    )


def _part(part: FilePart) -> Part:
    """A part with its problem and what is shown of it."""
    keys, place = part.keys, part.place
    numpy = example_keys.to_values_by_name(keys.numpy, (place, "numpy"), "a line of NumPy that computes it")
    problem = assemble(part.problem)
    return Part(
        title=example_keys.to_text(keys.title),
        about=example_keys.to_text(keys.about),
        place=place,
        problem=problem,
        show=example_keys.to_names(keys.show, (place, "show")) or problem.default_selection,
        expected=part.expected,
        cell=example_keys.to_word(keys.cell, "cell", (place, "cell"), "expected QUERY,KEY, such as word_1,word_3"),
        numpy={str(name): example_keys.to_text(lines) for name, lines in numpy.items()},
        arrows=example_keys.to_choice(keys.arrows, "direction", ARROWS, (place, "arrows")),
        problem_options=tuple(options_of_keys(part.own)),
    )


def _folder() -> Any:
    """The folder of the examples in the package."""
    return resources.files("attncli").joinpath("demos")

"""The parts of a problem file: one for each entry of `parts`, whose keys replace those of the file, or the whole."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.io.origin import Origin, RawValue
from attncli.io.parse import example_keys
from attncli.io.problem_files import Document, ShownKeys
from attncli.problem.build import check_name
from attncli.problem.results import EXPECTED
from attncli.problem.spec import FIELDS


@dataclass(frozen=True, kw_only=True)
class PartKeys(ShownKeys):
    """The keys of a part that are not keys of its problem, with their values in the file."""

    title: Any = None
    about: Any = None
    expected: Any = None


PART_KEYS = tuple(key.name for key in fields(PartKeys))
SHOWN_KEYS = tuple(key.name for key in fields(ShownKeys))


@dataclass(frozen=True)
class FilePart:
    """One part of a file: the keys of its problem, those that are its own, and what is said of it.

    `keys` has what the part does not say from the file, where the file says it for every part.
    """

    name: str  # the title or the number; empty where the file has no parts
    place: str  # the file and the part, as an error names them
    problem: Document
    own: Mapping[str, Any]
    keys: PartKeys
    origin: Origin

    @property
    def expected(self) -> RawValue:
        """What is expected of its results, as the file has it; None where nothing is."""
        return RawValue(self.keys.expected, self.origin)


def file_parts(document: Document, file: str) -> Sequence[FilePart]:
    """The parts of the document of a file, or all of it as one part.

    An option stands before the key of a part. Raises AttnError where `parts` is no list of parts, UnknownNameError
    for a key that a part has not.
    """
    values = {key: raw.value for key, raw in document.items()}
    shared = {key: values[key] for key in (*SHOWN_KEYS, EXPECTED) if key in values}
    parts = example_keys.to_parts(values.get("parts"), (file, "parts"))
    if parts is None:
        return [_part(document, shared, "", file)]
    names = [example_keys.to_text(part.get("title")) for part in parts]
    return [
        _part(document, {**shared, **part}, name or str(number), f"{file}, part {repr(name) if name else number}")
        for number, (part, name) in enumerate(zip(parts, names, strict=True), 1)
    ]


def _part(document: Document, part: Mapping[str, Any], name: str, place: str) -> FilePart:
    """A part, whose problem has the keys of the file, replaced by those of the part."""
    own = {key: value for key, value in part.items() if key not in PART_KEYS}
    for key in own:
        check_name(str(key), where=place, others=PART_KEYS)
    of_file = (raw.origin for raw in document.values() if not raw.origin.options)
    origin = replace(next(of_file, Origin()), name=place)
    base = {key: raw for key, raw in document.items() if key in FIELDS}
    options = {key: raw for key, raw in base.items() if raw.origin.options}
    problem = {**base, **{key: RawValue(value, origin) for key, value in own.items()}, **options}
    keys = PartKeys(**{key: part[key] for key in PART_KEYS if key in part})
    return FilePart(name, place, problem, own, keys, origin)

"""The parts of a problem file: one for each entry of `parts`, whose keys replace those of the file, or the whole.

Also the values of keys that are not those of a problem, each checked: an error has the place of the key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.errors import AttnError, ErrorPath
from attncli.io.origin import Origin, RawValue
from attncli.io.problem_files import PART_KEYS, SHOWN_KEYS, Document, to_text
from attncli.problem.build import check_name
from attncli.problem.results import EXPECTED
from attncli.problem.spec import FIELDS


@dataclass(frozen=True)
class FilePart:
    """One part of a file: the keys of its problem, those that are its own, and what is said of it.

    `keys` has what the part does not say from the file, where the file says it for every part.
    """

    name: str  # the title or the number; empty where the file has no parts
    place: str  # the file and the part, as an error names them
    problem: Document
    own: Mapping[str, Any]
    keys: Mapping[str, Any]
    origin: Origin

    @property
    def expected(self) -> RawValue:
        """What is expected of its results, as the file has it; None where nothing is."""
        return RawValue(self.keys.get(EXPECTED), self.origin)


def file_parts(document: Document, file: str) -> Sequence[FilePart]:
    """The parts of the document of a file, or all of it as one part.

    An option replaces the key of a part. Raises AttnError where `parts` is not a list of parts, UnknownNameError for a
    key that a part does not have.
    """
    values = {key: raw.value for key, raw in document.items()}
    shared = {key: values[key] for key in (*SHOWN_KEYS, EXPECTED) if key in values}
    parts = values.get("parts")
    if parts is None:
        return [_part(document, shared, "", file)]
    if not isinstance(parts, list) or not parts or not all(isinstance(part, Mapping) for part in parts):
        hint = "expected - title: … and the part's keys"
        raise AttnError("is not a list of parts", where=(file, "parts"), hint=hint)
    names = [to_text(part.get("title")) for part in parts]
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
    return FilePart(name, place, problem, own, {key: part.get(key) for key in PART_KEYS}, origin)


def checked(value: Any, kind: type, noun: str, place: ErrorPath, hint: str) -> Any:
    """A value that is a text or a whole number; None where the key is not given. Raises AttnError for others."""
    if value is not None and type(value) is not kind:
        raise AttnError(f"is not a {noun}", where=place, hint=hint)
    return value


def to_names(value: Any, place: ErrorPath) -> tuple[str, ...]:
    """The names of results, a list or one alone; none where the key is not given. Raises AttnError for others.

    >>> to_names("output", ("p.yaml", "together")), to_names(None, ("p.yaml", "show"))
    (('output',), ())
    """
    names = [value] if isinstance(value, str) else value
    if names is None:
        return ()
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise AttnError("is not a list of names of results", where=place, hint="write one, such as [weights, output]")
    return tuple(names)

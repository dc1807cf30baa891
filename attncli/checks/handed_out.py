"""The exercises of a class as they were handed out, against which answers are held that come back."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import count_of
from attncli.io.inputs import Inputs
from attncli.io.problem_files import Document, RawValue, expects_something, files_of_problems
from attncli.problem.fields import EXPECTED
from attncli.problem.spec import FIELDS


def find_handed_out(folder: str, inputs: Inputs) -> dict[str, str]:
    """The exercises in a folder by the names of the students; raises AttnError where it has none."""
    found = {name_of(file): file for file in files_of_problems(folder) if expects_something(file, inputs)}
    if not found:
        raise AttnError("has no exercises", where=folder, hint="name the folder that attn worksheet wrote")
    return found


def name_of(file: str) -> str:
    """The name by which an answer and its exercise are told: that of the file, in lower case.

    >>> name_of("answers/Ann.xlsx")
    'ann'
    """
    return PurePath(file).stem.casefold()


def as_handed_out(answer: Document, exercise: Document) -> tuple[Document, list[str]]:
    """The exercise with the answers that are given, and a sentence for each input that is not as it was."""
    changes = [text for key in FIELDS if (text := _change(key, answer, exercise))]
    expected = answer.get(EXPECTED)
    if expected is None:
        return exercise, changes
    filled = _filled(exercise[EXPECTED].value, expected.value)
    return {**exercise, EXPECTED: RawValue(filled, expected.origin)}, changes


def _change(key: str, answer: Document, exercise: Document) -> str:
    """How a key of an answer differs from that of the exercise; nothing where it does not."""
    if key not in exercise or key not in answer:
        is_left_out = key in exercise
        return f"{key} is {'left out' if is_left_out else 'new'}" if is_left_out or key in answer else ""
    given, own = (dict(_leaves(document[key].value)) for document in (answer, exercise))
    if given.keys() != own.keys():
        return f"{key} has another form"
    cells = [path for path, value in own.items() if given[path] != value]
    if not cells:
        return ""
    first = f"[{', '.join(map(str, cells[0]))}]" if cells[0] else ""
    others = f", and {count_of(len(cells) - 1, 'other number')}" if len(cells) > 1 else ""
    return f"{key}{first} is {given[cells[0]]}, and was {own[cells[0]]}{others}"


def _leaves(value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The values in nested lists and mappings, with their paths."""
    if isinstance(value, (Mapping, list)):
        for key, part in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from (((key, *path), leaf) for path, leaf in _leaves(part))
    else:
        yield (), value


def _filled(asked: Any, given: Any) -> Any:
    """What is asked for, null, with the numbers that are given; where these have another form, they alone."""
    if isinstance(asked, Mapping) and isinstance(given, Mapping) and given.keys() <= asked.keys():
        return {key: _filled(part, given.get(key)) for key, part in asked.items()}
    if isinstance(asked, list) and isinstance(given, list) and len(asked) == len(given):
        return [_filled(part, own) for part, own in zip(asked, given, strict=True)]
    return asked if given is None else given

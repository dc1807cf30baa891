"""Descriptions of what a file holds: the name, the shape and the type of each array."""

from collections.abc import Mapping
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.text import one_line, shorten
from attncli.problem.arrays import LabelledArray, to_array

MAX_TEXT_LENGTH = 60  # of what is no array


@dataclass(frozen=True)
class ArrayDescription:
    """One array in a file: its name ("" where it has none), its shape, and its type.

    What is no array, such as a number or a name in a problem, has no shape, and its text in place of a type.
    """

    name: str
    shape: tuple[int, ...] | None
    type: str


def describe_array(name: str, found: LabelledArray) -> ArrayDescription:
    """The description of an array that was read."""
    labels = "" if found.labels is None else f", {len(found.labels)} labels: {shorten(', '.join(found.labels))}"
    return ArrayDescription(name, found.array.shape, f"{found.dtype or found.array.dtype.name}{labels}")


def describe_value(name: str, value: Any) -> ArrayDescription:
    """The description of a value in a document: an array where it is one, otherwise its text."""
    if isinstance(value, (list, Mapping)):
        try:
            return describe_array(name, to_array(value, (name,)))
        except AttnError:  # labels, or an entry of the catalogue with its parameters
            pass
    items = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return ArrayDescription(name, None, shorten(one_line(items), MAX_TEXT_LENGTH))

"""Problem files: the values of a problem by their keys, from YAML, JSON, or a file of arrays."""

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.io import formats
from attncli.io.inputs import Inputs
from attncli.io.origin import Origin, RawValue
from attncli.io.paths import STDIN, nearest_file, path_of
from attncli.io.refused_files import check_is_not_refused

Document = dict[str, RawValue]


@dataclass(frozen=True, kw_only=True)
class ShownKeys:
    """What is shown of a part of a worked example; at the top of the file they are the keys of every part."""

    show: Any = None  # the names of the results that are shown
    cell: Any = None  # the query and the key, `word_1,word_3`, whose arithmetic is shown
    numpy: Any = None  # lines of NumPy that compute a result, by its name
    arrows: Any = None  # from which end to which the largest weight of each row is shown


@dataclass(frozen=True, kw_only=True)
class ExampleKeys(ShownKeys):
    """The keys of a worked example that are not keys of its problem, with their values; `attn compute` ignores them."""

    title: Any = None
    about: Any = None
    topic: Any = None
    teaches: Any = None
    paper: Any = None
    source: Any = None
    precision: Any = None
    expected: Any = None
    parts: Any = None
    together: Any = None
    curve: Any = None


EXAMPLE_KEYS = tuple(key.name for key in fields(ExampleKeys))


def read_document(name: str, inputs: Inputs | None = None) -> Document:
    """The values of a problem file by their keys, or those of standard input for `-`.

    Files are opened through `inputs`. Raises AttnError where the file is no problem, or its format can hold none.
    """
    inputs = inputs or Inputs()
    path = path_of(name)
    check_is_not_refused(path, name)
    is_known = name == STDIN or formats.format_of_suffix(path) is not None or os.path.lexists(path)
    if not is_known and nearest_file(path) is None:
        raise AttnError("is no problem file", where=name, hint=f"expected {formats.expected('problem')} or -")
    source = inputs.open(name)
    return _document(*formats.read_problem(source), Origin(source.name, path.parent, inputs=inputs))


def parse_document(text: str, name: str) -> Document:
    """The values of a text by their keys; its format is that of the name's suffix, or told by the text itself."""
    inputs = Inputs()
    return _document(*formats.read_problem(inputs.of_text(text, name)), Origin(name, inputs=inputs))


def _document(values: Mapping[str, Any], lines: Mapping[int, int], origin: Origin) -> Document:
    """Each value with its origin."""
    origin = replace(origin, lines=lines)
    return {key: RawValue(value, origin) for key, value in values.items()}

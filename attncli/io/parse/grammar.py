"""The text form of everything that has parameters: `NAME:key=value,key=value`."""

from collections.abc import Iterator
from typing import Any

from attncli.base.errors import AttnError, ErrorPath
from attncli.io.readers.scalars import scalar

Named = tuple[str, dict[str, Any]]


def parse(text: str, path: ErrorPath) -> Named:
    """The name and the parameters of `NAME:key=value,key=value`, each value as YAML reads it.

    Raises AttnError where a part is no `key=value`, or a key is given twice.

    >>> parse("gaussian:sigma=2", ("score",))
    ('gaussian', {'sigma': 2})
    """
    name, colon, rest = text.partition(":")
    if colon and not rest.strip():
        raise AttnError(f"nothing follows the colon of {text!r}", where=path, hint="leave it out")
    return name.strip(), dict(_parameters(rest, path)) if colon else {}


def inline(text: str, path: ErrorPath) -> Any:
    """A text of one line as YAML reads it: `[[1, 0], [0, 1]]`, `2`, `words.csv`.

    >>> inline("[[1, 0], [0, 1]]", ())
    [[1, 0], [0, 1]]
    """
    try:
        if text.lstrip()[:1] not in ("[", "{"):
            return scalar(text.strip())
        from attncli.io.readers import yaml  # noqa: PLC0415 - most options are one word

        return yaml.read(text, "")[0]
    except AttnError as error:
        error.path = path  # the line is left out: there is but one
        raise


def _parameters(text: str, path: ErrorPath) -> Iterator[tuple[str, Any]]:
    """Each `key=value`; commas inside brackets belong to the value."""
    names = set()
    for part in _split(text):
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key or not value.strip():
            raise AttnError(f"{part.strip()!r} is not key=value", where=path)
        if key in names:
            raise AttnError(f"{key} is given twice", where=path)
        names.add(key)
        yield key, inline(value, (*path, key))


def _split(text: str) -> Iterator[str]:
    """The parts between the commas that are outside all brackets."""
    depth = start = 0
    for at, letter in enumerate(text):
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]

"""The one grammar of everything that has parameters: `NAME:key=value,key=value`, or `{NAME: {key: value}}`."""

from collections.abc import Iterator, Mapping
from typing import Any

from attncli.base.errors import AttnError
from attncli.io.readers import json
from attncli.io.readers.scalars import scalar

Named = tuple[str, dict[str, Any]]


def parse(written: Any, where: str) -> Named:
    """The name and the parameters, as they were written.

    Raises AttnError where it is neither of the two forms.
    """
    if isinstance(written, str):
        name, colon, rest = written.partition(":")
        if colon and not rest.strip():
            raise AttnError(f"nothing follows the colon of {written!r}", where=where, hint="leave it out")
        return name.strip(), dict(_parameters(rest, where)) if colon else {}
    if isinstance(written, Mapping) and len(written) == 1:
        ((name, parameters),) = written.items()
        parameters = {} if parameters is None else parameters
        if isinstance(parameters, Mapping) and all(isinstance(word, str) for word in (name, *parameters)):
            return name, dict(parameters)
    raise AttnError(
        f"{json.said(written)} is no name",
        where=where,
        hint="write NAME, NAME:key=value or {NAME: {key: value}}",
    )


def inline(text: str, where: str) -> Any:
    """Text from the command line as YAML reads it: `[[1, 0], [0, 1]]`, `2`, `words.csv`."""
    try:
        if text.lstrip()[:1] not in ("[", "{"):
            return scalar(text.strip())
        from attncli.io.readers import yaml  # noqa: PLC0415 - most options are one word

        return yaml.read(text, where)[0]
    except AttnError as error:
        error.where = where  # words on a command line have no lines
        raise


def _parameters(text: str, where: str) -> Iterator[tuple[str, Any]]:
    """Each `key=value`; commas inside brackets belong to the value."""
    seen = set()
    for part in _split(text):
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key or not value.strip():
            raise AttnError(f"{part.strip()!r} is not key=value", where=where)
        if key in seen:
            raise AttnError(f"{key} is given twice", where=where)
        seen.add(key)
        yield key, inline(value, f"{where}, {key}")


def _split(text: str) -> Iterator[str]:
    """The parts between the commas that stand in no brackets."""
    depth = start = 0
    for at, letter in enumerate(text):
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]

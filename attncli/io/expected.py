"""What is expected of the results of a problem: the key `expected` of a file, or the options `--against`."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError, ErrorPath, UnknownNameError, did_you_mean
from attncli.io import formats
from attncli.io.inputs import Inputs
from attncli.io.origin import Origin, RawValue
from attncli.io.parse.expected_value import read_expected_value
from attncli.io.parse.matrix import open_file
from attncli.io.paths import is_there
from attncli.io.readers.result_object import results_of
from attncli.problem.results import EXPECTED, OUTPUT

AGAINST = "against"  # the option in place of the key
_NAME = re.compile(r"\s*[A-Za-z_]\w*\s*")


@dataclass(frozen=True)
class Expectation:
    """The numbers that are expected of one result, as `attncli.analysis.check` takes them, and their origin."""

    value: Any
    key: str  # `expected`, or `against` for the option
    origin: Origin

    def locate(self, error: AttnError) -> AttnError:
        """An error whose path begins with `expected`, with the place where the numbers were given in its stead."""
        error.path = self.origin.path(self.key, *error.path[1:], subject=error.subject)
        return error


@dataclass(frozen=True)
class Expected:
    """What is expected of each result, by its name, and the entries of files that name no result."""

    by_name: Mapping[str, Expectation]
    left_out: tuple[str, ...] = ()


NOTHING = Expected({})


def read_expected(raw: RawValue, known: Collection[str] | None) -> Expected:
    """What a key `expected` says of a problem whose results have the `known` names (None: any).

    NOTHING where the key is not given. It is a mapping from names to numbers or files, or one file that has several
    names. Raises UnknownNameError for other names, AttnError for what is neither, or can't be read.
    """
    if raw.value is None:
        return NOTHING
    if isinstance(raw.value, str):
        return _read_file(raw.value, EXPECTED, raw.origin, known)
    if not isinstance(raw.value, Mapping):
        raise AttnError("has no names", where=raw.origin.path(EXPECTED), hint="write NAME: its numbers")
    for name in raw.value:
        _check_name(name, raw.value if known is None else known, raw.origin.path(EXPECTED))
    return _read_values(raw.value, EXPECTED, raw.origin)


def read_against(texts: Sequence[str], inputs: Inputs, known: Collection[str]) -> Expected:
    """What options `--against NAME=VALUE` and `--against FILE` say of a problem whose results have the `known` names.

    Raises UnknownNameError for other names, AttnError where a name is given twice, or something can't be read.
    """
    origin = Origin(options=True, inputs=inputs)
    found = NOTHING
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and _NAME.fullmatch(name) and not is_there(Path(text)):
            _check_name(name.strip(), known, origin.path(AGAINST))
            read = _read_values({name.strip(): value}, AGAINST, origin)
        elif text.strip() in known and not is_there(Path(text)):
            hint = f"write {text}='.6 .4' or {text}=FILE"
            raise AttnError("has no numbers", where=origin.path(AGAINST, text), hint=hint)
        else:
            read = _read_file(text, AGAINST, origin, known)
        for twice in read.by_name.keys() & found.by_name.keys():
            raise AttnError("is given twice", where=origin.path(AGAINST, twice), hint="give it once")
        found = Expected({**found.by_name, **read.by_name}, found.left_out + read.left_out)
    return found


def _check_name(name: str, known: Collection[str], path: ErrorPath) -> None:
    """Raise UnknownNameError where no result has a name."""
    if name not in known:
        raise UnknownNameError("result", name, known, where=path)


def _read_values(values: Mapping[str, Any], key: str, origin: Origin) -> Expected:
    """What is expected of several results."""
    return Expected(
        {
            name: Expectation(read_expected_value(value, name, key, origin), key, origin)
            for name, value in values.items()
        }
    )


def _read_file(text: str, key: str, origin: Origin, known: Collection[str] | None) -> Expected:
    """The results in a file of several; entries that are no result, and not nearly one, are left out.

    Raises AttnError where the file has one array without a name, UnknownNameError where it has no result.
    """
    source, entry = open_file(text, (key,), origin, None)
    content = results_of(formats.read_expected(source))
    is_table = formats.formats_of(source, "expected")[-1].is_table
    if entry or is_table or not isinstance(content, Mapping):
        example = f"--against {OUTPUT}={text}" if key == AGAINST else f"{EXPECTED}: {{{OUTPUT}: {text}}}"
        message = f"{text} is one array without a name"
        raise AttnError(message, where=origin.path(key), hint=f"say which result it is, such as {example}")
    known = content if known is None else known
    unknown = [name for name in content if name not in known]
    for name in unknown:
        if len(unknown) == len(content) or did_you_mean(name, known):
            raise UnknownNameError("result", name, known, where=source.name)
    if not content:
        raise AttnError("has no results", where=source.name)
    read = _read_values({name: value for name, value in content.items() if name in known}, key, origin)
    return Expected(read.by_name, tuple(f"{source.name}#{name}" for name in unknown))

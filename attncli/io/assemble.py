"""A problem from files, options or keywords of Python: texts are read, and `problem.build` makes the problem."""

from collections.abc import Mapping
from typing import Any

from attncli.base.errors import AttnError
from attncli.io.origin import PYTHON, RawValue
from attncli.io.parse.problem_keys import read_value
from attncli.io.problem_files import EXAMPLE_KEYS
from attncli.problem.build import LABELLED_AXES, build, check_name
from attncli.problem.convert import labels_of_value
from attncli.problem.origins import ArrayOrigin
from attncli.problem.spec import FIELDS, ProblemSpec


def check_keys(document: Mapping[str, RawValue]) -> None:
    """Raise UnknownNameError at the first key that neither a problem nor a worked example has."""
    for key, raw in document.items():
        check_name(key, where=raw.origin.name or None, others=EXAMPLE_KEYS)


def assemble(document: Mapping[str, RawValue], convention: str | None = None) -> ProblemSpec:
    """The problem of raw values by their keys, read as the framework of a convention reads them.

    Raises AttnError whose path begins with the file and line, or the option, that a value was given in.
    """
    check_keys(document)
    given = {key: raw for key, raw in document.items() if key in FIELDS and raw.value is not None}
    values = {key: read_value(FIELDS[key], raw) for key, raw in given.items()}
    elsewhere = {key: raw for key, raw in given.items() if raw.origin is not PYTHON}
    _prefer_overriding_labels(values, elsewhere)
    origins = {key: _array_origin(key, raw) for key, raw in elsewhere.items() if raw.origin.options or raw.origin.name}
    try:
        return build(values, origins, convention)
    except AttnError as error:
        error.path = _path(error, values, given)
        raise


def _array_origin(key: str, raw: RawValue) -> ArrayOrigin:
    """Where a value was given that is an array: as an option, or in a file."""
    if raw.origin.options:
        return ArrayOrigin(raw.origin.path(key)[0], is_option=True)
    return raw.origin.of_array(raw.value)


def _path(error: AttnError, values: Mapping[str, Any], given: Mapping[str, RawValue]) -> tuple[str, ...]:
    """The path of an error of the builder, with the file and line or the option where the value was given."""
    options = [key for key in error.keys if key in given and given[key].origin.options]
    if options and error.path[:1] not in [(key,) for key in options]:  # without the option there was no contradiction
        return given[options[0]].origin.path(options[0])
    if error.path and error.path[0] in given:
        raw = given[error.path[0]]
        is_whole_value = error.subject is values[error.path[0]]
        return raw.origin.path(*error.path, subject=raw.value if is_whole_value else error.subject)
    files = {raw.origin.name for raw in given.values() if raw.origin.name}
    return (*files, *error.path) if len(files) == 1 else error.path


def _prefer_overriding_labels(values: dict[str, Any], given: Mapping[str, RawValue]) -> None:
    """Replace labels of a file by those of an array that is given as an option, or over the file in Python."""
    overriding = {key for key, raw in given.items() if raw.origin.options or raw.origin.overrides}
    if not overriding:
        return
    for name, axes in LABELLED_AXES.items():
        owners = [(owner, axis) for owner, axis in axes if owner in overriding and name not in overriding]
        found = [labels for owner, axis in owners if (labels := labels_of_value(values[owner])[axis])]
        if found:
            values[name] = found[0]

"""Values that are read and converted once, for several problems that have them."""

from collections.abc import Mapping
from dataclasses import replace

from attncli.base.errors import AttnError
from attncli.io.origin import RawValue
from attncli.io.parse.problem_keys import read_value
from attncli.io.problem_files import Document
from attncli.problem.arrays import LabelledArray
from attncli.problem.convert import to_field
from attncli.problem.fields import Field
from attncli.problem.spec import FIELDS


def convert_value(field: Field, raw: RawValue) -> RawValue:
    """The value of a key as the problem has it: the texts in it read, from their files too, and itself converted.

    Raises AttnError that names the file and line, the key, or the option.
    """
    if raw.value is None:
        return raw
    read = read_value(field, raw)
    try:
        value = to_field(field, read)
    except AttnError as error:
        error.path = raw.origin.path(*error.path, subject=raw.value if error.subject is read else error.subject)
        raise
    if isinstance(value, LabelledArray) and value.origin is None and raw.origin.name:
        value = replace(value, origin=raw.origin.of_array(raw.value))  # its lines are known from the lists alone
    return replace(raw, value=value)


def convert_document(document: Mapping[str, RawValue]) -> Document:
    """The values of a problem, those of its keys converted; a vocabulary is read alone, for its words stay labels."""
    return {key: _convert(key, raw) for key, raw in document.items()}


def _convert(key: str, raw: RawValue) -> RawValue:
    """The value of a key, converted where it is one of a problem."""
    if key not in FIELDS:
        return raw
    field = FIELDS[key]
    return replace(raw, value=read_value(field, raw)) if field.kind == "vocabulary" else convert_value(field, raw)

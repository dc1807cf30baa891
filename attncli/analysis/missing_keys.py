"""The keys that a problem to be drawn lacks, chosen for it: generators, sizes, and arrays that its operators need."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.io.assemble import read_value
from attncli.io.origin import Origin, RawValue
from attncli.io.problem_files import Document
from attncli.ops.registry import is_operator, look_up
from attncli.problem.given_tables import TABLES
from attncli.problem.spec import FIELDS, OPERATOR_FIELDS

SEQUENCES = ("embeddings", "residual", "query", "key")  # one of them is given, or embeddings are drawn


@dataclass(frozen=True)
class MissingKeys:
    """What is chosen where a problem lacks it: generators of embeddings and of matrices, other keys, and sizes."""

    embeddings: str
    matrices: str
    others: Mapping[str, Any]
    tokens: int
    features: int
    features_per_head: int


def with_missing(document: Document, missing: MissingKeys) -> Document:
    """The keys of a problem with those that it lacks, also the arrays that its operators need."""
    sequences = [document[key].value for key in SEQUENCES if key in document]
    chosen: dict[str, Any] = {"init": missing.matrices, **missing.others}
    has_table = not document.keys().isdisjoint(TABLES)
    if not sequences and not has_table and "sentence" not in document:
        chosen["embeddings"] = missing.embeddings
    if all(map(_is_drawn, sequences)) and not has_table:  # otherwise they have sizes of their own
        heads = document["heads"].value if "heads" in document else 1
        several = type(heads) is int and heads > 1
        dim = missing.features_per_head * heads if several else missing.features
        chosen |= {} if "vocabulary" in document else {"dim": dim}
        chosen |= {} if document.keys() & {"sentence", "tokens"} else {"token_count": missing.tokens}
    values = {key: RawValue(value, Origin()) for key, value in chosen.items() if key not in document}
    operators = {key: _with_arrays(key, document[key], missing) for key in OPERATOR_FIELDS if key in document}
    return document | values | operators


def _is_drawn(value: Any) -> bool:
    """Whether the value of a sequence is a generator."""
    return isinstance(value, str) and is_operator("generator", value.partition(":")[0])


def _with_arrays(key: str, raw: RawValue, missing: MissingKeys) -> RawValue:
    """The value of a key that names an operator, with its missing arrays drawn; other values stay as they are."""
    value = read_value(FIELDS[key], raw)
    name, given = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else (value, {})
    kind = "mask" if FIELDS[key].kind == "boolean_matrix" else FIELDS[key].kind
    if not isinstance(name, str) or not isinstance(given, dict) or not is_operator(kind, name):
        return raw
    parameters = look_up(kind, name).parameters
    drawn = {p.name: missing.matrices for p in parameters if p.kind == "array" and p.required and p.name not in given}
    return replace(raw, value={name: {**given, **drawn}}) if drawn else raw

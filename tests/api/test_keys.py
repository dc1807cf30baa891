"""The keywords that type checkers and editors know are the keys of a problem."""

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from attncli.api import arguments as keys
from attncli.problem.spec import FIELDS

KNOWN: Mapping[str, Any] = get_type_hints(keys.ProblemKeys)
TYPES = {
    "matrix": keys.Matrix,
    "vocabulary": keys.Matrix,
    "positions": keys.Matrix,
    "booleans": keys.Matrix,
    "vector": keys.Vector,
    "counts": keys.Vector,
    "sequence_bounds": keys.Vector,
    "page_numbers": keys.Matrix,
    "boolean_matrix": keys.Matrix | keys.OperatorChoice,
    "text": str | None,
    "flag": bool | None,
    "integer": keys.Integer,
    "number": keys.Number,
    "window": keys.Window,
    "labels": keys.Labels,
    "tokenizer": Any,
}


def test_every_key_is_known_in_the_order_of_the_table() -> None:
    vectors = ("query", "key", "value")
    assert list(get_type_hints(keys.KeysBesideVectors)) == [name for name in FIELDS if name not in vectors]
    assert set(KNOWN) == set(FIELDS)


@pytest.mark.parametrize("field", FIELDS.values(), ids=lambda field: field.name)
def test_a_key_has_the_type_of_its_kind(field: Any) -> None:
    known = KNOWN[field.name]
    if field.kind == "word":
        (words,) = [part for part in get_args(known) if get_origin(part) is Literal]
        assert get_args(words) == field.words
    else:
        assert known == TYPES.get(field.kind, keys.OperatorChoice)

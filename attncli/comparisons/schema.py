"""The JSON Schema of what `attn compare --json` writes."""

from attncli.comparisons.comparison import OverSeeds
from attncli.comparisons.differences import Difference, FirstDifference
from attncli.comparisons.objects import COMPARE_FORMAT
from attncli.render.schemas import NAMES, NUMBERS, TEXT, Schema, all_of, of_record, schema_document


def compare_schema() -> Schema:
    """The schema of what `attn compare --json` writes.

    >>> compare_schema()["required"][2:4]
    ['variants', 'differences']
    """
    variant = {
        "name": TEXT,
        "keys": {"type": "object"},
        "pipeline": {"type": "object", "additionalProperties": TEXT},
        "query_tokens": NAMES,
        "key_tokens": NAMES,
        "statistics": {"type": ["object", "null"]},
    }
    more = {"convention": {"type": "object"}}
    pair = {"variants": NAMES}
    difference, first, seeds = (of_record(record) for record in (Difference, FirstDifference, OverSeeds))
    difference["properties"] |= pair | {"reason": {"type": ["string", "null"]}}
    first["properties"] |= pair | {"only_in": {"type": ["string", "null"]}}
    seeds["properties"] |= pair
    content = {
        "format": {"const": COMPARE_FORMAT},
        "version": TEXT,
        "variants": {
            "type": "array",
            "items": all_of(variant | more, list(variant)) | {"additionalProperties": NUMBERS},
        },
        "differences": {"type": "array", "items": difference},
        "first_differences": {"type": "array", "items": first},
        "seeds": {"type": "array", "items": seeds},
        "remarks": NAMES,
    }
    return schema_document("A comparison of attn compare", all_of(content))

"""What `attn` writes as JSON is valid by the schemas that `attn schema` writes."""

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from attncli.render.schemas import SCHEMAS, schema_of


@cache
def validator(kind: str) -> Any:
    """The validator of one schema."""
    return Draft202012Validator(schema_of(kind))


def assert_valid(text: str) -> None:
    """A text that is the JSON of a format with a schema is valid; others are not looked at."""
    content = json.loads(text) if text.startswith("{") and text.endswith("}\n") else {}
    kind = str(content.get("format")).removeprefix("attn.").removesuffix("/1")
    if kind in SCHEMAS:
        errors = [(list(error.path), error.message[:200]) for error in validator(kind).iter_errors(content)]
        assert errors == [], f"attn schema {kind} refuses {errors}"

"""The JSON Schema of `attn check --json`."""

from attncli.checks.error_shapes import ErrorShape
from attncli.checks.objects import ARRAYS, CHECK_FORMAT, OF_READINGS
from attncli.checks.report import DigitsOfAgreement, Explanation, QuantityCheck, Reading, Telling, WorstCell
from attncli.render.schemas import NAMES, TEXT, Schema, all_of, any_of, of_record, schema_document


def check_schema() -> Schema:
    """The schema of `attn check --json`, for one problem or a suite.

    >>> [*check_schema()["$defs"]["outcome"]["properties"]][:3]
    ['problem', 'part', 'agrees']
    """
    worst: Schema = of_record(WorstCell, without=["allowed"])
    quantity = of_record(QuantityCheck, without=ARRAYS)
    quantity["properties"] |= {
        "agrees": {"type": "boolean"},
        "worst": any_of(worst, {"type": "null"}),
        "reading": any_of(
            of_record(Reading, without=OF_READINGS),
            {"type": "null"},
        ),
        "by_digits": {"type": "array", "items": of_record(DigitsOfAgreement)},
        "error_shapes": {"type": "array", "items": of_record(ErrorShape)},
    }
    explanation = of_record(Explanation)
    in_part: dict[str, Schema] = explanation["properties"] | {
        "result": TEXT,
        "axis": TEXT,
        "positions": {"type": "array", "items": {"type": "integer"}},
        "others_agree": {"type": "boolean"},
    }
    nearest = explanation["properties"] | {"result": TEXT, "count": {"type": "integer"}}
    names = any_of(NAMES, {"type": "null"})
    optional_text: Schema = {"type": ["string", "null"]}
    report = {
        "results": {"type": "array", "items": {"$ref": "#/$defs/quantity"}},
        "first_difference": optional_text,
        "reference": TEXT,
        "explained_by": {"type": "array", "items": {"$ref": "#/$defs/explanation"}},
        "telling": any_of(of_record(Telling), {"type": "null"}),
        "explained_in_part": {"type": "array", "items": all_of(in_part)},
        "nearest": any_of(all_of(nearest), {"type": "null"}),
        "tried": {"type": "integer"},
        "untried": NAMES,
        "searched": optional_text,
        **dict.fromkeys(("passed", "unnoticed"), names),
        "set": {"type": "array"},
        "before": {"type": "object"},
        "error": TEXT,
    }
    verdict: Schema = {"type": ["boolean", "null"]}
    outcome = {
        "problem": optional_text,
        "part": optional_text,
        "agrees": verdict,
        "blank": {"type": "integer"},
        **report,
    }
    head = {"format": {"const": CHECK_FORMAT}, "version": TEXT}
    suite = head | {"agrees": verdict, "checks": {"type": "array", "items": {"$ref": "#/$defs/outcome"}}}
    suite["left_out"] = NAMES
    definitions = {
        "quantity": quantity,
        "explanation": explanation,
        "outcome": all_of(outcome, ["problem", "part", "agrees"]),
    }
    one = all_of(head | outcome, ["format", "version", "problem", "part", "agrees"])
    return schema_document("A verdict of attn check", any_of(one, all_of(suite)), definitions)

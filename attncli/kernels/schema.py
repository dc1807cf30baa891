"""The JSON Schema of what `attn try --json` writes."""

from attncli.checks.report import Explanation
from attncli.kernels.document import TRY_FORMAT
from attncli.kernels.domain import Sizes
from attncli.kernels.report import LawResult, OtherFailure
from attncli.render.schemas import NAMES, NUMBERS, PROBLEM, TEXT, Schema, all_of, any_of, of_record, schema_document


def try_schema() -> Schema:
    """The schema of what `attn try --json` writes.

    >>> try_schema()["required"][2:4]
    ['function', 'passes']
    """
    count: Schema = {"type": "integer"}
    smallest: dict[str, Schema] = {
        **dict.fromkeys(("kind", "sentence"), TEXT),
        "sizes": of_record(Sizes),
        "numbers": count,
        **dict.fromkeys(("dtype", "memory", "printed"), TEXT),
        "arguments": {"type": "object", "additionalProperties": NUMBERS},
        "problem": PROBLEM,
        "returned": {"type": "object", "additionalProperties": NUMBERS},
        "correct": {"type": "object", "additionalProperties": NUMBERS},
    }
    content: dict[str, Schema] = {
        "format": {"const": TRY_FORMAT},
        "version": TEXT,
        "function": TEXT,
        "passes": any_of({"type": "boolean"}, {"type": "null"}),
        **dict.fromkeys(("tried", "failed", "telling"), count),
        "is_stopped": {"type": "boolean"},
        "seed": count,
        **dict.fromkeys(("dtypes", "refused", "called", "untried", "compared", "right_with"), NAMES),
        **dict.fromkeys(("arrays", "layout", "domain"), TEXT),
        "explained_by": {"type": "array", "items": of_record(Explanation)},
        "smallest": any_of(all_of(smallest), {"type": "null"}),
        "laws": {"type": "array", "items": of_record(LawResult)},
        "others": {"type": "array", "items": of_record(OtherFailure)},
    }
    return schema_document("A trial of attn try", all_of(content))

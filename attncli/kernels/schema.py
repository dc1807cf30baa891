"""The JSON Schemas of what `attn try --json`, `attn merge --json` and `attn vectors --json` write."""

from attncli.checks.report import Explanation
from attncli.kernels.document import TRY_FORMAT
from attncli.kernels.domain import Sizes
from attncli.kernels.merge import Finding, MergeVerdict
from attncli.kernels.merge_document import MERGE_FORMAT
from attncli.kernels.report import LawResult, OtherFailure
from attncli.kernels.vector_files import VECTORS_FORMAT
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
        "passed": any_of(NAMES, {"type": "null"}),
        "explained_by": {"type": "array", "items": of_record(Explanation)},
        "smallest": any_of(all_of(smallest), {"type": "null"}),
        "laws": {"type": "array", "items": of_record(LawResult)},
        "others": {"type": "array", "items": of_record(OtherFailure)},
    }
    return schema_document("A trial of attn try", all_of(content))


def merge_schema() -> Schema:
    """The schema of what `attn merge --json` writes.

    >>> merge_schema()["required"][2:4]
    ['parts', 'lse_base']
    """
    verdict = of_record(MergeVerdict)
    verdict["properties"]["explanations"] = {"type": "array", "items": of_record(Finding)}
    content: dict[str, Schema] = {
        "format": {"const": MERGE_FORMAT},
        "version": TEXT,
        "parts": NAMES,
        **dict.fromkeys(("lse_base", "dtype"), TEXT),
        **dict.fromkeys(("output", "lse", "weights"), NUMBERS),
        "against": {"type": "array", "items": verdict},
    }
    return schema_document("A merge of attn merge", all_of(content))


def vectors_schema() -> Schema:
    """The schema of what `attn vectors --json` and manifests have.

    >>> vectors_schema()["required"][2:4]
    ['seed', 'vectors']
    """
    by_result: Schema = {"type": "object", "additionalProperties": {"type": "number"}}
    row: dict[str, Schema] = {
        **dict.fromkeys(("name", "file", "about", "dtype"), TEXT),
        "keys": {"type": "object"},
        "shapes": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
        "tolerance": {"type": "object", "additionalProperties": by_result},
        "reveals": {"type": "object", "additionalProperties": NAMES},
    }
    content: dict[str, Schema] = {
        "format": {"const": VECTORS_FORMAT},
        "version": TEXT,
        "seed": {"type": "integer"},
        "vectors": {"type": "array", "items": all_of(row)},
        "mistakes": {"type": "object", "additionalProperties": all_of({"sentence": TEXT, "bugs": NAMES})},
    }
    return schema_document("The manifest of attn vectors", all_of(content))

"""The findings of a comparison, as an object of names and numbers."""

from collections.abc import Sequence
from typing import Any

from attncli.base.program import __version__
from attncli.comparisons.comparison import Comparison, OverSeeds, over_seeds
from attncli.comparisons.differences import Difference, FirstDifference, VariantResult
from attncli.plan.trace import weight_rows_at
from attncli.render.objects import record_object
from attncli.render.schemas import NAMES, NUMBERS, TEXT, Schema, all_of, of_record, schema_document
from attncli.render.statistics import object_of_statistics
from attncli.render.view import View, selected_value

COMPARE_FORMAT = "attn.compare/1"


def compare_object(comparison: Comparison) -> dict[str, Any]:
    """The variants with their results and statistics, the differences, and the first step of each that differs."""
    names = [one.variant.name for one in comparison.variants]
    return {
        "format": COMPARE_FORMAT,
        "version": __version__,
        "variants": [_variant(one, comparison) for one in comparison.variants],
        "differences": [_difference(difference, names) for difference in comparison.differences],
        "first_differences": [_first_difference(difference, names) for difference in comparison.first_differences],
        "seeds": [_over_seeds(found, names) for found in over_seeds(comparison)],
        "remarks": list(comparison.remarks),
    }


def _over_seeds(found: OverSeeds, names: Sequence[str]) -> dict[str, Any]:
    """The mean and the standard deviation of each statistic of variants that differ only in their seed."""
    return {**vars(found), "variants": [names[at] for at in found.variants]}


def _variant(one: VariantResult, comparison: Comparison) -> dict[str, Any]:
    """A variant: its varied keys, facts about its run, its labels, its selected results, and its statistics."""
    trace, view = one.result.trace, View(one.result, positions=comparison.positions)
    content: dict[str, Any] = {
        "name": one.variant.name,
        "keys": dict(one.variant.keys),
        "pipeline": dict(trace.pipeline),
        "query_tokens": list(trace.labels["n"]),
        "key_tokens": list(trace.labels["m"]),
    }
    content |= {name: selected_value(view, trace[name]) for name in one.result.select}
    content["statistics"] = None
    if one.statistics is not None:
        rows = weight_rows_at(trace, comparison.positions)
        content["statistics"] = object_of_statistics(one.statistics, trace.numbered_labels["m"], rows)
    if trace.problem.convention is not None:
        content["convention"] = trace.problem.convention.as_object()
    return content


def _difference(difference: Difference, names: Sequence[str]) -> dict[str, Any]:
    """The difference of a result in two variants; fields without a value are null."""
    leading = {
        "variants": [names[at] for at in difference.variants],
        "name": difference.name,
        "max_abs": difference.max_abs,
        "labels": difference.labels,
    }
    return record_object(leading, difference) | {"reason": difference.reason or None}


def _first_difference(difference: FirstDifference, names: Sequence[str]) -> dict[str, Any]:
    leading = {
        "variants": [names[at] for at in difference.variants],
        "step": difference.step,
        "only_in": None if difference.only_in is None else names[difference.only_in],
        "labels": difference.labels,
    }
    return record_object(leading, difference)


def compare_schema() -> Schema:
    """The schema of `attn compare --json`.

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

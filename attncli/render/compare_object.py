"""A comparison as one object of names and numbers, which JSON and YAML write out."""

from typing import Any

from attncli import __version__
from attncli.analysis.compare.report import Comparison, Difference, FirstDifference, VariantResult
from attncli.analysis.row_statistics import NO_KEY, RowStatistics
from attncli.base.lazy_numpy import Array, np
from attncli.render.selection import selected_value
from attncli.render.view import View
from attncli.trace.positions import slices_at
from attncli.trace.steps import Trace

FORMAT = "attn.compare/1"


def compare_object(comparison: Comparison) -> dict[str, Any]:
    """The variants with their results and statistics, the differences, and the first step of each that differs."""
    names = [one.variant.name for one in comparison.variants]
    return {
        "format": FORMAT,
        "version": __version__,
        "variants": [_variant(one, comparison) for one in comparison.variants],
        "differences": [_difference(difference, names) for difference in comparison.differences],
        "first_differences": [_first_difference(difference, names) for difference in comparison.first_differences],
        "remarks": list(comparison.remarks),
    }


def _variant(one: VariantResult, comparison: Comparison) -> dict[str, Any]:
    """A variant: what was varied, how it came about, its labels, its selected results, and its statistics."""
    trace, view = one.result.trace, View(one.result, positions=comparison.positions)
    content: dict[str, Any] = {
        "name": one.variant.name,
        "keys": dict(one.variant.keys),
        "pipeline": dict(trace.pipeline),
        "query_tokens": list(trace.labels["n"]),
        "key_tokens": list(trace.labels["m"]),
    }
    content |= {name: selected_value(view, trace[name]) for name in one.result.select}
    content["statistics"] = None if one.statistics is None else _statistics(one.statistics, trace, comparison)
    if one.variant.remarks:
        content["remarks"] = list(one.variant.remarks)
    return content

"""A comparison as one object of names and numbers, which JSON and YAML write out."""

from collections.abc import Sequence
from typing import Any

from attncli import __version__
from attncli.analysis.compare.report import Comparison, Difference, FirstDifference, VariantResult
from attncli.analysis.row_statistics import RowStatistics
from attncli.render.statistics import object_of_statistics
from attncli.render.view import View, selected_value
from attncli.trace.positions import weight_rows_at
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
    if trace.problem.convention is not None:
        content["convention"] = trace.problem.convention.as_object()
    return content


def _statistics(statistics: RowStatistics, trace: Trace, comparison: Comparison) -> dict[str, Any]:
    """The statistics of the rows that are compared."""
    index = weight_rows_at(trace, comparison.positions)
    return object_of_statistics(statistics, trace.numbered_labels["m"], index)


def _difference(difference: Difference, names: Sequence[str]) -> dict[str, Any]:
    """The difference of a result of two variants; null where there is none to say."""
    return {
        "variants": [names[at] for at in difference.variants],
        "name": difference.name,
        "max_abs": difference.max_abs,
        "labels": list(difference.labels),
        "position": None if difference.position is None else list(difference.position),
        "numbers": None if difference.numbers is None else list(difference.numbers),
        "distribution_count": difference.distribution_count,
        "total_variation": difference.total_variation,
        "kl": difference.kl,
        "infinite_kl_count": difference.infinite_kl_count,
        "reordered_count": difference.reordered_count,
        "row_count": difference.row_count,
        "reason": difference.reason or None,
    }


def _first_difference(difference: FirstDifference, names: Sequence[str]) -> dict[str, Any]:
    """The first step in which two variants differ."""
    return {
        "variants": [names[at] for at in difference.variants],
        "step": difference.step,
        "only_in": None if difference.only_in is None else names[difference.only_in],
        "labels": list(difference.labels),
        "position": None if difference.position is None else list(difference.position),
        "numbers": None if difference.numbers is None else list(difference.numbers),
        "is_partial": difference.is_partial,
    }

"""A check, a suite of checks, or a comparison as one object of names and numbers, which JSON and YAML write out."""

from collections.abc import Iterable, Sequence
from typing import Any

from attncli import __version__
from attncli.analysis.check.report import BeforeEdits, CheckOutcome, CheckReport, Explanation, QuantityCheck
from attncli.analysis.compare import Comparison
from attncli.analysis.differences import Difference, FirstDifference, VariantResult
from attncli.analysis.rows import RowStatistics
from attncli.render.selection import selected_value
from attncli.render.statistics import object_of_statistics
from attncli.render.view import View
from attncli.trace.positions import weight_rows_at
from attncli.trace.steps import Trace

CHECK_FORMAT = "attn.check/1"


def check_object(outcome: CheckOutcome) -> dict[str, Any]:
    """The object of one check."""
    return {"format": CHECK_FORMAT, "version": __version__, **_outcome(outcome)}


def suite_object(outcomes: Sequence[CheckOutcome], left_out: Sequence[str] = ()) -> dict[str, Any]:
    """The object of a suite: whether all agree, and the checks in order; one that could not be made has its error.

    `left_out` are files of folders in which nothing is expected.
    """
    return {
        "format": CHECK_FORMAT,
        "version": __version__,
        "agrees": all(outcome.agrees for outcome in outcomes),
        "checks": [_outcome(outcome) for outcome in outcomes],
        "left_out": list(left_out),
    }


def _outcome(outcome: CheckOutcome) -> dict[str, Any]:
    """The problem and its report, or its error."""
    agrees = outcome.agrees if outcome.has_verdict else None
    place = {"problem": outcome.file or None, "part": outcome.part or None, "agrees": agrees}
    if outcome.report is None:
        return place | {"error": str(outcome.error)}
    return place | _report(outcome.report) | _before(outcome.before)


def _before(before: BeforeEdits | None) -> dict[str, Any]:
    """The numbers that were set, and what was found before; nothing where none were."""
    if before is None:
        return {}
    return {
        "set": [vars(cell) for cell in before.cells],
        "before": {
            "agrees": before.report.agrees if before.report.has_verdict else None,
            "results": [_quantity(result) for result in before.report.results],
            "first_difference": before.report.first_difference,
        },
    }


def _report(report: CheckReport) -> dict[str, Any]:
    """The quantities in the order of the computation, and the slips."""
    return {
        "results": [_quantity(result) for result in report.results],
        "first_difference": report.first_difference,
        "reference": report.reference,
        "explained_by": _explanations(report.explanations),
        "tried": report.tried_count,
        "untried": list(report.untried),
        "searched": report.searched or None,
        "unnoticed": None if report.unnoticed is None else _names(report.unnoticed),
    }


def _quantity(result: QuantityCheck) -> dict[str, Any]:
    """One quantity, without its arrays."""
    worst = result.worst
    return {
        "name": result.name,
        "agrees": result.agrees,
        "count": result.count,
        "differ": result.differ,
        "digits": result.digits,
        "tolerance": result.tolerance,
        "tolerance_reason": result.tolerance_reason,
        "max_abs": result.max_abs,
        "max_rel": result.max_rel,
        "max_ulp": result.max_ulp,
        "ulp_dtype": result.ulp_dtype,
        "correlation": result.correlation,
        "cosine": result.cosine,
        "worst": None
        if worst is None
        else {
            "labels": list(worst.labels),
            "position": list(worst.position),
            "expected": worst.expected,
            "computed": worst.computed,
        },
        "follows": result.follows,
        "remarks": list(result.remarks),
    }


def _explanations(explanations: Iterable[Explanation]) -> list[dict[str, Any]]:
    """The slips that explain the numbers together, with a sentence, for each explanation."""
    return [{"slips": list(explanation.slips), "sentence": explanation.sentence} for explanation in explanations]


def _names(explanations: Iterable[Explanation]) -> list[str]:
    """The names of slips, each once; variants of a slip have one name."""
    return list(dict.fromkeys(name for explanation in explanations for name in explanation.slips))


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

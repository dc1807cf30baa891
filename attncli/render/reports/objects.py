"""A check, a suite of checks, or a comparison as one object of names and numbers, which JSON and YAML write out."""

from collections.abc import Sequence
from typing import Any

from attncli.analysis.check.report import CheckOutcome, CheckReport, QuantityCheck
from attncli.analysis.compare import Comparison
from attncli.analysis.differences import Difference, FirstDifference, VariantResult
from attncli.base.program import __version__
from attncli.plan.trace import weight_rows_at
from attncli.render.statistics import object_of_statistics
from attncli.render.view import View, selected_value

CHECK_FORMAT, COMPARE_FORMAT, DEMO_FORMAT = "attn.check/1", "attn.compare/1", "attn.demo/1"
_ARRAYS = ("expected", "computed", "is_given", "differs")  # of a quantity


def _object(leading: dict[str, Any], data: object, without: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass in order, behind those that lead; its tuples as lists."""
    fields = {name: value for name, value in vars(data).items() if name not in {*leading, *without}}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in (leading | fields).items()}


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
    """The problem and its report, or its error; with the numbers that were set, and what was found before."""
    agrees = outcome.agrees if outcome.has_verdict else None
    content: dict[str, Any] = {"problem": outcome.file or None, "part": outcome.part or None, "agrees": agrees}
    if outcome.report is None:
        return content | {"error": str(outcome.error)}
    content |= report_object(outcome.report)
    if outcome.before is not None:
        before = outcome.before.report
        content["set"] = [vars(cell) for cell in outcome.before.cells]
        content["before"] = {
            "agrees": before.agrees if before.has_verdict else None,
            "results": [_quantity(result) for result in before.results],
            "first_difference": before.first_difference,
        }
    return content


def report_object(report: CheckReport) -> dict[str, Any]:
    """The quantities in the order of the computation, and the slips; variants of a slip have one name."""
    unnoticed = [name for explanation in report.unnoticed or () for name in explanation.slips]
    return {
        "results": [_quantity(result) for result in report.results],
        "first_difference": report.first_difference,
        "reference": report.reference,
        "explained_by": [_object({}, explanation) for explanation in report.explanations],
        "tried": report.tried_count,
        "untried": list(report.untried),
        "searched": report.searched or None,
        "unnoticed": None if report.unnoticed is None else list(dict.fromkeys(unnoticed)),
    }


def _quantity(result: QuantityCheck) -> dict[str, Any]:
    """One quantity, without its arrays."""
    content = _object({"name": result.name, "agrees": result.agrees}, result, _ARRAYS)
    worst = result.worst
    labels = {} if worst is None else {"labels": list(worst.labels)}
    return content | {"worst": None if worst is None else _object(labels, worst, ["allowed"])}


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
    content["statistics"] = None
    if one.statistics is not None:
        rows = weight_rows_at(trace, comparison.positions)
        content["statistics"] = object_of_statistics(one.statistics, trace.numbered_labels["m"], rows)
    if trace.problem.convention is not None:
        content["convention"] = trace.problem.convention.as_object()
    return content


def _difference(difference: Difference, names: Sequence[str]) -> dict[str, Any]:
    """The difference of a result of two variants; null where there is none to say."""
    leading = {
        "variants": [names[at] for at in difference.variants],
        "name": difference.name,
        "max_abs": difference.max_abs,
        "labels": difference.labels,
    }
    return _object(leading, difference) | {"reason": difference.reason or None}


def _first_difference(difference: FirstDifference, names: Sequence[str]) -> dict[str, Any]:
    leading = {
        "variants": [names[at] for at in difference.variants],
        "step": difference.step,
        "only_in": None if difference.only_in is None else names[difference.only_in],
        "labels": difference.labels,
    }
    return _object(leading, difference)

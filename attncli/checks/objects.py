"""The findings of a check, as an object of names and numbers."""

from collections.abc import Sequence
from typing import Any

from attncli.base.axes import AXIS_NOUNS
from attncli.base.program import __version__
from attncli.checks.error_shapes import shapes_of
from attncli.checks.report import CheckOutcome, CheckReport, PartExplanation, QuantityCheck
from attncli.render.objects import record_object

CHECK_FORMAT = "attn.check/1"
NOTHING_GIVEN = "no number is filled in"
# Fields of readings, which only decide whether to look for mistakes, and of quantities, that objects leave out.
OF_READINGS = ("may_be_computed", "is_partial", "is_of_sheet", "is_doubtful")
ARRAYS = ("expected", "computed", "is_given", "differs")


def check_object(outcome: CheckOutcome) -> dict[str, Any]:
    """The object of one check."""
    return {"format": CHECK_FORMAT, "version": __version__, **_outcome(outcome)}


def suite_object(outcomes: Sequence[CheckOutcome], left_out: Sequence[str] = ()) -> dict[str, Any]:
    """The object of a suite: whether all agree, and the checks in order; a failed one has its error.

    `left_out` are files in folders without expected numbers.
    """
    return {
        "format": CHECK_FORMAT,
        "version": __version__,
        "agrees": all(outcome.agrees for outcome in outcomes),
        "checks": [_outcome(outcome) for outcome in outcomes],
        "left_out": list(left_out),
    }


def _outcome(outcome: CheckOutcome) -> dict[str, Any]:
    """The problem and its report, or its error; with the edits, and the findings before them."""
    agrees = outcome.agrees if outcome.has_verdict else None
    content: dict[str, Any] = {"problem": outcome.file or None, "part": outcome.part or None, "agrees": agrees}
    content["blank"] = sum(outcome.unanswered.values()) if outcome.report is None else outcome.report.blank_count
    if outcome.report is None:
        return content | {"error": NOTHING_GIVEN if outcome.error is None else outcome.error.typed}
    content |= report_object(outcome.report)
    if outcome.before is not None:
        before = outcome.before.report
        content["set"] = [vars(cell) for cell in outcome.before.cells]
        content["before"] = {
            "agrees": before.agrees if before.has_verdict else None,
            "results": [_quantity(before, result) for result in before.results],
            "first_difference": before.first_difference,
        }
    return content


def report_object(report: CheckReport) -> dict[str, Any]:
    """The quantities in the order of the computation, and the slips; variants of a slip share a name."""
    nearest = report.nearest
    unnoticed = [name for explanation in report.unnoticed or () for name in explanation.slips]
    return {
        "results": [_quantity(report, result) for result in report.results],
        "first_difference": report.first_difference,
        "reference": report.reference,
        "explained_by": [record_object({}, explanation) for explanation in report.explanations],
        "telling": None if report.telling is None else record_object({}, report.telling),
        "explained_in_part": [_part(report, part) for part in report.parts],
        "nearest": None
        if nearest is None
        else record_object({"result": nearest.name, "count": nearest.count}, nearest.explanation),
        "tried": report.tried_count,
        "untried": list(report.untried),
        "searched": report.searched or None,
        "passed": None if report.passed is None else list(report.passed),
        "unnoticed": None if report.unnoticed is None else list(dict.fromkeys(unnoticed)),
    }


def _part(report: CheckReport, part: PartExplanation) -> dict[str, Any]:
    """The explanation of a part of the numbers: the axis with its positions, and the slips."""
    letter = report.trace[part.name].axes[part.part.axis]
    content = {"result": part.name, "axis": AXIS_NOUNS[letter], "positions": list(part.part.positions)}
    return record_object(content | {"others_agree": part.others_agree}, part.explanation)


def _quantity(report: CheckReport, result: QuantityCheck) -> dict[str, Any]:
    """One quantity, without its arrays, and the shape of its error if nothing explains it."""
    content = record_object({"name": result.name, "agrees": result.agrees}, result, ARRAYS)
    reading = result.reading
    content["reading"] = None if reading is None else record_object({}, reading, OF_READINGS)
    content["by_digits"] = [record_object({}, group) for group in result.by_digits]
    content["error_shapes"] = (
        [] if report.explanations else [record_object({}, x) for x in shapes_of(report.trace, result)]
    )
    worst = result.worst
    labels = {} if worst is None else {"labels": list(worst.labels)}
    return content | {"worst": None if worst is None else record_object(labels, worst, ["allowed"])}

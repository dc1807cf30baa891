"""A check, or the checks of a suite, as one object of names and numbers, which JSON writes out."""

from collections.abc import Iterable, Sequence
from typing import Any

from attncli.analysis.check.outcome import BeforeEdits, CheckOutcome
from attncli.analysis.check.report import CheckReport, Explanation, QuantityCheck
from attncli.base.program import __version__

FORMAT = "attn.check/1"


def check_object(outcome: CheckOutcome) -> dict[str, Any]:
    """The object of one check."""
    return {"format": FORMAT, "version": __version__, **_outcome(outcome)}


def suite_object(outcomes: Sequence[CheckOutcome], left_out: Sequence[str] = ()) -> dict[str, Any]:
    """The object of a suite: whether all agree, and the checks in order; one that could not be made has its error.

    `left_out` are files of folders in which nothing is expected.
    """
    return {
        "format": FORMAT,
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

"""A suite of checks as JUnit's XML, which servers of continuous integration show as tests."""

from collections.abc import Iterator, Sequence
from html import escape

from attncli.analysis.check.outcome import CheckOutcome
from attncli.base.text import escape_control
from attncli.render.reports.check import render_check, verdict
from attncli.render.target import TEXT_FILE

SUITE = "attn check"


def junit_xml(outcomes: Sequence[CheckOutcome]) -> Iterator[str]:
    """The lines of the file: a testcase for each problem, with a failure where it differs, an error where it can't be.

    One of which nothing is expected is skipped. The text of a failure is the report.
    """
    errors = sum(outcome.report is None for outcome in outcomes)
    failures = sum(not outcome.agrees for outcome in outcomes) - errors
    skipped = sum(not outcome.has_verdict for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    counts = f'tests="{len(outcomes)}" failures="{failures}" errors="{errors}" time="{seconds:.3f}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites {counts}>\n"
    yield f'  <testsuite name="{SUITE}" {counts} skipped="{skipped}">\n'
    for outcome in outcomes:
        yield from _test_case(outcome)
    yield "  </testsuite>\n</testsuites>\n"


def _test_case(outcome: CheckOutcome) -> Iterator[str]:
    """One problem."""
    attributes = f"classname={_quoted(outcome.file or SUITE)} name={_quoted(outcome.part or outcome.name)}"
    head = f'    <testcase {attributes} time="{outcome.seconds:.3f}"'
    if outcome.agrees and outcome.has_verdict:
        yield f"{head}/>\n"
        return
    yield f"{head}>\n"
    if outcome.report is None:
        yield f'      <error type="AttnError" message={_quoted(str(outcome.error))}/>\n'
    elif outcome.agrees:
        yield f"      <skipped message={_quoted(verdict(outcome.report))}/>\n"
    else:
        text = escape(render_check(outcome.report, TEXT_FILE), quote=False)
        yield f'      <failure type="difference" message={_quoted(verdict(outcome.report))}>{text}</failure>\n'
    yield "    </testcase>\n"


def _quoted(text: str) -> str:
    """A text as the value of an attribute, on one line; what XML has no character for is an escape."""
    return f'"{escape(escape_control(text))}"'

"""What `attn check` writes: a line for each problem of several, reports, JSON, a JUnit file."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from attncli.cli import streams
from attncli.cli.check_suite import CheckRequest, Suite, outcomes_of_file
from attncli.cli.output_file import check_is_no_input

if TYPE_CHECKING:
    from attncli.analysis.check.report import CheckOutcome
    from attncli.io.inputs import Inputs


def run_suite(suite: Suite, request: CheckRequest, junit: str | None, *, has_lines: bool) -> "Sequence[CheckOutcome]":
    """Check every problem of a suite and write the JUnit file where one is named.

    Errors are written at once; so is, where the suite `has_lines`, a line for each problem.
    """
    from attncli.io.output_files import atomic_write
    from attncli.render.reports.check import render_line

    with nullcontext() if junit is None else atomic_write(junit) as stream:  # opened first: it may not be writable
        outcomes = []
        for file in suite.files:
            for outcome in outcomes_of_file(file, suite, request):
                if outcome.error is not None:
                    streams.write_error(_error_text(outcome, suite))
                elif has_lines:
                    check_is_no_input(None, request.inputs)
                    streams.write_while_read(render_line(outcome, streams.output_target()))
                outcomes.append(outcome)
        if stream is not None:
            from attncli.render.reports.check import junit_xml

            check_is_no_input(junit, request.inputs, "--junit")
            stream.writelines(line.encode() for line in junit_xml(outcomes))
    return outcomes


def _error_text(outcome: "CheckOutcome", suite: Suite) -> str:
    """Why a problem can't be checked; of several also which one, where the error is that of an option."""
    text = str(outcome.error)
    return f"{outcome.file}: {text}" if suite.is_several and outcome.file not in text else text


def write_reports(
    outcomes: "Sequence[CheckOutcome]", suite: Suite, inputs: "Inputs", decimals: int, *, is_json: bool
) -> None:
    """Write the summary of several problems, the reports of one and its parts, or either as JSON.

    Nothing is written of one problem that can't be checked.
    """
    is_several = suite.is_several or any(outcome.part for outcome in outcomes)
    if not is_several and outcomes[0].error is not None:
        return
    check_is_no_input(None, inputs)
    streams.write_while_read(_json(outcomes, suite, is_several) if is_json else _text(outcomes, suite, decimals))


def _json(outcomes: "Sequence[CheckOutcome]", suite: Suite, is_several: bool) -> Iterator[str]:
    """The object of one check or of several."""
    from attncli.io.json_text import json_text
    from attncli.render.reports.objects import check_object, suite_object

    content = suite_object(outcomes, suite.left_out) if is_several else check_object(outcomes[0])
    yield from json_text(content, ascii_only=not streams.output_target().has_unicode)
    yield "\n"


def _text(outcomes: "Sequence[CheckOutcome]", suite: Suite, decimals: int) -> Iterator[str]:
    """The summary of several problems; of one file the report, or that of each of its parts, and their summary."""
    from attncli.render.reports.check import render_check, render_edits, render_summary, render_title

    target = streams.output_target()
    has_summary = suite.is_several or len(outcomes) > 1
    if not suite.is_several:
        for outcome in outcomes:
            if outcome.report is None:
                continue
            if outcome.part:
                yield render_title(outcome, target)
            if outcome.before is not None:
                yield render_edits(outcome.before, outcome.report, target, decimals)
            yield render_check(outcome.report, target, decimals=decimals)
            if has_summary:
                yield "\n"
    if has_summary:
        yield render_summary(outcomes, suite.left_out, target)

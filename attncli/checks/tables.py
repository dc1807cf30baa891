"""The report of a check with tables: a row for each quantity, and the numbers that differ next to the reference.

Its tables are for readers of HTML; text has a picture of the cells that differ in their place.
"""

from collections.abc import Iterator
from dataclasses import replace

from attncli.base.lazy_numpy import np
from attncli.checks.document import explanation_blocks, findings, verdict_line
from attncli.checks.quantity import quantity_blocks, short_number
from attncli.checks.report import CheckReport, QuantityCheck
from attncli.render.aligned_numbers import align_numbers
from attncli.render.document import Document, Grid, Section, with_decimal_sign
from attncli.render.tables import grids
from attncli.render.view import DECIMALS

COLUMNS = ("numbers", "that differ", "largest error", "allowed")
MAX_TABLES = 3  # quantities whose numbers are shown: those after them differ because of these, mostly


def check_tables(report: CheckReport, decimals: int = DECIMALS) -> Document:
    """The document of a report; its first line is the verdict, and its first table has a row for each quantity."""
    return with_decimal_sign(Document(_sections(report, decimals), decimals), report.trace.problem)


def _sections(report: CheckReport, decimals: int) -> Iterator[Section]:
    yield Section("", blocks=(verdict_line(report), *explanation_blocks(report)))
    if report.results:
        yield Section("", grids=(overview(report),))
    differing = [result for result in report.results if not result.agrees]
    for result in differing[:MAX_TABLES]:
        yield Section("", grids=tuple(yours_and_correct(report, result, decimals)))
        yield Section("", blocks=tuple(quantity_blocks(report, result, decimals)))
    yield Section("", blocks=tuple(findings(report)))


def overview(report: CheckReport) -> Grid:
    """A row for each quantity: how many numbers it has, how many of them differ, the largest error, what is allowed."""
    signs = [
        [str(result.count), str(result.differ), short_number(result.max_abs), short_number(result.tolerance)]
        for result in report.results
    ]
    rows = tuple(f"{'✓' if result.agrees else '✗'} {result.name}" for result in report.results)
    return Grid(np.zeros((len(rows), len(COLUMNS))), rows, COLUMNS, signs=signs)


def yours_and_correct(report: CheckReport, result: QuantityCheck, decimals: int) -> Iterator[Grid]:
    """The slice with the worst cell, as it was given and as it is; the cells that differ are marked in both."""
    step, worst = report.trace[result.name], result.worst
    if worst is None or step.value.ndim < 2 or result.expected.shape != step.value.shape:
        return
    index = worst.position[:-2]
    (table,) = grids(report.trace, step, dict(zip(step.axes, index, strict=False)))
    given = result.is_given[index]
    marked = frozenset((row, column) for row, column in np.argwhere(result.differs[index]).tolist())
    for whose, numbers in (("yours", result.expected), ("correct", result.computed)):
        texts = align_numbers(np.where(given, numbers[index], 0), decimals)
        rows = zip(texts, given, strict=True)
        signs = [[text if has else "" for text, has in zip(*row, strict=True)] for row in rows]
        label = ", ".join(filter(None, (f"{result.name}, {whose}", table.slice_label)))
        is_partial = not given.all()
        yield replace(
            table,
            values=numbers[index],
            signs=signs if is_partial else None,
            slice_label=label,
            marked=marked,
            hidden=None,
            is_heatmap=False,
        )

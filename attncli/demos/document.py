"""A worked example: its parts, the commands that reproduce them, and the comparison with expected numbers."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from attncli.base.axes import format_lengths
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.program import __version__
from attncli.checks.document import explanation_blocks
from attncli.checks.objects import report_object
from attncli.checks.quantity import AGREES, DIFFERS, count_of_differences, quantity_blocks
from attncli.checks.report import CheckReport
from attncli.plan.trace import Step, Trace
from attncli.render.aligned_numbers import align_numbers
from attncli.render.curve import Plot, Series, plot
from attncli.render.document import (
    EMPTY_LINE,
    Answer,
    Block,
    Document,
    Fitted,
    Grid,
    Lines,
    Section,
    SideBySide,
    Statement,
)
from attncli.render.formats import terminal
from attncli.render.formats.text_page import line_width, without_styles
from attncli.render.sections import sections
from attncli.render.statistics import arrows
from attncli.render.tables import grids
from attncli.render.target import TextTarget, text_width
from attncli.render.view import View, selected_value

DEMO_FORMAT = "attn.demo/1"
PUBLISHED, EXPECTED = "published", "expected"  # published numbers, and the reference's own
RULE, PROMPT = "── ", "$ "  # before the title of a part, and before a command
PLOT_ROWS = 11  # rows of the plot of all parts: it fits a page with the verdict
NARROW_TYPES = ("float16", "bfloat16", "float32")  # may have fewer digits than were printed

TitledTables = Sequence[tuple[str, Grid]]


@dataclass(frozen=True)
class PartReport:
    """One part of a worked example, computed and compared."""

    title: str
    about: str
    command: str  # `attn compute …`, which shows the same tables
    view: View
    check: CheckReport | None = None  # compares its numbers with the expected ones; None without any
    worked: View | None = None  # the view of the cell with shown arithmetic
    worked_command: str = ""  # shows the same arithmetic
    numpy: Mapping[str, str] = field(default_factory=dict)  # lines of NumPy, by the name of the result
    arrows_from_key: bool | None = None  # whether arrows of the largest weights lead to the query; None for no arrows

    def is_brief(self, elsewhere: Collection[str]) -> bool:
        """Whether all its results are shown elsewhere, so that it is only a line and its command."""
        shows_more = self.view.explain or self.numpy or self.worked is not None or self.arrows_from_key is not None
        return not shows_more and set(self.view.names) <= set(elsewhere)


@dataclass(frozen=True)
class ExampleReport:
    """A worked example, computed and compared part by part, or some of its parts."""

    title: str
    about: str
    paper: str
    source: str  # publisher of the expected numbers; empty without one
    save_command: str  # writes the example to a file
    parts: Sequence[PartReport]
    first_number: int | None = 1  # number of the first part, if they are numbered
    together: Sequence[str] = ()  # results of every part shown in one table at the end
    curve: str | None = None  # result of every part plotted at the end

    @property
    def checks(self) -> list[CheckReport]:
        """The checks of all parts with expected numbers, in order."""
        return [part.check for part in self.parts if part.check is not None]

    @property
    def differs(self) -> bool:
        """Whether any number differs from the expected one."""
        return not all(check.agrees for check in self.checks)

    @property
    def adjective(self) -> str:
        """The adjective of the expected numbers: `published`, or only `expected`."""
        return PUBLISHED if self.source else EXPECTED


def example_answer(report: ExampleReport) -> Answer:
    """The answer of `attn demo`: a section for each part, the last with the shared tables; or the numbers."""
    decimals = report.parts[0].view.decimals
    return Answer(lambda: Document(_sections(report), decimals, report.title), lambda: _object(report))


def _object(report: ExampleReport) -> Mapping[str, Any]:
    """The example as names and numbers: the results of each part, and the comparison."""
    parts = [
        {
            "title": part.title,
            "about": part.about,
            "command": part.command,
            "results": {name: selected_value(part.view, part.view.result.trace[name]) for name in part.view.names},
            "check": None if part.check is None else {"agrees": part.check.agrees, **report_object(part.check)},
        }
        for part in report.parts
    ]
    about = {"title": report.title, "about": report.about, "paper": report.paper, "source": report.source}
    agrees = not report.differs if report.checks else None
    return {"format": DEMO_FORMAT, "version": __version__, **about, "agrees": agrees, "parts": parts}


def _sections(report: ExampleReport) -> Iterator[Section]:
    """A section for each part; the first begins with the subject of the example."""
    elsewhere = [*report.together, *filter(None, [report.curve])]
    for position, part in enumerate(report.parts):
        blocks: list[Block] = []
        if position == 0:
            references = {"Paper": report.paper, "Source": report.source}
            about = (report.about, *(f"{name}: {text}" for name, text in references.items() if text))
            blocks += (block for text in about for block in _paragraph(text))
            blocks += [*_command(report.save_command), EMPTY_LINE]
        number = "" if report.first_number is None else f"{report.first_number + position}."
        blocks.append(_part_section(part, number, report.adjective, elsewhere))
        if position == len(report.parts) - 1:
            blocks += _end_blocks(report)
        is_continuation = position == 0 or part.is_brief(elsewhere)
        yield Section("", blocks=tuple(blocks), is_continuation=is_continuation)


def _end_blocks(report: ExampleReport) -> Iterator[Block]:
    if report.together:
        view = report.parts[0].view
        yield from () if view.explain else (EMPTY_LINE,)
        yield from _tables(list(together(report.parts, report.together)), view)
    if report.curve:
        yield EMPTY_LINE
        yield from _paragraph(f"The {report.curve} of each is a curve, over the keys with their values as points:")
        yield EMPTY_LINE
        drawn = curve_of_parts(report.parts, report.curve)
        yield Fitted(lambda target: [_code(plot(drawn, target.page_width, PLOT_ROWS, has_unicode=target.has_unicode))])
    line = verdict(report.checks, report.adjective)
    if line is not None:
        yield EMPTY_LINE
        yield line
    if report.save_command:
        yield Lines((f"Next: change it: {report.save_command}",))


def verdict(checks: Sequence[CheckReport], adjective: str) -> Statement | None:
    """How many numbers differ, or that all agree; None without expected numbers."""
    count, differ = sum(check.count for check in checks), sum(check.differ for check in checks)
    if not count:
        return None
    if differ:
        text = count_of_differences(differ, count)
        ones = f"the {adjective} {'one' if count == 1 else 'ones'}"
        return Statement(f"{text[0].upper()}{text[1:]} from {ones}.", style=DIFFERS)
    is_narrow = any(result.ulp_dtype in NARROW_TYPES for check in checks for result in check.results)
    digits = "to the digits that their type has" if is_narrow else "to every printed digit"
    subject = f"All {count} {adjective} numbers agree" if count > 1 else f"The {adjective} number agrees"
    return Statement(f"{subject}, {digits}.", style=AGREES)


def _part_section(part: PartReport, number: str, adjective: str, elsewhere: Collection[str]) -> Section:
    """One part: its subject, the command that reproduces it, its results, and its wrong numbers.

    `number` precedes its title; the results named in `elsewhere` are not shown here.
    """
    is_brief = part.is_brief(elsewhere)
    title = ": ".join(filter(None, (part.title, part.about.strip()))) if is_brief else part.title
    blocks = _part_blocks(part, "" if is_brief else part.about, adjective, elsewhere)
    return Section(" ".join(filter(None, (number, title))), blocks=tuple(blocks), rule=RULE)


def _part_blocks(part: PartReport, about: str, adjective: str, elsewhere: Collection[str]) -> Iterator[Block]:
    yield from _paragraph(about)
    yield from _command(part.command)
    shown = [section for section in sections(part.view) if part.view.explain or section.title not in elsewhere]
    yield from _tables(shown, part.view)
    if part.arrows_from_key is not None:
        yield EMPTY_LINE
        yield Lines(("The largest weight of each query:",), "dim")
        found = list(arrows(part.view.result.trace, from_key=part.arrows_from_key))
        yield Fitted(lambda target: [Lines(tuple(_arrow_lines(found, target.page_width)), "bold")])
    yield from _command(part.worked_command)
    yield from _steps(part)
    if part.check is not None:
        for result in part.check.differing:
            yield from quantity_blocks(part.check, result, part.view.decimals, adjective)
        yield from explanation_blocks(part.check)


def _paragraph(text: str) -> Iterator[Block]:
    """Text wrapped to the width of a screen; elsewhere it keeps the author's line breaks."""
    if text.strip():
        lines = tuple(text.strip().split("\n"))
        yield Fitted(lambda target: [Lines((" ".join(lines),) if target.width else lines)])


def _command(command: str) -> Iterator[Block]:
    """A command on one line, however long, for copying."""
    if command:
        yield _code([f"{PROMPT}{command}"], "cyan")


def _code(lines: Iterable[str], style: str = "") -> Lines:
    return Lines(tuple(lines), style, "code", "never")


def _tables(shown: Sequence[Section], view: View) -> Iterator[Block]:
    """Tables side by side if they fit; the steps of an explanation one below the other."""
    if view.explain:
        for section in shown:
            yield EMPTY_LINE
            yield section
    elif shown:
        tables = (table for section in shown for table in _by_slice(section))
        yield SideBySide(tuple(_join_row_tables(tables, view.decimals)))


def _by_slice(section: Section) -> Iterator[Section]:
    """A section for each table of a section, with its slice in the title: `weights, head 1`; remarks with the last."""
    if len(section.grids) < 2:
        yield section
        return
    for grid in section.grids:
        title = f"{section.title}, {grid.slice_label}"
        remarks = section.remarks if grid is section.grids[-1] else ()
        yield replace(section, title=title, grids=(replace(grid, slice_label=""),), remarks=remarks)


def _arrow_lines(found: Iterable[tuple[str, Sequence[str]]], width: int) -> Iterator[str]:
    """The lines of arrows, as many in each as fit; each head begins a line."""
    for label, texts in found:
        line = ""
        for text in texts:
            if line and text_width(joined := f"{line}   {text}") <= width:
                line = joined
                continue
            if line:
                yield line
            line = text if line or not label else f"{label}: {text}"
        if line:
            yield line


def _steps(part: PartReport) -> Iterator[Block]:
    """The lines of NumPy of each result, or else its formula, then the arithmetic of the cell."""
    trace = part.view.result.trace
    worked = {} if part.worked is None else {section.title: section for section in sections(part.worked)}
    for name in dict.fromkeys([*part.numpy, *part.view.result.select]):
        section = worked.pop(_computed_step(trace, name).name, None)
        lines = part.numpy.get(name, "").splitlines()
        yield _code((f"{'...' if line.startswith(' ') else '>>>'} {line}" for line in lines), "green")
        if section is None:
            continue
        if not part.numpy:
            yield Statement(section.heading, f"  {section.formula}")
        yield Lines(tuple(f"  {line}" for line in section.arithmetic), "cyan", "mathematics", wrapped="page")


def _computed_step(trace: Trace, name: str) -> Step:
    """The step that computes a result, which later steps may return unchanged."""
    step = trace[name]
    while step.is_identity:
        step = trace[step.inputs["x"]]
    return step


def _join_row_tables(sections: Iterable[Section], decimals: int) -> Iterator[Section]:
    """The sections; adjacent ones with one row of the same columns are joined, without a title.

    The rows of the joined table have the titles of the sections.
    """
    for key, group in groupby(sections, _row_and_columns):
        found = list(group)
        if key is None or len(found) == 1:
            yield from found
        else:
            yield Section("", (_stack_rows([[(section.title, section.grids[0])] for section in found], decimals),))


def _row_and_columns(section: Section) -> tuple[str, tuple[str, ...]] | None:
    """The labels of the only row and of the columns; None for a section with more rows, or with text."""
    if len(section.grids) != 1 or section.formula or section.arithmetic or section.remarks:
        return None
    (grid,) = section.grids
    is_plain = len(grid.rows) == 1 and grid.signs is None and not grid.slice_label
    return (grid.rows[0], grid.columns) if is_plain else None


def _stack_rows(quantities: Sequence[TitledTables], decimals: int) -> Grid:
    """One table from one-row tables with the same columns, each row under its title.

    The rows of one quantity share their decimals; other quantities have their own.
    """
    values = [np.concatenate([table.values for _, table in tables]) for tables in quantities]
    texts = [align_numbers(rows, decimals) for rows in values]
    widths = [max(_fraction_width(cell) for row in rows for cell in row) for rows in texts]
    titles = tuple(title for tables in quantities for title, _ in tables)
    table = quantities[0][0][1]
    padded = [
        [cell + " " * (max(widths) - width) for cell in row]
        for rows, width in zip(texts, widths, strict=True)
        for row in rows
    ]
    return Grid(np.concatenate(values), titles, table.columns, corner=table.rows[0], signs=padded)


def _fraction_width(cell: str) -> int:
    """How many characters of a cell follow its integer digits, including spaces."""
    return len(cell) - len(cell.partition(".")[0].rstrip())


def together(parts: Sequence[PartReport], names: Sequence[str]) -> Iterator[Section]:
    """Results of every part: one-row results in a table with a row each, others as tables side by side.

    A result shared by all parts is one row, under its name, of the next table. Raises AttnError if the parts have
    different queries.
    """
    decimals = parts[0].view.decimals
    same: list[TitledTables] = []
    for name in names:
        traces = [(part.title, part.view.result.trace) for part in parts]
        tables = [(title, table) for title, trace in traces for table in grids(trace, trace[name])]
        first = tables[0][1]
        if any(len(table.rows) != 1 or len(table.columns) != len(first.columns) for _, table in tables):
            yield Section(f"{name}, side by side", (_with_columns(tables),))
        elif len(tables) > 1 and all(np.array_equal(table.values, first.values) for _, table in tables):
            same.append([(name, first)])
        else:
            rows = [row for row in same if row[0][1].columns == first.columns]
            yield from (Section("", (_stack_rows([row], decimals),)) for row in same if row not in rows)
            yield Section(name, (_stack_rows([*rows, tables], decimals),))
            same = []
    yield from (Section("", (_stack_rows([row], decimals),)) for row in same)


def _with_columns(tables: TitledTables) -> Grid:
    """Tables with the same rows as one table, with columns under the parts' titles: `causal, head 0, e1`."""
    rows = tables[0][1].rows
    if any(table.rows != rows for _, table in tables):
        raise AttnError("the parts have different queries, so they can't be side by side", where="together")
    columns = tuple(
        ", ".join(filter(None, (title, table.slice_label, column if len(table.columns) > 1 else "")))
        for title, table in tables
        for column in table.columns
    )
    return Grid(np.concatenate([table.values for _, table in tables], axis=-1), rows, columns)


def curve_of_parts(parts: Sequence[PartReport], name: str) -> Plot:
    """The plot of a result with one feature, a curve for each part, with the values that it fits as points.

    The labels of the queries and of the keys are the numbers on the horizontal axis; raises AttnError if they are not
    numbers, or if there are several features or heads.
    """
    traces = [(part.title or name, part.view.result.trace) for part in parts]
    curves = [Series(title, _numbers(trace.labels["n"]), _column(trace[name].value)) for title, trace in traces]
    trace = traces[0][1]
    return Plot(
        "", Series("values", _numbers(trace.labels["m"]), _column(trace["value"].value)), tuple(curves), "keys", name
    )


def _numbers(labels: Sequence[str]) -> Array:
    numbers = np.empty(len(labels))
    for at, label in enumerate(labels):
        try:
            numbers[at] = float(label)
        except ValueError:
            hint = "a curve needs tokens and query_tokens that are numbers: the positions of its points"
            raise AttnError(f"the label {label!r} is not a number", where="curve", hint=hint) from None
    return numbers


def _column(value: Array) -> Array:
    """The numbers of a table of one column."""
    if value.ndim != 2 or value.shape[-1] != 1:
        message = f"{format_lengths(value.shape)} numbers are not a curve"
        raise AttnError(message, where="curve", hint="one value feature and one head are")
    return value[:, 0]


MAX_LINES = 20  # lines of a page, with its title: a terminal of 24 lines shows it
LAST_LINES = 2  # the verdict, and what to type next


def document_pages(document: Document, target: TextTarget) -> Iterator[str]:
    """The text of a document in pages, with its heading on top of each: `The heading · 2 of 5`.

    A section begins a page unless it continues the one before. Longer ones are split at empty lines.
    """
    chunks = terminal.render(replace(document, heading=""), target)
    pages = [page for part in _parts(chunks) for page in _pages_of_part(part, target.page_width)]
    for number, page in enumerate(pages, 1):
        heading = f"{document.heading} · {number} of {len(pages)}" if len(pages) > 1 else document.heading
        yield "".join(("\n" if number > 1 else "", *terminal.render(Document((), 0, heading), target), page))


def _parts(chunks: Iterable[str]) -> Iterator[str]:
    """The chunks of a text, each joined with its continuations: others begin with an empty line."""
    part = ""
    for chunk in chunks:
        if part and chunk.startswith("\n"):
            yield part
            part = ""
        part += chunk
    yield part


def _pages_of_part(part: str, width: int) -> Iterator[str]:
    """Paragraphs of a part, as many at once as fit; the last lines, a verdict and the next command, stay together."""
    paragraphs = part.strip("\n").split("\n\n")
    if len(paragraphs) > 1 and len(paragraphs[-1].splitlines()) <= LAST_LINES:
        paragraphs[-2:] = ["\n\n".join(paragraphs[-2:])]
    page: list[str] = []
    height = 1  # of the heading
    for block in (block for paragraph in paragraphs for block in _blocks(paragraph, width)):
        lines = _height(block, width)
        if page and height + lines > MAX_LINES:
            yield "".join(page).strip("\n") + "\n"
            page, height = [], 1
        height += lines
        page.append(block)
    yield "".join(page).strip("\n") + "\n"


def _blocks(paragraph: str, width: int) -> Iterator[str]:
    """A paragraph and the empty line before it; a longer one is split before its titles and commands."""
    text = f"\n{paragraph}\n"
    if _height(text, width) < MAX_LINES:
        yield text
        return
    block = before = ""
    for line in text.splitlines(keepends=True):
        plain = without_styles(line.rstrip("\n"))
        if plain.startswith(RULE) or (plain.startswith(PROMPT) and not before.startswith(RULE)):
            yield block
            block = ""
        block += line
        before = plain
    yield block


def _height(text: str, width: int) -> int:
    """The lines of a screen that a text takes: longer ones wrap."""
    return sum(max(1, -(-line_width(line) // width)) for line in text.splitlines())

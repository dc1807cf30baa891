"""The output options: a row each gives the option, its help, its effect on the view and its warnings."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.base.errors import AttnError, UnknownNameError
from attncli.cli.completion import complete_cell, complete_from, complete_selection
from attncli.cli.option_values import no_effect
from attncli.cli.output_file import format_of_output, output_file
from attncli.cli.problem_options import PAGER_HELP, STRICT_HELP, Command, parameters_of, with_parameters
from attncli.engine.options import REMOTE, SERIAL, THREADS
from attncli.problem.fields import DEFAULT_SELECTION, WEIGHTS, option_name
from attncli.render.color_map import PALETTES
from attncli.render.formats import (
    DEFAULT_FORMAT,
    FORMATS,
    JSON,
    PAGE,
    OutputFormat,
    find_format,
    format_in_file,
)
from attncli.render.target import TextTarget

if TYPE_CHECKING:
    from attncli.plan.graph import Plan
    from attncli.problem.edits import EditedProblem
    from attncli.problem.layout import Layout
    from attncli.problem.spec import ProblemSpec
    from attncli.render.figure_style import FigureStyle

FIGURES = ", ".join(suffix for row in FORMATS if row.is_figure for suffix in row.suffixes)
STYLE_OPTIONS = ("size", "palette", "font_size", "dark", "transparent")
ALL = "all"  # the value of --head and --batch for all

Reason = tuple[Callable[["OutputOptions"], bool], str]  # whether an option has no effect, and why: `{format} has …`
ViewFields = Callable[["OutputOptions", "EditedProblem"], Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class OutputOption:
    """A row of the table: the facts about an option besides its name, type and default.

    `view` returns the fields of the view that it sets. A true condition of `idle` means no effect; the first one gives
    the reason. `example` is a value that changes some format's output.
    """

    help: str
    metavar: str | None = None
    short: str = ""  # its name of one letter: "-e"
    has_opposite: bool = False  # --no-… turns it off
    is_listed: bool = True  # in the short help
    complete: Callable[..., Any] | None = None
    view: ViewFields | None = None
    idle: tuple[Reason, ...] = ()
    example: str = ""


def _option(help: str, default: Any = None, **more: Any) -> Any:
    """A field of OutputOptions with its row; `more` are further fields of the row."""
    return field(default=default, metadata={"row": OutputOption(help, **more)})


def _flag(help: str, **more: Any) -> Any:
    """A field that is true if its option is given."""
    return _option(help, default=False, **more)


def _where(has: Callable[[OutputFormat], bool], reason: str) -> Reason:
    """The reason that names the formats with or without something."""
    return lambda options: has(options.output_format), reason


def _positions(options: "OutputOptions", edited: "EditedProblem") -> Mapping[str, Any]:
    """The shown head or batch item."""
    positions, expanded_axes = options.positions(edited.after.leading)
    return {"positions": positions, "expanded_axes": expanded_axes}


def _cells(options: "OutputOptions", edited: "EditedProblem") -> Mapping[str, Any]:
    """The worked cells, each once."""
    from attncli.render.view import parse_cell

    return {"cells": tuple(dict.fromkeys(parse_cell(text, edited.after, "--cell") for text in options.cell or ()))}


def _steps(options: "OutputOptions", edited: "EditedProblem") -> Mapping[str, Any]:
    """The steps of `--step`, by their nodes' names; raises AttnError if one is unknown, or not computed."""
    from attncli.plan.build import plan_of

    plan, names = plan_of(edited.after), split_names(options.step, "--step") or ()
    try:
        found = tuple(map(plan.resolve, names))
    except AttnError as error:
        raise error.at("--step") from None
    given = [name for name in found if plan.by_name[name].is_input]
    if given and options.works_out_cells:
        hint = "name a step, such as weights (--plan lists them), or add --explain"
        raise AttnError(f"{given[0]} is given, not computed", where="--step", hint=hint)
    return {"step_names": found}


def _title(options: "OutputOptions", edited: "EditedProblem") -> Mapping[str, Any]:
    """The title; by default the name of the problem's file, but none in a figure, which has a caption in a paper."""
    row = options.output_format
    default = edited.title if row.shows_every_step or row.is_code or row.has_matrices else ""
    return {"title": default if options.title is None else options.title}


def _blanks(options: "OutputOptions", _edited: "EditedProblem") -> Mapping[str, Any]:
    """The numbers of a page to fill in."""
    if not options.has_effect("blank"):
        return {"blanks": None}
    from attncli.render.blank_request import parse_blanks

    return {"blanks": parse_blanks(options.blank or ())}


def _style(options: "OutputOptions", _edited: "EditedProblem") -> Mapping[str, Any]:
    """The style of a figure."""
    return {"style": options.figure_style}


def _style_option(help: str, default: Any = None, **more: Any) -> Any:
    """A field of the style of a figure."""
    reason = _where(lambda row: not row.is_figure, f"only figures ({FIGURES}) have one")
    return _option(help, default, is_listed=False, view=_style, idle=(reason,), **more)


_HAS_EVERY_STEP = _where(lambda row: row.is_code, "{format} has every step already")
_HAS_EVERY_AXIS = _where(lambda row: row.is_code, "{format} computes every head and batch item")
_NO_LINES = _where(lambda row: not row.is_text_for_readers, "{format} has no worked lines")
_NO_TABLES: Reason = (lambda o: o.works_out_cells, "--cell without --explain shows no tables")
_NO_TITLE = _where(
    lambda row: not row.has_title,
    "only figures, pages (.html), documents (.md, .tex), scripts (.py) and notebooks have a title",
)
_NO_TABLE_STATISTICS = _where(
    lambda row: not (row.is_text_for_readers or row.is_object or row.compares_cells),
    "{format} has the results alone; json and csv have their statistics",
)


@dataclass(frozen=True, eq=False)
class OutputOptions:
    """The output options: a row for each, with the text of its value from the command line."""

    explain: bool = _flag(
        "Show every step, from the vectors to the output.",
        short="-e",
        view=lambda options, _: {"explain": options.explain},
        idle=(_HAS_EVERY_STEP, _where(lambda row: row.shows_every_step, "a page has every step already")),
    )
    gradient: bool = _flag("Add gradients, from grad_output or ones.")
    plan: bool = _flag("List the steps, a line each, without computing them.", is_listed=False)
    cell: list[str] | None = _option(
        "Work out cells by hand: labels or positions, * for all.",
        metavar="QUERY,KEY",
        complete=complete_cell,
        view=_cells,
        idle=(_NO_LINES,),
        example="1,0",
    )
    step: str | None = _option(
        "Work out these steps alone: weights, or scores,weights.",
        metavar="NAME,NAME",
        is_listed=False,
        complete=complete_selection,
        view=_steps,
        idle=(
            _NO_LINES,
            _where(lambda row: row.shows_every_step, "a page has every step as it is"),
            (lambda o: not (o.explain or o.cell), "no step is worked out without --explain or --cell"),
        ),
        example="weights",
    )
    head: str | None = _option(
        "Show one head, counted from 0, or all of them.",
        metavar="N|all",
        is_listed=False,
        view=_positions,
        idle=(_HAS_EVERY_AXIS,),
        example="1",
    )
    batch: str | None = _option(
        "Show one batch item, counted from 0, or all of them.",
        metavar="N|all",
        is_listed=False,
        view=_positions,
        idle=(_HAS_EVERY_AXIS,),
        example="1",
    )
    terms: str | None = _option(
        "Most terms in a worked sum, default 12; longer sums leave out the middle.",
        metavar="N|all",
        is_listed=False,
        view=lambda options, _: {"max_terms": options.max_terms},
        idle=(
            _NO_LINES,
            _where(lambda row: row.shows_every_step, "a page shortens sums to fit"),
            (lambda o: not (o.explain or o.cell), "only --explain and --cell work out sums"),
        ),
        example="1",
    )
    precision: int | None = _option(
        "Decimals; default 4, in CSV every digit.",
        metavar="DIGITS",
        view=lambda options, _: {"decimals": options.decimals},
        idle=(
            _where(lambda row: row.has_every_digit, "{format} has every digit"),
            (lambda o: o.draws_curve_alone, "a plot has ticks and no numbers of the result; --select adds tables"),
        ),
        example="1",
    )
    format: str | None = _option(
        "Write it as one of the formats.",
        metavar="NAME",
        short="-f",  # which its parameter has
    )
    json: bool = _flag("The same as --format json.")
    output: str | None = _option("Write a file: .npz .csv .json .svg .html .py .ipynb …", metavar="FILE", short="-o")
    select: str | None = _option(
        "Results: scores, weights, context, output, or any step.",
        metavar="NAME,NAME",
        complete=complete_selection,
        example="weights",
    )
    title: str | None = _option(
        "The title of a figure, a page, a document, a script or a notebook.",
        metavar="TEXT",
        is_listed=False,
        view=_title,
        idle=(_NO_TITLE,),
        example="X",
    )
    size: str | None = _style_option(
        "The size of a figure, as 6x4 (inches) or 15x10cm.", metavar="WIDTHxHEIGHT", example="30x20"
    )
    palette: str | None = _style_option(
        f"The colours of a figure: {', '.join(PALETTES)}.",
        metavar="NAME",
        complete=complete_from(lambda: tuple(PALETTES)),
        example="grey",
    )
    font_size: float | None = _style_option(
        "The size of the text of a figure in points, default 9.", metavar="POINTS", example="12"
    )
    dark: bool = _style_option("Draw a figure for dark ground.", default=False)
    transparent: bool = _style_option("Draw a figure without a ground of its own.", default=False)
    lines: bool = _flag(
        "Draw weights in a figure as lines between words, a panel for each head.",
        is_listed=False,
        view=lambda options, _: {"lines": options.has_effect("lines")},
        idle=(_where(lambda row: not row.is_figure, f"only figures ({FIGURES}) have lines between words"),),
    )
    changes: bool = _flag(
        "With --set show the change of each number, after − before.",
        is_listed=False,
        view=lambda options, edited: {"changes": options.has_effect("changes") and bool(edited.cells)},
        idle=(
            _where(lambda row: row.is_picture and not row.is_figure, "a page marks what changes on it"),
            _where(lambda row: not (row.is_text_for_readers or row.is_figure), "{format} has the numbers themselves"),
            _NO_TABLES,
        ),
    )
    safe_csv: bool = _flag(
        "In CSV put an apostrophe before labels that a spreadsheet would compute, such as =1+1.",
        is_listed=False,
        idle=(_where(lambda row: not row.compares_cells, "{format} is not CSV"),),
    )
    transpose: bool = _flag(
        "Show tables of queries and keys with keys down and queries across.",
        is_listed=False,
        view=lambda options, _: {"transpose": options.has_effect("transpose")},
        idle=(
            _where(lambda row: row.is_picture, "{format} has queries down and keys across"),
            _where(lambda row: not (row.is_text_for_readers or row.compares_cells), "{format} has arrays, not tables"),
            _NO_TABLES,
        ),
    )
    stats: bool = _flag(
        "Add the entropy and largest weight of each query.",
        view=lambda options, _: {"statistics": options.has_effect("stats")},
        idle=(
            _NO_TABLE_STATISTICS,
            _where(lambda row: row.shows_every_step, "a page has no statistics; a table shows them, without -o"),
        ),
    )
    top: int | None = _option(
        "Add the N keys with the largest weights of each query.",
        metavar="N",
        is_listed=False,
        view=lambda options, _: {"top": options.top_count if options.has_effect("top") else 0},
        idle=(
            _NO_TABLE_STATISTICS,
            _where(lambda row: row.shows_every_step, "a page has no list of keys; a table shows it, without -o"),
        ),
        example="1",
    )
    heatmap: bool = _flag(
        "Show tables in colour, heads side by side if they fit.",
        view=lambda options, _: {"heatmap": options.has_effect("heatmap")},
        idle=(
            _where(lambda row: row.is_picture and not row.has_heatmaps, "{format} has heat maps anyway"),
            _where(lambda row: not row.has_heatmaps, "{format} has no blocks of colour"),
            _NO_TABLES,
        ),
    )
    matrices: bool = _flag(
        "Write tables as matrices, without labels, where they fit a line.",
        is_listed=False,
        view=lambda options, _: {"matrices": options.has_effect("matrices")},
        idle=(
            _where(lambda row: not row.has_matrices, "only documents (.md, .tex) have matrices"),
            _NO_TABLES,
        ),
    )
    curve: bool = _flag(
        "Plot the output over one-dimensional keys, with the values as points.",
        is_listed=False,
        view=lambda options, _: {"curve": options.has_effect("curve")},
        idle=(_where(lambda row: not row.has_curves, "{format} has no plots"),),
    )
    blank: list[str] | None = _option(
        "Make the page an exercise with numbers to fill in: weights,output; 0.3; 'weights[word_2,*]'.",
        metavar="WHAT",
        is_listed=False,
        view=_blanks,
        idle=(_where(lambda row: not row.shows_every_step, "only a page (.html) has fields; attn worksheet has more"),),
        example="output",
    )
    with_attn: bool = _flag(
        "Let a notebook import attncli, instead of NumPy alone.",
        is_listed=False,
        view=lambda options, _: {"with_attn": options.has_effect("with_attn")},
        idle=(_where(lambda row: not (row.has_parts and row.is_code), "only notebooks (.ipynb) import attncli"),),
    )
    watch: bool = _flag("Compute again when a file of the problem changes.", is_listed=False)
    guide: bool | None = _option(
        "Begin a page with the story of one cell, step by step; default with --open and in demos.",
        has_opposite=True,
        is_listed=False,
        view=lambda options, _: {"guide": options.has_guide},
        idle=(
            _where(lambda row: row.name != PAGE, "only a page (.html) begins with a story"),
            (lambda o: o.blank is not None, "an exercise hides what the story tells"),
        ),
    )
    open: bool = _flag("Show the page of -o page.html in the browser.")
    pager: bool = _flag(
        PAGER_HELP,
        is_listed=False,
        idle=((lambda o: o.file is not None, "the result is written to a file"),),
    )
    executor: str = _option(
        "Compute large problems on all cores, one core, or the workers of a Dask scheduler.",
        default=THREADS,
        metavar=f"{THREADS}|{SERIAL}|{REMOTE}HOST:PORT",
        is_listed=False,
        complete=complete_from(lambda: (THREADS, SERIAL)),
    )
    strict: bool = _flag(STRICT_HELP, is_listed=False)

    @classmethod
    def rows(cls) -> Mapping[str, OutputOption]:
        """The table: the row of each option by its name."""
        return {field.name: field.metadata["row"] for field in fields(cls)}

    @property
    def given(self) -> Iterator[str]:
        """The names of the given options whose values differ from the defaults."""
        return (field.name for field in fields(self) if getattr(self, field.name) != field.default)

    def why_idle(self, name: str) -> str | None:
        """Why an option, if given, has no effect; None if it has one."""
        reasons = (reason for holds, reason in self.rows()[name].idle if holds(self))
        return next((reason.format(format=self.output_format.name) for reason in reasons), None)

    def has_effect(self, name: str) -> bool:
        """Whether an option is given and has an effect."""
        return name in self.given and self.why_idle(name) is None

    @property
    def writes_every_digit(self) -> bool:
        """Whether numbers are written in full: also in CSV, unless it has a number of decimals."""
        return self.output_format.is_lossless and not self.has_effect("precision")

    def in_target(self, target: TextTarget) -> TextTarget:
        """A text target with the settings of the options."""
        return replace(target, quotes_formulas=self.safe_csv, decimals=self.precision)

    @property
    def warnings(self) -> list[str]:
        """A warning for each given option without effect."""
        reasons = {name: self.why_idle(name) for name in self.given}
        return [no_effect(name, reason) for name, reason in reasons.items() if reason is not None]

    def view_fields(self, edited: "EditedProblem") -> Mapping[str, Any]:
        """The view's fields that options set; raises AttnError if a value is out of range, or names nothing."""
        views = [row.view for row in self.rows().values() if row.view is not None]
        return {name: value for view in views for name, value in view(self, edited).items()}

    def positions(self, layout: "Layout") -> tuple[dict[str, int], frozenset[str]]:
        """The position on each axis from --head and --batch, and the axes whose option is `all`."""
        if self.head is None and self.batch is None:
            return {}, frozenset()
        from attncli.problem.layout import find_positions

        return find_positions(layout, {"--batch": self.batch, "--head": self.head})

    def selection(self, problem: "ProblemSpec") -> tuple[str, ...]:
        """The names of a problem's results, without duplicates; raises AttnError if one is empty."""
        if self.draws_curve_alone:
            return ()
        names = self.selected_names
        if names is None and self.has_effect("lines") and not (self.explain or self.gradient):
            return (WEIGHTS,)
        if names is None and self.gradient:
            from attncli.plan.build import gradient_selection

            return gradient_selection(problem)
        return problem.default_selection if names is None else names

    @property
    def selected_names(self) -> tuple[str, ...] | None:
        """The names of `--select`, without duplicates, None without it; raises AttnError if one is empty."""
        return split_names(self.select, "--select")

    @property
    def figure_style(self) -> "FigureStyle | None":
        """The style of a figure, None without one of its options; raises AttnError if one is out of range."""
        given = {name: getattr(self, name) for name in self.given if name in STYLE_OPTIONS}
        if not given:
            return None
        from attncli.render.figure_style import find_style

        return find_style(given, option_name)

    @property
    def decimals(self) -> int:
        """The decimals of rounded numbers; raises AttnError if they are out of range."""
        from attncli.render.view import DECIMALS, MAX_DECIMALS

        if self.precision is None:
            return DECIMALS if self.output_format.decimals is None else self.output_format.decimals
        if not 0 <= self.precision <= MAX_DECIMALS:
            hint = f"expected 0 to {MAX_DECIMALS}"
            raise AttnError(f"{self.precision} digits can't be shown", where="--precision", hint=hint)
        return self.precision

    @property
    def top_count(self) -> int:
        """The number of largest keys; raises AttnError for less than 1."""
        if self.top is None or self.top < 1:
            raise AttnError(f"{self.top} is not a number of keys", where="--top", hint="expected a number from 1")
        return self.top

    @property
    def max_terms(self) -> int | None:
        """The longest sum to write in full, None for no limit; raises AttnError for less than 1."""
        from attncli.numbers.arithmetic import MAX_TERMS

        if self.terms is None or self.terms == ALL:
            return MAX_TERMS if self.terms is None else None
        if not self.terms.isdecimal() or int(self.terms) == 0:
            hint = f"expected a number from 1, or {ALL}"
            raise AttnError(f"{self.terms!r} is not a number of terms", where="--terms", hint=hint)
        return int(self.terms)

    @property
    def shows_parts(self) -> bool:
        """Whether the output has the parts of a file; an exercise has its own problem alone."""
        return self.output_format.has_parts and not self.has_effect("blank")

    @property
    def has_guide(self) -> bool:
        """Whether a page begins with a story: on request, otherwise if a page opens at once."""
        is_page = self.output_format.name == PAGE and self.blank is None
        return is_page and (self.open if self.guide is None else self.guide)

    @property
    def works_out_cells(self) -> bool:
        """Whether the worked lines of cells replace the results."""
        row = self.output_format
        return bool(self.cell) and not self.explain and row.is_text_for_readers and not row.shows_every_step

    def keeps_every_step(self, plan: "Plan") -> bool:
        """Whether every step of a plan is shown, not only the selected results."""
        row = self.output_format
        if row.shows_every_step or row.is_code:
            return row.keeps_every_step(plan)
        return self.explain or self.works_out_cells

    @property
    def draws_curve_alone(self) -> bool:
        """Whether only a data fit is drawn, in place of the default results."""
        is_alone = self.select is None and not (self.explain or self.cell or self.heatmap or self.stats or self.top)
        return self.has_effect("curve") and is_alone

    def is_one_whole_result(self, problem: "ProblemSpec") -> bool:
        """Whether the output is one result of a problem, with all its batch items and heads."""
        return len(self.selection(problem)) == 1 and {self.head, self.batch} <= {None, ALL}

    def check_plan(self) -> None:
        """Raise AttnError if an option would have no effect with --plan, which has no numbers."""
        idle = [name for name in self.given if name not in ("plan", "gradient", "output", "strict")]
        if idle:
            message = f"--plan computes nothing, so --{idle[0]} would have no effect"
            raise AttnError(message, hint="leave out one of them")

    def check_watch(self) -> None:
        """Raise AttnError if an option contradicts --watch, which does not wait for a reader."""
        if self.pager:
            raise AttnError("--pager and --watch contradict each other", hint="leave out one of them")

    @property
    def file(self) -> str | None:
        """The file for the result; None for standard output."""
        return output_file(self.output)

    @property
    def output_format(self) -> OutputFormat:
        """The format of `--format` or `--json`, otherwise of the file's suffix, otherwise the default.

        Raises AttnError if the options contradict each other or name no format.
        """
        if self.json and self.format not in (None, JSON):
            raise AttnError(f"--json and --format {self.format} contradict each other", hint="leave out one of them")
        name = JSON if self.json else self.format
        if self.file is None:
            return find_format(name or DEFAULT_FORMAT)
        return format_of_output(self.file) if name is None else format_in_file(find_format(name), self.file)

    def check_format(self, noun: str, is_written: Callable[[OutputFormat], bool]) -> None:
        """Raise AttnError if the format can't hold an answer that is not a result, such as a comparison."""
        if not is_written(self.output_format):
            where = f"--output {self.file}" if self.format is None else f"--format {self.format}"
            rows = [row for row in FORMATS if is_written(row)]
            names = [row.name for row in rows if row.is_choice]
            if self.format is None:
                names = [suffix for row in rows for suffix in row.suffixes]
            message, hint = f"no {noun} is written as {self.output_format.name}", f"expected one of {', '.join(names)}"
            raise AttnError(message, where=where, hint=hint)


def split_names(text: str | None, option: str) -> tuple[str, ...] | None:
    """The names between the commas of an option, without duplicates; None without it, AttnError for an empty one."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        hint = f"expected names between commas, such as {','.join(DEFAULT_SELECTION)}"
        raise AttnError(f"a name is empty in {text!r}", where=option, hint=hint)
    return tuple(dict.fromkeys(names))


def selection_error(error: AttnError, names: Iterable[str]) -> AttnError:
    """The error for one of the names of `--select`; a statistic of the weights has its own option."""
    from attncli.render.statistics import COLUMNS, TITLE

    if {*names} & {*COLUMNS, TITLE} and isinstance(error, UnknownNameError):
        error.hint = "it is a statistic: leave it out and add --stats"
    return error.at("--select")


def writes_documents(row: OutputFormat) -> bool:
    """Whether a format can hold an answer that is not a result, such as a demo."""
    return row.writes_documents


def writes_checks(row: OutputFormat) -> bool:
    """Whether a format can hold a check: a document or a page."""
    return row.writes_documents or row.page is not None


def writes_comparisons(row: OutputFormat) -> bool:
    """Whether a format can hold a comparison: a document, a page, a figure, or a row for each query and key."""
    return writes_checks(row) or row.compares_cells or row.is_figure


def writes_maps(row: OutputFormat) -> bool:
    """Whether a format can hold the report on a model's heads: a document, a page, one table or a figure."""
    return row.is_figure or writes_checks(row) or row.row_table is not None


def with_output_options(
    *names: str, is_written: Callable[[OutputFormat], bool] | None = None, has_every_file: bool = False
) -> Callable[[Command], Command]:
    """Give a command output options, these names or all, in place of its parameter `output_options`.

    They arrive as one object. The help of `--format` and `--output` has the formats that the command writes: all, or
    those for which `is_written` is true; with `has_every_file` a file may have every format.
    """
    choices = [row for row in FORMATS if is_written is None or is_written(row)]
    listed = {"output": FORMATS if has_every_file else choices}
    chosen = [option for option in fields(OutputOptions) if not names or option.name in names]
    options = [_parameter(option, listed.get(option.name, choices)) for option in chosen]

    def with_options(command: Command) -> Command:
        """The command with these options."""

        @wraps(command)
        def run(*args: Any, **values: Any) -> None:
            given = {option.name: values.pop(option.name) for option in options if option.name in values}
            command(*args, output_options=OutputOptions(**given), **values)

        return with_parameters(
            run,
            [each for own in parameters_of(command) for each in (options if own.name == "output_options" else [own])],
        )

    return with_options


def _parameter(option: Any, formats: Sequence[OutputFormat]) -> inspect.Parameter:
    """A field of OutputOptions as a parameter that Typer turns into an option; the command writes these formats."""
    row: OutputOption = option.metadata["row"]
    if option.name == "format":
        names = [each.name for each in formats if each.is_choice]
        row = replace(row, help=f"As {' '.join(names)}.", complete=complete_from(lambda: names))
    if option.name == "output" and len(formats) < len(FORMATS):
        row = replace(row, help=f"Write a file: {' '.join(each.suffixes[0] for each in formats)}.")
    name = option_name(option.name)
    made = typer.Option(
        f"{name}/--no-{name.removeprefix('--')}" if row.has_opposite else name,
        *filter(None, [row.short]),
        help=row.help,
        metavar=row.metavar,
        hidden=not row.is_listed,
        autocompletion=row.complete,
    )
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option.name, kind, default=option.default, annotation=Annotated[option.type, made])

"""The options of `attn compute` that describe no problem: what is shown of a result, how, and where."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.cli.command_parameters import parameters_of, select_options, set_parameters
from attncli.cli.completion import complete_cell, complete_selection
from attncli.cli.output_file import format_of_output, output_file
from attncli.cli.warnings import Strict
from attncli.engine.options import REMOTE, SERIAL, THREADS
from attncli.problem.results import DEFAULT_SELECTION
from attncli.render.formats import DEFAULT_FORMAT, JSON, OutputFormat, find_format, format_choices, format_in_file

if TYPE_CHECKING:
    from attncli.plan.graph import Plan
    from attncli.problem.spec import ProblemSpec
    from attncli.render.figure.layout import Size

ALL = "all"  # the value of --head and --batch for every one


def _complete_format(incomplete: str) -> list[str]:
    """The formats that begin so."""
    return [name for name in format_choices() if name.startswith(incomplete)]


def _complete_executor(incomplete: str) -> list[str]:
    """The executors that begin so; an address can't be completed."""
    return [name for name in (THREADS, SERIAL) if name.startswith(incomplete)]


@dataclass(frozen=True)
class OutputOptions:
    """What is shown of a result, how and where: a field for each option, as text from the command line."""

    explain: Annotated[
        bool, typer.Option("--explain", "-e", help="Show every step, from the vectors to the output.")
    ] = False
    plan: Annotated[
        bool, typer.Option("--plan", hidden=True, help="Show what is computed, a line a step, and compute nothing.")
    ] = False
    cell: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUERY,KEY",
            help="Work out cells by hand: labels or positions, * for all.",
            autocompletion=complete_cell,
        ),
    ] = None
    head: Annotated[
        str | None, typer.Option(metavar="N|all", help="Show one head, counted from 0, or all of them.")
    ] = None
    batch: Annotated[
        str | None,
        typer.Option(metavar="N|all", hidden=True, help="Show one batch item, counted from 0, or all of them."),
    ] = None
    terms: Annotated[
        str | None,
        typer.Option(
            metavar="N|all",
            hidden=True,
            help="Terms that a worked sum writes at most, without it 12; the middle of others is left out.",
        ),
    ] = None
    precision: Annotated[
        int | None, typer.Option(metavar="DIGITS", help="Decimals in tables and explanations; without it 4.")
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="|".join(format_choices()),
            help="How the result is written.",
            autocompletion=_complete_format,
        ),
    ] = None
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file; its suffix picks the format."),
    ] = None
    select: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME",
            help="Results: scores, weights, context, output, or any step.",
            autocompletion=complete_selection,
        ),
    ] = None
    title: Annotated[str | None, typer.Option(metavar="TEXT", hidden=True, help="The title of a figure or a page.")] = (
        None
    )
    size: Annotated[
        str | None,
        typer.Option(metavar="WIDTHxHEIGHT", hidden=True, help="The size of a figure, as 6x4 (inches) or 15x10cm."),
    ] = None
    stats: Annotated[
        bool,
        typer.Option("--stats", help="Add the entropy and largest weight of each query."),
    ] = False
    heatmap: Annotated[
        bool,
        typer.Option("--heatmap", help="Show tables as blocks of colour, all heads side by side."),
    ] = False
    curve: Annotated[
        bool,
        typer.Option("--curve", help="Plot the output over one-dimensional keys, with the values as points."),
    ] = False
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Compute again whenever a file of the problem is saved."),
    ] = False
    open: Annotated[bool, typer.Option("--open", help="Show the page, as -o page.html writes it, in the browser.")] = (
        False
    )
    pager: Annotated[
        bool,
        typer.Option("--pager", hidden=True, help="On a terminal, show the result page by page, with PAGER or less."),
    ] = False
    executor: Annotated[
        str,
        typer.Option(
            metavar=f"{THREADS}|{SERIAL}|{REMOTE}HOST:PORT",
            hidden=True,
            help="Who computes large problems: all cores, one, or the workers of a Dask scheduler.",
            autocompletion=_complete_executor,
        ),
    ] = THREADS
    strict: Strict = False

    def selection(self, problem: "ProblemSpec") -> tuple[str, ...]:
        """The names of the results of a problem, without duplicates; raises AttnError where one is empty."""
        if self.draws_curve_alone:
            return ()
        names = self.selected_names
        return problem.default_selection if names is None else names

    @property
    def selected_names(self) -> tuple[str, ...] | None:
        """The names of `--select`, without duplicates, None without it; raises AttnError where one is empty."""
        if self.select is None:
            return None
        names = [name.strip() for name in self.select.split(",")]
        if not all(names):
            hint = f"expected names between commas, such as {','.join(DEFAULT_SELECTION)}"
            raise AttnError(f"a name is empty in {self.select!r}", where="--select", hint=hint)
        return tuple(dict.fromkeys(names))

    @property
    def decimals(self) -> int:
        """The decimals of rounded numbers; raises AttnError where they are out of range."""
        from attncli.render.view import DECIMALS, MAX_DECIMALS

        if self.precision is not None and not 0 <= self.precision <= MAX_DECIMALS:
            hint = f"expected 0 to {MAX_DECIMALS}"
            raise AttnError(f"{self.precision} digits can't be shown", where="--precision", hint=hint)
        if self.precision is not None:
            return self.precision
        return DECIMALS if self.output_format.decimals is None else self.output_format.decimals

    @property
    def figure_size(self) -> "Size | None":
        """The size of `--size`, None without it; raises AttnError where it is none, or out of range."""
        if self.size is None:
            return None
        from attncli.render.figure.layout import parse_size

        return parse_size(self.size, "--size")

    @property
    def max_terms(self) -> int | None:
        """The longest sum that is written whole, None for no limit; raises AttnError where it is no number from 1."""
        from attncli.numbers.arithmetic import MAX_TERMS

        if self.terms in (None, ALL):
            return MAX_TERMS if self.terms is None else None
        assert self.terms is not None
        if not self.terms.isdecimal() or int(self.terms) == 0:
            hint = f"expected a number from 1, or {ALL}"
            raise AttnError(f"{self.terms!r} is no number of terms", where="--terms", hint=hint)
        return int(self.terms)

    @property
    def works_out_cells(self) -> bool:
        """Whether the worked lines of cells are shown, in place of results."""
        row = self.output_format
        return bool(self.cell) and not self.explain and row.is_text_for_readers and not row.shows_every_step

    def keeps_every_step(self, plan: "Plan") -> bool:
        """Whether every step of a plan is shown, and not the selected results alone."""
        row = self.output_format
        if row.shows_every_step:
            return row.has_room_for_steps(plan)
        return self.explain or self.works_out_cells

    @property
    def draws_heatmaps(self) -> bool:
        """Whether tables are drawn as blocks of colour, as the format can, which take no more room than a screen."""
        return self.heatmap and self.output_format.has_heatmaps and not self.works_out_cells

    @property
    def draws_curve(self) -> bool:
        """Whether a data fit is drawn, as the format can."""
        return self.curve and self.output_format.has_curves

    @property
    def draws_curve_alone(self) -> bool:
        """Whether it is drawn in place of the default results: nothing else is asked for."""
        is_alone = self.select is None and not (self.explain or self.cell or self.heatmap or self.stats)
        return self.draws_curve and is_alone

    @property
    def shows_statistics(self) -> bool:
        """Whether the statistics of the weights are added: to tables and objects, which have room for them."""
        row = self.output_format
        return self.stats and (row.is_object or row.is_text_for_readers) and not row.shows_every_step

    def is_one_whole_result(self, problem: "ProblemSpec") -> bool:
        """Whether one result of a problem is written, all batch items and heads of it."""
        return len(self.selection(problem)) == 1 and {self.head, self.batch} <= {None, ALL}

    def check_plan(self) -> None:
        """Raise AttnError where an option would have no effect with --plan, which has no numbers to show."""
        for field in fields(self):
            if field.name not in ("plan", "output", "strict") and getattr(self, field.name) != field.default:
                message = f"--plan computes nothing, so --{field.name} would have no effect"
                raise AttnError(message, hint="leave out one of them")

    def check_watch(self) -> None:
        """Raise AttnError where an option contradicts --watch, which does not wait for a reader."""
        if self.pager:
            raise AttnError("--pager and --watch contradict each other", hint="leave out one of them")

    @property
    def unread(self) -> Mapping[str, str]:
        """Why the format does not read an option, for each such option that is given."""
        row = self.output_format
        reasons = {}
        if not row.is_text_for_readers:
            worked = f"{row.name} has no worked lines"
            reasons = {"cell": worked, "terms": worked}
            if row.is_lossless:
                reasons["precision"] = f"{row.name} has every digit"
            if not row.is_object:
                reasons["stats"] = f"{row.name} has the results alone; json has their statistics"
        elif row.shows_every_step:
            reasons = {
                "explain": "a page has every step as it is",
                "terms": "a page writes sums as it has room for them",
                "stats": "a page has no statistics; those of a table are shown without -o",
            }
        elif not self.explain and not self.cell:
            reasons["terms"] = "no sum is worked out without --explain or --cell"
        if self.draws_curve_alone:
            reasons["precision"] = "a plot has ticks and no numbers of the result; --select adds tables"
        if not row.has_title:
            reasons["title"] = "only figures (.svg, .png, .pdf) and pages (.html) have a title"
        if not row.is_figure:
            reasons["size"] = "only figures (.svg, .png, .pdf) have a size"
        if not row.has_heatmaps:
            reasons["heatmap"] = f"{row.name} has {'heat maps anyway' if row.is_picture else 'no blocks of colour'}"
        elif self.works_out_cells:
            reasons["heatmap"] = "--cell without --explain shows no tables"
        if not row.has_curves:
            reasons["curve"] = f"{row.name} has no plots"
        if self.file is not None:
            reasons["pager"] = "the result is written to a file"
        defaults = {field.name: field.default for field in fields(self)}
        return {name: reason for name, reason in reasons.items() if getattr(self, name) != defaults[name]}

    @property
    def file(self) -> str | None:
        """The file that the result is written to; None for standard output."""
        return output_file(self.output)

    @property
    def output_format(self) -> OutputFormat:
        """The format of `--format` or `--json`, otherwise that of the file's suffix, otherwise the default.

        Raises AttnError where the options contradict each other or name no format.
        """
        if self.json and self.format not in (None, JSON):
            raise AttnError(f"--json and --format {self.format} contradict each other", hint="leave out one of them")
        name = JSON if self.json else self.format
        if self.file is None:
            return find_format(name or DEFAULT_FORMAT)
        return format_of_output(self.file) if name is None else format_in_file(find_format(name), self.file)


def with_output_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the output options in place of its parameter `output_options`, where they arrive as one object."""
    return _with_options(command, [field.name for field in fields(OutputOptions)])


def with_some_output_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command some of the output options, by their names in OutputOptions, likewise."""
    return lambda command: _with_options(command, names)


def _with_options(command: Callable[..., None], names: Sequence[str]) -> Callable[..., None]:
    """The command with the output options of those names in place of its parameter `output_options`."""
    options = [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in fields(OutputOptions)
        if field.name in names
    ]

    @wraps(command)
    def run(*args: Any, **values: Any) -> None:
        option_values = {name: values.pop(name) for name in names if name in values}
        command(*args, output_options=OutputOptions(**option_values), **values)

    def make(words: Collection[str] | None) -> list[inspect.Parameter]:
        parameters: list[inspect.Parameter] = []
        for parameter in parameters_of(command, words):
            parameters += select_options(options, words) if parameter.name == "output_options" else [parameter]
        return parameters

    set_parameters(run, make)
    return run

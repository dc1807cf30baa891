"""`attn demo`: worked examples, each a problem file that includes the expected numbers."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from attncli.base.errors import AttnError
from attncli.base.program import DIFFERS
from attncli.cli import streams
from attncli.cli.completion import complete_from
from attncli.cli.option_values import edited_problem, make_inputs, with_parts
from attncli.cli.output_file import (
    check_beside_is_no_input,
    check_is_new,
    check_is_no_input,
    say_written,
    write_new_file,
)
from attncli.cli.output_options import OutputOptions, with_output_options, writes_documents
from attncli.cli.problem_options import Force, MaxSize, Strict, argument, flag, option
from attncli.cli.terminal import has_reader, write_at_readers_pace
from attncli.render.formats import DEFAULT_FORMAT, PAGE

if TYPE_CHECKING:
    from attncli.checks.report import CheckReport
    from attncli.demos.document import ExampleReport, PartReport
    from attncli.io.examples import Example, Part
    from attncli.render.view import Cell


@dataclass(frozen=True)
class ReportOptions:
    """What to show of a worked example, and how."""

    save_command: str = ""  # writes the example to a file, if the package has it
    part: int | None = None  # the only part to show, counted from 1
    precision: int | None = None
    explain: bool = False


@complete_from
def _complete_name() -> Sequence[str]:
    """The worked examples."""
    from attncli.io.examples import names

    return names()


@with_output_options("format", "json", "output", "guide", is_written=writes_documents, has_every_file=True)
def demo(
    name: str = argument("A worked example, or your own file.", "NAME|FILE", "tutorial", complete=_complete_name),
    *,
    list_all: bool = flag("List the worked examples by topic.", "--list"),
    save: str | None = option("Write the example to a new file, to start from; - prints it.", metavar="FILE"),
    force: Force = False,
    all_parts: bool = flag("Show everything at once, also on a terminal.", "--all"),
    step: bool = flag("Wait for Enter after each part, as on a terminal.", "--step", is_listed=False),
    part: int | None = option("Show one part, counted from 1.", metavar="N"),
    explain: bool = flag("Show every step of each part.", "--explain", "-e"),
    precision: int | None = option("Decimals; default: the example's, or 4.", metavar="DIGITS"),
    output_options: OutputOptions,
    max_size: MaxSize = None,
    strict: Strict = False,
) -> None:
    """Report a worked example, list all of them, or save the file of one."""
    from attncli.io import examples

    shown = {"--step": step, "--all": all_parts}
    shown |= {"--part": part is not None, "--explain": explain, "--precision": precision is not None}
    shown |= {f"--{name}": True for name in output_options.given}
    _check_options({"--list": list_all, "--save": save is not None}, shown)
    if list_all:
        _write_list(examples.by_topic())
    elif save is not None:
        if save in examples.names():  # attn demo would show this one in place of the file
            raise AttnError(f"{save} is a worked example itself", where="--save", hint=f"write --save {save}.yaml")
        command = f"attn demo {shlex.quote(save)}"
        write_new_file(examples.text(name), save, "--save", force=force, command=command)
    else:
        idle = "no file is written" if output_options.file is None else "--output replaces a file without it"
        check_is_new(None, force=force, idle=idle)
        row = output_options.output_format
        if output_options.file is not None and not row.writes_documents:
            options = replace(output_options, explain=explain, precision=precision)
            options = replace(options, guide=options.guide is not False) if row.name == PAGE else options
            _write_problem(name, part, options, max_size)
            return
        output_options.check_format("demo", writes_documents)
        if step and row.name != DEFAULT_FORMAT:
            raise AttnError(f"--step and --format {row.name} contradict each other", hint="leave out one of them")
        save_command = f"attn demo {name} --save {name}.yaml" if name in examples.names() else ""
        inputs = make_inputs(max_size)
        example = examples.load(name, inputs)
        check_is_no_input(output_options.file, inputs)
        report = make_report(example, ReportOptions(save_command, part, precision, explain=explain))
        streams.write_warnings([*output_options.warnings, *_notes(report)], strict=strict)
        has_pages = not all_parts and row.name == DEFAULT_FORMAT and output_options.file is None and has_reader()
        _write_report(report, example.file, output_options, is_paced=step or has_pages)


def _check_options(instead: Mapping[str, bool], shown: Mapping[str, bool]) -> None:
    """Raise AttnError if options contradict each other: those that show no example, and those for showing one.

    Both have the options by name, and whether each is given.
    """
    hint = "leave out one of them"
    for options, (first, second) in ((instead, ("--list", "--save")), (shown, ("--step", "--all"))):
        if options[first] and options[second]:
            raise AttnError(f"{first} and {second} contradict each other", hint=hint)
    idle = [
        f"{first} computes nothing, so {second} would have no effect"
        for first in instead
        for second in shown
        if instead[first] and shown[second]
    ]
    if idle:
        raise AttnError(idle[0], hint=hint)


def _write_list(topics: Mapping[str, Mapping[str, str]]) -> None:
    """Write the name of each example and its subject, in columns that all topics share."""
    from attncli.render.document import pairs_document
    from attncli.render.formats import terminal

    width = max(len(name) for examples in topics.values() for name in examples)
    groups = ((topic, [(name.ljust(width), text) for name, text in found.items()]) for topic, found in topics.items())
    streams.write_output(terminal.render(pairs_document(groups), streams.output_target()))


def _write_problem(name: str, part: int | None, options: OutputOptions, max_size: str | None) -> None:
    """Write the problem of a worked example, or of a part of it, as `attn compute` does."""
    from attncli.cli.output import compute_and_write
    from attncli.io import examples
    from attncli.io.assemble import assemble

    inputs = make_inputs(max_size)
    document, file = examples.read(name, inputs)
    check_is_no_input(options.file, inputs)
    if options.output_format.is_code:
        check_beside_is_no_input(options.file, inputs)
    example = examples.example_of(document, file)
    if part is not None:
        shown = _find_part(example, part)
        edited = replace(edited_problem(shown.problem, ()), title=shown.title or example.title, about=shown.about)
    else:
        edited = replace(edited_problem(assemble(document), ()), title=example.title)
        edited = with_parts(edited, document, file) if options.output_format.has_parts else edited
    compute_and_write(edited, options)


def _write_report(report: "ExampleReport", file: str, options: OutputOptions, *, is_paced: bool) -> None:
    """Write the report of the example in a file; exit status 1 if a number differs from the expected one."""
    from attncli.demos.document import document_pages, example_answer
    from attncli.io.output_files import atomic_write_file
    from attncli.render.target import TEXT_FILE

    row, to_file = options.output_format, options.file
    answer, target = example_answer(report), streams.output_target() if to_file is None else TEXT_FILE
    try:
        texts = list(document_pages(answer.document(), target) if is_paced else row.render_answer(answer, target))
    except AttnError as error:
        raise error.at(file) from None
    if to_file is not None:
        atomic_write_file(to_file, "".join(texts))
        say_written(to_file)
    elif is_paced:
        write_at_readers_pace(texts, "--step")
    else:
        streams.write_output(texts)
    if report.differs:
        raise typer.Exit(DIFFERS)


def _notes(report: "ExampleReport") -> Iterator[str]:
    """The warnings of every part, with its title if it has one."""
    for part in report.parts:
        for note in part.view.result.trace.notes:
            yield f"{part.title}: {note}" if part.title else note


def make_report(example: "Example", options: ReportOptions) -> "ExampleReport":
    """Compute the shown parts and compare them with the expected numbers.

    Raises AttnError if the example has no such part, or the precision is out of range.
    """
    from attncli.demos.document import ExampleReport

    decimals = _decimals(example, options)
    count, is_whole = len(example.parts), options.part is None
    parts = example.parts if options.part is None else [_find_part(example, options.part)]
    return ExampleReport(
        title=example.title,
        about=example.about if is_whole else "",
        paper=example.paper if is_whole else "",
        source=example.source,
        save_command=options.save_command,
        parts=[_make_part(example, part, decimals, explain=options.explain) for part in parts],
        first_number=None if count == 1 else options.part or 1,
        together=example.together if is_whole else (),
        curve=example.curve if is_whole else None,
    )


def _find_part(example: "Example", number: int) -> "Part":
    """A part by its number; raises AttnError if there is none."""
    count = len(example.parts)
    if not 1 <= number <= count:
        hint = f"expected 1 to {count}" if count > 1 else "there is one part"
        raise AttnError(f"there is no part {number}", where="--part", hint=hint)
    return example.parts[number - 1]


def _decimals(example: "Example", options: ReportOptions) -> int:
    """The decimals of the option, otherwise the example's, otherwise the usual ones."""
    if options.precision is not None:
        return OutputOptions(precision=options.precision).decimals
    try:
        return OutputOptions(precision=example.precision).decimals
    except AttnError as error:
        error.path = (example.file, "precision")
        raise


def _make_part(example: "Example", part: "Part", decimals: int, *, explain: bool) -> "PartReport":
    """One part, computed and compared."""
    from attncli.demos.document import PartReport
    from attncli.engine.run import run
    from attncli.io.examples import FROM_KEY
    from attncli.plan.trace import RunResult
    from attncli.render.view import DECIMALS, View

    computed = run(part.problem, _names(example, part), every_step=explain or part.cell is not None)
    result = RunResult(computed.trace, part.show)
    precision = () if decimals == DECIMALS else (f"--precision {decimals}",)
    command = f"attn compute {shlex.quote(example.file)}"
    words = (command, *filter(None, [part.options]), *precision)
    cell_words = (command, *part.problem_options, *precision, f"--cell {shlex.quote(part.cell or '')}")
    cells = _cells(part)
    has_worked_lines = cells and not explain
    every_name = RunResult(computed.trace, (*part.show, *part.numpy, part.problem.default_selection[-1]))
    return PartReport(
        title=part.title,
        about=part.about,
        command=" ".join((*words, "--explain") if explain else words),
        view=View(result, explain, decimals, cells if explain else ()),
        check=_check(part),
        worked=View(every_name, False, decimals, cells) if has_worked_lines else None,
        worked_command=" ".join(cell_words) if has_worked_lines else "",
        numpy=part.numpy,
        arrows_from_key=None if part.arrows is None else part.arrows == FROM_KEY,
    )


def _names(example: "Example", part: "Part") -> list[str]:
    """The names of the shown results of a part; raises AttnError if one is unknown."""
    from attncli.plan.build import plan_of

    plan = plan_of(part.problem)
    names_by_place = {
        (part.place, "show"): part.show,
        (part.place, "numpy"): part.numpy,
        (example.file, "together"): example.together,
        (example.file, "curve"): [] if example.curve is None else [example.curve],
        (part.place, "arrows"): [] if part.arrows is None else ["weights"],
    }
    for place, names in names_by_place.items():
        for name in names:
            try:
                plan.resolve(name)
            except AttnError as error:
                raise error.at(*place) from None
    return list(dict.fromkeys(name for names in names_by_place.values() for name in names))


def _cells(part: "Part") -> "tuple[Cell, ...]":
    """The cells with shown arithmetic; raises AttnError if the part has no such cell."""
    from attncli.render.view import parse_cell

    try:
        return () if part.cell is None else (parse_cell(part.cell, part.problem, "--cell"),)
    except AttnError as error:
        error.path = (part.place, "cell")
        raise


def _check(part: "Part") -> "CheckReport | None":
    """The check of a part's expected numbers; None without any. Raises AttnError if it fails."""
    from attncli.checks.check import check_expected
    from attncli.checks.report import CheckOptions
    from attncli.io.expected import read_expected
    from attncli.plan.build import plan_of

    expected = read_expected(part.expected, plan_of(part.problem).names)
    return check_expected(part.problem, expected, CheckOptions(), part.place) if expected.by_name else None

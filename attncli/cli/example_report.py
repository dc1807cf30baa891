"""The report of a worked example: its parts computed, compared with expected numbers, and the commands that do so."""

import shlex
from typing import TYPE_CHECKING

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.cli.cells import parse_cells
from attncli.cli.output_options import OutputOptions

if TYPE_CHECKING:
    from attncli.analysis.check.report import CheckReport
    from attncli.io.examples import Example, Part
    from attncli.render.reports.example import ExampleReport, PartReport
    from attncli.render.view import Cell


@dataclass(frozen=True)
class ReportOptions:
    """What is shown of a worked example, and how."""

    save_command: str = ""  # that writes the example to a file, where it is one of the package
    part: int | None = None  # the one part that is shown, counted from 1
    precision: int | None = None
    explain: bool = False


def make_report(example: "Example", options: ReportOptions) -> "ExampleReport":
    """Compute the parts that are shown and compare them with the numbers that are expected.

    Raises AttnError where the example has no such part, or the precision is out of range.
    """
    from attncli.render.reports.example import ExampleReport

    decimals = _decimals(example, options)
    count = len(example.parts)
    if options.part is not None and not 1 <= options.part <= count:
        hint = f"expected 1 to {count}" if count > 1 else "there is one part"
        raise AttnError(f"there is no part {options.part}", where="--part", hint=hint)
    is_whole = options.part is None
    parts = example.parts if options.part is None else [example.parts[options.part - 1]]
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


def _decimals(example: "Example", options: ReportOptions) -> int:
    """The decimals of the option, otherwise those of the example, otherwise the usual ones."""
    if options.precision is not None:
        return OutputOptions(precision=options.precision).decimals
    try:
        return OutputOptions(precision=example.precision).decimals
    except AttnError as error:
        error.path = (example.file, "precision")
        raise


def _make_part(example: "Example", part: "Part", decimals: int, *, explain: bool) -> "PartReport":
    """One part, computed and compared."""
    from attncli.engine.run import run
    from attncli.io.examples import FROM_KEY
    from attncli.plan.trace import RunResult
    from attncli.render.reports.example import PartReport
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
    """The names of the results of a part that are shown; raises AttnError where one is unknown."""
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
    """The cells whose arithmetic is shown; raises AttnError where the part has none of that name."""
    try:
        return () if part.cell is None else parse_cells([part.cell], part.problem)
    except AttnError as error:
        error.path = (part.place, "cell")
        raise


def _check(part: "Part") -> "CheckReport | None":
    """The check of what is expected of a part; None where that is nothing. Raises AttnError where it can't be made."""
    from attncli.analysis.check.check import check_expected
    from attncli.analysis.check.report import CheckOptions
    from attncli.io.expected import read_expected
    from attncli.plan.build import plan_of

    expected = read_expected(part.expected, plan_of(part.problem).names)
    return check_expected(part.problem, expected, CheckOptions(), part.place) if expected.by_name else None

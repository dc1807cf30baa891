"""`attn worksheet`: an exercise with blanks and its key, or one for each student."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.text import count_of
from attncli.cli import streams
from attncli.cli.option_values import (
    check_is_given,
    make_inputs,
    no_effect,
    problem_warnings,
    read_problem_options,
    write_alias_notes,
)
from attncli.cli.output_file import check_is_new, check_is_no_input, named_file, say_written
from attncli.cli.output_options import OutputOptions
from attncli.cli.problem_options import Force, MaxSize, Strict, argument, flag, option, with_problem_options

if TYPE_CHECKING:
    from attncli.io.inputs import Inputs
    from attncli.io.problem_files import Document
    from attncli.render.blank_request import BlankRequest
    from attncli.worksheet.sheets import Sheet

ANSWER_HEAD = "# Put your number in place of each null: with all the decimals that you computed.\n"


@dataclass(frozen=True)
class SheetRequest:
    """The blanks of sheets, and how to write the sheets."""

    blanks: "BlankRequest"
    precision: int | None
    has_formulas: bool


@with_problem_options(are_listed=False)
def worksheet(
    problem: str | None = argument("A problem file, or -.", "PROBLEM"),
    *,
    output: str | None = option(
        "The exercise: .md, .tex, .html or .xlsx; its key is written next to it.",
        "--output",
        "-o",
        metavar="FILE|FOLDER",
    ),
    blank: list[str] | None = option(
        "The blanks: weights,output; 0.3 of the numbers; 'weights[word_2,*]'.", metavar="WHAT"
    ),
    no_formulas: bool = flag("Do not say how the steps are computed.", "--no-formulas"),
    precision: int | None = option("Decimals; default: the file's, or 4.", metavar="DIGITS"),
    by_hand: bool = flag("Draw a problem to do by hand, from --seed; no two weights are equal.", "--by-hand"),
    variants: int | None = option("Write N different problems to do by hand, into a folder.", metavar="N"),
    names: str | None = option("A CSV of names: a sheet, a key and a file of answers for each.", metavar="FILE"),
    sheet_format: str | None = option(
        "Sheets in a folder as md, tex, html or xlsx; default md.", "--format", "-f", metavar="NAME"
    ),
    force: Force = False,
    max_size: MaxSize = None,
    strict: Strict = False,
    **keys: Any,
) -> None:
    """Write an exercise with blanks to compute and its key, or a folder of them for a class."""
    from attncli.render.blank_request import parse_blanks
    from attncli.worksheet.sheets import check_suffix

    if output is None:
        raise AttnError("no file is named", where="--output", hint="name one, such as -o sheet.md")
    file, is_folder = named_file(output, "--output"), variants is not None or names is not None
    suffix = _folder_suffix(file, sheet_format) if is_folder else check_suffix(file)
    if sheet_format is not None and not is_folder:
        raise AttnError("the suffix of the file says it", where="--format", hint="leave out --format")
    if variants is not None and not by_hand:
        raise AttnError("needs --by-hand, which draws them", where="--variants", hint="add --by-hand")
    if variants is not None and variants < 1:
        raise AttnError(f"{variants} is not a number of variants", where="--variants", hint="expected a number from 1")
    blanks = parse_blanks(blank or ())
    if not by_hand:
        check_is_given("worksheet", [problem] if problem else None, keys)
    inputs = make_inputs(max_size)
    document, seed = _read(problem, keys, inputs, takes_seed=blanks.share is not None and not by_hand)
    write_alias_notes(document)
    request = SheetRequest(replace(blanks, seed=seed), precision, not no_formulas)
    if not is_folder:
        unforced = [no_effect("force", "the sheet is replaced anyway")] if force else []
        streams.write_warnings(unforced, strict=strict)
        _write_sheet(_problems(document, 1, by_hand=by_hand)[0], request, file, inputs, suffix, strict=strict)
        return
    students = [] if names is None else _read_names(names, inputs)
    check_is_new(file, force=force)
    found = _problems(document, variants or len(students), by_hand=by_hand)
    _write_folder(found, students, request, file, inputs, suffix, strict=strict)


def _folder_suffix(folder: str, name: str | None) -> str:
    """The suffix of the sheets in a folder; raises AttnError if the folder's name has one, or the format is unknown."""
    from attncli.worksheet.sheets import sheet_suffixes

    known = [suffix.removeprefix(".") for suffix in sheet_suffixes()]
    own = PurePath(folder).suffix.lower().removeprefix(".")
    if own in known:
        hint = f"write -o {PurePath(folder).stem} --format {own}"
        raise AttnError("must be a folder of sheets", where=f"--output {folder}", hint=hint)
    if name is not None and name not in known:
        raise UnknownNameError("format", name, known, where="--format")
    return f".{name or known[0]}"


def _read(
    problem: str | None, keys: Mapping[str, Any], inputs: "Inputs", *, takes_seed: bool
) -> "tuple[Document, int]":
    """The keys of the problem, and the seed of the blanks.

    If the blanks need the seed, the file's own seed and its draws stay.
    """
    document = read_problem_options(problem, {**keys, "seed": None}, inputs)
    seed = read_problem_options(None, {"seed": keys.get("seed")}, inputs)
    value = (document | seed)["seed"].value if "seed" in document | seed else 0
    is_kept = takes_seed and ("seed" in document or not _draws(document))
    return document if is_kept else document | seed, value if type(value) is int else 0


def _draws(document: "Document") -> bool:
    """Whether a problem has drawn numbers, or lacks some that would be drawn."""
    from attncli.io.assemble import assemble

    try:
        return bool(assemble(document).generators)
    except AttnError:
        return True


def _problems(document: "Document", count: int, *, by_hand: bool) -> "Sequence[Document]":
    """The keys of the problems: the given one, or problems to do by hand."""
    if not by_hand:
        return [document]
    from attncli.worksheet.hand_problems import choose_variants

    return choose_variants(document, count)


def _read_names(file: str, inputs: "Inputs") -> Sequence[str]:
    from attncli.worksheet.class_list import read_names

    try:
        return read_names(file, inputs)
    except AttnError as error:
        raise error.at("--names") from None


def _write_sheet(
    document: "Document", request: SheetRequest, file: str, inputs: "Inputs", suffix: str, *, strict: bool
) -> None:
    """Write one exercise and its key."""
    from attncli.io.output_files import atomic_write_file
    from attncli.worksheet.sheets import key_file, render_sheet

    sheet = _make_sheet(document, request, strict=strict)
    texts = render_sheet(sheet, suffix)
    for name in (file, key_file(file)):
        check_is_no_input(name, inputs)
    for name, text in zip((file, key_file(file)), texts, strict=True):
        atomic_write_file(name, text)
        say_written(name)


def _write_folder(
    documents: "Sequence[Document]",
    students: Sequence[str],
    request: SheetRequest,
    folder: str,
    inputs: "Inputs",
    suffix: str,
    *,
    strict: bool,
) -> None:
    """Write the exercise, the key and the file of answers of each student into a folder; problems take turns.

    Without students there is one set per problem. A spreadsheet itself takes the answers.
    """
    from attncli.io.output_files import atomic_write_folder
    from attncli.io.paths import path_of
    from attncli.worksheet.class_list import file_stems
    from attncli.worksheet.sheets import SPREADSHEET, answer_text, key_file, render_sheet

    sheets = [_make_sheet(document, request, strict=strict and not at) for at, document in enumerate(documents)]
    digits = len(str(len(documents)))
    names = students or [f"variant_{number:0{digits}}" for number in range(1, len(documents) + 1)]
    files: dict[str, str | bytes] = {}
    for at, (name, stem) in enumerate(zip(names, file_stems(names), strict=True)):
        sheet = replace(sheets[at % len(sheets)], name=name if students else "")
        exercise = f"{stem}{suffix}"
        texts = render_sheet(sheet, suffix)
        own = dict(zip((exercise, key_file(exercise)), texts, strict=True))
        if suffix != SPREADSHEET:
            own[f"{stem}.yaml"] = ANSWER_HEAD + answer_text(sheet)
        if not own.keys().isdisjoint(files):
            raise AttnError(f"{name!r} would have a file of another name", where="--names", hint="call it otherwise")
        files |= own
    for file in files:
        check_is_no_input(str(path_of(folder) / file), inputs)
    atomic_write_folder(folder, files)
    say_written(folder, f"attn check {shlex.quote(folder)} --csv grades.csv")


def _make_sheet(document: "Document", request: SheetRequest, *, strict: bool) -> "Sheet":
    """The sheet of a problem; its warnings are written."""
    from attncli.engine.run import run
    from attncli.io.assemble import assemble, convert_document, names_of_columns
    from attncli.plan.build import plan_of
    from attncli.plan.trace import RunResult
    from attncli.render.view import DECIMALS
    from attncli.worksheet.blanks import find_blanks
    from attncli.worksheet.sheets import MAX_NUMBERS, Sheet, shown_steps, tells_an_answer

    document = convert_document(document)
    problem = assemble(document)
    told = {key: document[key].value for key in ("title", "about", "precision") if document.get(key)}
    precision = told.get("precision", DECIMALS) if request.precision is None else request.precision
    decimals = OutputOptions(precision=precision).decimals
    size = plan_of(problem).size
    if size > MAX_NUMBERS:
        message = f"a sheet of {count_of(size, 'number')}"
        raise AttnError(message, hint=f"at most {MAX_NUMBERS:,}: choose some queries with --only")
    result = run(problem, every_step=True)
    labels = {**result.trace.labels, **names_of_columns(document, problem)}
    result = RunResult(replace(result.trace, given_labels=labels), result.select)
    blanks = find_blanks(result.trace, request.blanks, decimals, sorted(shown_steps(result.trace)))
    texts = {key: " ".join(str(told[key]).split()) for key in ("title", "about") if told.get(key)}
    sheet = Sheet(result, blanks, decimals, has_formulas=request.has_formulas)
    telling = [key for key, text in texts.items() if tells_an_answer(sheet, text)]
    left_out = [f"{key} has a number that is asked for: it is left out of the exercise" for key in telling]
    warnings = [*problem_warnings(problem, document, problem.unread), *result.trace.notes, *left_out]
    streams.write_warnings(warnings, strict=strict)
    title, about = ("" if key in telling else texts.get(key, "") for key in ("title", "about"))
    return replace(sheet, title=title or sheet.title, about=about)

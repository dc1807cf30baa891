"""`attn compare`: variants of a problem side by side, and their differences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.completion import complete_convention, complete_vary
from attncli.cli.option_values import (
    at_layers,
    check_convention,
    check_is_given,
    check_stdin,
    given_keys,
    make_inputs,
    no_effect,
    read_edits,
    read_problem_options,
    write_alias_notes,
)
from attncli.cli.output import write_result
from attncli.cli.output_file import check_free_space, check_is_no_input, say_written
from attncli.cli.output_options import (
    STYLE_OPTIONS,
    OutputOptions,
    selection_error,
    with_output_options,
    writes_comparisons,
)
from attncli.cli.problem_options import EditTexts, Layers, MaxSize, argument, flag, option, with_problem_options
from attncli.cli.terminal import ProgressBar
from attncli.io.paths import STDIN
from attncli.problem.fields import OUTPUT, option_name

if TYPE_CHECKING:
    from attncli.comparisons.comparison import Comparison
    from attncli.io.inputs import Inputs
    from attncli.io.variants import NamedDocument, Variant
    from attncli.plan.graph import Plan
    from attncli.render.formats import OutputFormat

ALWAYS_FITS = 2**20  # bytes: so many are written without checking the free space
MAX_NAMES = 3  # variants that a warning names


@dataclass(frozen=True)
class VariantOptions:
    """The options for variation: files, values of keys, conventions, edits; and the keys that all share.

    `several` are the options of keys with several values.
    """

    problems: Sequence[str]
    vary: Sequence[str]
    several: Mapping[str, str]
    conventions: Sequence[str]
    edits: Sequence[str]
    keys: Mapping[str, Any]


@with_problem_options(are_listed=False)
@with_output_options(
    *("head", "batch", "precision", "format", "json", "output", "select", "title", *STYLE_OPTIONS),
    *("safe_csv", "pager", "strict"),
    is_written=writes_comparisons,
)
def compare(
    problems: list[str] | None = argument(
        "Problem files, or -. An option of a key with several values varies it.", "PROBLEM"
    ),
    *,
    layers: Layers = None,
    vary: list[str] | None = option(
        "Values of a key: scale=0.5,1, score=dot,cosine, seed=1..100. Different keys multiply.",
        metavar="KEY=VALUE",
        complete=complete_vary,
    ),
    convention: list[str] | None = option(
        "Interpret the problem as these frameworks do: torch-sdpa,flash (attn list conventions).",
        "--as",
        metavar="CONVENTION",
        complete=complete_convention,
    ),
    edits: EditTexts = None,
    all_pairs: bool = flag("Compare every pair of variants, not each with the first.", "--all-pairs"),
    stats: bool | None = option("Show, or leave out, the statistics of the weights.", "--stats/--no-stats"),
    max_size: MaxSize = None,
    output_options: OutputOptions,
    **keys: Any,
) -> None:
    """Make the variants of the problems in files and of the options (`keys`), and write the comparison."""
    from attncli.io.variants import has_several_values

    check_is_given("compare", problems, keys)
    problems = at_layers(problems or (), layers or ())
    inputs = make_inputs(max_size)
    given = given_keys(keys)
    several = {key: text for key, text in given.items() if has_several_values(key, text)}
    single = {key: text for key, text in given.items() if key not in several}
    conventions = [name.strip() for names in convention or () for name in names.split(",")]
    variant_options = VariantOptions(problems or (), vary or (), several, conventions, edits or (), single)
    variants = _read_variants(variant_options, inputs)
    check_is_no_input(output_options.file, inputs)
    streams.write_warnings(_unread_of_variants(variants, variant_options), strict=output_options.strict)
    _compare_and_write(variants, output_options, all_pairs=all_pairs, statistics=stats)


def _read_variants(options: VariantOptions, inputs: "Inputs") -> "Sequence[Variant]":
    """The variants that the options describe.

    Raises AttnError if a value is wrong, or a key is both given and varied.
    """
    from attncli.io.problem_files import Origin
    from attncli.io.variants import make_variants, read_varied, read_varied_options

    check_stdin(*options.problems, *(text.partition("=")[2] for text in options.vary), *options.keys.values())
    documents = [document.converted() for document in _documents(options, inputs)]  # first: own operators
    several = read_varied_options(options.several, Origin(options=True, inputs=inputs))
    varied = read_varied(options.vary, Origin(inputs=inputs))
    for key in varied:
        if key in options.keys or key in options.several:
            raise AttnError(f"{key} is given and varied", where=option_name(key), hint="leave out one of them")
    for convention in options.conventions:
        check_convention(convention)
        if options.conventions.count(convention) > 1:
            raise AttnError(f"{convention} is given twice", where="--as", hint="give each convention once")
    edits = read_edits(options.edits)
    return make_variants(documents, varied | several, options.conventions, edits)


def _compare_and_write(
    variants: "Sequence[Variant]", options: OutputOptions, *, all_pairs: bool, statistics: bool | None
) -> None:
    """Compare the variants and write the comparison; raises AttnError if an option is out of range."""
    from attncli.comparisons.document import render_comparison
    from attncli.io.output_files import atomic_write
    from attncli.render.target import TEXT_FILE
    from attncli.render.view import ComparisonView

    output_format = options.output_format  # errors before any work
    title = options.title or "" if options.has_effect("title") else ""
    shows_all = options.select is not None or options.file is not None
    view = ComparisonView(options.decimals, shows_all, statistics, title, options.figure_style)
    options.check_format("comparison", writes_comparisons)
    idle = _idle(output_format, all_pairs=all_pairs, has_statistics=statistics)
    streams.write_warnings([*options.warnings, *idle], strict=options.strict)
    if options.file is None:
        comparison = _compare(variants, options, all_pairs)
        target = options.in_target(streams.output_target())
        write_result(render_comparison(output_format, comparison, target, view), options)
        return
    with atomic_write(options.file) as stream:
        comparison = _compare(variants, options, all_pairs)
        if output_format.is_figure:
            from attncli.comparisons.figure import ComparisonFigure

            output_format.write(ComparisonFigure(comparison, view), stream)
        else:
            chunks = render_comparison(output_format, comparison, options.in_target(TEXT_FILE), view)
            for chunk in streams.buffer_chunks(chunks):
                stream.write(chunk.encode("utf-8", "surrogateescape"))
    say_written(options.file)


def _idle(row: "OutputFormat", *, all_pairs: bool, has_statistics: bool | None) -> Iterator[str]:
    """Warnings of options without effect."""
    if has_statistics is not None and row.is_lossless:
        yield no_effect("stats", "JSON and YAML have the statistics, CSV the results alone")
    elif has_statistics is not None and row.is_picture:
        yield no_effect("stats", "a figure has no statistics" if row.is_figure else "a page has them anyway")
    if all_pairs and (row.is_figure or row.compares_cells):
        yield no_effect("all_pairs", f"{row.name} has no list of differences")


def _compare(variants: "Sequence[Variant]", options: OutputOptions, all_pairs: bool) -> "Comparison":
    """The comparison of the variants from the options; it writes their warnings."""
    from attncli.comparisons.comparison import CompareOptions, compare
    from attncli.engine.options import RunOptions
    from attncli.io.variants import positions_of_variants
    from attncli.plan.build import plan_of

    positions = positions_of_variants(variants, lambda layout: options.positions(layout)[0])
    names, remark = _selection(variants, options)
    _check_space(variants, names, options, positions)
    if options.output_format.is_figure:
        for plan in map(plan_of, (variant.problem for variant in variants)):
            found = [name for name in names if plan.find(name) is not None]
            options.output_format.check_results(plan, found, list(positions))
    with ProgressBar("comparing") as progress:
        run = RunOptions(blas_is_limited=True)
        comparison = compare(variants, names, CompareOptions(all_pairs, positions, run, progress))
    streams.write_warnings(_notes_of_variants(comparison), strict=options.strict)
    return replace(comparison, remarks=(*comparison.remarks, remark)) if remark else comparison


def _selection(variants: "Sequence[Variant]", options: OutputOptions) -> tuple[tuple[str, ...], str]:
    """The names of the results to compare, and a remark on those left out.

    Without `--select` they are the variants' default results. A format with a row for each query and key takes the
    results with such numbers, and a format for readers takes only the output of large problems.
    """
    from attncli.comparisons.comparison import selected_names
    from attncli.engine.run import has_many_scores
    from attncli.plan.build import plan_of

    try:
        names = selected_names(variants, options.selected_names)
    except AttnError as error:
        raise selection_error(error, options.selected_names or ()) from None
    output_format, plans = options.output_format, [plan_of(variant.problem) for variant in variants]
    if options.select is not None:
        return names, ""
    if output_format.compares_cells:
        return tuple(name for name in names if all(_has_cells(plan, name) for plan in plans)), ""
    if output_format.is_lossless or OUTPUT not in names or not any(map(has_many_scores, plans)):
        return names, ""
    left_out = " and ".join(name for name in names if name != OUTPUT)
    return (OUTPUT,), f"{left_out} are large and left out: --select {','.join(names)} compares them too"


def _has_cells(plan: "Plan", name: str) -> bool:
    """Whether a result has a number for each query and key; also if the plan has no such result."""
    found = plan.find(name)
    return found is None or {"n", "m"} <= {*plan.by_name[found].letters}


def _check_space(
    variants: "Sequence[Variant]", names: "Sequence[str]", options: OutputOptions, positions: "Mapping[str, int]"
) -> None:
    """Raise AttnError if the numbers of all variants, at their shortest, do not fit on the disk."""
    from attncli.plan.build import plan_of
    from attncli.render.output_size import SizeEstimator

    output_format = replace(options.output_format, is_lossless=options.writes_every_digit)
    if not options.output_format.is_lossless:  # readers get only some rows of each
        return
    sizes: dict[str, int] = dict.fromkeys(names, 0)
    for variant in variants:
        plan = plan_of(variant.problem)
        estimator = SizeEstimator(plan, variant.problem.precision, list(positions), options.decimals)
        own = [name for name in names if plan.find(name) is not None]
        for name, size in estimator.least_sizes(own, output_format).items():
            sizes[name] += size
    if sum(sizes.values()) > ALWAYS_FITS:
        check_free_space(options.file, sizes)


def _documents(options: VariantOptions, inputs: "Inputs") -> "Sequence[NamedDocument]":
    """The documents of files, with the options replacing keys; without a file, the options' own.

    If nothing else varies, a single file is compared part by part; otherwise its parts are left out, as in `attn
    compute`. Raises AttnError if a file is named twice.
    """
    from attncli.io.inputs import STDIN_NAME
    from attncli.io.problem_files import file_parts
    from attncli.io.variants import PART, NamedDocument

    documents: dict[str, NamedDocument] = {}
    for problem in options.problems or (None,):
        name = STDIN_NAME if problem == STDIN else problem or ""
        if name in documents:
            raise AttnError("is given twice", where=name, hint="name each problem once")
        documents[name] = NamedDocument(name, read_problem_options(problem, options.keys, inputs))
        write_alias_notes(documents[name].document)
    if len(documents) > 1 or options.vary or options.several or options.conventions or options.edits:
        return list(documents.values())
    ((name, document),) = documents.items()
    parts: dict[str, NamedDocument] = {}  # by their own keys: others only set what is shown of the same problem
    for number, part in enumerate(file_parts(document.document, name), 1):
        is_named = part.name and all(part.name != other.name for other in parts.values())
        part_name = part.name if is_named else str(number)
        parts.setdefault(repr(part.own), NamedDocument(part_name, part.problem, noun=PART))
    return list(parts.values())


def _unread_of_variants(variants: "Sequence[Variant]", options: VariantOptions) -> list[str]:
    """The warnings on keys given as options, or varied, that some variants do not use."""
    from attncli.plan.build import keys_unread_by_plan

    found: list[tuple[str, str]] = []
    for variant in variants:
        for key, reason in keys_unread_by_plan(variant.problem).items():
            given = [option_name(key)] if key in options.keys or key in options.several else []
            varied = [f"--vary {name}" for name in variant.keys if name.partition(".")[0] == key and not given]
            found += [(f"{option} has no effect: {reason}", variant.name) for option in (*varied, *given)]
    return _said_once(found, len(variants))


def _notes_of_variants(comparison: "Comparison") -> list[str]:
    """The warnings of the computations, each once, with its variants."""
    found = [
        (note, one.variant.name)
        for one in comparison.variants
        for note in (*one.variant.remarks, *one.result.trace.notes)
    ]
    return _said_once(found, len(comparison.variants))


def _said_once(found: "Sequence[tuple[str, str]]", count: int) -> list[str]:
    """Each message once, with the names of its variants unless it concerns all."""
    names: dict[str, dict[str, None]] = {}
    for message, name in found:
        names.setdefault(message, {})[name] = None
    return [
        message if len(those) == count else f"{message} ({_names(list(those))})" for message, those in names.items()
    ]


def _names(names: Sequence[str]) -> str:
    """The names of variants, at most MAX_NAMES."""
    others = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return "; ".join(names[:MAX_NAMES]) + others

"""Compute a problem and write its result to standard output or to a file, by the output options."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attncli.base.axes import format_lengths
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import np
from attncli.base.memory import missing_memory
from attncli.cli import streams
from attncli.cli.option_values import no_effect
from attncli.cli.output_file import say_written, shortage_of
from attncli.cli.output_options import OutputOptions, selection_error
from attncli.cli.terminal import ProgressBar, write_text
from attncli.engine.options import EXECUTORS, RunOptions, in_memory, is_executor
from attncli.engine.run import has_many_scores, is_large, run
from attncli.plan.build import build_plan, plan_of
from attncli.plan.graph import Plan
from attncli.plan.trace import RunResult
from attncli.problem.edits import EditedProblem, ProblemPart
from attncli.problem.fields import CONTEXT, OUTPUT, WEIGHTS
from attncli.problem.spec import ProblemSpec
from attncli.problem.weights import stored_values
from attncli.render.formats import DEFAULT_FORMAT, format_of_file, write_view
from attncli.render.target import TEXT_FILE
from attncli.render.view import View, selected_value

if TYPE_CHECKING:
    from attncli.render.document import Answer

ALWAYS_FITS = 2**14  # numbers of all steps together: so many are written without checking the free space
SAMPLE_SIZE = 1000  # numbers of an array that decide whether it holds only integers
BINARY = ".npz"


def compute_and_write(edited: EditedProblem, options: OutputOptions, earlier: RunResult | None = None) -> RunResult:
    """Compute a problem, possibly edited, and write the result, with the earlier one if it was edited.

    In a watched problem, `earlier` is the command's previous result: changes since are marked. Raises AttnError if an
    option is out of range, or its name is unknown.
    """
    output_format = options.output_format  # an unknown format is an error before any work
    for problem in (edited.after, *(part.problem for part in edited.parts)):
        _check_format(problem, options)
    is_idle = options.has_effect("changes") and not edited.cells
    idle = [no_effect("changes", "needs --set, which changes numbers")] if is_idle else []
    streams.write_warnings([*options.warnings, *idle], strict=options.strict)
    if options.file is not None:
        result = _compute_to_file(edited, options, options.file, earlier)
        if earlier is None and not options.open:  # these report it themselves
            say_written(options.file)
        return result
    view = _marked(_view_for_reader(edited, options), earlier)
    streams.write_warnings(view.result.trace.notes, strict=options.strict)
    with ProgressBar("writing", is_shown=not streams.is_terminal()) as progress:
        chunks = output_format.render(view, options.in_target(streams.output_target()))
        contents = _count_rows(chunks, view, options, progress)
        if options.watch:
            contents = _one_of_several(contents, output_format.divider, is_first=earlier is None)
        write_result(contents, options)
    return view.result


def write_result(contents: str | Iterable[str], options: OutputOptions) -> None:
    """Write a result to standard output: through a pager, or with its length if a terminal can't show it whole.

    Raises BrokenPipeError if the reader of a pipe has closed it.
    """
    if not options.pager and (options.watch or options.output_format.name != DEFAULT_FORMAT):
        streams.write_output(contents)
    else:
        write_text(contents, is_paged=options.pager)


def write_answer(answer: "Answer", options: OutputOptions) -> None:
    """Write an answer that is not a result to the options' file, or to standard output.

    Raises BrokenPipeError if the reader of a pipe has closed it.
    """
    row = options.output_format
    if options.file is None:
        write_result(row.render_answer(answer, options.in_target(streams.output_target())), options)
        return
    from attncli.io.output_files import atomic_write

    with atomic_write(options.file) as stream:
        for chunk in streams.buffer_chunks(iter(row.render_answer(answer, options.in_target(TEXT_FILE)))):
            stream.write(chunk.encode("utf-8", "surrogateescape"))
    say_written(options.file)


def write_plan(problem: ProblemSpec, options: OutputOptions) -> None:
    """Write the plan of a problem, a line a node; raises AttnError where another option would have no effect."""
    options.check_plan()
    text = f"{build_plan(problem).for_results(problem.default_selection)}\n"
    if options.file is None:
        streams.write_output(streams.output_target().encodable(text))
    else:
        from attncli.io.output_files import atomic_write_file

        atomic_write_file(options.file, text)
        say_written(options.file)


def _compute_to_file(edited: EditedProblem, options: OutputOptions, file: str, earlier: RunResult | None) -> RunResult:
    """Compute a problem and write the result to a file, in place if the format permits."""
    from attncli.io.output_files import atomic_write, is_in_place
    from attncli.io.paths import path_of

    output_format = options.output_format
    with atomic_write(file) as stream:
        allocator = output_format.make_file_allocator(stream) if options.is_one_whole_result(edited.after) else None
        view = _marked(compute_view(edited, options, allocator), earlier)
        streams.write_warnings(view.result.trace.notes, strict=options.strict)
        if allocator is not None and allocator.is_used:
            return view.result
        streams.write_warnings(output_format.warnings_of(view), strict=options.strict)
        with ProgressBar("writing") as progress:

            def on_text(chunks: Iterable[str]) -> Iterator[str]:
                return streams.buffer_chunks(_count_rows(chunks, view, options, progress))

            try:
                target = replace(options.in_target(TEXT_FILE), file=None if is_in_place(path_of(file)) else file)
                write_view(view, output_format, stream, on_text, target)
            except AttnError as error:
                raise error.at(f"--output {file}") from None
    return view.result


def _marked(view: View, earlier: RunResult | None) -> View:
    """The view with marks on changes since an earlier result.

    It is unchanged if it shows a result before edits, or if the earlier result has other heads or batch items.
    """
    if earlier is None or view.before is not None:
        return view
    is_same_layout = earlier.trace.problem.leading == view.result.trace.problem.leading
    return replace(view, before=earlier) if is_same_layout else view


def _one_of_several(contents: Iterable[str], divider: str | None, *, is_first: bool) -> Iterator[str]:
    """A result for standard output before others: a line separates them, or each is one line."""
    if divider is None:
        yield from (chunk.replace("\n", "") for chunk in contents)  # in JSON line breaks are only spacing
        yield "\n"
    else:
        yield "" if is_first else f"{divider}\n"
        yield from contents


def _count_rows(chunks: Iterable[str], view: View, options: OutputOptions, progress: ProgressBar) -> Iterable[str]:
    """The chunks of a view's text; if all numbers are written, a row a line, the progress bar counts the rows."""
    if not options.output_format.is_lossless:
        return chunks
    shapes = [selected_value(view, view.result.trace[name]).shape for name in view.names]
    return progress.count_lines(chunks, sum(math.prod(shape[:-1]) for shape in shapes))


def _view_for_reader(edited: EditedProblem, options: OutputOptions) -> View:
    """The view on standard output; readers get the answer alone if the result is large and nothing else is selected."""
    problem = edited.after
    has_room = options.explain or options.works_out_cells or options.has_effect("heatmap") or options.draws_curve_alone
    is_selection = options.select is None and not has_room
    if not is_selection or options.output_format.is_lossless or not has_many_scores(plan_of(problem)):
        return compute_view(edited, options)
    names, size = problem.default_selection, format_lengths(plan_of(problem)[WEIGHTS].shape)
    left_out = [name for name in names if name != OUTPUT]
    if OUTPUT not in names and (options.stats or options.top):
        view = compute_view(edited, replace(options, select=WEIGHTS))
        return replace(view, result=RunResult(view.result.trace, ()))  # options about the weights alone
    if OUTPUT not in names:
        message = f"{' and '.join(left_out)} have {size} numbers each, and there are no values for an output"
        raise AttnError(message, hint=f"--select {','.join(names)} shows them, -o FILE writes them")
    numbers = f"{size} numbers each, are" if len(left_out) > 1 else f"{size} numbers, are"
    remark = f"{' and '.join(left_out)}, {numbers} left out: --select {','.join(names)} shows them, -o FILE writes them"
    return replace(compute_view(edited, replace(options, select=OUTPUT)), remark=remark)


def compute_view(edited: EditedProblem, options: OutputOptions, allocator: Any = None) -> View:
    """The view of a problem's result that the options describe; `allocator` allocates large results.

    For an edited problem it includes the result before, if the format shows it.
    """
    if not is_executor(options.executor):
        raise UnknownNameError("executor", options.executor, EXECUTORS, where="--executor")
    problem, selection = edited.after, options.selection(edited.after)
    _check_selection(selection, problem)
    shown = options.view_fields(edited)
    shows_before = bool(edited.cells) and options.output_format.shows_before
    problems = [edited.before, problem] if shows_before else [problem]
    *before, result = _compute(problems, selection, shown, options, allocator)
    if shown["curve"]:
        from attncli.render.data_fit import check_data_fit

        try:
            check_data_fit(result.trace)
        except AttnError as error:
            raise error.at("--curve") from None
    others: dict[str, Any] = {"before": before[0], "edited_cells": edited.cells} if before else {}
    others["parts"] = tuple(_part_view(part, options) for part in edited.parts)
    return View(result, **{**shown, **others, "about": edited.about, "command": edited.command})


def _part_view(part: ProblemPart, options: OutputOptions) -> View:
    """The view of a part of a worked example, with the part's own results unless others are selected."""
    select = ",".join(part.show) if options.select is None else options.select
    view = compute_view(
        EditedProblem(part.problem, part.problem, command=part.command), replace(options, select=select)
    )
    return replace(view, title=part.title, about=part.about)


def _compute(
    problems: Sequence[ProblemSpec], selection: Sequence[str], shown: Any, options: OutputOptions, allocator: Any
) -> Sequence[RunResult]:
    """The selected results of a problem, the last one, and the result before edits, if any, written with it.

    Raises AttnError if they do not fit in memory or on the disk.
    """
    problem, plan = problems[-1], plan_of(problems[-1])
    of_weights = ("--stats", shown["statistics"] and not _is_of_masks(plan, selection)), ("--top", shown["top"])
    needs_weights = [name for name, is_shown in of_weights if is_shown]
    if needs_weights:
        _check_weights_fit(problem, needs_weights[0])
    computed = [*selection, *([WEIGHTS] if needs_weights else []), *([CONTEXT] if shown["curve"] else [])]
    if options.output_format.is_figure or shown["heatmap"]:
        from attncli.render.masks import masks_to_show

        computed += masks_to_show(plan, computed)
    if options.output_format.is_figure or options.output_format.is_text_for_readers:
        from attncli.render.masks import rules_to_show

        computed += rules_to_show(plan, selection)
    computed = list(dict.fromkeys(computed))
    caller_bytes = _check_space(problem, options, list(shown["positions"]), len(problems))
    if len(problems) > 1:
        caller_bytes += _bytes_kept(problem, computed)
    allocate = in_memory if allocator is None else allocator.allocate
    with ProgressBar("attending") as progress:
        run_options = RunOptions(options.executor, allocate, progress, blas_is_limited=True, caller_bytes=caller_bytes)
        results = [
            run(one, _of_plan(one, computed), every_step=options.keeps_every_step(plan), options=run_options)
            for one in problems
        ]
    return [RunResult(found.trace, _of_plan(one, selection)) for one, found in zip(problems, results, strict=True)]


def _is_of_masks(plan: Plan, selection: Sequence[str]) -> bool:
    """Whether statistics cover only the visible keys."""
    from attncli.render.masks import VISIBLE_STEP

    return bool(selection) and {plan.resolve(name) for name in selection} == {VISIBLE_STEP}


def _of_plan(problem: ProblemSpec, names: Iterable[str]) -> tuple[str, ...]:
    """The names that are results of a problem: before a mask was edited it may have had none."""
    plan = plan_of(problem)
    return tuple(name for name in names if plan.find(name) is not None)


def _bytes_kept(problem: ProblemSpec, names: Iterable[str]) -> int:
    """The bytes of some results while they are kept; 0 for a small problem, which always fits."""
    plan = plan_of(problem)
    if not is_large(plan):
        return 0
    from attncli.engine.memory import array_bytes

    kept = {plan.resolve(name) for name in names}  # two results may be one step
    return sum(array_bytes(plan.by_name[name], problem.precision) for name in kept)


def _check_selection(names: Iterable[str], problem: ProblemSpec) -> None:
    """Raise AttnError if a name is not a result of a problem, or the problem does not compute it."""
    for name in names:
        try:
            plan_of(problem).resolve(name)
        except AttnError as error:
            raise selection_error(error, [name]) from None


def _check_format(problem: ProblemSpec, options: OutputOptions) -> None:
    """Raise AttnError if the format holds one array of several, or can't show the problem's results.

    An unknown name is found later.
    """
    output_format = options.output_format
    if output_format.holds_one_array and (options.explain or len(options.selection(problem)) != 1):
        several = f"selected are {', '.join(options.selection(problem))}"
        arrays = "--explain writes every step" if options.explain else several
        hint = f"select one, such as --select {problem.default_selection[-1]}, or name a .npz file"
        message = f"a {output_format.suffixes[0]} file holds one array; {arrays}"
        raise AttnError(message, where=f"--output {options.file}", hint=hint)
    if output_format.check is None:
        return
    plan, (positions, _) = plan_of(problem), options.positions(problem.leading)
    has_steps = options.explain and not output_format.shows_every_step
    names = [] if has_steps else [name for name in options.selection(problem) if plan.find(name) is not None]
    try:
        output_format.check_results(plan, names, positions)
    except AttnError as error:
        raise error.at(f"--output {options.file}") from None


def _check_space(problem: ProblemSpec, options: OutputOptions, cut_axes: Sequence[str], result_count: int = 1) -> int:
    """Raise AttnError if the result does not fit on the disk; return the memory in bytes for writing it.

    If it fits only with numbers as short as the whole-number inputs, it warns. `cut_axes` are the letters of axes with
    one written position, `result_count` the number of results written together.
    """
    plan, row = plan_of(problem), replace(options.output_format, is_lossless=options.writes_every_digit)
    is_picture = row.is_figure or options.has_effect("heatmap")  # has no more pixels or blocks than a page
    if plan.size <= ALWAYS_FITS or is_picture:
        return 0
    from attncli.render.output_size import SizeEstimator

    estimator = SizeEstimator(plan, problem.precision, cut_axes, options.decimals)
    names = _written_names(problem, plan, options)
    smaller = {}
    if OUTPUT in plan.results:
        smaller[f"select {OUTPUT} alone"] = estimator.sizes([OUTPUT], row)
    if not row.is_binary and options.file is not None:
        smaller[f"name a {BINARY} file"] = estimator.sizes(names, format_of_file(f"{OUTPUT}{BINARY}"))

    def shortage_by(sizes: Mapping[str, int], smaller: Mapping[str, Mapping[str, int]]) -> AttnError | None:
        return shortage_of(options.file, {name: result_count * size for name, size in sizes.items()}, smaller)

    shortage = shortage_by(estimator.sizes(names, row), smaller)
    if shortage is not None:
        if shortage_by(estimator.least_sizes(names, row), {}) is not None or not _has_whole_inputs(problem):
            raise shortage
        streams.write_warnings([str(shortage)], strict=options.strict)
    return result_count * estimator.memory(names, row)


def _check_weights_fit(problem: ProblemSpec, option: str) -> None:
    """Raise AttnError if an option needs the weights, and they exceed the memory."""
    from attncli.engine.memory import array_bytes

    missing = missing_memory(array_bytes(plan_of(problem)[WEIGHTS], problem.precision))
    if missing is not None:
        hint = "leave it out, or compute some of the queries with only"
        raise AttnError(f"is about the weights, and the run {missing}", where=option, hint=hint)


def _has_whole_inputs(problem: ProblemSpec) -> bool:
    """Whether the first numbers of every array are whole, so that the results' numbers may be as short."""
    arrays = (value for value in stored_values(problem).values() if isinstance(value, np.ndarray))
    samples = (array.flat[:SAMPLE_SIZE] for array in arrays if array.dtype.kind == "f")
    return all(bool((np.trunc(sample) == sample).all()) for sample in samples)


def _written_names(problem: ProblemSpec, plan: Plan, options: OutputOptions) -> Sequence[str]:
    """The names of the results to write with all their numbers."""
    if options.explain and not options.output_format.shows_every_step:
        from attncli.render.view import explained_names

        names = explained_names(problem, plan, options.selection(problem))
        return [node.name for node in plan.nodes if node.name in names and not node.is_input]
    return [] if options.works_out_cells else options.selection(problem)

"""Compute a problem and write its result to standard output or to a file, by the output options."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from attncli.base.axes import format_lengths
from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.progress import ProgressBar
from attncli.cli.result_view import compute_view
from attncli.cli.warnings import unread_options, write_warnings
from attncli.problem.results import OUTPUT

if TYPE_CHECKING:
    from attncli.cli.output_options import OutputOptions
    from attncli.plan.trace import RunResult
    from attncli.problem.edits import EditedProblem
    from attncli.problem.spec import ProblemSpec
    from attncli.render.formats import OutputFormat
    from attncli.render.view import View


def compute_and_write(
    edited: "EditedProblem", options: "OutputOptions", earlier: "RunResult | None" = None
) -> "RunResult":
    """Compute a problem, which may have been edited, and write the result, of an edited one with that before.

    `earlier` is what the command wrote last, of a problem that it watches: what changed since is marked. Raises
    AttnError where an option is out of range.
    """
    output_format = options.output_format  # an unknown format is an error before any work
    _check_number_of_arrays(edited.after, options, output_format)
    _check_results(edited.after, options, output_format)
    write_warnings(unread_options(options.unread), strict=options.strict)
    if options.file is None:
        view = _marked(_view_for_reader(edited, options), earlier)
        write_warnings(view.result.trace.notes, strict=options.strict)
        with ProgressBar("writing", is_shown=not streams.is_terminal()) as progress:
            chunks = output_format.render(view, streams.output_target())
            contents = _count_rows(chunks, view, output_format, progress)
            _write_output(_one_of_several(contents, output_format, earlier) if options.watch else contents, options)
    else:
        view = _compute_to_file(edited, options, options.file, output_format, earlier)
    return view.result


def _marked(view: "View", earlier: "RunResult | None") -> "View":
    """The view with what changed since an earlier result marked.

    It stays as it is where it shows a result before edits, or where the other has other heads or batch items.
    """
    if earlier is None or view.before is not None:
        return view
    is_same_layout = earlier.trace.problem.layout == view.result.trace.problem.layout
    return replace(view, before=earlier) if is_same_layout else view


def _one_of_several(
    contents: Iterable[str], output_format: "OutputFormat", earlier: "RunResult | None"
) -> Iterator[str]:
    """A result for standard output where others follow: a line stands between two, or each is on a line of its own."""
    if output_format.divider is None:
        yield from (chunk.replace("\n", "") for chunk in contents)  # JSON has line breaks as blanks only
        yield "\n"
    else:
        yield "" if earlier is None else f"{output_format.divider}\n"
        yield from contents


def _view_for_reader(edited: "EditedProblem", options: "OutputOptions") -> "View":
    """The view on standard output: in a format for readers the answer alone, where nothing else of many is selected."""
    from attncli.engine.run import has_many_scores
    from attncli.plan.build import plan_of

    problem = edited.after
    has_room = options.explain or options.works_out_cells or options.draws_heatmaps or options.draws_curve_alone
    is_selection = options.select is None and not has_room
    if not is_selection or options.output_format.is_lossless or not has_many_scores(plan_of(problem)):
        return compute_view(edited, options)
    names, size = problem.default_selection, format_lengths(plan_of(problem)["weights"].shape)
    left_out = [name for name in names if name != OUTPUT]
    if OUTPUT not in names:
        message = f"{' and '.join(left_out)} have {size} numbers each, and there are no values to compute an output of"
        raise AttnError(message, hint=f"--select {','.join(names)} shows them, -o FILE writes them")
    numbers = f"{size} numbers each, are" if len(left_out) > 1 else f"{size} numbers, are"
    remark = f"{' and '.join(left_out)}, {numbers} left out: --select {','.join(names)} shows them, -o FILE writes them"
    return replace(compute_view(edited, replace(options, select=OUTPUT)), remark=remark)


def write_plan(problem: "ProblemSpec", options: "OutputOptions") -> None:
    """Write the plan of a problem, a line a node; raises AttnError where another option would have no effect."""
    from attncli.io.output_files import atomic_write_file
    from attncli.plan.build import build_plan

    options.check_plan()
    text = f"{build_plan(problem)}\n"
    if options.file is None:
        streams.write_output(streams.output_target().encodable(text))
    else:
        atomic_write_file(options.file, text)


def _write_output(contents: str | Iterable[str], options: "OutputOptions") -> None:
    """Write a text, or its chunks, to standard output, page by page where that is asked for."""
    if options.pager:
        from attncli.cli.pager import write_pages

        write_pages(contents)
    else:
        streams.write_output(contents)


def _compute_to_file(
    edited: "EditedProblem",
    options: "OutputOptions",
    file: str,
    output_format: "OutputFormat",
    earlier: "RunResult | None",
) -> "View":
    """Compute a problem and write the result to a file: by itself where the format can be computed in place."""
    from attncli.io.output_files import atomic_write
    from attncli.render.formats import write_view

    with atomic_write(file) as stream:
        allocator = output_format.make_file_allocator(stream) if options.is_one_whole_result(edited.after) else None
        view = _marked(compute_view(edited, options, allocator), earlier)
        write_warnings(view.result.trace.notes, strict=options.strict)
        if allocator is not None and allocator.is_used:
            return view
        write_warnings(output_format.warnings_of(view), strict=options.strict)
        with ProgressBar("writing") as progress:

            def on_text(chunks: Iterable[str]) -> Iterator[str]:
                return streams.buffer_chunks(_count_rows(chunks, view, output_format, progress))

            try:
                write_view(view, output_format, stream, on_text)
            except AttnError as error:
                raise error.at(f"--output {file}") from None
    return view


def _check_number_of_arrays(problem: "ProblemSpec", options: "OutputOptions", output_format: "OutputFormat") -> None:
    """Raise AttnError where several arrays are to be written in a format that holds one."""
    if not output_format.holds_one_array:
        return
    selection = options.selection(problem)
    if len(selection) == 1 and not options.explain:
        return
    arrays = "--explain writes every step" if options.explain else f"selected are {', '.join(selection)}"
    hint = f"select one, such as --select {problem.default_selection[-1]}, or name a .npz file"
    suffix = output_format.suffixes[0]
    raise AttnError(f"a {suffix} file holds one array; {arrays}", where=f"--output {options.file}", hint=hint)


def _check_results(problem: "ProblemSpec", options: "OutputOptions", output_format: "OutputFormat") -> None:
    """Raise AttnError where the format can't show the results of a problem; an unknown name is found later."""
    if output_format.check is None:
        return
    from attncli.cli.axis_positions import parse_positions
    from attncli.plan.build import plan_of

    plan, (positions, _) = plan_of(problem), parse_positions(options, problem.layout)
    has_steps = options.explain and not output_format.shows_every_step
    names = [] if has_steps else [name for name in options.selection(problem) if plan.find(name) is not None]
    try:
        output_format.check_results(plan, names, positions)
    except AttnError as error:
        raise error.at(f"--output {options.file}") from None


def _count_rows(
    chunks: Iterable[str], view: "View", output_format: "OutputFormat", progress: ProgressBar
) -> Iterable[str]:
    """The chunks of a view's text; where all numbers are written, a row a line, the progress bar counts the rows."""
    if not output_format.is_lossless:
        return chunks
    from attncli.render.view import selected_value

    shapes = [selected_value(view, view.result.trace[name]).shape for name in view.names]
    return progress.count_lines(chunks, sum(math.prod(shape[:-1]) for shape in shapes))

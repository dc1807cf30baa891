"""Compute a problem and write its result to standard output or to a file, by the output options."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attncli.base.axes import format_lengths
from attncli.base.errors import AttnError, UnknownNameError
from attncli.cli import streams
from attncli.cli.cells import parse_cells
from attncli.cli.output_options import ALL
from attncli.cli.output_space import check_result_space, check_weights_fit
from attncli.cli.progress import ProgressBar
from attncli.cli.warnings import unread_options, write_warnings
from attncli.problem.results import OUTPUT, WEIGHTS

if TYPE_CHECKING:
    from attncli.cli.output_options import OutputOptions
    from attncli.problem.edited_problem import EditedProblem
    from attncli.problem.layout import Layout
    from attncli.problem.spec import ProblemSpec
    from attncli.render.formats import OutputFormat
    from attncli.render.target import TextTarget
    from attncli.render.view import View
    from attncli.trace.result import Result


def compute_and_write(edited: "EditedProblem", options: "OutputOptions", earlier: "Result | None" = None) -> "Result":
    """Compute a problem, which may have been edited, and write the result, of an edited one with that before.

    `earlier` is what the command wrote last, of a problem that it watches: what changed since is marked. Raises
    AttnError where an option is out of range.
    """
    output_format = options.output_format  # an unknown format is an error before any work
    _check_number_of_arrays(edited.after, options, output_format)
    write_warnings(unread_options(options.unread), strict=options.strict)
    if options.file is None:
        view = _marked(_view_for_reader(edited, options), earlier)
        write_warnings(view.result.trace.notes, strict=options.strict)
        with ProgressBar("writing", is_shown=not streams.is_terminal()) as progress:
            contents = _render(view, output_format, streams.output_target(), progress)
            _write_output(_one_of_several(contents, output_format, earlier) if options.watch else contents, options)
    else:
        view = _compute_to_file(edited, options, options.file, output_format, earlier)
    return view.result


def _marked(view: "View", earlier: "Result | None") -> "View":
    """The view with what changed since an earlier result marked.

    It stays as it is where it shows a result before edits, or where the other has other heads or batch items.
    """
    if earlier is None or view.before is not None:
        return view
    is_same_layout = earlier.trace.problem.layout == view.result.trace.problem.layout
    return replace(view, before=earlier) if is_same_layout else view


def _one_of_several(contents: Iterable[str], output_format: "OutputFormat", earlier: "Result | None") -> Iterator[str]:
    """A result for standard output where others follow: a line stands between two, or each is on a line of its own."""
    if output_format.divider is None:
        yield from (chunk.replace("\n", "") for chunk in contents)  # JSON has line breaks as blanks only
        yield "\n"
    else:
        yield "" if earlier is None else f"{output_format.divider}\n"
        yield from contents


def _view_for_reader(edited: "EditedProblem", options: "OutputOptions") -> "View":
    """The view on standard output: in a format for readers the answer alone, where nothing else of many is selected."""
    from attncli.engine.run import is_large
    from attncli.plan.build import plan_of

    problem = edited.after
    is_selection = options.select is None and not options.explain and not options.works_out_cells
    if not is_selection or options.output_format.is_lossless or not is_large(plan_of(problem)):
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
    from attncli.io.writers.atomic import atomic_write_file
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
    earlier: "Result | None",
) -> "View":
    """Compute a problem and write the result to a file: by itself where the format can be computed in place."""
    from attncli.io.writers.atomic import atomic_write
    from attncli.render.target import TEXT_FILE

    with atomic_write(file) as stream:
        allocator = output_format.make_file_allocator(stream) if options.is_one_whole_result(edited.after) else None
        view = _marked(compute_view(edited, options, allocator), earlier)
        write_warnings(view.result.trace.notes, strict=options.strict)
        if allocator is not None and allocator.is_used:
            return view
        if output_format.is_binary:
            try:
                output_format.write(view, stream)
            except AttnError as error:
                raise error.at(f"--output {file}") from None
            return view
        with ProgressBar("writing") as progress:
            for chunk in streams.buffer_chunks(_render(view, output_format, TEXT_FILE, progress)):
                stream.write(chunk.encode("utf-8", "surrogateescape"))
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


def _render(view: "View", output_format: "OutputFormat", target: "TextTarget", progress: ProgressBar) -> Iterable[str]:
    """The text of a view, in chunks; where all numbers are written, a row a line, the progress bar counts the rows."""
    chunks = output_format.render(view, target)
    if not output_format.is_lossless:
        return chunks
    from attncli.render.selection import selected_value

    shapes = [selected_value(view, view.result.trace[name]).shape for name in view.names]
    return progress.count_lines(chunks, sum(math.prod(shape[:-1]) for shape in shapes))


def compute_view(edited: "EditedProblem", options: "OutputOptions", allocator: Any = None) -> "View":
    """The view of a problem's result that the options describe; `allocator` allocates large results.

    Of an edited problem it has the result before too, where the format shows it.

    Raises AttnError where an option is out of range, or its name is unknown.
    """
    from attncli.engine.options import EXECUTORS, RunOptions, in_memory, is_executor
    from attncli.engine.run import run
    from attncli.render.view import View
    from attncli.trace.result import Result

    problem = edited.after
    decimals, max_terms, shows_statistics = options.decimals, options.max_terms, options.shows_statistics
    if not is_executor(options.executor):
        raise UnknownNameError("executor", options.executor, EXECUTORS, where="--executor")
    selection = options.selection(problem)
    _check_selection(selection, problem)
    cells = parse_cells(options.cell or (), problem)
    positions, expanded_axes = parse_positions(options, problem.layout)
    computed = (*selection, WEIGHTS) if shows_statistics else selection
    problems = [edited.before, problem] if edited.cells and options.output_format.shows_before else [problem]
    if shows_statistics:
        check_weights_fit(problem)
    caller_bytes = check_result_space(problem, options, list(positions), len(problems))
    with ProgressBar("attending") as progress:
        allocate = in_memory if allocator is None else allocator.allocate
        every_step = options.explain or options.works_out_cells
        if len(problems) > 1:
            caller_bytes += _bytes_kept(problem, computed)
        run_options = RunOptions(options.executor, allocate, progress, blas_is_limited=True, caller_bytes=caller_bytes)
        *before, trace = (
            run(one, _computed_by(one, computed), every_step=every_step, options=run_options).trace for one in problems
        )
    return View(
        Result(trace, selection),
        options.explain,
        decimals,
        cells,
        positions,
        expanded_axes,
        max_terms=max_terms,
        before=Result(before[0], _computed_by(edited.before, selection)) if before else None,
        edited_cells=edited.cells if before else (),
        statistics=shows_statistics,
    )


def _computed_by(problem: "ProblemSpec", names: Sequence[str]) -> Sequence[str]:
    """Those of some names that are results of a problem: before a mask was edited there may have been none."""
    from attncli.plan.build import plan_of

    return [name for name in names if plan_of(problem).find(name) is not None]


def _bytes_kept(problem: "ProblemSpec", names: Sequence[str]) -> int:
    """The bytes of some results, as long as they are kept; 0 of a small problem, which always fits."""
    from attncli.base.lazy_numpy import np
    from attncli.engine.run import is_large
    from attncli.plan.build import plan_of

    plan = plan_of(problem)
    if not is_large(plan):
        return 0
    numbers = sum(math.prod(plan[name].shape) for name in names)
    return numbers * int(np.dtype(problem.precision.numpy_name).itemsize)


def _check_selection(names: Iterable[str], problem: "ProblemSpec") -> None:
    """Raise AttnError where a name is no result of a problem, or of one that the problem does not compute."""
    from attncli.plan.build import plan_of

    for name in names:
        try:
            plan_of(problem).resolve(name)
        except AttnError as error:
            raise error.at("--select") from None


def parse_positions(options: "OutputOptions", layout: "Layout") -> tuple[dict[str, int], frozenset[str]]:
    """The position on each axis that an option gives, and the axes whose option is `all`."""
    axes = {"b": (options.batch, "--batch", layout.batch or 1), "h": (options.head, "--head", layout.heads)}
    parsed = {
        letter: _parse_position(text, option, count)
        for letter, (text, option, count) in axes.items()
        if text is not None
    }
    positions = {letter: at for letter, at in parsed.items() if at is not None and letter in layout.score_axes}
    return positions, frozenset(letter for letter, at in parsed.items() if at is None)


def _parse_position(text: str, option: str, count: int) -> int | None:
    """The position that `--head 3` or `--batch 0` names; None for `all`."""
    if text == ALL:
        return None
    if not text.isdecimal():
        raise AttnError(f"{text!r} is no position", where=option, hint=f"expected 0 to {count - 1}, or {ALL}")
    if int(text) >= count:
        noun = {"--head": "head", "--batch": "batch item"}[option]
        raise AttnError(f"there is no {noun} {text}", where=option, hint=f"expected 0 to {count - 1}, or {ALL}")
    return int(text)

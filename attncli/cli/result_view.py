"""The view of a problem's result that the output options describe: what is computed, and which part of it is shown."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.cli.axis_positions import parse_positions
from attncli.cli.cells import parse_cells
from attncli.cli.output_space import check_result_space, check_weights_fit
from attncli.cli.progress import ProgressBar
from attncli.problem.results import CONTEXT, WEIGHTS

if TYPE_CHECKING:
    from attncli.cli.output_options import OutputOptions
    from attncli.plan.trace import RunResult
    from attncli.problem.edits import EditedProblem
    from attncli.problem.spec import ProblemSpec
    from attncli.render.view import View


def compute_view(edited: "EditedProblem", options: "OutputOptions", allocator: Any = None) -> "View":
    """The view of a problem's result that the options describe; `allocator` allocates large results.

    Of an edited problem it has the result before too, where the format shows it.

    Raises AttnError where an option is out of range, or its name is unknown.
    """
    from attncli.engine.options import EXECUTORS, is_executor
    from attncli.render.view import View

    problem, decimals, max_terms = edited.after, options.decimals, options.max_terms
    if not is_executor(options.executor):
        raise UnknownNameError("executor", options.executor, EXECUTORS, where="--executor")
    selection = options.selection(problem)
    _check_selection(selection, problem)
    cells = parse_cells(options.cell or (), problem)
    positions, expanded_axes = parse_positions(options, problem.layout)
    shows_before = bool(edited.cells) and options.output_format.shows_before
    problems = [edited.before, problem] if shows_before else [problem]
    *before, result = _compute(problems, selection, options, positions, allocator)
    if options.draws_curve:
        _check_data_fit(result)
    return View(
        result,
        options.explain,
        decimals,
        cells,
        positions,
        expanded_axes,
        max_terms=max_terms,
        before=before[0] if before else None,
        edited_cells=edited.cells if before else (),
        statistics=options.shows_statistics,
        title=_title(edited, options),
        size=options.figure_size,
        heatmap=options.draws_heatmaps,
        curve=options.draws_curve,
    )


def _title(edited: "EditedProblem", options: "OutputOptions") -> str:
    """The title that was given; of a page otherwise that of the problem's file: a figure has its caption in a paper."""
    if options.title is not None:
        return options.title
    return edited.title if options.output_format.shows_every_step else ""


def _compute(
    problems: "Sequence[ProblemSpec]",
    selection: Sequence[str],
    options: "OutputOptions",
    cut_axes: Collection[str],
    allocator: Any,
) -> "Sequence[RunResult]":
    """The selected results of a problem, the last one, and of that before edits, if any, which are written with it.

    Raises AttnError where they do not fit in memory or on the disk.
    """
    from attncli.engine.options import RunOptions, in_memory
    from attncli.engine.run import run
    from attncli.plan.build import plan_of
    from attncli.plan.trace import RunResult

    problem = problems[-1]
    computed = selection
    if options.shows_statistics:
        check_weights_fit(problem)
        computed = tuple(dict.fromkeys((*selection, WEIGHTS)))
    if options.draws_curve:
        computed = tuple(dict.fromkeys((*computed, CONTEXT)))
    if options.output_format.is_figure or options.draws_heatmaps:
        from attncli.render.masks import masks_to_show

        computed = (*computed, *masks_to_show(plan_of(problem), computed))
    if options.output_format.is_figure or options.output_format.is_text_for_readers:
        from attncli.render.masks import rules_to_show

        computed = (*computed, *rules_to_show(plan_of(problem), selection))
    caller_bytes = check_result_space(problem, options, list(cut_axes), len(problems))
    if len(problems) > 1:
        caller_bytes += _bytes_kept(problem, computed)
    every_step = options.keeps_every_step(plan_of(problem))
    allocate = in_memory if allocator is None else allocator.allocate
    with ProgressBar("attending") as progress:
        run_options = RunOptions(options.executor, allocate, progress, blas_is_limited=True, caller_bytes=caller_bytes)
        results = [
            run(one, _computed_by(one, computed), every_step=every_step, options=run_options) for one in problems
        ]
    return [RunResult(found.trace, _computed_by(one, selection)) for one, found in zip(problems, results, strict=True)]


def _computed_by(problem: "ProblemSpec", names: Iterable[str]) -> tuple[str, ...]:
    """Those of some names that are results of a problem: before a mask was edited there may have been none."""
    from attncli.plan.build import plan_of

    plan = plan_of(problem)
    return tuple(name for name in names if plan.find(name) is not None)


def _bytes_kept(problem: "ProblemSpec", names: Iterable[str]) -> int:
    """The bytes of some results, as long as they are kept; 0 of a small problem, which always fits."""
    from attncli.engine.run import is_large
    from attncli.plan.build import plan_of

    plan = plan_of(problem)
    if not is_large(plan):
        return 0
    from attncli.engine.memory import array_bytes

    kept = {plan.resolve(name) for name in names}  # two results may be one step
    return sum(array_bytes(plan.by_name[name], problem.precision) for name in kept)


def _check_data_fit(result: "RunResult") -> None:
    """Raise AttnError where a result has no data fit to draw."""
    from attncli.render.data_fit import check_data_fit

    try:
        check_data_fit(result.trace)
    except AttnError as error:
        raise error.at("--curve") from None


def _check_selection(names: Iterable[str], problem: "ProblemSpec") -> None:
    """Raise AttnError where a name is no result of a problem, or of one that the problem does not compute."""
    from attncli.plan.build import plan_of

    for name in names:
        try:
            plan_of(problem).resolve(name)
        except AttnError as error:
            raise error.at("--select") from None

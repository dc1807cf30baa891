"""The space that an output needs, in memory and on the disk: checked before the work."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attncli.base.errors import AttnError
from attncli.base.memory import format_bytes, largest_sizes, missing_memory
from attncli.cli.warnings import write_warnings
from attncli.problem.results import OUTPUT, WEIGHTS

if TYPE_CHECKING:
    from attncli.cli.output_options import OutputOptions
    from attncli.plan.graph import Plan
    from attncli.problem.spec import ProblemSpec

ALWAYS_FITS = 2**14  # numbers of all steps together: so many are written without asking for the free space
SAMPLE_SIZE = 1000  # numbers of an array by which it is taken for one of whole numbers
BINARY = ".npz"


def check_result_space(
    problem: "ProblemSpec", options: "OutputOptions", cut_axes: Sequence[str], result_count: int = 1
) -> int:
    """Raise AttnError where the result does not fit on the disk; return the bytes that writing it takes in memory.

    Where it fits if its numbers are as short as those of the inputs, which are whole, there is a warning. `cut_axes`
    are the letters of the axes of which one position is written, `result_count` the results that are written together.
    """
    from attncli.plan.build import plan_of

    plan, row = plan_of(problem), options.output_format
    is_picture = row.is_figure or options.draws_heatmaps  # which has no more pixels or blocks than a page
    if plan.size <= ALWAYS_FITS or is_picture:
        return 0
    from attncli.render.formats import format_of_file
    from attncli.render.output_size import SizeEstimator

    estimator = SizeEstimator(plan, problem.precision, cut_axes, options.decimals)
    names = _written_names(problem, plan, options)
    smaller = {}
    if OUTPUT in plan.results:
        smaller[f"select {OUTPUT} alone"] = estimator.sizes([OUTPUT], row)
    if not row.is_binary and options.file is not None:
        smaller[f"name a {BINARY} file"] = estimator.sizes(names, format_of_file(f"{OUTPUT}{BINARY}"))
    shortage = _shortage(options.file, _times(result_count, estimator.sizes(names, row)), smaller)
    if shortage is not None:
        least = _times(result_count, estimator.least_sizes(names, row))
        if _shortage(options.file, least) is not None or not _has_whole_inputs(problem):
            raise shortage
        write_warnings([str(shortage)], strict=options.strict)
    return result_count * estimator.memory(names, row)


def _times(count: int, sizes: Mapping[str, int]) -> Mapping[str, int]:
    """The sizes of so many results together."""
    return {name: count * size for name, size in sizes.items()}


def check_weights_fit(problem: "ProblemSpec") -> None:
    """Raise AttnError where the weights, which their statistics are made of, are more than the memory there is."""
    from attncli.engine.memory import array_bytes
    from attncli.plan.build import plan_of

    missing = missing_memory(array_bytes(plan_of(problem)[WEIGHTS], problem.precision))
    if missing is not None:
        hint = "leave it out, or compute some of the queries with only"
        raise AttnError(f"statistics are made of the weights, and the run {missing}", where="--stats", hint=hint)


def check_free_space(file: str | None, sizes: Mapping[str, int]) -> None:
    """Raise AttnError where a file (None: standard output) is on a disk with less free space than its parts need."""
    shortage = _shortage(file, sizes)
    if shortage is not None:
        raise shortage


def _shortage(
    file: str | None, sizes: Mapping[str, int], smaller: Mapping[str, Mapping[str, int]] | None = None
) -> AttnError | None:
    """The error of a file (None: standard output) whose parts need more than the disk has left; None where they fit.

    `smaller` has the sizes of other outputs, by what to do for each; those that fit are proposed.
    """
    from attncli.io.output_files import free_space

    total, free = sum(sizes.values()), free_space(file)
    if free is None or total <= free:
        return None
    parts = ", ".join(largest_sizes(sizes, total))
    message = f"the result takes about {format_bytes(total)} ({parts}) and the disk has {format_bytes(free)} left"
    fitting = {advice: sum(other.values()) for advice, other in (smaller or {}).items() if sum(other.values()) <= free}
    hint = ", or ".join(f"{advice} ({format_bytes(size)})" for advice, size in fitting.items())
    where = "standard output" if file is None else f"--output {file}"
    return AttnError(message, where=where, hint=hint or "name a file on another disk")


def _has_whole_inputs(problem: "ProblemSpec") -> bool:
    """Whether the first numbers of every array are whole, so that the numbers of results may be as short."""
    from attncli.base.lazy_numpy import np
    from attncli.problem.weights import stored_values

    arrays = (value for value in stored_values(problem).values() if isinstance(value, np.ndarray))
    samples = (array.flat[:SAMPLE_SIZE] for array in arrays if array.dtype.kind == "f")
    return all(bool((np.trunc(sample) == sample).all()) for sample in samples)


def _written_names(problem: "ProblemSpec", plan: "Plan", options: "OutputOptions") -> Sequence[str]:
    """The names of the results that are written with all their numbers."""
    if options.explain and not options.output_format.shows_every_step:
        from attncli.render.view import explained_names

        names = explained_names(problem, plan, options.selection(problem))
        return [node.name for node in plan.nodes if node.name in names and not node.is_input]
    return [] if options.works_out_cells else options.selection(problem)

"""The space that an output needs, in memory and on the disk: checked before the work."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attncli.base.errors import AttnError
from attncli.base.memory import format_bytes

if TYPE_CHECKING:
    from attncli.cli.output_options import OutputOptions
    from attncli.plan.graph import Plan
    from attncli.problem.spec import ProblemSpec

ALWAYS_FITS = 2**14  # numbers of all steps together: so many are written without asking for the free space
OUTPUT = "output"
BINARY = ".npz"
MAX_NAMES = 4  # results that an error names


def check_result_space(problem: "ProblemSpec", options: "OutputOptions", cut_axes: Sequence[str]) -> int:
    """Raise AttnError where the result does not fit on the disk; return the bytes that writing it takes in memory.

    `cut_axes` are the letters of the axes of which one position is written.
    """
    from attncli.plan.build import plan_of

    plan, row = plan_of(problem), options.output_format
    if plan.size <= ALWAYS_FITS:
        return 0
    from attncli.render.formats import format_of_file
    from attncli.render.output_size import SizeEstimator

    estimator = SizeEstimator(plan, problem.precision, cut_axes, options.precision)
    names = _written_names(plan, options)
    smaller = {f"select {OUTPUT} alone": estimator.sizes([OUTPUT], row)}
    if not row.is_binary and options.file is not None:
        smaller[f"name a {BINARY} file"] = estimator.sizes(names, format_of_file(f"{OUTPUT}{BINARY}"))
    check_free_space(options.file, estimator.sizes(names, row), smaller)
    return estimator.memory(names, row)


def check_free_space(
    file: str | None, sizes: Mapping[str, int], smaller: Mapping[str, Mapping[str, int]] | None = None
) -> None:
    """Raise AttnError where a file (None: standard output) is on a disk with less free space than its parts need.

    `smaller` has the sizes of other outputs, by what to do for each; those that fit are proposed.
    """
    from attncli.io.writers.free_space import free_space

    total, free = sum(sizes.values()), free_space(file)
    if free is None or total <= free:
        return
    largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:MAX_NAMES]
    parts = ", ".join(f"{name} {format_bytes(sizes[name])}" for name in largest if sizes[name] >= total / 100)
    message = f"the result takes about {format_bytes(total)} ({parts}) and the disk has {format_bytes(free)} left"
    fitting = {advice: sum(other.values()) for advice, other in (smaller or {}).items() if sum(other.values()) <= free}
    hint = ", or ".join(f"{advice} ({format_bytes(size)})" for advice, size in fitting.items())
    where = "standard output" if file is None else f"--output {file}"
    raise AttnError(message, where=where, hint=hint or "name a file on another disk")


def _written_names(plan: "Plan", options: "OutputOptions") -> Sequence[str]:
    """The names of the results that are written with all their numbers."""
    if options.explain:
        return [node.name for node in plan.nodes if not node.is_input]
    return [] if options.works_out_cell else options.selection

"""The size of a page: what it has room for is known before the work."""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from attncli.base.errors import AttnError
from attncli.base.text import join_words
from attncli.cli import streams

if TYPE_CHECKING:
    from attncli.cli.output_options import OutputOptions
    from attncli.plan.graph import Plan
    from attncli.problem.spec import ProblemSpec


def check_page_size(problem: "ProblemSpec", options: "OutputOptions", cut_axes: Collection[str]) -> None:
    """Raise AttnError where a format that shows every step has no room for the selected results.

    Where it has room for these alone, a notice on standard error says so. `cut_axes` are the letters of the axes of
    which one position is shown.
    """
    from attncli.plan.build import plan_of

    row, plan = options.output_format, plan_of(problem)
    if not row.shows_every_step or plan.size <= row.every_step_size:
        return
    names = options.selection(problem)
    count = _count(plan, names, cut_axes)
    if count > row.max_size:
        message = f"{join_words(names)} have {count:,} numbers together, and a page has room for {row.max_size:,}"
        hint = ", or ".join(_smaller(plan, names, cut_axes, row.max_size))
        raise AttnError(message, where=f"--output {options.file}", hint=hint)
    streams.write_error(
        f"--output {options.file}: the page has {join_words(names)} alone; all steps have {plan.size:,} numbers, "
        f"and a page has every step up to {row.every_step_size:,}"
    )


def _count(plan: "Plan", names: Sequence[str], cut_axes: Collection[str]) -> int:
    """The numbers of some results, of one position on each of the axes that are cut."""
    nodes = {plan[name].name: plan[name] for name in names}  # two results may be one step
    return sum(math.prod(size for letter, size in node.axes if letter not in cut_axes) for node in nodes.values())


def _smaller(plan: "Plan", names: Sequence[str], cut_axes: Collection[str], most: int) -> Iterator[str]:
    """The options that would leave as few numbers, as a hint has them."""
    fitting = [name for name in names if _count(plan, [name], cut_axes) <= most]
    if fitting and len(names) > 1:
        yield f"--select {fitting[-1]}"
    if plan.axis_length("h") > 1 and _count(plan, names, {*cut_axes, "h"}) <= most:
        yield "--head 0"
    yield "--only and some of the queries"

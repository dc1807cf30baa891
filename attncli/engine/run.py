"""How a problem is computed: whole and every step kept where it is small, block by block where it is large."""

import math
from collections.abc import Iterable

from attncli.engine.options import RunOptions
from attncli.plan import build
from attncli.problem.spec import ProblemSpec
from attncli.trace.result import DEFAULT_SELECTION, Result

THIS_MACHINE = RunOptions()
SMALL = 2**17  # cells of the table of scores, all heads and batch items together


def run(
    problem: ProblemSpec,
    select: Iterable[str] = DEFAULT_SELECTION,
    *,
    every_step: bool = False,
    means: RunOptions = THIS_MACHINE,
) -> Result:
    """Compute a problem; with `every_step` nothing is left out, whatever its size.

    Raises AttnError where `select` names no result.
    """
    layout = problem.layout
    keys = problem.past_count + problem.new_key_count
    cells = math.prod((layout.batch or 1, layout.heads, len(problem.selected_query_labels), keys))
    if every_step or cells <= SMALL:
        return Result(build.trace(problem), select)
    from attncli.engine import blockwise  # noqa: PLC0415 - small problems go without

    select = (select,) if isinstance(select, str) else tuple(select)
    return Result(blockwise.trace(problem, select, means), select)

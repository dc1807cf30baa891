"""How a problem is computed: whole and every step kept where it is small, block by block where it is large."""

import math
from collections.abc import Iterable

from attncli import pipeline
from attncli.blockwise.run import Means
from attncli.blockwise.run import trace as trace_blocks
from attncli.problem import Problem
from attncli.trace import DEFAULT_SELECTION, Result

__all__ = ["Means", "run"]

SMALL = 2**17  # cells of the table of scores, all heads and batch items together


def run(
    problem: Problem,
    select: Iterable[str] = DEFAULT_SELECTION,
    *,
    every_step: bool = False,
    means: Means | None = None,
) -> Result:
    """Compute a problem; with `every_step` nothing is left out, whatever its size.

    Raises AttnError where `select` names no result, or nobody bears the name of the executor.
    """
    layout = problem.layout
    keys = problem.past_count + problem.new_key_count
    cells = math.prod((layout.batch or 1, layout.heads, len(problem.asking_labels), keys))
    if every_step or cells <= SMALL:
        return Result(pipeline.trace(problem), select)
    select = (select,) if isinstance(select, str) else tuple(select)
    return Result(trace_blocks(problem, select, means or Means()), select)

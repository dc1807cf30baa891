"""How a problem is computed: whole and every step kept where it is small, block by block where it is large."""

import math
from collections.abc import Iterable

from attncli import pipeline
from attncli.means import Means
from attncli.problem import Problem
from attncli.trace import DEFAULT_SELECTION, Result

THIS_MACHINE = Means()
SMALL = 2**17  # cells of the table of scores, all heads and batch items together


def run(
    problem: Problem,
    select: Iterable[str] = DEFAULT_SELECTION,
    *,
    every_step: bool = False,
    means: Means = THIS_MACHINE,
) -> Result:
    """Compute a problem; with `every_step` nothing is left out, whatever its size.

    Raises AttnError where `select` names no result.
    """
    layout = problem.layout
    keys = problem.past_count + problem.new_key_count
    cells = math.prod((layout.batch or 1, layout.heads, len(problem.asking_labels), keys))
    if every_step or cells <= SMALL:
        return Result(pipeline.trace(problem), select)
    from attncli.blockwise import run as blockwise  # noqa: PLC0415 - small problems go without

    select = (select,) if isinstance(select, str) else tuple(select)
    return Result(blockwise.trace(problem, select, means), select)

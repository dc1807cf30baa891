"""The cells of a table of scores or weights that masks hide, as the step `visible` has them."""

from collections.abc import Sequence

from attncli.base.lazy_numpy import Array, np
from attncli.trace.steps import Step, Trace

VISIBLE_STEP = "visible"  # where every mask lets a query read a key


def hidden_cells(trace: Trace, step: Step, index: Sequence[int]) -> Array | None:
    """Where masks hide the cells of a slice of a step [… n m]: true [n m], None where no mask acts before the step.

    `index` is the position of the slice on the axes before the last two. Of a large problem the masks may not have
    been kept: then it is None too.
    """
    if step.axes[-2:] != ("n", "m") or VISIBLE_STEP not in trace.by_name or step.name == VISIBLE_STEP:
        return None
    if VISIBLE_STEP not in trace.plan.needed_for([step.name]):
        return None
    visible = trace.by_name[VISIBLE_STEP]
    position_of = dict(zip(step.axes[:-2], index, strict=True))
    at = tuple(
        0 if size == 1 else position_of[letter]
        for letter, size in zip(visible.axes[:-2], visible.value.shape[:-2], strict=True)
    )
    return ~np.broadcast_to(visible.value[at], step.value.shape[-2:])

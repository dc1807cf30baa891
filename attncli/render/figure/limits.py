"""What a figure can't show, known from the plan before the work."""

import math
from collections.abc import Collection, Iterable

from attncli.base.errors import AttnError
from attncli.plan.graph import Plan
from attncli.render.figure.drawing import check_matplotlib

MAX_PANELS = 300  # tables of one figure


def check_figure(plan: Plan, names: Iterable[str], cut_axes: Collection[str]) -> None:
    """Raise AttnError where Matplotlib is not installed, or some results have more tables than a figure shows.

    `cut_axes` are the letters of the axes of which one position is shown.
    """
    check_matplotlib()
    check_count(sum(_count_tables(plan, name, cut_axes) for name in names))


def check_count(count: int) -> None:
    """Raise AttnError where so many tables are more than a figure shows."""
    if count > MAX_PANELS:
        message = f"a figure shows {MAX_PANELS} tables at most, and these are {count:,}"
        raise AttnError(message, hint="choose some with --head N, --batch N or --select NAME")


def _count_tables(plan: Plan, name: str, cut_axes: Collection[str]) -> int:
    """The tables of a result: one for each batch item and head that is shown."""
    return math.prod(length for letter, length in plan[name].axes[:-2] if letter not in cut_axes)

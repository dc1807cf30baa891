"""The size of a page: what it has room for, and what is said where it has not every step."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence

from attncli.base.errors import AttnError
from attncli.base.text import join_words
from attncli.plan.graph import Plan
from attncli.render.page.limits import EVERY_STEP, SELECTED
from attncli.render.page.page_steps import page_steps
from attncli.render.view import View


def check_page_size(plan: Plan, names: Iterable[str], cut_axes: Collection[str]) -> None:
    """Raise AttnError where a page has neither room for every step of a plan nor for some results alone.

    `cut_axes` are the letters of the axes of which one position is shown.
    """
    names = list(names)
    count = _count(plan, names, cut_axes)
    if plan.size > EVERY_STEP and count > SELECTED:
        message = f"{join_words(names)} have {count:,} numbers together, and a page has room for {SELECTED:,}"
        raise AttnError(message, hint=", or ".join(_smaller(plan, names, cut_axes)))


def warnings_of_size(view: View) -> Sequence[str]:
    """That a page has the default results alone, where it has not every step; others were asked for by name."""
    reason = page_steps(view).left_out
    is_default = tuple(view.result.select) == view.result.trace.problem.default_selection
    return [reason[0].lower() + reason[1:].removesuffix(".")] if reason and is_default else []


def _count(plan: Plan, names: Sequence[str], cut_axes: Collection[str]) -> int:
    """The numbers of some results, of one position on each of the axes that are cut."""
    nodes = {plan[name].name: plan[name] for name in names}  # two results may be one step
    return sum(math.prod(size for letter, size in node.axes if letter not in cut_axes) for node in nodes.values())


def _smaller(plan: Plan, names: Sequence[str], cut_axes: Collection[str]) -> Iterator[str]:
    """What would leave as few numbers, as a hint has it."""
    fitting = [name for name in names if _count(plan, [name], cut_axes) <= SELECTED]
    if fitting and len(names) > 1:
        yield f"select {fitting[-1]} alone"
    if plan.axis_length("h") > 1 and _count(plan, names, {*cut_axes, "h"}) <= SELECTED:
        yield "show one head"
    yield "compute some of the queries with only"

"""The size of a page: which steps it has room for, and what is said where it does not have every step."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.text import join_words
from attncli.plan.graph import Plan
from attncli.plan.trace import Step
from attncli.render.formats import EVERY_STEP
from attncli.render.selection import selected_value
from attncli.render.view import View

SELECTED = 2_000_000  # numbers of the selected results, which are what a page of a larger problem has


@dataclass(frozen=True)
class PageSteps:
    """The steps of a page; where they are not all steps of the computation, `left_out` says so and why."""

    steps: tuple[Step, ...]
    left_out: str = ""

    @property
    def are_all(self) -> bool:
        """Whether they are all steps of the computation."""
        return not self.left_out


def page_steps(view: View) -> PageSteps:
    """The steps of a page: every one where they are few numbers together, otherwise the selected results."""
    trace = view.result.trace
    if trace.plan.size <= EVERY_STEP and len(trace.steps) == len(trace.plan.nodes):
        return PageSteps(trace.steps)
    names = list(dict.fromkeys(trace[name].name for name in view.result.select))
    steps = tuple(replace(trace[name], value=selected_value(view, trace[name])) for name in names)
    reason = (
        f"the steps have {trace.plan.size:,} numbers together, and a page has every step up to {EVERY_STEP:,}"
        if trace.plan.size > EVERY_STEP
        else "the other steps were not kept"
    )
    return PageSteps(steps, f"Only {join_words(names)} can be seen: {reason}.")


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
    """A warning where a page does not have every step, and the results that it has were not asked for by name."""
    reason = page_steps(view).left_out
    is_default = tuple(view.result.select) == view.result.trace.problem.default_selection
    return [reason[0].lower() + reason[1:].removesuffix(".")] if reason and is_default else []


def _count(plan: Plan, names: Sequence[str], cut_axes: Collection[str]) -> int:
    """The numbers of some results, of one position on each of the axes that are cut."""
    nodes = {plan[name].name: plan[name] for name in names}  # two results may be one step
    return sum(math.prod(size for letter, size in node.axes if letter not in cut_axes) for node in nodes.values())


def _smaller(plan: Plan, names: Sequence[str], cut_axes: Collection[str]) -> Iterator[str]:
    """What would leave few enough numbers, for a hint."""
    fitting = [name for name in names if _count(plan, [name], cut_axes) <= SELECTED]
    if fitting and len(names) > 1:
        yield f"select {fitting[-1]} alone"
    if plan.axis_length("h") > 1 and _count(plan, names, {*cut_axes, "h"}) <= SELECTED:
        yield "show one head"
    yield "compute some of the queries with only"

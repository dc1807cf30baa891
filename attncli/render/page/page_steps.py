"""The steps that a page has: every one where they are few numbers together, otherwise the selected results."""

from dataclasses import replace

from attncli.base.dataclasses import dataclass
from attncli.base.text import join_words
from attncli.plan.trace import Step
from attncli.render.page.limits import EVERY_STEP
from attncli.render.selection import selected_value
from attncli.render.view import View


@dataclass(frozen=True)
class PageSteps:
    """The steps of a page; where they are not all, `left_out` says so and why."""

    steps: tuple[Step, ...]
    left_out: str = ""

    @property
    def are_all(self) -> bool:
        """Whether they are all steps of the computation."""
        return not self.left_out


def page_steps(view: View) -> PageSteps:
    """The steps of the page of a view; of a large problem what it selects of the selected results."""
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

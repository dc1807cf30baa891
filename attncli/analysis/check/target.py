"""Target: the step that numbers are expected of, and the labels along its axes."""

from functools import cached_property
from typing import Any

from attncli.analysis.check.readings import Part
from attncli.base.axes import AXIS_NOUNS
from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.lazy_numpy import np
from attncli.plan.graph import Axes, Plan
from attncli.plan.trace import Step, Trace
from attncli.problem.labels import find_label
from attncli.problem.spec import ProblemSpec


@dataclass(frozen=True)
class Target:
    """The step that numbers are expected of: its problem and plan, and the one head and batch item that are checked."""

    problem: ProblemSpec
    plan: Plan
    name: str
    part: Part

    @cached_property
    def axes(self) -> Axes:
        """The axes of the step."""
        return self.plan[self.name].axes

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.plan[self.name].shape

    @cached_property
    def _trace(self) -> Trace:
        """A trace without steps, which knows the labels of axes."""
        return Trace(self.problem, self.plan, {}, {})

    def labels(self, axis: int) -> tuple[str, ...]:
        """The labels along an axis of the step, equal ones with their number."""
        step = Step(self.plan[self.name], np.broadcast_to(np.float64(0), self.shape))
        return self._trace.numbered_labels_of(step, axis - len(self.axes))

    @cached_property
    def every_query(self) -> tuple[str, ...]:
        """The labels of all queries, also of those that are not computed."""
        return self._trace.numbered_labels["q"]

    def position(self, key: Any, axis: int, path: ErrorPath) -> int | None:
        """The position that a label has along an axis of the step; None of a query that is not computed.

        Raises AttnError where the axis has no such label, or several.
        """
        letter, text = self.axes[axis].letter, str(key)
        selected = self.problem.selected_queries if letter == "n" else None
        known = self.labels(axis) if selected is None else self.every_query
        noun = AXIS_NOUNS.get(letter, "feature")
        try:
            found = find_label(text, known, where=path)
        except UnknownNameError:
            same = [label for label in known if label.rpartition("#")[0] == text]
            if same:
                raise AttnError(
                    f"{text!r} stands {len(same)} times", where=path, hint=f"say {' or '.join(same)}"
                ) from None
            raise UnknownNameError(noun, text, known, where=path) from None
        if selected is None:
            return found[0]
        return selected.index(found[0]) if found[0] in selected else None

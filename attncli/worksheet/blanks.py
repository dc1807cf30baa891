"""The blanks of an exercise: the requested numbers of a trace, and all numbers equal to them."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.plan.graph import GRADIENT
from attncli.plan.trace import Step, Trace
from attncli.render.blank_request import OPTION, BlankRequest


@dataclass(frozen=True)
class Blanks:
    """The blank cells of steps, as booleans of the shape of their values, by name.

    `left_out` are inner quantities of requested steps: they would give the answer away. `answers` are the steps to fill
    in: the last among steps with the same numbers.
    """

    cells: Mapping[str, Array]
    left_out: frozenset[str]
    answers: tuple[str, ...]

    def of(self, step: Step) -> Array | None:
        """The blank cells of a step; None if it has none."""
        return self.cells.get(step.name)


def find_blanks(trace: Trace, request: BlankRequest, decimals: int, shown: Sequence[str]) -> Blanks:
    """The blanks of a trace; a share is taken from the `shown` steps.

    A requested number is blank in every computed step that passes it on, and wherever another number equals it to so
    many decimals, except integers. Raises AttnError if a step is not computed.
    """
    groups = _Groups(trace, decimals)
    asked = {name: np.zeros(step.value.shape, dtype=bool) for name, step in groups.steps.items()}
    named = [groups.computed(trace, name) for name in request.names]
    is_default = not (named or request.cells or request.share)
    names = _default_names(trace, groups) if is_default else named
    for name in names:
        asked[name][...] = True
    for text, index in request.cells:
        name = groups.computed(trace, text)
        try:
            asked[name][trace.labelled(trace[name]).find(index)] = True
        except AttnError as error:
            raise error.at(OPTION) from None
    if request.share is not None:
        groups.take_share(asked, request.share, request.seed, shown)
    cells = groups.spread(asked)
    whole = {name for name, blank in cells.items() if blank.all()}
    inner = {name for name, step in groups.steps.items() if step.tapped_from in whole and name not in named}
    left_out = frozenset(inner)
    answers = [name for name in cells if name not in left_out and groups.same_after.get(name) not in cells]
    return Blanks(cells, left_out, tuple(answers))


def _default_names(trace: Trace, groups: "_Groups") -> Sequence[str]:
    """The weights and all later steps, with the weights' inner quantities; without weights the context's."""
    first = next(n for n in ("weights", "context", *trace.plan.results) if n in trace and trace.plan[n].function)
    first = trace.plan.resolve(first)
    if first not in groups.steps:
        first = trace.plan.resolve("context")
    plan, found = trace.plan, set[str]()
    for node in plan.nodes:
        is_after = node.name == first or not found.isdisjoint(node.inputs.values()) or node.tapped_from in found
        if is_after or node.tapped_from == first:
            found.add(node.name)
    return [name for name in groups.steps if name in found]


class _Groups:
    """The numbers of computed steps; equal ones form a group."""

    def __init__(self, trace: Trace, decimals: int) -> None:
        computed = [step for step in trace.steps if not step.node.is_input and step.stage != GRADIENT]
        given: set[str] = set()  # passes inputs on, unchanged, or depends on options alone, such as a number λ
        for step in trace.steps:
            if (
                step.node.is_input
                or not (step.inputs or step.tapped_from)
                or (step.is_identity and {*step.inputs.values()} <= given)
            ):
                given.add(step.name)
        numbers = [step for step in computed if step.value.dtype.kind == "f" and step.name not in given]
        self.steps = {step.name: step for step in numbers}
        starts = np.cumsum([0, *(step.value.size for step in numbers)])
        self.parents = list(range(int(starts[-1])))
        self.ids: dict[str, Array] = {
            step.name: start + np.arange(step.value.size).reshape(step.value.shape)
            for step, start in zip(numbers, starts, strict=False)
        }
        self.same_after: dict[str, str] = {}  # a step, and a later one with the same numbers
        for step in numbers:
            self._join_moved(step)
        self._join_equal(decimals)

    def computed(self, trace: Trace, text: str) -> str:
        """The name of a step with computed numbers; raises AttnError if a text names none."""
        try:
            name = trace.plan.resolve(text)
        except AttnError as error:
            raise error.at(OPTION) from None
        if name not in self.steps:
            known = ", ".join(self.steps)
            raise AttnError(f"{text} is given, or has no numbers", where=OPTION, hint=f"computed are {known}")
        return name

    def _join_moved(self, step: Step) -> None:
        """Join the numbers of a step that only moves another step's numbers."""
        sources = [*step.inputs.values()]
        if not step.node.is_exact or len(sources) != 1 or sources[0] not in self.ids or step.function is None:
            return
        moved = step.function(self.ids[sources[0]], **step.options)
        self._join(self.ids[step.name], moved)
        if moved.size == self.ids[sources[0]].size:
            self.same_after[sources[0]] = step.name
        elif sources[0] not in self.same_after:
            self.same_after[step.name] = sources[0]

    def _join_equal(self, decimals: int) -> None:
        """Join steps with all numbers equal, and numbers that are equal as shown."""
        steps = list(self.steps.values())
        for at, step in enumerate(steps):
            for other in steps[at + 1 :]:
                if step.value.shape == other.value.shape and np.array_equal(step.value, other.value, equal_nan=True):
                    self._join(self.ids[step.name], self.ids[other.name])
                    self.same_after.setdefault(step.name, other.name)
        first: dict[str, int] = {}
        for step in steps:
            values = step.value.astype(np.float64).ravel()
            for one, number in zip(self.ids[step.name].ravel().tolist(), values.tolist(), strict=True):
                shown = f"{number:.{decimals}f}"
                if shown.partition(".")[2].strip("0"):  # a fraction
                    self._union(one, first.setdefault(shown, one))

    def _join(self, ids: Array, others: Array) -> None:
        for one, other in zip(ids.ravel().tolist(), others.ravel().tolist(), strict=True):
            self._union(one, other)

    def _union(self, one: int, other: int) -> None:
        self.parents[self._root(one)] = self._root(other)

    def _root(self, one: int) -> int:
        while self.parents[one] != one:
            self.parents[one] = one = self.parents[self.parents[one]]
        return one

    def take_share(self, asked: dict[str, Array], share: float, seed: int, shown: Sequence[str]) -> None:
        """Request groups of finite numbers, drawn from a seed, up to a share of the shown numbers."""
        cells = [
            (self._root(one), name, at)
            for name in shown
            if name in self.steps
            for at, one in enumerate(self.ids[name].ravel().tolist())
            if np.isfinite(self.steps[name].value.ravel()[at])
        ]
        groups: dict[int, list[Any]] = {}
        for root, name, at in cells:
            groups.setdefault(root, []).append((name, at))
        order = list(groups)
        random.Random(seed).shuffle(order)
        wanted, count = max(round(share * len(cells)), 1), 0
        for root in order:
            if count >= wanted:
                break
            if count + len(groups[root]) > wanted and count:
                continue  # a number that occurs in many cells would be too many
            count += len(groups[root])
            for name, at in groups[root]:
                asked[name].reshape(-1)[at] = True

    def spread(self, asked: Mapping[str, Array]) -> dict[str, Array]:
        """The requested cells, and all with the same numbers, of the steps that have any."""
        roots = {self._root(one) for name, blank in asked.items() for one in self.ids[name][blank].tolist()}
        cells = {
            name: np.array([self._root(one) in roots for one in ids.ravel().tolist()], bool).reshape(ids.shape)
            for name, ids in self.ids.items()
        }
        return {name: blank for name, blank in cells.items() if blank.any()}


def unanswered(trace: Trace, blanks: Blanks) -> dict[str, Any]:
    """The `expected` of the problem to fill in: null for each blank, by name, in lists or by labels."""
    plain = replace(trace, given_labels=None)  # a check knows no names of columns
    has_labels = trace.problem.decimal_comma  # a number with a comma is invalid in a bracketed list
    return {
        name: _nulls(blanks.cells[name], plain.labelled(plain[name]).axes, has_labels=has_labels)
        for name in blanks.answers
    }


def _nulls(blank: Array, axes: Sequence[Any], *, has_labels: bool = False) -> Any:
    """None for each blank cell: nested lists for a whole array, otherwise mappings by the labels of its axes."""
    if blank.all() and not has_labels:
        return np.full(blank.shape, None).tolist()
    labels = axes[0].labels
    return {
        label: _nulls(part, axes[1:], has_labels=has_labels) if part.ndim else None
        for label, part in zip(labels, blank, strict=True)
        if part.any()
    }

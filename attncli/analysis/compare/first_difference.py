"""The first step, in the order computed, in which two variants differ."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from attncli.analysis.changes import changed
from attncli.analysis.compare.cells import cell_of_index, labels_of_cell, shape_difference
from attncli.analysis.compare.report import FirstDifference
from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import Step, Trace, value_at


def first_difference(
    pair: tuple[int, int], first: Trace, second: Trace, positions: Mapping[str, int]
) -> FirstDifference:
    """The first step in which the traces of two variants, `pair` in their comparison, differ by more than rounding.

    A step that one of them alone has is compared with what stands in its place in the other: that which has the role of
    scores, say, before it. Indices are passed over: where queries stand shows in what they see. The traces are compared
    at some positions on batch and heads.
    """
    is_partial = any(len(trace.steps) < len(trace.plan.nodes) for trace in (first, second))
    other_shape = None  # a step that one alone has, and that the numbers in its place can't be compared with
    for steps, only_in in _steps_in_order(first, second):
        found = FirstDifference(pair, steps[only_in or 0].name, None if only_in is None else pair[only_in])
        found = replace(found, is_partial=is_partial)
        if shape_difference(*steps):
            if only_in is None:
                return other_shape or found
            other_shape = other_shape or found
            continue
        before, after = value_at(first, steps[0], positions), value_at(second, steps[1], positions)
        differs = _differs(before, after)
        if differs.any():
            index = np.unravel_index(int(np.argmax(differs)), differs.shape)
            cell = cell_of_index(first, steps[0], index, positions)
            labels, numbers = labels_of_cell(first, steps[0], cell), (float(before[index]), float(after[index]))
            return other_shape or replace(found, position=cell, labels=labels, numbers=numbers)
    return FirstDifference(pair, None, is_partial=is_partial)


def _differs(before: Array, after: Array) -> Array:
    """Which numbers differ; one without axes is a row of its own."""
    if before.ndim:
        return changed(before, after)
    return changed(before[None], after[None]).reshape(())


def _steps_in_order(first: Trace, second: Trace) -> Iterator[tuple[tuple[Step, Step], int | None]]:
    """The steps that are compared, in order: those of one name, or of one role, and which trace alone (0, 1) has it."""
    traces = first, second
    in_role: tuple[dict[str, Step], dict[str, Step]] = {}, {}  # the last step of each role so far
    for name in _names_in_order(first, second):
        own: list[Step | None] = [trace.by_name.get(name) for trace in traces]
        for step, roles in zip(own, in_role, strict=True):
            if step is not None and step.node.role is not None:
                roles[step.node.role] = step
        if any(step is not None and step.value.dtype.kind == "i" for step in own):
            continue
        if own[0] is not None and own[1] is not None:
            yield (own[0], own[1]), None
            continue
        only_in = 0 if own[1] is None else 1
        step = own[only_in]
        assert step is not None
        counterpart = in_role[1 - only_in].get(step.node.role or "")
        if counterpart is not None:
            yield ((step, counterpart) if only_in == 0 else (counterpart, step)), only_in


def _names_in_order(first: Trace, second: Trace) -> Iterator[str]:
    """The names of the steps of both traces, each once: those of the first, the others before the step they lead to."""
    names, others = list(first.by_name), list(second.by_name)
    done = set[str]()
    for name in names:
        if name in second.by_name and name not in done:
            for other in others[: others.index(name)]:
                if other not in first.by_name and other not in done:
                    done.add(other)
                    yield other
        done.add(name)
        yield name
    yield from (other for other in others if other not in first.by_name and other not in done)

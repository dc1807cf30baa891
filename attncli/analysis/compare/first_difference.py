"""The first step, in the order computed, in which two variants differ."""

from collections.abc import Iterator, Mapping

from attncli.analysis.changes import changed
from attncli.analysis.compare.cells import cell_of_index, labels_of_cell, shape_difference
from attncli.analysis.compare.report import FirstDifference
from attncli.base.lazy_numpy import Array, np
from attncli.trace.positions import value_at
from attncli.trace.steps import Trace


def first_difference(
    pair: tuple[int, int], first: Trace, second: Trace, positions: Mapping[str, int]
) -> FirstDifference:
    """The first step in which the traces of two variants, `pair` in their comparison, differ by more than rounding.

    A step that one of them alone has counts where a step after it differs; indices and inner quantities of operators
    do not. The traces are compared at some positions on batch and heads.
    """
    is_partial = any(len(trace.steps) < len(trace.plan.nodes) for trace in (first, second))
    only_in = None
    for name in _names_in_order(first, second):
        steps = first.by_name.get(name), second.by_name.get(name)
        if steps[0] is None or steps[1] is None:
            if only_in is None and _is_step_of_its_own(name, first, second):
                at = pair[0] if steps[1] is None else pair[1]
                only_in = FirstDifference(pair, name, only_in=at, is_partial=is_partial)
            continue
        if shape_difference(steps[0], steps[1]):
            return only_in or FirstDifference(pair, name, is_partial=is_partial)
        before, after = value_at(first, steps[0], positions), value_at(second, steps[1], positions)
        differs = _differs(before, after)
        if differs.any():
            if only_in is not None:
                return only_in
            index = np.unravel_index(int(np.argmax(differs)), differs.shape)
            cell = cell_of_index(first, steps[0], index, positions)
            labels, numbers = labels_of_cell(first, steps[0], cell), (float(before[index]), float(after[index]))
            return FirstDifference(pair, name, None, cell, labels, numbers, is_partial)
    return FirstDifference(pair, None, is_partial=is_partial)


def _differs(before: Array, after: Array) -> Array:
    """Which numbers differ; one without axes is a row of its own."""
    if before.ndim:
        return changed(before, after)
    return changed(before[None], after[None]).reshape(())


def _is_step_of_its_own(name: str, first: Trace, second: Trace) -> bool:
    """Whether a step that one trace alone has says where they part, and the other trace would have kept it."""
    trace, other = (first, second) if name in first.by_name else (second, first)
    step = trace.by_name[name]
    return name not in other.plan.by_name and step.tapped_from is None and step.value.dtype.kind != "i"


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

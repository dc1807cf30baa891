"""Diagnostics: warnings on numbers that are not finite, on queries that see no key, and on values that are the keys."""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from attncli.base.axes import AXIS_NOUNS, Letters
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.plan.graph import Plan
from attncli.plan.trace import Trace
from attncli.problem.fields import OUTPUT

KEYS_ARE_VALUES = "no value is given, so the keys are used as values: output needs value, weights do not"
MAX_NAMES = 5  # queries, and batch items or heads, that a warning names


class Cell(NamedTuple):
    """A cell of the value of a step."""

    name: str
    at: tuple[int, ...]


class GivenValue(NamedTuple):
    """A number of an input as it was given, and the file and line where."""

    number: float
    place: str = ""


def nonfinite_warning(trace: Trace, cell: Cell, cause: Cell | None = None, given: GivenValue | None = None) -> str:
    """A warning on a number that is not finite: its cell, the cell that it came from, and where that was given.

    `given` is the number of an input; without it the cause is a cell that a step has made of finite numbers.
    """
    number = _number(trace, cell)
    text = f"{_cell_text(trace, cell)} is {number}"
    if cause is None:
        return text
    if given is None:
        where = "" if cause == cell else f" from {_cell_text(trace, cause)}, where"
        own = "" if trace[cause.name].node.is_built_in else ", or has no number there, as the logarithm of −1"
        return f"{text}:{where} the arithmetic overflowed, or divided by 0{own}"
    if cause != cell:
        text += f": from {_cell_text(trace, cause)}"
        if _number(trace, cause) != number:
            text += f", which is {_number(trace, cause)}"
    if isfinite(given.number):
        text += f", given as {given.number:g}, too large for {trace.precision.name}"
    return f"{text} ({given.place})" if given.place else text


def _number(trace: Trace, cell: Cell) -> str:
    """The number in a cell, as text."""
    return f"{trace[cell.name].value[cell.at]:g}"


def _cell_text(trace: Trace, cell: Cell) -> str:
    """A cell by the labels of its axes: `weights[head 1, sat, mat]`."""
    step = trace[cell.name]
    labels = trace.labelled(step).labels_of_cell(cell.at)
    return f"{cell.name}[{', '.join(labels)}]" if labels else cell.name


def empty_rows_warning(plan: Plan, empty: Array, axes: Letters, labels: Sequence[str]) -> tuple[str, ...]:
    """A warning that names the queries that see no key, and says what they get.

    `empty` [… n] is true for those; it has an axis for each letter, and `labels` name the entries of its last.
    """
    if not empty.any():
        return ()
    fill = plan.empty_rows_fill
    if fill == "uniform":
        results = f"weights 1/{plan['weights'].shape[-1]}"
    else:
        number = "0" if fill is None else "NaN"
        results = f"weights {number}, output {number}" if _is_as_empty(plan) else f"weights {number}"
    return (f"no key is visible to {'; '.join(_name_rows(empty, axes, labels))}: {results}",)


def _is_as_empty(plan: Plan) -> bool:
    """Whether there is an output, and one that nothing is added to: 0 where the weights are 0, NaN where these are."""
    names = [node.name for node in plan.nodes]
    later = plan.nodes[names.index(plan["weights"].name) :]
    return OUTPUT in plan.results and all({"b", "bias", "query"}.isdisjoint(node.inputs) for node in later)


def _name_rows(empty: Array, axes: Letters, labels: Sequence[str]) -> Iterator[str]:
    """Which queries, and where it is not all of them alike, of which batch item and head."""
    for axis in reversed(range(empty.ndim - 1)):
        if (empty.all(axis=axis) == empty.any(axis=axis)).all():
            empty, axes = np.asarray(empty.any(axis=axis)), (*axes[:axis], *axes[axis + 1 :])
    groups = [at for at in np.ndindex(empty.shape[:-1]) if empty[at].any()]
    for at in groups[:MAX_NAMES]:
        rows = np.flatnonzero(empty[at])
        queries = ", ".join(labels[row] for row in rows[:MAX_NAMES])
        queries += f" and {count_of(len(rows) - MAX_NAMES, 'more query')}" if len(rows) > MAX_NAMES else ""
        item = ", ".join(f"{AXIS_NOUNS[letter]} {index}" for letter, index in zip(axes, at, strict=False))
        yield f"{queries} ({item})" if item else queries
    if len(groups) > MAX_NAMES:
        yield f"and in {len(groups) - MAX_NAMES} more"


def remark_on_values(plan: Plan, name: str) -> str:
    """What to know where a result is not what was expected: that it is computed of keys in place of values; else ""."""
    value = plan.find("value")
    are_keys = value is not None and plan.by_name[value].inputs.get("x") == "key"
    return KEYS_ARE_VALUES if are_keys and value in plan.needed_for([name]) else ""

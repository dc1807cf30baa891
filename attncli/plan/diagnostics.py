"""Diagnostics: warnings about numbers that are not finite, queries that see no key, and keys used as values."""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from attncli.base.axes import AXIS_NOUNS, Letters
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.plan.graph import Plan
from attncli.plan.trace import Trace
from attncli.problem.fields import OUTPUT

KEYS_ARE_VALUES = "no value is given, so the keys are used as values; only output depends on value"
MAX_NAMES = 5  # queries, and batch items or heads, in a warning


class Cell(NamedTuple):
    """A cell of a step's value."""

    name: str
    at: tuple[int, ...]


class GivenValue(NamedTuple):
    """A given number of an input, with its file and line."""

    number: float
    place: str = ""


def nonfinite_warning(trace: Trace, cell: Cell, cause: Cell | None = None, given: GivenValue | None = None) -> str:
    """A warning about a number that is not finite: its cell, the cell that caused it, and its origin.

    `given` is the number of an input; without it the cause is a cell that a step computed from finite numbers.
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
    """A warning with the queries that see no key, and their results.

    `empty` [… n] is true for them; it has an axis for each letter, and `labels` for the last axis.
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
    """Whether an output without additions is computed: then it is 0 if the weights are 0, and NaN if they are."""
    names = [node.name for node in plan.nodes]
    later = plan.nodes[names.index(plan["weights"].name) :]
    return OUTPUT in plan.results and all({"b", "bias", "query"}.isdisjoint(node.inputs) for node in later)


def _name_rows(empty: Array, axes: Letters, labels: Sequence[str]) -> Iterator[str]:
    """The queries, with batch items and heads if these differ."""
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
    """The remark if an unexpected result was computed from keys instead of values; else ""."""
    value = plan.find("value")
    are_keys = value is not None and plan.by_name[value].inputs.get("x") == "key"
    return KEYS_ARE_VALUES if are_keys and value in plan.needed_for([name]) else ""

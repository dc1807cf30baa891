"""Slips that explain the same numbers: which are equivalent on these inputs, and a number that separates the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.dtypes import as_floats
from attncli.base.lazy_numpy import Array, np
from attncli.checks.compare import Checker
from attncli.checks.report import Telling
from attncli.checks.slips.parts import Part, SearchLimits, first_part
from attncli.checks.slips.search import Attempt, in_part, needs_of, run_attempt
from attncli.problem.spec import FIELDS, ProblemSpec

SAME = 1e-6  # share of a result's largest number: smaller differences count as equal
APART = 0.01  # share of the largest number: a difference that few digits show
MAX_CANDIDATES = 6


def find_telling(checker: Checker, attempts: Sequence[Attempt], problem: ProblemSpec, limits: SearchLimits) -> Telling:
    """The attempts that are equivalent on these inputs, and a number in which the others differ.

    That number belongs to a result, or a cell of one, without expected numbers.
    """
    some = attempts[:MAX_CANDIDATES]
    needs = needs_of(some)
    part = first_part(problem, limits, needs_all=needs)
    plan = checker.trace.plan
    names = list(dict.fromkeys([*checker.quantities, *(name for name in plan.results if "n" in plan[name].letters)]))
    values = _values(some, problem, part, names)
    groups = _same(values, len(some))
    same = tuple(tuple(" + ".join(some[at].slips) for at in group) for group in groups if len(group) > 1)
    drawn = _same(_values(some, _drawn(problem), part, names), len(some)) if same else groups
    telling = Telling(same, by_other_inputs=any(group not in drawn for group in groups))
    firsts = [group[0] for group in groups]
    for least in (APART, SAME):
        for name, arrays in values.items():
            cell = _cell(checker, name, part, [arrays[at] for at in firsts], least)
            if cell is not None and len(firsts) > 1:
                labels, numbers = cell
                names = [" + ".join(some[at].slips) for at in firsts]
                return replace(telling, name=name, labels=labels, numbers=dict(zip(names, numbers, strict=True)))
    return telling


def _values(
    attempts: Sequence[Attempt], problem: ProblemSpec, part: Part, names: Sequence[str]
) -> Mapping[str, Sequence[Array]]:
    """The results of each attempt at a part of a problem that all of them compute in the same shape."""
    made = [run_attempt(in_part(attempt, problem, part), names) for attempt in attempts]
    values = {name: [as_floats(own[name]) for own in made] for name in names if all(name in own for own in made)}
    return {name: arrays for name, arrays in values.items() if len({x.shape for x in arrays}) == 1}


def _same(values: Mapping[str, Sequence[Array]], count: int) -> Sequence[Sequence[int]]:
    """The attempts, grouped by equal numbers in every result."""
    groups: list[list[int]] = []
    for at in range(count):
        for group in groups:
            if all(_is_same(arrays[group[0]], arrays[at]) for arrays in values.values()):
                group.append(at)
                break
        else:
            groups.append([at])
    return groups


def _is_same(first: Array, second: Array) -> bool:
    largest = float(np.max(abs(first), initial=0, where=np.isfinite(first)))
    return bool(np.allclose(first, second, rtol=0, atol=SAME * largest, equal_nan=True))


def _cell(
    checker: Checker, name: str, part: Part, arrays: Sequence[Array], least: float
) -> tuple[tuple[str, ...], tuple[float, ...]] | None:
    """The labels of the cell at which some arrays of a part differ most, and their numbers there.

    None if they differ by less than a share of the largest number, or if every such number is expected.
    """
    axes = checker.trace.plan[name].axes
    both = np.sort(np.stack([np.where(np.isfinite(x), x, 0) for x in arrays]).astype(np.float64), axis=0)
    apart = np.diff(both, axis=0).min(axis=0) if len(arrays) > 1 else np.zeros(both.shape[1:])
    if name in checker.quantities:
        given = part.take(checker.quantities[name].is_given, tuple(axis.letter for axis in axes))
        apart = np.where(given, 0, apart)
    if not apart.size or apart.max() <= least * max(abs(both).max(), 1e-300):
        return None
    index = tuple(map(int, np.unravel_index(int(apart.argmax()), apart.shape)))
    labels = []
    for axis, own in zip(checker.trace.labelled_axes(axes), index, strict=True):
        positions = part.positions(axis.letter)
        labels.append(axis.labels[own if positions is None else positions[own]])
    return tuple(labels), tuple(float(x[index]) for x in arrays)


def _drawn(problem: ProblemSpec) -> ProblemSpec:
    """The problem with normal random numbers in place of its arrays."""
    stream = np.random.default_rng(0)
    drawn: dict[str, Any] = {}
    for name in FIELDS:
        array = getattr(problem, name)
        if isinstance(array, np.ndarray) and array.dtype.kind == "f":
            drawn[name] = np.asarray(stream.normal(size=array.shape), array.dtype)
    return replace(problem, **drawn)

"""Variants computed and compared: each with the first, edited ones with the unedited, or every pair."""

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.memory import missing_memory
from attncli.comparisons.differences import Difference, FirstDifference, VariantResult, difference, first_difference
from attncli.engine.memory import array_bytes
from attncli.engine.options import Progress, RunOptions
from attncli.engine.run import LOCAL, is_large, run
from attncli.io.variants import Variant, before_edits, shared_keys
from attncli.plan.build import plan_of
from attncli.plan.trace import RunResult, value_at, weight_rows_at
from attncli.problem.fields import WEIGHTS
from attncli.render.rows import STATISTICS, changed, mean_statistics, row_statistics

Positions = tuple[int, ...]
SEED = "seed"  # the key whose values are averaged over


@dataclass(frozen=True)
class CompareOptions:
    """How to compare variants.

    Each is compared with the first, an edited one also with the unedited; with `all_pairs`, every pair. `positions` has
    the one compared position on an axis, by the axis's letter (b batch items, h heads). It calls `progress(done,
    total)` after each variant.
    """

    all_pairs: bool = False
    positions: Mapping[str, int] = field(default_factory=dict)
    run: RunOptions = LOCAL
    progress: Progress | None = None


DEFAULT = CompareOptions()


@dataclass(frozen=True)
class Comparison:
    """Computed variants, each compared with the first (or every pair, on request).

    Edited variants are also compared with the unedited.

    `shared_keys` are the varied keys with the same value in all variants, as text. `positions` has the one compared
    position on an axis, by the axis's letter (b batch items, h heads). `remarks` concern several variants and appear
    once.
    """

    variants: tuple[VariantResult, ...]
    select: tuple[str, ...]
    differences: tuple[Difference, ...]
    first_differences: tuple[FirstDifference, ...]
    shared_keys: Mapping[str, str]
    positions: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class OverSeeds:
    """The statistics of the weights of variants that differ only in their seed; `keys` has the other varied keys.

    `mean` and `standard_deviation` (of a sample: divided by their number minus one) are over the variants, each of
    which counts as the mean of its rows. A statistic is NaN if a variant has no row with that number.
    """

    keys: Mapping[str, str]
    variants: Positions
    mean: Mapping[str, float]
    standard_deviation: Mapping[str, float]


def compare(
    variants: Sequence[Variant], select: Sequence[str] | None = None, options: CompareOptions = DEFAULT
) -> Comparison:
    """Compute the variants and compare the selected results, by default each one's default results.

    Raises AttnError, which names the variant, if one of them can't be computed, or if there is not enough memory for
    all of them; UnknownNameError if no variant has a result or a step of a name.
    """
    names = selected_names(variants, select)
    baselines = compared_with(variants, all_pairs=options.all_pairs)
    keep_all_steps = {baseline for those in baselines for baseline in those}
    _check_memory(variants, names, keep_all_steps)
    computed: list[VariantResult] = []
    differences: list[Difference] = []
    first_differences: list[FirstDifference] = []
    for position, variant in enumerate(variants):
        one = _compute(variant, names, options)
        for baseline in baselines[position]:
            other, pair = computed[baseline], (baseline, position)
            differences += [difference(name, pair, other, one, options.positions) for name in names]
            first_differences.append(first_difference(pair, other.result.trace, one.result.trace, options.positions))
        computed.append(one if position in keep_all_steps else _with_selected_steps(one))
        if options.progress is not None:
            options.progress(position + 1, len(variants))
    return Comparison(
        tuple(computed),
        names,
        tuple(sorted(differences, key=lambda found: found.variants)),
        tuple(sorted(first_differences, key=lambda found: found.variants)),
        shared_keys(variants),
        options.positions,
        _remarks(computed),
    )


def compared_with(variants: Sequence[Variant], *, all_pairs: bool) -> Sequence[Sequence[int]]:
    """The positions of the variants with which each is compared, all before its own.

    It is the first one, and for an edited variant also the one that lacks only its edits; with `all_pairs` every one.
    """
    if all_pairs:
        return [range(position) for position in range(len(variants))]
    before = before_edits(variants)
    return [sorted({0, before.get(position, 0)} - {position}) for position in range(len(variants))]


def selected_names(variants: Sequence[Variant], select: Sequence[str] | None) -> tuple[str, ...]:
    """The selected names, each of which some variant computes; by default all variants' default results.

    Raises UnknownNameError if no variant has a name, AttnError if none computes that result.
    """
    if select is None:
        return tuple(dict.fromkeys(name for variant in variants for name in variant.problem.default_selection))
    for name in select:
        if all(plan_of(variant.problem).find(name) is None for variant in variants):
            plan_of(variants[0].problem).resolve(name)
    return tuple(dict.fromkeys(select))


def _check_memory(variants: Sequence[Variant], names: Sequence[str], keep_all_steps: Container[int]) -> None:
    """Raise AttnError if the steps that a comparison keeps exceed the available memory.

    For the variants that others are compared with (their positions are in `keep_all_steps`) these are all steps of a
    small problem; for others the selected steps, and the weights of a small problem. Each computation checks its own
    memory.
    """
    size = 0
    for position, variant in enumerate(variants):
        plan = plan_of(variant.problem)
        is_small = not is_large(plan)
        kept = {plan.find(name) for name in names} | ({plan.results.get(WEIGHTS)} if is_small else set())
        keeps_all = is_small and position in keep_all_steps
        nodes = (node for node in plan.nodes if keeps_all or node.name in kept)
        size += sum(array_bytes(node, variant.problem.precision) for node in nodes)
    missing = missing_memory(size)
    if missing is not None:
        hint = "vary less, or select fewer results"
        raise AttnError(f"to compare {len(variants)} variants {missing}", hint=hint)


def _compute(variant: Variant, names: Sequence[str], options: CompareOptions) -> VariantResult:
    """The result of a variant, with every step if it is small, and the statistics of its weights."""
    plan = plan_of(variant.problem)
    try:
        result = run(variant.problem, [name for name in names if plan.find(name) is not None], options=options.run)
    except AttnError as error:
        raise error.at(f"variant {variant.name}") from None
    weights = result.trace.by_name.get(plan.results.get(WEIGHTS, ""))
    statistics = None if weights is None else row_statistics(weights.value, result.trace.precision)
    return VariantResult(variant, result, statistics)


def _with_selected_steps(one: VariantResult) -> VariantResult:
    """The same without steps that nothing uses any more.

    It keeps results, weights, masks, whose tables show which of them hides a cell, and steps with warnings.
    """
    trace = one.result.trace
    kept = {trace[name].name for name in one.result.select} | {trace.plan.results.get(WEIGHTS)}
    steps = (step for step in trace.steps if step.name in kept or step.notes or step.value.dtype.kind == "b")
    values = {step.name: step.value for step in steps}
    return replace(one, result=RunResult(replace(trace, values=values), one.result.select))


def _remarks(computed: Sequence[VariantResult]) -> tuple[str, ...]:
    """Remarks on several variants: labels that differ while the lengths agree."""
    first = computed[0].result.trace.labels
    has_other_labels = any(
        len(first[letter]) == len(labels) and first[letter] != labels
        for one in computed[1:]
        for letter, labels in one.result.trace.labels.items()
        if letter in ("n", "m")
    )
    named = f"tokens differ: numbers are compared by position, and named as in {computed[0].variant.name}"
    return (named,) if has_other_labels else ()


def over_seeds(comparison: Comparison) -> tuple[OverSeeds, ...]:
    """The means and deviations of variants that differ only in their seed, in the order of first occurrence.

    They exclude variants with a unique seed, and variants whose weights have no statistics.
    """
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for position, one in enumerate(comparison.variants):
        if SEED in one.variant.keys and one.statistics is not None:
            others = tuple((key, text) for key, text in one.variant.keys.items() if key != SEED)
            groups.setdefault(others, []).append(position)
    found = {others: tuple(positions) for others, positions in groups.items() if len(positions) > 1}
    return tuple(_over_seeds(comparison, dict(others), positions) for others, positions in found.items())


def _over_seeds(comparison: Comparison, keys: Mapping[str, str], positions: Positions) -> OverSeeds:
    """The mean and the deviation of each statistic of some variants."""
    numbers = np.array([[*variant_means(comparison, position).values()] for position in positions])
    with np.errstate(invalid="ignore"):
        both = numbers.mean(axis=0).tolist(), numbers.std(axis=0, ddof=1).tolist()
    mean, deviation = (dict(zip(STATISTICS, found, strict=True)) for found in both)
    return OverSeeds(keys, positions, mean, deviation)


def variant_means(comparison: Comparison, position: int) -> Mapping[str, float]:
    """The mean of each statistic over a variant's compared rows; NaN if it has none."""
    one = comparison.variants[position]
    if one.statistics is None:
        return dict.fromkeys(STATISTICS, math.nan)
    return mean_statistics(one.statistics, weight_rows_at(one.result.trace, comparison.positions))


def equal_variants(comparison: Comparison, name: str) -> tuple[Positions, ...]:
    """The positions of the variants that compute a result, grouped by equal numbers, in order.

    Each group begins with the variant that the others equal. `changed` decides which numbers are equal.
    """
    variants = enumerate(comparison.variants)
    return _groups(comparison, [position for position, one in variants if name in one.result.select], name)


def equal_statistics(comparison: Comparison) -> tuple[Positions, ...]:
    """The positions of the variants with statistics of their weights, grouped by equal weights."""
    variants = enumerate(comparison.variants)
    return _groups(comparison, [position for position, one in variants if one.statistics is not None], WEIGHTS)


def _groups(comparison: Comparison, variants: Iterable[int], name: str) -> tuple[Positions, ...]:
    """The positions of some variants, grouped by equal numbers of a result."""
    groups: list[tuple[Array, list[int]]] = []
    for position in variants:
        trace = comparison.variants[position].result.trace
        array = value_at(trace, trace[name], comparison.positions)
        for first, members in groups:
            if first.shape == array.shape and not changed(first, array).any():
                members.append(position)
                break
        else:
            groups.append((array, [position]))
    return tuple(tuple(members) for _, members in groups)

"""Variants computed and compared: each with the first, those with edits with those before them, or every two."""

from collections.abc import Sequence
from dataclasses import replace

from attncli.analysis.compare.difference import difference
from attncli.analysis.compare.first_difference import first_difference
from attncli.analysis.compare.memory import check_memory
from attncli.analysis.compare.options import CompareOptions
from attncli.analysis.compare.report import Comparison, Difference, FirstDifference, VariantResult
from attncli.analysis.row_statistics import row_statistics
from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.io.variants import Variant, before_edits, shared_keys
from attncli.plan.build import plan_of
from attncli.plan.trace import RunResult
from attncli.problem.results import WEIGHTS

DEFAULT = CompareOptions()


def compare(
    variants: Sequence[Variant], select: Sequence[str] | None = None, options: CompareOptions = DEFAULT
) -> Comparison:
    """Compute the variants and compare the selected results, without a selection the default ones of each.

    Raises AttnError, which names the variant, where one of them can't be computed, or where there is not enough memory
    for all of them; UnknownNameError where no variant has a result or a step of a name.
    """
    names = selected_names(variants, select)
    baselines = compared_with(variants, all_pairs=options.all_pairs)
    keep_all_steps = {baseline for those in baselines for baseline in those}
    check_memory(variants, names, keep_all_steps)
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

    It is the first one, and of a variant with edits the one that differs in them alone; with `all_pairs` every one.
    """
    if all_pairs:
        return [range(position) for position in range(len(variants))]
    before = before_edits(variants)
    return [sorted({0, before.get(position, 0)} - {position}) for position in range(len(variants))]


def selected_names(variants: Sequence[Variant], select: Sequence[str] | None) -> tuple[str, ...]:
    """The selected names, each of which a variant computes; without a selection the default ones of all variants.

    Raises UnknownNameError where no variant has a name, AttnError where none computes that result.
    """
    if select is None:
        return tuple(dict.fromkeys(name for variant in variants for name in variant.problem.default_selection))
    for name in select:
        if all(plan_of(variant.problem).find(name) is None for variant in variants):
            plan_of(variants[0].problem).resolve(name)
    return tuple(dict.fromkeys(select))


def _compute(variant: Variant, names: Sequence[str], options: CompareOptions) -> VariantResult:
    """The result of a variant, every step of it where it is small, and the statistics of its weights."""
    plan = plan_of(variant.problem)
    try:
        result = run(variant.problem, [name for name in names if plan.find(name) is not None], options=options.run)
    except AttnError as error:
        raise error.at(f"variant {variant.name}") from None
    weights = result.trace.by_name.get(plan.results.get(WEIGHTS, ""))
    statistics = None if weights is None else row_statistics(weights.value, result.trace.precision)
    return VariantResult(variant, result, statistics)


def _with_selected_steps(one: VariantResult) -> VariantResult:
    """The same without the steps that nothing reads any more.

    What is kept are results, weights, masks, whose tables show which of them hides a cell, and steps with warnings.
    """
    trace = one.result.trace
    kept = {trace[name].name for name in one.result.select} | {trace.plan.results.get(WEIGHTS)}
    steps = (step for step in trace.steps if step.name in kept or step.notes or step.value.dtype.kind == "b")
    values = {step.name: step.value for step in steps}
    return replace(one, result=RunResult(replace(trace, values=values), one.result.select))


def _remarks(computed: Sequence[VariantResult]) -> tuple[str, ...]:
    """What holds of several variants: labels that differ where the lengths agree."""
    first = computed[0].result.trace.labels
    has_other_labels = any(
        len(first[letter]) == len(labels) and first[letter] != labels
        for one in computed[1:]
        for letter, labels in one.result.trace.labels.items()
        if letter in ("n", "m")
    )
    named = f"tokens differ: numbers are compared by position, and named as in {computed[0].variant.name}"
    return (named,) if has_other_labels else ()

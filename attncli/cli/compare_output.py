"""Compare variants and write the comparison to standard output or to a file, by the output options."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.axis_positions import parse_positions
from attncli.cli.compare_variants import notes_of_variants
from attncli.cli.output_space import check_free_space
from attncli.cli.progress import ProgressBar
from attncli.cli.warnings import write_warnings
from attncli.problem.results import OUTPUT
from attncli.render.formats import FORMATS, OutputFormat

if TYPE_CHECKING:
    from attncli.analysis.compare import Comparison
    from attncli.cli.output_options import OutputOptions
    from attncli.io.variants import Variant
    from attncli.plan.graph import Plan

ALWAYS_FITS = 2**20  # bytes: so many are written without asking for the free space


def compare_and_write(variants: "Sequence[Variant]", options: "OutputOptions", *, all_pairs: bool) -> None:
    """Compare the variants and write the comparison; raises AttnError where an option is out of range."""
    from attncli.io.output_files import atomic_write
    from attncli.render.target import TEXT_FILE

    output_format = options.output_format  # an unknown format is an error before any work
    _check_format(output_format, options)
    decimals = options.decimals
    if options.file is None:
        comparison = _compare(variants, options, all_pairs)
        streams.write_output(output_format.render_comparison(comparison, streams.output_target(), decimals))
        return
    with atomic_write(options.file) as stream:
        comparison = _compare(variants, options, all_pairs)
        chunks = output_format.render_comparison(comparison, TEXT_FILE, decimals)
        for chunk in streams.buffer_chunks(chunks):
            stream.write(chunk.encode("utf-8", "surrogateescape"))


def _check_format(output_format: "OutputFormat", options: "OutputOptions") -> None:
    """Raise AttnError where the format can hold no comparison."""
    if not output_format.writes_comparisons:
        where = f"--output {options.file}" if options.format is None else f"--format {options.format}"
        names = [row.name for row in FORMATS if row.writes_comparisons and row.is_choice]
        message, hint = f"no comparison is written as {output_format.name}", f"expected one of {', '.join(names)}"
        raise AttnError(message, where=where, hint=hint)


def _compare(variants: "Sequence[Variant]", options: "OutputOptions", all_pairs: bool) -> "Comparison":
    """The comparison of the variants that the options describe; its warnings are written."""
    from attncli.analysis.compare import CompareOptions, compare
    from attncli.engine.options import RunOptions
    from attncli.io.variants import positions_of_variants

    positions = positions_of_variants(variants, lambda layout: parse_positions(options, layout)[0])
    names, remark = _selection(variants, options)
    _check_space(variants, names, options, positions)
    with ProgressBar("comparing") as progress:
        run = RunOptions(blas_is_limited=True)
        comparison = compare(variants, names, CompareOptions(all_pairs, positions, run, progress))
    write_warnings(notes_of_variants(comparison), strict=options.strict)
    return replace(comparison, remarks=(*comparison.remarks, remark)) if remark else comparison


def _selection(variants: "Sequence[Variant]", options: "OutputOptions") -> tuple[tuple[str, ...], str]:
    """The names of the results that are compared, and a remark on those that are left out.

    Without `--select` they are the default results of the variants. A format with a row for each query and key has
    those that have a number for them, and a format for readers of large problems the output alone.
    """
    from attncli.analysis.compare import selected_names
    from attncli.engine.run import has_many_scores
    from attncli.plan.build import plan_of

    try:
        names = selected_names(variants, options.selected_names)
    except AttnError as error:
        raise error.at("--select") from None
    output_format, plans = options.output_format, [plan_of(variant.problem) for variant in variants]
    if options.select is not None:
        return names, ""
    if output_format.compares_cells:
        return tuple(name for name in names if all(_has_cells(plan, name) for plan in plans)), ""
    if output_format.is_lossless or OUTPUT not in names or not any(map(has_many_scores, plans)):
        return names, ""
    left_out = " and ".join(name for name in names if name != OUTPUT)
    return (OUTPUT,), f"{left_out} are large and left out: --select {','.join(names)} compares them too"


def _has_cells(plan: "Plan", name: str) -> bool:
    """Whether a result has a number for each query and key; also where the plan has no such result."""
    found = plan.find(name)
    return found is None or {"n", "m"} <= {*plan.by_name[found].letters}


def _check_space(
    variants: "Sequence[Variant]", names: "Sequence[str]", options: "OutputOptions", positions: "Mapping[str, int]"
) -> None:
    """Raise AttnError where the numbers of all variants, as short as they may be, do not fit on the disk."""
    from attncli.plan.build import plan_of
    from attncli.render.output_size import SizeEstimator

    output_format = options.output_format
    if not output_format.is_lossless:  # a reader gets no more than some rows of each
        return
    sizes: dict[str, int] = dict.fromkeys(names, 0)
    for variant in variants:
        plan = plan_of(variant.problem)
        estimator = SizeEstimator(plan, variant.problem.precision, list(positions), options.decimals)
        own = [name for name in names if plan.find(name) is not None]
        for name, size in estimator.least_sizes(own, output_format).items():
            sizes[name] += size
    if sum(sizes.values()) > ALWAYS_FITS:
        check_free_space(options.file, sizes)

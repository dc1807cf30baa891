"""Compare variants and write the comparison to standard output or to a file, by the output options."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.compare_variants import notes_of_variants
from attncli.cli.output import parse_positions
from attncli.cli.progress import ProgressBar
from attncli.cli.warnings import write_warnings
from attncli.problem.results import OUTPUT
from attncli.render.formats import FORMATS, OutputFormat

if TYPE_CHECKING:
    from attncli.analysis.compare.report import Comparison
    from attncli.cli.output_options import OutputOptions
    from attncli.io.variants import Variant
    from attncli.plan.graph import Plan


def compare_and_write(variants: "Sequence[Variant]", options: "OutputOptions", *, all_pairs: bool) -> None:
    """Compare the variants and write the comparison; raises AttnError where an option is out of range."""
    from attncli.io.writers.atomic import atomic_write
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
    if output_format.comparison is None:
        where = f"--output {options.file}" if options.format is None else f"--format {options.format}"
        names = [row.name for row in FORMATS if row.comparison is not None and row.is_choice]
        message, hint = f"no comparison is written as {output_format.name}", f"expected one of {', '.join(names)}"
        raise AttnError(message, where=where, hint=hint)


def _compare(variants: "Sequence[Variant]", options: "OutputOptions", all_pairs: bool) -> "Comparison":
    """The comparison of the variants that the options describe; its warnings are written."""
    from attncli.analysis.compare.compare import compare
    from attncli.analysis.compare.options import CompareOptions
    from attncli.engine.options import RunOptions

    with ProgressBar("comparing") as progress:
        compare_options = CompareOptions(
            all_pairs=all_pairs,
            positions=_positions(variants, options),
            run=RunOptions(blas_is_limited=True),
            progress=progress,
        )
        comparison = compare(variants, _selection(variants, options), compare_options)
    write_warnings(notes_of_variants(comparison), strict=options.strict)
    return comparison


def _positions(variants: "Sequence[Variant]", options: "OutputOptions") -> "Mapping[str, int]":
    """The position on each axis that an option gives; raises AttnError, which names the variant that lacks it."""
    positions: dict[str, int] = {}
    for variant in variants:
        try:
            positions |= parse_positions(options, variant.problem.layout)[0]
        except AttnError as error:
            raise error.at(f"variant {variant.name}") from None
    return positions


def _selection(variants: "Sequence[Variant]", options: "OutputOptions") -> tuple[str, ...] | None:
    """The names of the results that are compared; None for those that each variant has by default.

    Where a format has a row for each query and key, these are the default results that have a number for them; in a
    format for readers of a large problem it is the output alone.
    """
    from attncli.engine.run import is_large
    from attncli.plan.build import plan_of

    if options.selected_names is not None:
        return options.selected_names
    plans = [plan_of(variant.problem) for variant in variants]
    if options.output_format.compares_cells:
        names = dict.fromkeys(name for variant in variants for name in variant.problem.default_selection)
        return tuple(name for name in names if all(_has_cells(plan, name) for plan in plans))
    if not options.output_format.is_lossless and any(map(is_large, plans)) and all(OUTPUT in p.results for p in plans):
        return (OUTPUT,)
    return None


def _has_cells(plan: "Plan", name: str) -> bool:
    """Whether a result has a number for each query and key; also where the plan has no such result."""
    found = plan.find(name)
    return found is None or {"n", "m"} <= {*plan.by_name[found].letters}

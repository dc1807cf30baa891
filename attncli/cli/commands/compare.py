"""`attn compare`: variants of a problem side by side, and by how much they differ."""

from typing import Annotated, Any

import typer

from attncli.cli.compare_output import compare_and_write
from attncli.cli.compare_variants import VariantOptions, read_variants, unread_of_variants
from attncli.cli.options import EditTexts, MaxSize, complete_convention, make_inputs, with_unlisted_problem_options
from attncli.cli.output_file import check_is_no_input
from attncli.cli.output_options import OutputOptions, with_some_output_options
from attncli.cli.vary_completion import complete_vary
from attncli.cli.warnings import write_warnings


@with_unlisted_problem_options
@with_some_output_options("head", "batch", "precision", "format", "json", "output", "select", "strict")
def compare(
    problems: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROBLEM", help="Problem files, or -; a key that is given as an option holds for all."),
    ] = None,
    *,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="A value of a key, or several: scale=0.5,1,2, seed=1..100. Different keys multiply.",
            autocompletion=complete_vary,
        ),
    ] = None,
    convention: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="CONVENTION",
            help="The problem as a framework reads it: torch-sdpa, flash, … (attn list conventions).",
            autocompletion=complete_convention,
        ),
    ] = None,
    edits: EditTexts = None,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Compare every two variants, and not each with the first.")
    ] = False,
    max_size: MaxSize = None,
    output_options: OutputOptions,
    **keys: Any,
) -> None:
    """Make the variants of the problems in files and of the options (`keys`), and write how they compare."""
    inputs = make_inputs(max_size)
    variant_options = VariantOptions(problems or (), vary or (), convention or (), edits or (), keys)
    variants = read_variants(variant_options, inputs)
    check_is_no_input(output_options.file, inputs)
    write_warnings(unread_of_variants(variants, variant_options), strict=output_options.strict)
    compare_and_write(variants, output_options, all_pairs=all_pairs)

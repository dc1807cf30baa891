"""`attn generate`: a complete problem, its numbers drawn from a seed, for `attn compute` and for changing by hand."""

from pathlib import Path
from typing import Annotated, Any

import typer

from attncli.cli import streams
from attncli.cli.options import MaxSize, make_inputs, read_problem_options, with_problem_options


@with_problem_options
def generate(
    problem: Annotated[
        str | None, typer.Argument(metavar="PROBLEM", help="A YAML or JSON file to complete, or -.")
    ] = None,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|FOLDER",
            help="A .yaml file, or a new folder for the arrays and problem.yaml.",
        ),
    ] = None,
    max_size: MaxSize = None,
    **keys: Any,
) -> None:
    """Draw what a problem lacks, and write it to standard output, a file, or a folder of files."""
    from attncli.io.assemble import assemble
    from attncli.io.writers.atomic import atomic_write_file, atomic_write_folder
    from attncli.io.writers.problem_text import problem_folder, problem_json, problem_yaml

    complete = assemble(read_problem_options(problem, keys, make_inputs(max_size)))
    if output is None or output == "-":
        streams.write_output(problem_yaml(complete))
        return
    suffix = Path(output).suffix.lower()
    if suffix == ".json":
        atomic_write_file(output, problem_json(complete))
    elif suffix in (".yaml", ".yml"):
        atomic_write_file(output, problem_yaml(complete))
    else:
        atomic_write_folder(output, problem_folder(complete))

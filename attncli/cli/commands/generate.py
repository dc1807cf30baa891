"""`attn generate`: a complete problem, its numbers drawn from a seed, for `attn compute` and for changing by hand."""

from pathlib import Path
from typing import Annotated, Any

import typer

from attncli.cli import streams
from attncli.cli.options import document, with_problem_options


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
    **keys: Any,
) -> None:
    """Write a complete problem with numbers drawn from a seed."""
    from attncli.io.assemble import assemble
    from attncli.io.writers import atomic, problem_text

    complete = assemble(document(problem, keys))
    if output in (None, "-"):
        streams.put(problem_text.problem_yaml(complete))
    elif Path(str(output)).suffix.lower() in (".yaml", ".yml", ".json"):
        is_json = str(output).lower().endswith(".json")
        atomic.write_file(
            str(output), problem_text.problem_json(complete) if is_json else problem_text.problem_yaml(complete)
        )
    else:
        atomic.write_folder(str(output), problem_text.problem_folder(complete))

"""`attn init`: a problem to start from."""

from typing import Annotated

import typer

from attncli.cli.output_file import STDOUT, write_new_file
from attncli.cli.problem_options import Force

DEFAULT_FILE = "problem.yaml"


def init(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help=f"A new file, {DEFAULT_FILE} by default; {STDOUT} prints it.")
    ] = DEFAULT_FILE,
    *,
    every_key: Annotated[bool, typer.Option("--all", help="Write every key, with its meaning.")] = False,
    force: Force = False,
) -> None:
    """Write a problem to start from, and the command that computes it."""
    from attncli.io.problem_text import problem_template

    write_new_file(problem_template(every_key=every_key), file, "FILE", force=force)

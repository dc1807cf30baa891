"""`attn init`: a problem to start from."""

import os
from typing import Annotated

import typer

from attncli.cli.output_file import STDOUT, write_new_file
from attncli.cli.problem_options import Force
from attncli.io.paths import path_of

DEFAULT_FILE = "problem.yaml"


def init(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help=f"A new file, {DEFAULT_FILE} by default; {STDOUT} prints it.")
    ] = DEFAULT_FILE,
    *,
    every_key: Annotated[bool, typer.Option("--all", help="Write every key, with its meaning.")] = False,
    force: Force = False,
) -> None:
    """Write a problem to start from, and the command that computes it; a new name without a suffix gets `.yaml`."""
    from attncli.io.problem_text import problem_template

    path = path_of(file)
    if file not in ("", STDOUT) and not path.suffix and not os.path.lexists(path):
        file += path_of(DEFAULT_FILE).suffix
    write_new_file(problem_template(every_key=every_key), file, "FILE", force=force)

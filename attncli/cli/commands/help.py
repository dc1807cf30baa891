"""`attn help`: what `attn --help` shows, or the help of a command."""

from typing import Any

import typer

from attncli.cli.commands import COMMANDS
from attncli.cli.completion import complete_from
from attncli.cli.problem_options import argument
from attncli.cli.usage_errors import unknown_command

_complete_command = complete_from(lambda: {name: ref.summary for name, ref in COMMANDS.items()})


def show_help(
    context: typer.Context,
    command: str | None = argument(f"One of {', '.join(COMMANDS)}.", "COMMAND", complete=_complete_command),
) -> None:
    """Write the help of a command, or of the program if there is no name."""
    group: Any = context.parent
    if command is None:
        typer.echo(group.get_help())
        return
    found = group.command.get_command(group, command)
    if found is None:
        raise unknown_command(command)
    found.make_context(command, ["--help"], parent=group)  # writes the help and ends the program

"""The commands of `attn`: one row of a table for each, whose module is imported when the command is called."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandRef:
    """Where the function of a command is, and the sentence that its help and the list of commands have for it."""

    function: str  # "module:function"
    summary: str


_HERE = "attncli.cli.commands"

COMMANDS = {
    "compute": CommandRef(f"{_HERE}.compute:compute", "Compute attention: scores, weights and output."),
    "demo": CommandRef(
        f"{_HERE}.demo:demo", "Walk through a worked example and compare it with its published numbers."
    ),
    "generate": CommandRef(f"{_HERE}.generate:generate", "Write a complete problem with numbers drawn from a seed."),
    "list": CommandRef(f"{_HERE}.list:list_operators", "List the catalogue: what each stage can be, in a sentence."),
    "show": CommandRef(
        f"{_HERE}.show:show", "Show one entry: its formula, parameters, source, and an example to do by hand."
    ),
}

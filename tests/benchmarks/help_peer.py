"""A plain Typer program of the size of `attn`: the same commands and options, with help texts of the same length."""

import inspect
from typing import Any, get_args

from typer.models import ArgumentInfo, OptionInfo

from attncli.base.lazy_numpy import import_object
from attncli.cli.commands import COMMANDS
from attncli.cli.problem_options import parameters_of


def program() -> str:
    """The text of the program."""
    commands = "".join(map(_command, COMMANDS))
    return f"from typing import Annotated\nimport typer\napp = typer.Typer()\n{commands}\napp(prog_name='peer')\n"


def _command(name: str) -> str:
    """A command with the options and arguments of ours, which does nothing."""
    ref = COMMANDS[name]
    parameters = ", ".join(filter(None, map(_parameter, parameters_of(import_object(ref.function)))))
    help_text = "\n\n".join((ref.summary, *ref.examples))
    return f"\n\n@app.command({name!r}, help={help_text!r})\ndef {name}_({parameters}): pass\n"


def _parameter(parameter: inspect.Parameter) -> str:
    """A parameter of the same type, default and help; nothing of one that is no option and no argument."""
    infos = [
        extra
        for extra in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(extra, ArgumentInfo | OptionInfo)
    ]
    if not infos:
        return ""
    [info], base = infos, get_args(parameter.annotation)[0]
    kind = base.__name__ if isinstance(base, type) else str(base)
    words: list[Any] = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
    kept = {name: getattr(info, name) for name in ("metavar", "help", "hidden", "rich_help_panel")}
    arguments = ", ".join((*map(repr, words), *(f"{name}={value!r}" for name, value in kept.items())))
    maker = "Option" if isinstance(info, OptionInfo) else "Argument"
    default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
    return f"{parameter.name}: Annotated[{kind}, typer.{maker}({arguments})]{default}"

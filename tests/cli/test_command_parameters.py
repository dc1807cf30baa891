"""The options of a command: those on the command line are made, and all of them where one has to be found."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from attncli.base.lazy_numpy import import_object
from attncli.cli.command_parameters import parameters_of, with_named_options
from attncli.cli.command_table import COMMANDS
from attncli.cli.commands.compute import compute

COMMAND_FUNCTIONS = {name: import_object(ref.function) for name, ref in COMMANDS.items()}


def names_made(command: Callable[..., Any], args: list[str]) -> set[str]:
    """The names of the parameters of which Typer makes arguments and options."""
    return {*inspect.signature(with_named_options(command, args)).parameters}


@pytest.mark.parametrize(
    ("args", "made"),
    [
        (["p.yaml"], {"problem"}),
        (["p.yaml", "--json"], {"problem", "json"}),
        (["--no-causal", "--score=dot", "-e"], {"problem", "causal", "score", "explain"}),
        (["-", "--kv-heads", "2"], {"problem", "kv_heads"}),
    ],
)
def test_a_command_line_makes_the_options_that_it_names(args: list[str], made: set[str]) -> None:
    assert names_made(compute, args) == made


@pytest.mark.parametrize("word", ["--help", "-h", "--help-all", "--jsn", "-ofile.npy", "--", "-1"])
def test_all_options_are_made_where_one_is_listed_or_looked_for(word: str) -> None:
    assert names_made(compute, ["p.yaml", "--json", word]) == {p.name for p in parameters_of(compute)}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_is_made_by_each_of_its_words(name: str) -> None:
    command = COMMAND_FUNCTIONS[name]
    for parameter in parameters_of(command):
        for info in getattr(parameter.annotation, "__metadata__", ()):
            declared = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
            for word in "/".join(declared).split("/") if declared else []:
                assert parameter.name in names_made(command, [word])

"""Errors of the command line in one line that says what to type: unknown names, and values that the shell has split."""

import os
import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, did_you_mean
from attncli.base.lazy_numpy import import_object
from attncli.cli.commands import COMMANDS, CommandRef
from attncli.io.paths import STDIN, is_there

QUOTE_HINT = "put a list in quotes, as in '[1, 2]' or '[[1, 2], [3, 4]]'"
# What follows a flag as if it had a value, and whether the flag is wanted.
_BOOLEANS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
_MATRICES = ("MATRIX", "VECTOR", "FILE|small")  # the values of options that are numbers
_NAMED = "NAME=VALUE"
_WRITES = ("--output", "-o")
_SPACED = (*_MATRICES, "TEXT", _NAMED)  # those that may have spaces
_JOINED = ("NAME,NAME", "LABELS", "LEFT,RIGHT")  # those that have commas
_PART_OF_LIST = re.compile(r"[\[\](),;\d.eE+-]*\d[\[\](),;\d.eE+-]*|\[[^\[\]]+|[^\[\]]+(,|\]+)")
_NUMBER = re.compile(r"-[\d.]")
_OPTION = re.compile(r"--[\w-]+")
_WORD = re.compile(r"[^\W\d_]+")
# What is typed in place of a command: by other words for what it does, or for an option of `attn`.
_COMMANDS_ELSEWHERE = {
    "version": "attn --version",
    "explain describe define what info": "attn show {words}",
    "run calc calculate calculation attention attend": "attn compute {words}",
    "verify validate test grade": "attn check {words}",
    "diff vary sweep": "attn compare {words}",
    "example examples tutorial walkthrough": "attn demo {words}",
    "new create start template": "attn init {words}",
    "random draw sample": "attn generate {words}",
    "ls catalogue catalog": "attn list {words}",
    "load layer checkpoint": "attn model {words}",
    "plot picture figure": "attn compute -o weights.svg {words}",
}
_TYPE_INSTEAD = {name: text for names, text in _COMMANDS_ELSEWHERE.items() for name in names.split()}


def is_problem(word: str) -> bool:
    """Whether an argument is a file, standard input or a mapping, or has the suffix of a file that can be read."""
    from attncli.io.formats import format_of_suffix

    path = Path(word)
    return (
        word == STDIN
        or word.lstrip().startswith("{")
        or format_of_suffix(path) is not None
        or (is_there(path) and not path.is_dir())
    )


def is_part_of_list(word: str) -> bool:
    """Whether an argument is not a file but a part of a list that the shell has split: `2]`, `cat,`.

    >>> is_part_of_list("2]"), is_part_of_list("cat,"), is_part_of_list("p.yaml")
    (True, True, False)
    """
    return _PART_OF_LIST.fullmatch(word) is not None and not os.path.lexists(word)


def check_values(parameters: Iterable[Any], args: Sequence[str]) -> None:
    """Raise AttnError where a value has spaces and no quotes around it, or a flag is followed by a value."""
    options = {name: p for p in parameters if p.param_type_name == "option" for name in (*p.opts, *p.secondary_opts)}
    for at, name in enumerate(takewhile(lambda token: token != "--", args)):
        option = options.get(name)
        if option is None:
            continue
        following = [*takewhile(lambda token: not _is_option(token), args[at + 1 :])]
        if option.is_flag:
            _check_flag(name, option, following[:1])
        elif following and option.metavar in (*_SPACED, *_JOINED):
            _check_value(name, option.metavar, following)


def _is_option(token: str) -> bool:
    """Whether an argument is the name of an option, and not a negative number."""
    return token.startswith("-") and token != STDIN and _NUMBER.match(token) is None


def _check_flag(name: str, option: Any, following: Sequence[str]) -> None:
    """Raise AttnError where a flag is followed by `yes`, `false` or the like."""
    for word in following:
        wanted = _BOOLEANS.get(word.casefold())
        if wanted is not None and not is_there(Path(word)):
            others = option.opts if name in option.secondary_opts else option.secondary_opts
            other = f"type {others[0]}" if others else "leave it out"
            raise AttnError(f"takes no value, not {word!r}", where=name, hint=f"type {name} alone" if wanted else other)


def _check_value(name: str, metavar: str, following: Sequence[str]) -> None:
    """Raise AttnError where the value of an option takes several arguments."""
    words = [following[0], *takewhile(lambda word: not _is_other(word), following[1:])]
    text = " ".join(words)
    if words[0].startswith("'") and words[-1].endswith("'") and metavar in _SPACED:
        message, hint = "single quotes are no quotes in cmd.exe", f'type {name} "{text[1:-1]}"'
        raise AttnError(message, where=name, hint=hint)
    has_brackets = any(map(is_part_of_list, words[1:])) and "[" in text
    if metavar in _MATRICES and not all(map(is_part_of_list, words[1:])):
        return
    if len(words) == 1 or (metavar == _NAMED and "=" not in words[0]):
        return
    joined = text if metavar in _SPACED or has_brackets else ",".join(word.strip(",") for word in words)
    quoted = f'"{joined}"' if os.name == "nt" or "'" in joined else f"'{joined}'"
    message = "the shell splits a value at spaces"
    raise AttnError(message, where=name, hint=f"type {name} {quoted if ' ' in joined else joined}")


def _is_other(word: str) -> bool:
    """Whether an argument is one of its own: a file, a folder or a sentence."""
    return is_problem(word) or is_there(Path(word)) or " " in word


def explain(error: Any, parameters: Iterable[Any], ref: CommandRef | None, command: str) -> AttnError:
    """The AttnError of an error of Typer, with what to type in place of an unknown name."""
    message = error.format_message().rstrip(".")
    unknown_option = getattr(error, "option_name", None)
    if unknown_option is not None and message.startswith("No such option"):
        return _unknown_option(unknown_option, parameters, ref, command)
    if extra := re.search(r"unexpected extra argument\S* \((.*)\)", message):
        words = extra[1].split()
        hint = QUOTE_HINT if any(map(is_part_of_list, words)) else _hint_of_extra(ref, command)
        return AttnError(f"unexpected argument {extra[1]}", hint=hint)
    if "does not take a value" in message:
        return AttnError("takes no value", where=unknown_option, hint=f"type {unknown_option} alone")
    return AttnError(message, hint=f"{command} --help lists the options")


def _unknown_option(name: str, parameters: Iterable[Any], ref: CommandRef | None, command: str) -> AttnError:
    """The error of an option that the command does not have."""
    from attncli.problem.names_elsewhere import hint_elsewhere

    known = [opt for p in parameters if p.param_type_name == "option" for opt in (*p.opts, *p.secondary_opts)]
    hint = hint_elsewhere(name, is_option=True)
    named = set(_OPTION.findall(hint or ""))
    if not named <= {*known, "--layer"}:
        is_near = ref is not None and ref.has_problem and named <= _of_compute()
        hint = f"attn compute has it: {hint}" if is_near else None
    if hint is None:
        near = None if name in _WRITES else did_you_mean(name, known)  # which --grad-output is not
        hint = near or _of_another_command(name, command)
    return AttnError(f"unknown option {name}", hint=hint)


def _hint_of_extra(ref: CommandRef | None, command: str) -> str:
    """What to do about an argument too many."""
    if ref is not None and ref.has_problem:
        return f"{command} takes one problem; attn compare takes several"
    return f"{command} --help shows what it takes"


def _of_compute() -> set[str]:
    """The options of `attn compute`, as far as they have the names of its parameters."""
    import inspect

    from attncli.problem.fields import option_name

    return {*map(option_name, inspect.signature(import_object(COMMANDS["compute"].function)).parameters)}


def _of_another_command(name: str, command: str) -> str:
    """What to do about an option that `attn compute` may have: a command without `--output` prints what it says."""
    if name in _WRITES:
        return f"{command} writes to standard output: add > FILE"
    has_it = name in _of_compute()
    return f"attn compute has it; {command} --help lists its own" if has_it else f"{command} --help lists the options"


def unknown_command(name: str, arguments: Sequence[str] | None = None) -> AttnError:
    """The error of a command that there is not, with what to type in its place: None of its arguments is for help."""
    import shlex

    from attncli.render.reports.meanings import find_meanings

    message = f"unknown command {name!r}"
    if (nearest := did_you_mean(name, COMMANDS)) is not None:
        return AttnError(message, hint=nearest)
    if arguments is not None and (instead := _TYPE_INSTEAD.get(name.casefold())) is not None:
        return AttnError(message, hint=f"type {instead.format(words=shlex.join(arguments)).strip()}")
    if find_meanings(name):
        return AttnError(message, hint=f"attn show {name} explains it")
    hint = "attn --help lists the commands"
    if arguments is not None and _WORD.fullmatch(name):
        hint += f"; for a sentence of one word: attn compute --sentence {name}"
    return AttnError(message, hint=hint)

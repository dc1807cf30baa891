"""The manual page attn.1, in the language of man(7): commands, options, keys of a problem, exit statuses."""

import os
import re
import textwrap
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from attncli.base.program import ENVIRONMENT, EXIT_STATUSES, __version__
from attncli.base.text import sentence
from attncli.cli import app
from attncli.cli.commands import COMMANDS
from attncli.cli.help import metavar, title_of_option, value_forms
from attncli.problem.spec import FIELDS

# Characters that roff reads as its own, or that a terminal would show as a typographic one, as in text to copy.
_ROFF = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq"}
_CODE = re.compile("`([^`]+)`")
_WIDTH = 72  # characters of a line of the source, some of which are several bytes; a terminal fills its own lines

DESCRIPTION = """
`attn` computes attention on numbers of yours and shows every step: scores, masks, weights, context, output.

A problem is a file in YAML or JSON, a file of arrays, a mapping in one argument, or a sentence. Each key of a problem
is also an option: `kv_heads: 2` in a file is `--kv-heads 2` on the command line, where the option wins.

The commands check expected numbers and name the mistake that explains a difference, compare variants, write exercises,
and read layers of checkpoints. `attn demo` walks through an example, `attn show WORD` explains a word, and
`attn help COMMAND` has the options that are used most; this page has all of them.
"""

FILES = """
A problem file has keys with values. In YAML and JSON an array is nested lists; on the command line and in a text it is
one of these:
"""

KEYS = """
The keys, each with an example; a flag is turned off by its option with `--no-` before the name. `attn list` has the
names that stand for an operator, `attn show KEY` says more of a key:
"""

OF_SEVERAL = "Options of several commands, which are named in parentheses."

SEE_ALSO = """
`attn list` lists what there is, `attn show WORD` explains each of it, `attn schema problem` writes the JSON Schema of a
problem file.
"""


def generate() -> str:
    """The page; its date is that of SOURCE_DATE_EPOCH, as in builds that can be repeated, or else today's."""
    seconds = float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    date = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    lines = [f'.TH ATTN 1 {date} "attn {__version__}" "User Commands"', ".nh", ".ad l"]
    for title, content in {
        "NAME": [r"attn \- compute attention on numbers of yours, and show every step"],
        "SYNOPSIS": _synopsis(),
        "DESCRIPTION": _paragraphs(DESCRIPTION),
        "COMMANDS": _commands(),
        "OPTIONS": [*_paragraphs(OF_SEVERAL), *_options_of_several()],
        "FILES": _files(),
        "EXIT STATUS": _pairs((str(status), text) for status, text in EXIT_STATUSES.items()),
        "ENVIRONMENT": _pairs(ENVIRONMENT.items()),
        "EXAMPLES": _examples(),
        "SEE ALSO": _paragraphs(SEE_ALSO),
    }.items():
        lines += [f".SH {title}", *content]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """The text with the characters that roff reads as its own."""
    return "".join(_ROFF.get(character, character) for character in text)


def _roff(text: str) -> str:
    """Lines of text that a terminal fills; what is between backticks is bold."""
    parts = map(_escaped, _CODE.split(text))
    marked = "".join(rf"\fB{part}\fR" if index % 2 else part for index, part in enumerate(parts))
    lines = textwrap.wrap(marked, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(rf"\&{line}" if line.startswith(".") else line for line in lines)  # it is not a macro


def _bold(name: str) -> str:
    """A name in bold, in one line."""
    return rf"\fB{_escaped(name)}\fR"


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, divided by empty lines; the first one needs no macro."""
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        yield from [".PP"] if number else []
        yield _roff(paragraph)


def _pairs(pairs: Any) -> Iterator[str]:
    """Names in bold, each with its text indented below."""
    for name, text in pairs:
        yield from (".TP", _bold(name), _roff(text))


def _synopsis() -> Iterator[str]:
    """How `attn` is called: with a problem or a sentence, or with a command."""
    yield r"\fBattn\fR [\fIPROBLEM\fR | \fISENTENCE\fR] [\fIOPTION\fR]..."
    for name in COMMANDS:
        yield ".br"
        yield f"{_bold(f'attn {name}')} {_usage(name)}"


def _usage(name: str) -> str:
    """The pieces of the usage of a command, with placeholders in italics: [OPTION]... [PROBLEM]."""
    command, context = _command(name)
    pieces = ["[OPTION]...", *command.collect_usage_pieces(context)[1:]]
    without_braces = (piece.replace("{", "").replace("}", "") for piece in pieces)
    return " ".join(re.sub("[A-Z]+", r"\\fI\g<0>\\fR", piece) for piece in without_braces)


def _program() -> tuple[Any, Any]:
    """The group of all commands as Typer has it, and the context in which it is called."""
    group: Any = typer.main.get_command(app)
    return group, typer.Context(group, info_name="attn", **group.context_settings)


def _command(name: str) -> tuple[Any, Any]:
    """A command as Typer has it, and the context in which it is called."""
    group, root = _program()
    command = group.get_command(root, name)
    return command, typer.Context(command, info_name=name, parent=root)


def _own_parameters(name: str) -> Sequence[Any]:
    """The arguments and options of a command, without those that are keys of a problem."""
    command, context = _command(name)
    has_keys = COMMANDS[name].has_problem
    return [p for p in command.get_params(context) if not has_keys or p.name not in FIELDS]


def _rows_by_commands() -> dict[tuple[str, str], list[str]]:
    """The commands that have an option, for each title of an option with its text."""
    found = defaultdict(list)
    for name in COMMANDS:
        for parameter in _own_parameters(name):
            if parameter.param_type_name == "option":
                found[title_of_option(parameter), parameter.help or ""].append(name)
    return found


def _commands() -> Iterator[str]:
    """Each command: what it does, its arguments, the options that no other command has."""
    owners = _rows_by_commands()
    for name, row in COMMANDS.items():
        yield f".SS attn {_escaped(name)}"
        yield _roff(row.summary + (" Every key of a problem is an option." if row.has_problem else ""))
        parameters = _own_parameters(name)
        yield from _pairs((metavar(p), p.help) for p in parameters if p.param_type_name == "argument" and p.help)
        yield from _pairs(option for option, commands in owners.items() if commands == [name])


def _options_of_several() -> Iterator[str]:
    """The options that several commands have, each with these, and those of `attn` itself."""
    for (title, text), names in _rows_by_commands().items():
        if len(names) > 1:
            commands = "every command" if len(names) == len(COMMANDS) else ", ".join(names)
            yield from _pairs([(title, f"{text} ({commands})")])
    group, context = _program()
    own = [p for p in group.get_params(context) if "--help" not in p.opts]
    yield from _pairs((title_of_option(option), f"{option.help} (attn itself)") for option in own)


def _files() -> Iterator[str]:
    """What a problem file has: the forms of values, and the keys by their panels."""
    yield _roff(FILES)
    yield from _pairs(value_forms())
    yield ".PP"
    yield _roff(KEYS)
    for panel in dict.fromkeys(field.panel for field in FIELDS.values()):
        yield f".SS {_escaped(panel)}"
        fields = [field for field in FIELDS.values() if field.panel == panel]
        yield from _pairs((f"{field.name}: {field.example}", sentence(field.help)) for field in fields)


def _examples() -> Iterator[str]:
    """The examples of every command, as lines to copy."""
    yield ".EX"
    for row in COMMANDS.values():
        for example in map(_escaped, row.examples):
            lines = textwrap.wrap(
                example, _WIDTH, drop_whitespace=False, break_long_words=False, break_on_hyphens=False
            )
            yield "\\\n".join(lines)  # one line for readers: a backslash at the end goes on with it
    yield ".EE"

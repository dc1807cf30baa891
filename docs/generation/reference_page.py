"""The pages of the reference: keys, results, operators, formats, commands and exit statuses, from the records."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import typer

from attncli.base.axes import LEGEND
from attncli.base.program import ENVIRONMENT, EXIT_STATUSES
from attncli.base.text import sentence
from attncli.checks.slips import SLIPS
from attncli.cli import app
from attncli.cli.commands import COMMANDS
from attncli.cli.help import value_forms
from attncli.io.formats import INPUT_FORMATS
from attncli.io.problem_files import EXAMPLE_KEYS
from attncli.ops import kinds, operators
from attncli.ops.records import OperatorRecord
from attncli.ops.registry import plural_of
from attncli.plan.build import purposes
from attncli.problem.conventions import CONVENTIONS, readings
from attncli.problem.fields import DEFAULT_SELECTION, RESULTS, Field
from attncli.problem.spec import DEFAULTS, FIELDS
from attncli.render.formats import FORMATS
from attncli.render.glossary import GLOSSARY, GlossaryTerm
from attncli.render.meanings import every_step

from .edge_cases import EDGE_CASES
from .json_tables import JSON_TABLES
from .markdown import table, title_of

FOLDER = "reference"
INDEX = "index.md"

HEAD = """# Reference

Generated from the program's records. The same on the command line: `attn compute --help`, `attn list`,
`attn show NAME`. The [guides](../index.md#guides) show what things are used for.

In brackets are the axes of an array, in letters:
"""

KEYS = f"""# Keys of a problem

Every key of a problem file is an option of `attn compute` and a keyword of `attncli.Problem`: `kv_heads: 2` is
`--kv-heads 2` and `kv_heads=2`. An option wins over the file, and the last of an option given twice over the first.
A problem file may also have
{", ".join(f"`{key}`" for key in EXAMPLE_KEYS)}, which `attn demo` reads and `attn compute` ignores.
"""

FORMS = """## How values are written

A matrix or a vector on the command line; in YAML and JSON nested lists, or one of the others as a text:
"""

SEVERAL = """`attn compare` takes several values: `--vary scale=0.5,1`, or `--scale 0.5,1`. Of a key that is one number
every comma divides values, and `1..30` is a range of whole numbers. Of a key whose values are names (operators, words,
true and false) a comma begins another value where a name follows it: `score=gaussian:sigma=2,dot` is two,
`score=additive:w1=a.csv,w2=b.csv` one. Other values have commas of their own: `--vary window=1,0 --vary window=2,0`.
"""

OWN_OPERATORS = """An option takes an operator of your own too, a function with one of attncli's decorators
([how](../architecture.md#how-to-add-)): `--score my_module:function:key=value` or `mine.py:function`. The module is
imported, which runs its code, as any import does: name only what you trust. A problem file imports nothing; an
installed package brings its operators by an entry point.
"""

RESULT_NAMES = f"""# Results and steps

The names for `--select`, in JSON and files, and of the attributes of `attncli.Result`. Without `--select` they are
{", ".join(f"`{name}`" for name in DEFAULT_SELECTION)}. Every step can be selected too, where a problem has it;
those inside an operator are in `attn show NAME`.
"""

INPUTS = """# Formats

## Formats that are read

By the suffix; without one of these, by the content, as that of a pipe and of `-` (standard input).
"""

EDGES = """# Where a formula does not say

What happens where scores are equal, nothing is attended, or a number is out of the usual range.
"""

SLIP_NAMES = """# Slips

What `attn check` tries where numbers differ, one by one and in pairs, in this order; `attn show NAME` says the same.
"""

CONVENTION_NAMES = """# Conventions

How frameworks read the words of a problem, for `--as`; `attn show NAME` says the same. Words that are not named are
read as without a convention. [The guide](../conventions.md) compares them.
"""

OUTPUTS = """## Formats that are written

By the suffix of `--output`, or by the name after `--format`.
"""


def pages() -> dict[str, str]:
    """The pages as Markdown by their paths, in the order in which they are read."""
    forms = [(f"`{form}`", meaning) for form, meaning in value_forms()]
    plurals = {plural_of(kind): kind for kind in kinds()}
    found: dict[str, Iterable[str]] = {
        "keys.md": (
            *(KEYS, *_keys()),
            *(FORMS, table(("written", "what it is"), forms), SEVERAL, OWN_OPERATORS),
        ),
        "results.md": (
            *(RESULT_NAMES, table(("result", "what it is"), [(f"`{name}`", purposes()[name]) for name in RESULTS])),
            table(("step", "axes", "what it is for"), _steps()),
        ),
        "operators.md": (
            "# Operators",
            *(part for plural, kind in plurals.items() for part in _operators(plural, kind)),
        ),
        "edge_cases.md": (
            EDGES,
            table(("case", "what happens"), [(edge.case, edge.what_happens) for edge in EDGE_CASES]),
        ),
        "slips.md": (SLIP_NAMES, table(("name", "what is done", "it can be made where"), _slips())),
        "conventions.md": (
            CONVENTION_NAMES,
            table(("name", "what it is", "its words", "unless given", "source"), _conventions()),
        ),
        "formats.md": (
            *(INPUTS, table(("suffix", "format", "an array", "a problem"), _input_formats())),
            *(OUTPUTS, table(("suffix", "`--format`", "what it is"), _output_formats())),
        ),
        "commands.md": (
            "# Commands",
            *_commands(),
            "## Exit statuses",
            table(("status", "meaning"), [(str(n), text) for n, text in EXIT_STATUSES.items()]),
            "## Environment",
            table(("variable", "meaning"), [(f"`{name}`", text) for name, text in ENVIRONMENT.items()]),
        ),
        "json.md": ("# JSON of the commands", *_json_tables()),
        "words.md": ("# Words", table(("word", "also", "meaning", "source"), map(_term, GLOSSARY))),
    }
    texts = {name: "\n".join(f"{part.rstrip()}\n" for part in parts) for name, parts in found.items()}
    legend = ", ".join(f"`{letter}` {meaning}" for letter, meaning in LEGEND.items())
    contents = "\n".join(f"- [{title_of(text)}]({name})" for name, text in texts.items())
    return {INDEX: f"{HEAD}\n{legend}.\n\n{contents}\n", **texts}


def _keys() -> Iterator[str]:
    """A heading and a table of the keys of each panel, of which those come last that are rarely given."""
    for panel in dict.fromkeys(field.panel for field in FIELDS.values()):
        fields = [field for field in FIELDS.values() if field.panel == panel]
        yield f"## {panel}"
        yield table(("key", "value", "default", "example", "what it is"), map(_key, fields))


def _json_tables() -> Iterator[str]:
    """The tables of the objects that `--json` writes."""
    for head, keys in JSON_TABLES:
        yield head
        yield table(("key", "what it is"), [(f"`{key}`", meaning) for key, meaning in keys.items()])


def _key(field: Field) -> Sequence[str]:
    """The row of a key."""
    default = "" if DEFAULTS[field.name] in (None, False) else f"`{DEFAULTS[field.name]}`"
    return f"`{field.name}`", _value_of(field), default, f"`{field.example}`", sentence(field.help)


def _value_of(field: Field) -> str:
    """What the value of a key is: its axes, its words, or its kind."""
    if field.letters and field.kind != "labels":
        axes = f"[{' '.join(field.letters)}]"
        axes += f" or [{' '.join((*field.letters, *field.trailing))}]" if field.trailing else ""
        return f"{axes} or the name of a mask" if field.kind == "boolean_matrix" else axes
    if field.words:
        return ", ".join(f"`{word}`" for word in field.words)
    if field.kind in kinds():
        plural = plural_of(field.kind)
        return f"one of [{plural}](operators.md#{plural})"
    above, least = field.above, field.least
    bound = f" > {above:g}" if above is not None else f" ≥ {least:g}" if least is not None else ""
    return f"{'true or false' if field.kind == 'flag' else field.kind}{bound}"


def _steps() -> Iterator[Sequence[str]]:
    """The rows of the steps that are neither keys nor results, with the axes that they have in the first plan."""
    plurals = {record.summary: plural_of(kind) for kind in kinds() for record in operators(kind).values()}
    for name, (step, *_) in every_step().items():
        if name not in RESULTS and name not in FIELDS and "." not in name:  # a point: a parameter of an operator
            plural = plurals.get(step.purpose)
            purpose = step.purpose if plural is None else f"What one of the [{plural}](operators.md#{plural}) gives."
            yield f"`{name}`", f"[{' '.join(step.letters)}]", purpose


def _term(term: GlossaryTerm) -> Sequence[str]:
    """The row of a word of the glossary."""
    return f"**{term.name}**", ", ".join(term.aliases), term.text, term.source


def _operators(plural: str, kind: str) -> Iterator[str]:
    """The heading of a kind of operators and a table of them, those of other packages left out."""
    records = [record for record in operators(kind).values() if record.is_built_in]
    yield f"## {plural.capitalize()}"
    yield table(("name", "what it is", "formula", "parameters", "source"), map(_operator, records))


def _operator(record: OperatorRecord) -> Sequence[str]:
    """The row of an operator."""
    parameters = "<br>".join(f"`{parameter}`" for parameter in record.parameters)
    return f"`{record.name}`", record.summary, f"`{' '.join(record.formula.split())}`", parameters, record.source


def _slips() -> Iterator[Sequence[str]]:
    """The rows of the slips."""
    for slip in SLIPS.values():
        yield f"`{slip.name}`", slip.sentence, slip.applies_where


def _conventions() -> Iterator[Sequence[str]]:
    """The rows of the conventions."""
    for convention in CONVENTIONS.values():
        words = "<br>".join(f"`{word}`: {text}" for word, text in readings(convention))
        defaults = "<br>".join(f"`{key}: {value}`" for key, value in convention.defaults.items())
        yield f"`{convention.name}`", f"{convention.title}; {convention.evidence}", words, defaults, convention.source


def _input_formats() -> Iterator[Sequence[str]]:
    """The rows of the formats that are read."""
    for row in INPUT_FORMATS:
        holds = ["yes", "yes" if row.holds_problems else ""]
        yield ", ".join(f"`{suffix}`" for suffix in row.suffixes), row.name, *holds


def _output_formats() -> Iterator[Sequence[str]]:
    """The rows of the formats that are written."""
    for row in FORMATS:
        facts = ["exact numbers" if row.is_lossless else "rounded numbers, for reading"]
        if row.is_figure:
            facts = ["the figure of the selected results"]
        elif row.is_code:
            facts = ["a notebook of NumPy" if row.has_parts else "a script that computes the results again"]
        elif row.shows_every_step:
            facts = [f"the page: every step, up to {row.every_step_size:,} numbers"]
        if row.is_object:
            facts.append("the selected results under their names, with `--explain` also the steps")
        if row.picture is not None:
            facts.append("into a `.svg` a picture of the terminal")
        if row.holds_one_array:
            facts.append("one result")
        elif row.is_binary and row.is_lossless:
            facts.append("the selected results under their names")
        suffixes = ", ".join(f"`{suffix}`" for suffix in row.suffixes)
        yield suffixes, f"`{row.name}`" if row.is_choice else "", "; ".join(facts)


def _commands() -> Iterator[str]:
    """The heading, the summary and the options of each command, without those that are keys of a problem."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="attn")
    for name, ref in COMMANDS.items():
        command = group.get_command(context, name)
        parameters = [p for p in command.params if not ref.has_problem or p.name not in FIELDS]
        yield f"## attn {name}"
        yield ref.summary + (" Every key of a problem is an option." if ref.has_problem else "")
        yield table(("option", "what it does"), map(_option, parameters))


def _option(parameter: Any) -> Sequence[str]:
    """The row of an argument or an option."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`", parameter.help
    names = ", ".join(f"`{name}`" for name in parameter.opts)
    return names if parameter.is_flag else f"{names} `{parameter.metavar}`", parameter.help

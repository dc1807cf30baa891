"""Operators as text for a terminal: a line for each, or all fields of the record of one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from attncli.base.axes import LEGEND
from attncli.ops.records import OperatorRecord
from attncli.render.formats.terminal import console_text, open_console
from attncli.render.target import TextTarget


def render_list(groups: Iterable[tuple[str, Sequence[OperatorRecord]]], target: TextTarget) -> str:
    """The name and the summary of each operator, under the title of its group."""
    console = open_console(target)
    for title, records in groups:
        console.print(Text(title, "bold"))
        _print_two_columns(console, [(Text(record.name, "cyan"), Text(record.summary)) for record in records])
    return console_text(console).rstrip("\n") + "\n"


def render_records(records: Iterable[OperatorRecord], target: TextTarget) -> str:
    """The fields of each record: its formula, shapes, parameters, source and example."""
    console = open_console(target)
    for record in records:
        console.print(Text.assemble((record.name, "bold"), f"  ({record.kind})"))
        console.print(Text(f"  {record.summary}"))
        _print_two_columns(console, [(title, Text(text)) for title, text in _facts(record)], "dim")
    return console_text(console).rstrip("\n") + "\n"


def _print_two_columns(console: Console, lines: Iterable[tuple[Text | str, Text]], style: str = "") -> None:
    """A table without rules, its first column in a style and its second one wrapped, and an empty line."""
    table = Table(box=None, show_header=False, pad_edge=True)
    table.add_column(style=style, no_wrap=True)
    table.add_column()
    for line in lines:
        table.add_row(*line)
    console.print(table)
    console.print()


def _facts(record: OperatorRecord) -> Iterable[tuple[str, str]]:
    """The title and the text of each line about an operator; a line without a title continues the one above."""
    yield "formula", record.formula
    shapes = ", ".join(f"{name}[{' '.join(axes)}]" for name, axes in record.shapes.arrays.items())
    if shapes:
        yield "shapes", f"{shapes} → [{' '.join(record.shapes.result)}]"
        every_axis = [axis for axes in (*record.shapes.arrays.values(), record.shapes.result) for axis in axes]
        letters = {letter for axis in every_axis for letter in axis.split("+")}
        yield "", ", ".join(f"{letter} {meaning}" for letter, meaning in LEGEND.items() if letter in letters)
    for number, parameter in enumerate(record.parameters):
        yield "" if number else "parameters", str(parameter)
    for number, inner in enumerate(record.inner):
        yield "" if number else "steps inside", f"{inner.name} = {inner.formula}"
    yield "source", record.source
    yield "example", _format_example(record.example)


def _format_example(example: Mapping[str, Any]) -> str:
    """The arguments of an example and its result, one a line."""
    arguments = [f"{name} = {value}" for name, value in example.items() if name != "gives"]
    result = [f"gives {example['gives']}"] if "gives" in example else []
    return "\n".join([*arguments, *result])

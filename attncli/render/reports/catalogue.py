"""Records of the catalogue as text: a line for each, or everything about one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from attncli.base.axes import LEGEND
from attncli.ops.registry import OperatorRecord
from attncli.render.formats.terminal import TextTarget, closed, open_console


def listed(groups: Iterable[tuple[str, Sequence[OperatorRecord]]], screen: TextTarget) -> str:
    """Name, formula and sentence of each record, under the name of its kind."""
    console = open_console(screen)
    for title, group in groups:
        console.print(Text(title, "bold"))
        table = Table(box=None, show_header=False, pad_edge=True)
        table.add_column(no_wrap=True)
        table.add_column()
        for record in group:
            table.add_row(Text(record.name, "cyan"), Text(record.summary))
        console.print(table)
        console.print()
    return closed(console).rstrip("\n") + "\n"


def shown(found: Iterable[OperatorRecord], screen: TextTarget) -> str:
    """Everything a record says."""
    console = open_console(screen)
    for record in found:
        console.print(Text.assemble((record.name, "bold"), f"  ({record.kind})"))
        console.print(Text(f"  {record.summary}"))
        table = Table(box=None, show_header=False, pad_edge=True)
        table.add_column(style="dim", no_wrap=True)
        table.add_column()
        for title, text in _facts(record):
            table.add_row(title, Text(text))
        console.print(table)
        console.print()
    return closed(console).rstrip("\n") + "\n"


def _facts(record: OperatorRecord) -> Iterable[tuple[str, str]]:
    """What is said about an record, line by line."""
    yield "formula", record.formula
    shapes = ", ".join(f"{name}[{' '.join(axes)}]" for name, axes in record.shapes.arrays.items())
    if shapes:
        yield "shapes", f"{shapes} → [{' '.join(record.shapes.result)}]"
        letters = {
            letter
            for axes in (*record.shapes.arrays.values(), record.shapes.result)
            for axis in axes
            for letter in axis.split("+")
        }
        yield "", ", ".join(f"{letter} {meaning}" for letter, meaning in LEGEND.items() if letter in letters)
    for number, parameter in enumerate(record.parameters):
        yield "" if number else "parameters", str(parameter)
    for number, inner in enumerate(record.inner):
        yield "" if number else "steps inside", f"{inner.name} = {inner.formula}"
    yield "source", record.source
    yield "example", _example(record.example)


def _example(example: Mapping[str, Any]) -> str:
    """The numbers that go in and the one that comes out."""
    given = [f"{name} = {value}" for name, value in example.items() if name != "gives"]
    gives = [f"gives {example['gives']}"] if "gives" in example else []
    return "\n".join([*given, *gives])

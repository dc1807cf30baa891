"""The template of a call as lines of code: names, options and lengths in place of braces, in the names of a library."""

import re
from collections.abc import Mapping
from typing import Any

from attncli.code.literals import option_text
from attncli.code.names import in_torch
from attncli.ops.code import Code, CodeCall, Library, NoCode, Template
from attncli.ops.derivatives import DerivativeRecord
from attncli.ops.records import OperatorRecord, StructuralRecord

Record = OperatorRecord | StructuralRecord | DerivativeRecord


def template_of(record: Record | None, call: CodeCall, library: Library) -> Template | NoCode | None:
    """The template of a call, in NumPy's names unless PyTorch has others for more than these; None without code."""
    code = None if record is None else record.code
    rule = code.rule(library) if isinstance(code, Code) else code
    return rule(call) if callable(rule) else rule


def filled(
    template: Template, record: Record | None, call: CodeCall, library: Library, ranks: Mapping[str, int]
) -> list[str]:
    """The lines of a template, of which the last is the value; `ranks` are the axes of variables, by their names."""
    lines = template.format_map(_names(record, call)).split("\n")
    lines = [_with_transposes(_with_plain_shapes(line), ranks) for line in lines]
    return list(map(in_torch, lines)) if library == "torch" else lines


def _names(record: Record | None, call: CodeCall) -> Mapping[str, str]:
    """What is in the place of the names in braces: variables, options, and the lengths of axes by their letters."""
    names = {name: option_text(value) for name, value in call.options.items()}
    if not isinstance(record, OperatorRecord):
        return {**names, **call.variables}
    lengths = dict[str, Any]()
    for argument, letters in record.shapes.arrays.items():
        shape = call.shapes.get(argument, ())
        lengths |= dict(zip(reversed(letters), map(str, reversed(shape)), strict=False))
    inner = {quantity.name: f"{quantity.name}_" for quantity in record.inner}  # of those that are not steps
    return {**lengths, **inner, **names, **call.variables}


def _with_plain_shapes(line: str) -> str:
    """A line in which `x.reshape((2, 3))` is `x.reshape(2, 3)`."""
    return re.sub(r"\.reshape\(\(([^()]*?),?\)\)", r".reshape(\1)", line)


def _with_transposes(line: str, ranks: Mapping[str, int]) -> str:
    """A line in which `x.mT` is what both libraries have for it, and a column of a vector is written `x[:, None]`."""

    def transposed(found: re.Match[str]) -> str:
        return f"{found[1]}.T" if ranks.get(found[1]) == 2 else f"{found[1]}.swapaxes(-1, -2)"

    def column(found: re.Match[str]) -> str:
        return f"{found[1]}[:, None]" if ranks.get(found[1]) == 1 else found[0]

    line = re.sub(r"(\w+)\[\.\.\., None\]", column, line)
    return re.sub(r"([\w)\]]+)\.mT", transposed, line)

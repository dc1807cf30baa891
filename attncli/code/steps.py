"""The steps of a run as code: inputs as arrays, and every computed step by the rule of its function."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.code.literals import TITLES, ArrayWriter, in_torch, option_text, variable_of
from attncli.engine.dense import evaluate_input
from attncli.ops.code import Code, CodeCall, Library, NoCode, Template
from attncli.ops.derivatives import DerivativeRecord
from attncli.ops.recording.arrays import NotRecordedError
from attncli.ops.records import OperatorRecord, StructuralRecord
from attncli.ops.registry import is_recorded, record_of
from attncli.plan.graph import Node
from attncli.plan.trace import Trace
from attncli.render.view import View, explained_names


@dataclass(frozen=True)
class CodeStep:
    """One step as lines of code; the first ends with its axes in a comment."""

    node: Node
    lines: tuple[str, ...]

    @property
    def is_given(self) -> bool:
        """Whether it is an array of the problem."""
        return self.node.is_input


def code_steps(view: View, arrays: ArrayWriter) -> list[CodeStep]:
    """The steps before the selected results, in order; `arrays` writes the inputs.

    Raises AttnError if a step has no code.
    """
    writer = StepWriter(view.result.trace, arrays)
    return [CodeStep(node, tuple(writer.lines(node))) for node in writer.nodes(view)]


class StepWriter:
    """Writes the steps of a trace in one library."""

    def __init__(self, trace: Trace, arrays: ArrayWriter) -> None:
        self.trace = trace
        self.arrays = arrays
        self.library = arrays.library

    def nodes(self, view: View) -> Iterator[Node]:
        """The written nodes: an operator's lines include its inner quantities."""
        plan = self.trace.plan
        needed = explained_names(self.trace.problem, plan, view.result.select)
        for node in plan.nodes:
            if node.name in needed and node.tapped_from is None and (not node.is_on_demand or node.name in self.trace):
                yield node

    def lines(self, node: Node) -> list[str]:
        """The lines of a node, which becomes the variable of its name."""
        variable, comment = variable_of(node.name), f"  # {_axes_comment(node)}"
        if node.is_input:
            first, *more = self.arrays.lines(node.name, self._given(node))
            return [f"{variable} = {first}{comment}", *more]
        record, call = record_of(node.function) if node.function is not None else None, self._call(node)
        template = template_of(record, call, self.library)
        if template is None and is_recorded(record):
            *before, value = self._recorded(node, call)
        elif not isinstance(template, str):
            raise self._refusal(node, template)
        else:
            *before, value = filled(template, record, call, self.library, self._ranks)
        return [*map(self._with_axes, before), f"{variable} = {value}{comment}"]

    def _recorded(self, node: Node, call: CodeCall) -> list[str]:
        """The lines of a node from a recording of its function; raises AttnError if it can't be recorded."""
        from attncli.ops.recording.code import code_of  # noqa: PLC0415 - most operators have rules
        from attncli.ops.recording.derivatives import RecordedDerivative, is_of_this_package, recording_of  # noqa: PLC0415
        from attncli.ops.recording.guard import check_follows, numbers_for  # noqa: PLC0415

        shapes, values = call.shapes, call.values
        arrays = {name: values[name] if name in values else numbers_for(name, shapes[name], 0) for name in node.inputs}
        try:
            made = recording_of(node.function, arrays, node.options)
            if made is None:
                assert isinstance(node.function, RecordedDerivative)
                return [f"0 * {call.variables.get(node.function.argument, 0)}"]
            reason = "" if is_of_this_package(node.function) else check_follows(made, node.function, node.options)
            lines = code_of(made, call.variables, self._ranks)
        except NotRecordedError as error:
            raise self._refusal(node, NoCode(str(error))) from None
        if reason:
            raise self._refusal(node, NoCode(reason))
        return list(map(in_torch, lines)) if self.library == "torch" else lines

    def _refusal(self, node: Node, reason: NoCode | None) -> AttnError:
        """The error for a node whose function has no code."""
        name = f"the step {node.title}" if node.record is None else node.title
        why = f"can't be written as code: {reason.reason}" if reason else f"has no code in {TITLES[self.library]}"
        return AttnError(f"{name} {why}", hint="an array file, such as -o result.npz, has its numbers")

    def _with_axes(self, line: str) -> str:
        """A line that computes an inner quantity, with that quantity's axes."""
        inner = self._inner.get(line.partition(" = ")[0])
        return line if inner is None else f"{line}  # {_axes_comment(inner)}"

    @cached_property
    def _inner(self) -> Mapping[str, Node]:
        """The inner quantities that are steps, by their variables."""
        return {variable_of(node.name): node for node in self.trace.plan.nodes if node.tapped_from is not None}

    @cached_property
    def _ranks(self) -> Mapping[str, int]:
        """The number of axes of each variable."""
        return {variable_of(node.name): len(node.shape) for node in self.trace.plan.nodes}

    def _given(self, node: Node) -> Array:
        """The array of an input, even if the run has not kept it."""
        if node.name in self.trace.values:
            return self.trace.values[node.name]
        return evaluate_input(node, self.trace.problem, self.trace.precision)

    def _call(self, node: Node) -> CodeCall:
        """The facts about the call that computes a node."""
        by_name, values = self.trace.plan.by_name, self.trace.values
        variables = {argument: variable_of(name) for argument, name in node.inputs.items()}
        variables |= {name: variable_of(own) for name, own in node.taps.items()}
        shapes = {argument: by_name[name].shape for argument, name in node.inputs.items()}
        known = {argument: values[name] for argument, name in node.inputs.items() if name in values}
        return CodeCall(variables, shapes, node.options, node.shape, known)


def _axes_comment(node: Node) -> str:
    """The axes of a node with their lengths: `(n=4, d=3)`."""
    return f"({', '.join(f'{axis.letter}={axis.length}' for axis in node.axes)})" if node.axes else "a number"


Record = OperatorRecord | StructuralRecord | DerivativeRecord


def template_of(record: Record | None, call: CodeCall, library: Library) -> Template | NoCode | None:
    """The template of a call, in NumPy's names unless PyTorch has a separate one; None without code."""
    code = None if record is None else record.code
    rule = code.rule(library) if isinstance(code, Code) else code
    return rule(call) if callable(rule) else rule


def filled(
    template: Template, record: Record | None, call: CodeCall, library: Library, ranks: Mapping[str, int]
) -> list[str]:
    """The lines of a template, the last with the value; `ranks` has the number of axes of variables."""
    lines = template.format_map(_names(record, call)).split("\n")
    lines = [_with_transposes(_with_plain_shapes(line), ranks) for line in lines]
    return list(map(in_torch, lines)) if library == "torch" else lines


def _names(record: Record | None, call: CodeCall) -> Mapping[str, str]:
    """The replacements for names in braces: variables, options, and lengths by axis letters."""
    names = {name: option_text(value) for name, value in call.options.items()}
    if not isinstance(record, OperatorRecord):
        return {**names, **call.variables}
    lengths = dict[str, Any]()
    for argument, letters in record.shapes.arrays.items():
        shape = call.shapes.get(argument, ())
        lengths |= dict(zip(reversed(letters), map(str, reversed(shape)), strict=False))
    inner = {quantity.name: f"{quantity.name}_" for quantity in record.inner}  # quantities that are not steps
    return {**lengths, **inner, **names, **call.variables}


def _with_plain_shapes(line: str) -> str:
    """A line with `x.reshape(2, 3)` for `x.reshape((2, 3))`."""
    return re.sub(r"\.reshape\(\(([^()]*?),?\)\)", r".reshape(\1)", line)


def _with_transposes(line: str, ranks: Mapping[str, int]) -> str:
    """A line with the transposition that both libraries have for `x.mT`, and `x[:, None]` for a column of a vector."""

    def transposed(found: re.Match[str]) -> str:
        return f"{found[1]}.T" if ranks.get(found[1]) == 2 else f"{found[1]}.swapaxes(-1, -2)"

    def column(found: re.Match[str]) -> str:
        return f"{found[1]}[:, None]" if ranks.get(found[1]) == 1 else found[0]

    line = re.sub(r"(\w+)\[\.\.\., None\]", column, line)
    return re.sub(r"([\w)\]]+)\.mT", transposed, line)

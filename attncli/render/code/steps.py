"""The steps of a run as code: what was given as arrays, and every step that is computed by the rule of its function."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.engine.dense import evaluate_input
from attncli.ops.code import Code, CodeCall, CodeRule, NoCode, Template
from attncli.ops.records import OperatorRecord
from attncli.ops.registry import record_of
from attncli.plan.graph import Node
from attncli.plan.trace import Trace
from attncli.render.code.literals import ArrayWriter, option_text
from attncli.render.code.names import TITLES, in_torch, variable_of
from attncli.render.view import View, explained_names

INDENT = "    "


@dataclass(frozen=True)
class CodeStep:
    """One step as lines of code, of which the first ends with its axes in a comment."""

    node: Node
    lines: tuple[str, ...]

    @property
    def is_given(self) -> bool:
        """Whether it is an array of the problem."""
        return self.node.is_input


def code_steps(view: View, arrays: ArrayWriter) -> list[CodeStep]:
    """The steps that the selected results are computed from, in order; `arrays` writes what was given.

    Raises AttnError where a step has no code.
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
        """The nodes that are written: inner quantities are among the lines of their operator."""
        plan = self.trace.plan
        needed = explained_names(self.trace.problem, plan, view.result.select)
        for node in plan.nodes:
            if node.name in needed and node.tapped_from is None and (not node.is_on_demand or node.name in self.trace):
                yield node

    def lines(self, node: Node) -> list[str]:
        """The lines of a node: it becomes the variable that has its name."""
        variable, comment = variable_of(node.name), _axes_comment(node)
        if node.is_input:
            first, *more = self.arrays.lines(node.name, self._given(node))
            return _with_comment([f"{variable} = {first}", *more], comment)
        *before, value = self._template(node).format_map(self._names(node)).split("\n")
        lines = [*before, f"{variable} = {value}"]
        lines = [_with_plain_shapes(self._with_transposes(line)) for line in lines]
        lines = list(map(in_torch, lines)) if self.library == "torch" else lines
        return [*map(self._with_axes, lines[:-1]), *_with_comment(lines[-1:], comment)]

    def _with_axes(self, line: str) -> str:
        """A line that computes an inner quantity, with the axes of that."""
        inner = self._inner.get(line.partition(" = ")[0])
        return line if inner is None else f"{line}  # {_axes_comment(inner)}"

    @cached_property
    def _inner(self) -> Mapping[str, Node]:
        """The inner quantities that are steps, by their variables."""
        return {variable_of(node.name): node for node in self.trace.plan.nodes if node.tapped_from is not None}

    def _given(self, node: Node) -> Array:
        """The array of an input, also where the run has not kept it."""
        problem = self.trace.problem
        return (
            self.trace.values[node.name]
            if node.name in self.trace.values
            else evaluate_input(node, problem, problem.precision)
        )

    def _template(self, node: Node) -> Template:
        """The template of a node's code; raises AttnError where its function has none."""
        record = record_of(node.function) if node.function is not None else None
        template = self._in_library(None if record is None else record.code, self._call(node))
        if isinstance(template, str):
            return template
        name = f"{record.kind} {record.name}" if isinstance(record, OperatorRecord) else f"the step {node.name}"
        why = template.reason if template is not None else f"{name} has no code in {TITLES[self.library]}"
        others = "an array file such as .npz has its numbers"
        raise AttnError(f"{name} can't be written as code: {why}" if template else why, hint=others)

    def _in_library(self, code: Code | CodeRule | None, call: CodeCall) -> Template | NoCode | None:
        """The template of a call, in NumPy's names unless PyTorch has others for more than these."""
        own = code.rule(self.library) if isinstance(code, Code) else code
        return own(call) if callable(own) else own

    def _call(self, node: Node) -> CodeCall:
        """What is known of the call that computes a node."""
        by_name, values = self.trace.plan.by_name, self.trace.values
        variables = {argument: variable_of(name) for argument, name in node.inputs.items()}
        variables |= {name: variable_of(own) for name, own in node.taps.items()}
        shapes = {argument: by_name[name].shape for argument, name in node.inputs.items()}
        known = {argument: values[name] for argument, name in node.inputs.items() if name in values}
        return CodeCall(variables, shapes, node.options, node.shape, known)

    def _names(self, node: Node) -> Mapping[str, str]:
        """What is in the place of the names in braces: variables, options, and the lengths of axes."""
        call = self._call(node)
        names = {name: option_text(value) for name, value in node.options.items()}
        record = node.record
        if record is None:
            return {**names, **call.variables}
        lengths = dict[str, str]()
        for argument, letters in record.shapes.arrays.items():
            shape = call.shapes.get(argument, ())
            lengths |= dict(zip(reversed(letters), map(str, reversed(shape)), strict=False))
        inner = {quantity.name: self._free_name(quantity.name) for quantity in record.inner}
        return {**lengths, **inner, **names, **call.variables}

    def _free_name(self, name: str) -> str:
        """The name of a variable that is not a step."""
        return f"{name}_" if name in self.trace.plan.by_name else name

    def _with_transposes(self, line: str) -> str:
        """A line in which `x.mT` is what both libraries have for it."""
        ranks = {variable_of(node.name): len(node.shape) for node in self.trace.plan.nodes}

        def transposed(found: re.Match[str]) -> str:
            return f"{found[1]}.T" if ranks.get(found[1]) == 2 else f"{found[1]}.swapaxes(-1, -2)"

        return re.sub(r"([\w)\]]+)\.mT", transposed, line)


def _with_plain_shapes(line: str) -> str:
    """A line in which `x.reshape((2, 3))` is `x.reshape(2, 3)`."""
    return re.sub(r"\.reshape\(\(([^()]*?),?\)\)", r".reshape(\1)", line)


def _axes_comment(node: Node) -> str:
    """The axes of a node with their lengths: `(n=4, d=3)`."""
    return f"({', '.join(f'{axis.letter}={axis.length}' for axis in node.axes)})" if node.axes else "a number"


def _with_comment(lines: list[str], comment: str) -> list[str]:
    """Lines of code with a comment behind the first."""
    first, *more = lines
    return [f"{first}  # {comment}", *more]

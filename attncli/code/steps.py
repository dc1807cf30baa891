"""The steps of a run as code: what was given as arrays, and every step that is computed by the rule of its function."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.code.literals import ArrayWriter
from attncli.code.names import TITLES, in_torch, variable_of
from attncli.code.templates import filled, template_of
from attncli.engine.dense import evaluate_input
from attncli.ops.code import CodeCall, NoCode
from attncli.ops.recording.arrays import NotRecordedError
from attncli.ops.registry import is_recorded, record_of
from attncli.plan.graph import Node
from attncli.plan.trace import Trace
from attncli.render.view import View, explained_names


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
        """The lines of a node whose function says what it computes; raises AttnError where it can't be read off."""
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
        """The error of a node whose function has no code."""
        name = f"the step {node.title}" if node.record is None else node.title
        why = f"can't be written as code: {reason.reason}" if reason else f"has no code in {TITLES[self.library]}"
        return AttnError(f"{name} {why}", hint="an array file, such as -o result.npz, has its numbers")

    def _with_axes(self, line: str) -> str:
        """A line that computes an inner quantity, with the axes of that."""
        inner = self._inner.get(line.partition(" = ")[0])
        return line if inner is None else f"{line}  # {_axes_comment(inner)}"

    @cached_property
    def _inner(self) -> Mapping[str, Node]:
        """The inner quantities that are steps, by their variables."""
        return {variable_of(node.name): node for node in self.trace.plan.nodes if node.tapped_from is not None}

    @cached_property
    def _ranks(self) -> Mapping[str, int]:
        """How many axes each variable has."""
        return {variable_of(node.name): len(node.shape) for node in self.trace.plan.nodes}

    def _given(self, node: Node) -> Array:
        """The array of an input, also where the run has not kept it."""
        if node.name in self.trace.values:
            return self.trace.values[node.name]
        return evaluate_input(node, self.trace.problem, self.trace.precision)

    def _call(self, node: Node) -> CodeCall:
        """What is known of the call that computes a node."""
        by_name, values = self.trace.plan.by_name, self.trace.values
        variables = {argument: variable_of(name) for argument, name in node.inputs.items()}
        variables |= {name: variable_of(own) for name, own in node.taps.items()}
        shapes = {argument: by_name[name].shape for argument, name in node.inputs.items()}
        known = {argument: values[name] for argument, name in node.inputs.items() if name in values}
        return CodeCall(variables, shapes, node.options, node.shape, known)


def _axes_comment(node: Node) -> str:
    """The axes of a node with their lengths: `(n=4, d=3)`."""
    return f"({', '.join(f'{axis.letter}={axis.length}' for axis in node.axes)})" if node.axes else "a number"

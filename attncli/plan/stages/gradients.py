"""The gradients: from that of the output back to every step and array, by the derivatives of the functions between."""

from collections.abc import Iterable
from typing import Any

from attncli.base.axes import COUNTED_FROM_0, format_lengths
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.ops.derivatives import DerivativeRecord, Derivatives, NoDerivative, add_all, sum_over
from attncli.ops.registry import record_of
from attncli.plan.builder import PlanBuilder, symbols_of
from attncli.plan.graph import Axes, Node

STAGE = "gradient"
FORWARD = "forward"  # the argument of a derivative that is the result of the function
STEPS = {"grad_output": "How much the loss grows with each number of the output."}


def differentiate(builder: PlanBuilder) -> None:
    """Add the gradient of each step that the output is computed from, from the last one to the first."""
    if builder.problem.grad_output is None:
        return
    forward, output = list(builder.nodes.values()), builder.nodes[builder.results["output"]]
    varying = _varying(forward)
    _check_shape(builder.problem.grad_output.shape, output)
    options = {"shape": output.shape}
    builder.add_given("grad_output", f"d{output.symbol}", output.axes, np.broadcast_to, options=options)
    ways: dict[str, list[Node]] = {output.name: [builder.nodes["grad_output"]]}
    gradients = {output.name: "grad_output"}
    for node in reversed(forward):
        found = ways.get(node.name)
        if found is None:
            continue
        gradient = found[0] if len(found) == 1 else _add_sum(builder, node, found)
        gradients[node.name] = gradient.name
        if node.function is None or node.is_input:
            continue
        for argument, name in node.inputs.items():
            if name in varying and not _is_constant(node, argument):
                ways.setdefault(name, []).append(_add_gradient(builder, node, argument, gradient))
    for result, name in list(builder.results.items()):
        if name in gradients:
            builder.results[f"grad_{result}"] = gradients[name]


def _check_shape(shape: tuple[int, ...], output: Node) -> None:
    """Raise AttnError where the gradient of the output has another shape and does not broadcast."""
    own = (1,) * (len(output.shape) - len(shape)) + shape
    if len(own) != len(output.shape) or any(
        size not in (1, axis.length) for size, axis in zip(own, output.axes, strict=False)
    ):
        expected = f"[{' '.join(output.letters)}] of {format_lengths(output.shape)}, or [[1]]"
        raise AttnError(f"has the shape {format_lengths(shape)}", where="grad_output", hint=f"expected {expected}")


def _varying(nodes: Iterable[Node]) -> frozenset[str]:
    """The nodes of real numbers that a gradient reaches: arrays that were given, and what is computed of them."""
    varying = set[str]()
    for node in nodes:
        if node.is_input or (
            node.tapped_from is None
            and any(name in varying and not _is_constant(node, argument) for argument, name in node.inputs.items())
        ):
            varying.add(node.name)
    return frozenset(varying)


def _is_constant(node: Node, argument: str) -> bool:
    """Whether no gradient passes from a node to an argument: masks, counts and positions have none."""
    derivatives = _derivatives(node)
    if derivatives is None:
        return node.is_exact or node.is_boolean
    return argument in derivatives and derivatives[argument] is None


def _derivatives(node: Node) -> Derivatives | None:
    """The derivatives of the function of a node, as its record has them."""
    record = None if node.function is None else record_of(node.function)
    return None if record is None or isinstance(record, DerivativeRecord) else record.derivatives


def _add_gradient(builder: PlanBuilder, node: Node, argument: str, gradient: Node) -> Node:
    """Add what the gradient of a node gives to that of one that it reads as an argument.

    Raises AttnError where its function has no derivative.
    """
    source = builder.nodes[node.inputs[argument]]
    found = (_derivatives(node) or {}).get(argument)
    if found is None or isinstance(found, NoDerivative):
        what = node.name if node.record is None else f"{node.record.kind} {node.record.name}"
        reason = f": {found.reason}" if isinstance(found, NoDerivative) else ""
        raise AttnError(f"{what} has no derivative{reason}", where="grad_output", hint="leave out one of the two")
    inputs = {"grad": gradient.name}
    read = {**node.inputs, **node.taps, FORWARD: node.name}
    inputs |= {name: read[name] for name in found.record.reads if name in read}
    names = (*found.record.options, *found.record.reads)
    options = {name: value for name, value in node.options.items() if name in names}
    axes = source.axes if found.record.is_whole else _axes(node, source)
    is_whole = axes == source.axes
    name = _new_name(builder, source, node)
    symbols = symbols_of(node, builder.nodes) | {"result": node.symbol, "argument": source.symbol}
    symbols |= {f"d_{name}": f"d{symbol}" for name, symbol in symbols.items()}
    formula = found.record.formula_with(symbols, node.options)
    purpose = f"How much the loss grows with each number of {source.name}."
    last = builder.add(
        name if is_whole else f"{name}_of_each",
        f"d{source.symbol}",
        formula,
        axes,
        STAGE,
        found,
        inputs,
        options,
        purpose=purpose,
    )
    return last if is_whole else _add_sum_over(builder, last, source, name)


def _new_name(builder: PlanBuilder, source: Node, node: Node) -> str:
    """`grad_key`, or where the output is made of several steps that read it `grad_key_from_scores`."""
    needed = builder.plan().needed_for(["output"])
    readers = [
        other
        for other in builder.nodes.values()
        if other.name in needed
        and any(name == source.name and not _is_constant(other, argument) for argument, name in other.inputs.items())
    ]
    return f"grad_{source.name}" if len(readers) == 1 else f"grad_{source.name}_from_{node.name}"


def _axes(node: Node, source: Node) -> Axes:
    """The axes of a gradient before it is summed over those along which the argument broadcasts."""
    lengths = {axis.letter: axis.length for axis in node.axes}
    own = tuple(
        axis._replace(length=max(axis.length, lengths.get(axis.letter, 1))) if axis.letter in COUNTED_FROM_0 else axis
        for axis in source.axes
    )
    before = tuple(axis for axis in node.axes if axis.letter in COUNTED_FROM_0 and axis.letter not in source.letters)
    return (*before, *own)


def _add_sum_over(builder: PlanBuilder, gradient: Node, source: Node, name: str) -> Node:
    """Add the sum of a gradient over the axes that the array does not have, or has with length 1."""
    own = dict(source.axes)
    axes = tuple(at for at, axis in enumerate(gradient.axes) if own.get(axis.letter) != axis.length)
    kept = tuple(at for at in axes if gradient.axes[at].letter in own)
    over = ", ".join(gradient.axes[at].letter for at in axes)
    options: dict[str, Any] = {"axes": axes, "kept": kept}
    formula = f"the sum over {over}"
    return builder.add_made_of(gradient, name, f"d{source.symbol}", formula, STAGE, sum_over, options, axes=source.axes)


def _add_sum(builder: PlanBuilder, node: Node, found: list[Node]) -> Node:
    """Add the sum of the gradients that reach a node by several ways."""
    inputs = {f"from_{at}": gradient.name for at, gradient in enumerate(found)}
    formula = f"d{node.symbol}: the sum of what reaches it from {len(found)} steps"
    purpose = f"How much the loss grows with each number of {node.name}."
    name = f"grad_{node.name}"
    return builder.add(name, f"d{node.symbol}", formula, node.axes, STAGE, add_all, inputs, purpose=purpose)

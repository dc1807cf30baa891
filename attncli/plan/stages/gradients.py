"""Gradients: from the output back to every step and array, by the derivatives of the functions between."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.axes import COUNTED_FROM_0, LEGEND, format_lengths
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import join_words
from attncli.ops.derivatives import (
    Derivative,
    DerivativeRecord,
    NoDerivative,
    add_all,
    unchanged,
)
from attncli.ops.registry import record_of
from attncli.ops.structural import identity, sum_over
from attncli.plan.builder import PlanBuilder, symbols_of
from attncli.plan.graph import GRADIENT, Axes, Node, gradient_name, loss_gradient_name
from attncli.problem.fields import OUTPUT

_OF_EACH = "ᵉ"  # on the symbol of a gradient per batch item or head, before summing
FORWARD = "forward"  # the argument of a derivative for the function's result
_OUTPUT_GRADIENT = "How much the loss grows with each number of the output."
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
# The explanation of an argument's gradient, by the stage of the step that reads it, or the function.
_REASONS: Mapping[tuple[str, str], str] = {
    ("context", "weights"): "A weight lets the value of its key through: its gradient is that value along the "
    "gradient of the context.",
    ("context", "value"): "A value goes to every query by its weight: the gradients of their contexts come back by "
    "the same weights.",
    ("normalize", "scores"): "A score moves every weight of its row: its own one way, the others the other way.",
    ("score", "query"): "A query is in the scores of all keys: their gradients are added.",
    ("score", "key"): "A key is in the scores of all queries: their gradients are added.",
    ("softcap", "scores"): "Near the cap a score hardly moves the capped one: its gradient shrinks.",
    ("apply_mask", "scores"): "The weight of a hidden key is 0 whatever its score is: no gradient reaches that score.",
    ("with_column", "scores"): "The column of the sink is not the score of a key.",
    ("with_column", "sink"): "A head has one sink for all of its queries: their gradients are added.",
    ("without_column", "weights"): "The output does not read the weight of the sink: its gradient is 0.",
    ("add_bias", "table"): "A number of the bias gets the gradients of all scores that it was added to.",
    ("repeat_kv", "x"): "A key head serves several query heads: their gradients are added.",
    ("split_heads", "x"): "The gradients of the heads are put side by side again.",
    ("merge_heads", "x"): "Each head gets the gradient of its own features.",
    ("project", "x"): "A number affects every feature of its row's projection.",
    ("project", "w"): "A weight acts on every row: the rows' gradients are added.",
    ("project", "b"): "The vector is added to every row: their gradients are added.",
}


@dataclass(frozen=True)
class _Backward:
    """A plan to differentiate: its builder, the nodes of results where that begins, and the targets.

    `passing` are the nodes on which the ends depend smoothly, not only through a mask, a count or a position. `varying`
    are the nodes that a gradient reaches. `paths` are the requested arrays and numbers; None for all.
    """

    builder: PlanBuilder
    ends: tuple[str, ...]
    passing: frozenset[str]
    varying: frozenset[str]
    paths: Collection[tuple[str, ...]] | None

    def reaches(self, node: Node, argument: str) -> bool:
        """Whether a gradient passes from a node to an argument."""
        return node.inputs[argument] in self.varying and not _is_constant(node, argument)

    def wants(self, path: tuple[str, ...]) -> bool:
        """Whether the gradient of an array or a number is requested."""
        return self.paths is None or path in self.paths


def differentiate(builder: PlanBuilder) -> None:
    """Add the gradient of each step that the output depends on, from the last one to the first."""
    if builder.problem.grad_output is None or OUTPUT not in builder.results:
        return
    output = builder.nodes[builder.results[OUTPUT]]
    _check_shape(builder.problem.grad_output.shape, output)
    _differentiate(builder, (output.name,), None, {"options": {"shape": output.shape}, "function": np.broadcast_to})


def differentiate_for(builder: PlanBuilder, ends: Iterable[str], paths: Collection[tuple[str, ...]]) -> None:
    """Add the gradients of arrays and numbers, by path, from several steps' given gradients.

    Raises AttnError if a function between has no derivative.
    """
    _differentiate(builder, tuple(dict.fromkeys(ends)), paths, {})


def _differentiate(
    builder: PlanBuilder, ends: tuple[str, ...], paths: Collection[tuple[str, ...]] | None, given: Mapping[str, Any]
) -> None:
    """Add gradients from the ends back; `given` are the fields of the ends' gradient nodes."""
    forward = list(builder.nodes.values())
    backward = _Backward(builder, ends, _passing(builder, ends), _varying(forward, paths), paths)
    ways: dict[str, list[Node]] = {}
    for name in ends:
        end = builder.nodes[name]
        more = {"purpose": _OUTPUT_GRADIENT, **given}
        seed = gradient_name(OUTPUT) if paths is None else loss_gradient_name(name)
        ways[name] = [builder.add_given(seed, _symbol_of(end), end.axes, **more)]
    gradients, of_numbers = dict[str, str](), dict[tuple[str, ...], list[Node]]()
    for node in reversed(forward):
        found = ways.get(node.name)
        if found is None:
            continue
        gradient = found[0] if len(found) == 1 else _add_sum(backward, node, found)
        gradients[node.name] = gradient.name
        if node.function is None or node.is_input:
            continue
        for argument, name in node.inputs.items():
            if backward.reaches(node, argument):
                found = ways.setdefault(name, [])
                found.append(_add_gradient(backward, node, argument, gradient, len(found) + 1))
        for option, path in node.numbers.items():
            if backward.wants(path):
                is_part = sum(path in other.numbers.values() for other in forward if has_derivative(other, option)) > 1
                found = _add_gradient_of_number(backward, node, option, gradient, is_part=is_part)
                of_numbers.setdefault(path, []).extend(found)
    for path, parts in of_numbers.items():
        _add_sum_of_number(builder, path, parts)
    _set_results(builder, gradients)


def _set_results(builder: PlanBuilder, gradients: Mapping[str, str]) -> None:
    """Make gradients results, named after theirs and the parameters: `grad_scores`; `grad_w1` for `grad_score.w1`."""
    for result, name in list(builder.results.items()):
        if name in gradients:
            builder.results[gradient_name(result)] = gradients[name]
    for name, gradient in gradients.items():
        if gradient_name(name) not in builder.nodes:
            builder.results.setdefault(gradient_name(name), gradient)
    for name, path in builder.plan().parameters.items():
        long, short = gradient_name(".".join(path)), gradient_name(name)
        if long in builder.nodes and short not in builder.nodes:
            builder.results.setdefault(short, long)


def _check_shape(shape: tuple[int, ...], output: Node) -> None:
    """Raise AttnError if the gradient of the output does not broadcast to the output's shape."""
    own = (1,) * (len(output.shape) - len(shape)) + shape
    if len(own) != len(output.shape) or any(
        size not in (1, axis.length) for size, axis in zip(own, output.axes, strict=False)
    ):
        expected = f"[{' '.join(output.letters)}] of {format_lengths(output.shape)}, or [[1]]"
        raise AttnError(f"has the shape {format_lengths(shape)}", where="grad_output", hint=f"expected {expected}")


def _passing(builder: PlanBuilder, ends: Iterable[str]) -> frozenset[str]:
    """The ends, and the nodes on which they depend not only through a mask, a count or a position."""
    pending, passing = list(ends), set[str]()
    while pending:
        name = pending.pop()
        if name not in passing:
            passing.add(name)
            node = builder.nodes[name]
            pending += [source for argument, source in node.inputs.items() if not _is_constant(node, argument)]
    return frozenset(passing)


def _varying(nodes: Iterable[Node], paths: Collection[tuple[str, ...]] | None) -> frozenset[str]:
    """The nodes of real numbers that a gradient reaches: given arrays or numbers, and the nodes that depend on them.

    With `paths` only these arrays and numbers count.
    """
    varying = set[str]()
    for node in nodes:
        if node.is_input:
            is_first = paths is None or node.source in paths
        else:
            is_first = any(
                path in paths if paths is not None else has_derivative(node, option)
                for option, path in node.numbers.items()
            )
        if is_first or (
            node.tapped_from is None
            and any(name in varying and not _is_constant(node, argument) for argument, name in node.inputs.items())
        ):
            varying.add(node.name)
    return frozenset(varying)


def _is_constant(node: Node, argument: str) -> bool:
    """Whether no gradient passes from a node to an argument, such as a mask, a count or a position."""
    derivatives = _derivatives(node)
    if derivatives is None:
        return node.is_exact or node.is_boolean
    return argument in derivatives and derivatives[argument] is None


def has_derivative(node: Node, option: str) -> bool:
    """Whether the function of a node has a derivative by a number among its options."""
    return (_derivatives(node) or {}).get(option) is not None


def derivative_by(node: Node, option: str) -> Derivative:
    """The existing derivative of a node's function by a number among its options."""
    found = (_derivatives(node) or {})[option]
    assert found is not None
    assert not isinstance(found, NoDerivative)
    return found


def _derivatives(node: Node) -> Mapping[str, Derivative | NoDerivative | None] | None:
    """The derivatives of a node's function, by its arguments and numbers; None if it has none."""
    record = None if node.function is None else record_of(node.function)
    if record is None or isinstance(record, DerivativeRecord) or not hasattr(node.function, "record"):
        return None
    from attncli.ops.recording.derivatives import derivatives_of  # noqa: PLC0415 - it loads NumPy, like gradients

    return derivatives_of(node.function)


def _objection(builder: PlanBuilder, node: Node, found: Derivative | NoDerivative | None) -> str:
    """The reason why there is no (trustworthy) derivative by an argument or a number; empty if there is one."""
    if found is None or isinstance(found, NoDerivative):
        return "" if found is None else found.reason
    if found.record.objection is None:
        return ""
    return found.record.objection(
        {name: builder.nodes[source].shape for name, source in node.inputs.items()}, node.options
    )


def _add_gradient_of_number(
    backward: _Backward, node: Node, option: str, gradient: Node, *, is_part: bool
) -> list[Node]:
    """Add the gradient of a number among a node's options, or a summand of it; nothing if it has no derivative.

    If the derivative can't be computed, this is a warning, or an error if the gradient was requested.
    """
    if not has_derivative(node, option):
        return []
    builder = backward.builder
    reason = _objection(builder, node, derivative_by(node, option))
    if reason:
        message = f"{node.title} has no derivative by {option}: {reason}"
        if backward.paths is not None:
            raise AttnError(message, hint=f"learn something other than {option}")
        last = builder.nodes[gradient.name]
        builder.nodes[gradient.name] = replace(last, notes=(*last.notes, message))
        return []
    found, path = derivative_by(node, option), node.numbers[option]
    symbol = f"d{found.record.symbol}"
    inputs, options, numbers = _read_by(found, node, gradient)
    symbols = _symbols(builder, node) | {"argument": found.record.symbol, "d_argument": symbol}
    formula, name = found.record.formula_with(symbols, node.options), ".".join(path)
    purpose = f"Every number of {node.name} depends on {name}: the gradients are added."
    more: dict[str, Any] = {"numbers": numbers, "purpose": purpose, "is_on_demand": True}
    own = f"{gradient_name(name)}_from_{node.name}" if is_part else gradient_name(name)
    return [builder.add(own, symbol, formula, (), GRADIENT, found, inputs, options, **more)]


def _add_sum_of_number(builder: PlanBuilder, path: tuple[str, ...], parts: Sequence[Node]) -> None:
    """Add the gradient of a number that several steps read: the sum of theirs."""
    name = gradient_name(".".join(path))
    if not parts or name in builder.nodes:
        return
    symbol, inputs = parts[0].symbol, {f"from_{at}": part.name for at, part in enumerate(parts)}
    formula = f"{symbol}: the sum of {' and '.join(part.name for part in parts)}"
    more: dict[str, Any] = {"purpose": parts[0].purpose, "is_on_demand": True}
    builder.add(name, symbol, formula, (), GRADIENT, add_all, inputs, **more)


def _read_by(
    found: Derivative, node: Node, gradient: Node
) -> tuple[dict[str, str], dict[str, Any], dict[str, tuple[str, ...]]]:
    """The inputs and options of a node's derivative, and the numbers among these, given the node's gradient."""
    read = {**node.inputs, **node.taps, FORWARD: node.name}
    inputs = {"grad": gradient.name} | {name: read[name] for name in found.record.reads if name in read}
    names = (*found.record.options, *found.record.reads)
    options = {name: value for name, value in node.options.items() if name in names}
    return inputs, options, {name: path for name, path in node.numbers.items() if name in options}


def _symbols(builder: PlanBuilder, node: Node) -> dict[str, str]:
    """The symbols of a node's inputs and result, and of their gradients."""
    symbols = symbols_of(node, builder.nodes) | {"result": node.symbol}
    return symbols | {f"d_{name}": f"d{symbol}" for name, symbol in symbols.items()}


def _add_gradient(backward: _Backward, node: Node, argument: str, gradient: Node, number: int) -> Node:
    """Add the contribution of a node's gradient to the gradient of one of its arguments.

    If there are several contributions, the symbol has this one's `number`, from 1.

    Raises AttnError if the node's function has no derivative.
    """
    builder = backward.builder
    source = builder.nodes[node.inputs[argument]]
    found = (_derivatives(node) or {}).get(argument)
    reason = _objection(builder, node, found)
    if reason or found is None or isinstance(found, NoDerivative):
        by = f" by {argument}" if reason and found is not None and not isinstance(found, NoDerivative) else ""
        message = f"{node.title} has no derivative{by}{f': {reason}' if reason else ''}"
        raise AttnError(message, where="grad_output", hint="leave out one of the two")
    inputs, options, numbers = _read_by(found, node, gradient)
    axes = source.axes if found.record.is_whole else _axes(node, source)
    is_whole = axes == source.axes
    is_part = len(_readers(backward, source)) + (source.name in backward.ends) > 1
    name = f"{gradient_name(source.name)}_from_{node.name}" if is_part else gradient_name(source.name)
    symbol = _symbol_of(source, number if is_part else 0)
    own_symbol = symbol if is_whole else f"{symbol}{_OF_EACH}"
    symbols = _symbols(builder, node) | {"argument": source.symbol}
    symbols |= {f"d_{argument}": own_symbol, "d_argument": own_symbol}
    formula = found.record.formula_with(symbols, node.options)
    function: Callable[..., Array] = found
    more: dict[str, Any] = {"numbers": numbers, "purpose": _purpose_of(node, source, argument)}
    own_name = name if is_whole else f"{name}_of_each"
    if found is unchanged:
        function, inputs = identity, {"x": gradient.name}
    last = builder.add(own_name, own_symbol, formula, axes, GRADIENT, function, inputs, options, **more)
    return last if is_whole else _add_sum_over(builder, last, source, name, symbol)


def _readers(backward: _Backward, source: Node) -> list[Node]:
    """The forward steps that read a node, last ones first, in the order of their gradients."""
    return [
        other
        for other in reversed(backward.builder.nodes.values())
        if other.name in backward.passing
        and any(name == source.name and not _is_constant(other, argument) for argument, name in other.inputs.items())
    ]


def _axes(node: Node, source: Node) -> Axes:
    """The axes of a gradient before summing over the axes along which the argument broadcasts."""
    lengths = {axis.letter: axis.length for axis in node.axes}
    own = tuple(
        axis._replace(length=max(axis.length, lengths.get(axis.letter, 1))) if axis.letter in COUNTED_FROM_0 else axis
        for axis in source.axes
    )
    before = tuple(axis for axis in node.axes if axis.letter in COUNTED_FROM_0 and axis.letter not in source.letters)
    return (*before, *own)


def _add_sum_over(builder: PlanBuilder, gradient: Node, source: Node, name: str, symbol: str) -> Node:
    """Add the sum of a gradient over the axes that the array lacks, or has with length 1."""
    own = dict(source.axes)
    axes = tuple(at for at, axis in enumerate(gradient.axes) if own.get(axis.letter) != axis.length)
    kept = tuple(at for at in axes if gradient.axes[at].letter in own)
    letters = [gradient.axes[at].letter for at in axes]
    options: dict[str, Any] = {"axes": axes, "kept": kept}
    formula = f"{symbol}: the sum of {gradient.symbol} over {', '.join(letters)}"
    nouns = join_words([LEGEND[letter] for letter in letters])
    purpose = f"All {nouns} read the same {source.name}: their gradients are added."
    more = {"axes": source.axes, "purpose": purpose}
    return builder.add_made_of(gradient, name, symbol, formula, GRADIENT, sum_over, options, **more)


def _add_sum(backward: _Backward, node: Node, found: list[Node]) -> Node:
    """Add the sum of the gradients that reach a node by several paths."""
    inputs = {f"from_{at}": gradient.name for at, gradient in enumerate(found)}
    symbol = _symbol_of(node)
    formula = f"{symbol} = {' + '.join(gradient.symbol for gradient in found)}"
    readers = join_words([reader.name for reader in _readers(backward, node)])
    purpose = f"The loss depends on {node.name} through {readers}: their gradients are added."
    name, add = gradient_name(node.name), backward.builder.add
    return add(name, symbol, formula, node.axes, GRADIENT, add_all, inputs, purpose=purpose)


def _symbol_of(source: Node, number: int = 0) -> str:
    """The symbol of a gradient: `dX`, or `dX₁` for the first of several summands."""
    return f"d{source.symbol}" + (str(number).translate(_SUBSCRIPTS) if number else "")


def _purpose_of(node: Node, source: Node, argument: str) -> str:
    """The explanation of an argument's gradient, as a sentence."""
    function = "" if node.function is None else node.function.__name__
    reason = _REASONS.get((function, argument)) or _REASONS.get((node.stage, argument))
    return reason or f"The gradient of {node.name}, times how much {source.name} changes {node.name}: the chain rule."

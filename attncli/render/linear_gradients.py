"""The arithmetic of gradients whose derivatives have no lines: sums of gradients, by the factors of a linear function.

A function that only moves, copies, adds or multiplies the numbers of an argument is linear in it: each number of the
result is a sum of such numbers, times factors. By the same factors the gradients of the result come back.
"""

from typing import Any

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0, count_entries
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import products, total
from attncli.ops.derivatives import add_all
from attncli.ops.recording.derivatives import derivatives_of
from attncli.ops.structural import identity, sum_over
from attncli.plan.graph import Node, gradient_name
from attncli.plan.trace import AxisPositions, Step, Trace
from attncli.problem.fields import OUTPUT

Index = tuple[Any, ...]
# What the rows of axes are whose labels are those of queries and keys.
_NOUNS = {"n": "query", "q": "query", "m": "key", "k": "key", "p": "key", "m+1": "key"}
NOISE = 1e-12  # of a factor: nearer to a whole number it is one, which differences of sums have rounded


def linear_gradient_lines(trace: Trace, step: Step, at: AxisPositions, write: ArithmeticWriter) -> list[str]:
    """One number of a gradient: as a sum, or which number it is where the function has only moved it.

    On axes that `at` has not it is the first number that the gradients at `at` come back to. There are no lines of an
    operator of another package: whether it is linear is not known.
    """
    cell = _cell(trace, step, at)
    name = name_of_number(trace, step, dict(zip(step.axes, cell, strict=True)))
    result = step.value[cell]
    if step.function is add_all:
        ways = [trace[source].value[cell] for source in step.inputs.values()]
        return [f"{name} = {write.equation(total(ways), result)}"]
    grad = _read(trace, step)
    factors = _factors(trace, step, grad, cell)
    if factors is None:
        return []
    found = np.nonzero(factors)
    count = len(found[0])
    if not count:
        return [f"nothing of {grad.symbol} comes back to {name}: {write(result)}"]
    addends, by = np.asarray(grad.value[found], np.float64).ravel(), factors[found].ravel()
    if count == 1 and by[0] == 1:
        places = _places(trace, grad, found)
        return [f"{name} is the number of {grad.symbol}{f' at {places}' if places else ''}: {write(result)}"]
    term = total(addends) if (by == 1).all() else products(addends, by)
    over = f" (over {_what_is_added(grad, found)})" if count > 1 else ""
    return [f"{name} = {write.equation(term, result)}{over}"]


def name_of_number(trace: Trace, step: Step, at: AxisPositions) -> str:
    """The symbol of a step with the labels of a query, a key or both, and the numbers of others: `dX(cat)[x1]`."""
    axes = [letter for letter in step.axes if letter in at and letter not in COUNTED_FROM_0]
    labels = [trace.numbered_labels[letter][at[letter]] for letter in axes if letter in _NOUNS]
    others = [f"{letter}{at[letter] + 1}" for letter in axes if letter not in _NOUNS]
    tokens = f"({', '.join(labels)})" if labels else ""
    return f"{step.symbol}{tokens}" + (f"[{', '.join(others)}]" if others else "")


def _read(trace: Trace, step: Step) -> Step:
    """The gradient that a gradient is computed from."""
    return trace[step.inputs["grad" if "grad" in step.inputs else "x"]]


def _values(trace: Trace, step: Step) -> dict[str, Array]:
    """What a step reads, real numbers as those of Python."""
    values = {name: trace[source].value for name, source in step.inputs.items()}
    return {name: x.astype(np.float64) if x.dtype.kind == "f" else x for name, x in values.items()}


def _at(axes: tuple[str, ...], shape: tuple[int, ...], at: AxisPositions) -> Index:
    """The index of what is at some positions; of axes that they have not all."""
    return tuple(min(at[x], size - 1) if x in at else slice(None) for x, size in zip(axes, shape, strict=True))


def _cell(trace: Trace, step: Step, at: AxisPositions) -> Index:
    """The index of one number of a gradient."""
    known = _at(step.axes, step.value.shape, at)
    reached = step.value
    if "grad" in step.inputs and step.function is not None:
        values = _values(trace, step)
        grad = values["grad"]
        one = np.zeros_like(grad)
        one[_at(_read(trace, step).axes, grad.shape, at)] = 1
        with np.errstate(all="ignore"):
            reached = np.broadcast_to(step.function(**(values | {"grad": one}), **step.options), step.value.shape)
    part = reached[known]
    rest = iter(np.unravel_index(int(np.argmax(part != 0)), part.shape))
    return tuple(int(next(rest)) if isinstance(x, slice) else x for x in known)


def _factors(trace: Trace, step: Step, grad: Step, cell: Index) -> Array | None:
    """By what the numbers of a gradient are multiplied in one number of another, in the shape of the first.

    None where that is not known.
    """
    factors = np.zeros(grad.value.shape)
    if step.function in (identity, sum_over):
        axes, kept, own = step.options.get("axes", ()), step.options.get("kept", ()), iter(cell)
        places = [next(own) if at not in axes or at in kept else 0 for at in range(factors.ndim)]
        factors[tuple(slice(None) if at in axes else place for at, place in enumerate(places))] = 1
        return factors
    node, argument = _differentiated(trace, step)
    if node.record is not None and not node.record.is_built_in:
        return None
    found = factors + _growth(trace, step, node, argument, cell)
    for axis, letter in enumerate(grad.axes):
        if letter in COUNTED_FROM_0 and letter in step.axes and factors.shape[axis] > 1:
            others = np.arange(factors.shape[axis]) != cell[step.axes.index(letter)]
            np.moveaxis(found, axis, 0)[others] = 0
    whole = np.round(found)
    return np.where(abs(found - whole) < NOISE, whole, found)


def _differentiated(trace: Trace, step: Step) -> tuple[Node, str]:
    """The step of the forward computation whose derivative a gradient is, and the argument."""
    gradient = step.inputs["grad"]
    plan = trace.plan
    node = next(
        node
        for node in plan.nodes
        if gradient_name(node.name) == gradient or (gradient == gradient_name(OUTPUT) and node is plan[OUTPUT])
    )
    derivatives = derivatives_of(node.function) or {}
    arguments = [name for name, found in derivatives.items() if found == step.function and name in node.inputs]
    named = (name for name in arguments if step.name.startswith(gradient_name(node.inputs[name])))
    return node, next(named, arguments[0])


def _growth(trace: Trace, step: Step, node: Node, argument: str, cell: Index) -> Array:
    """How much each number of a step grows with one number of an argument.

    Of what the derivative does not read zeros are taken: the result is the same.
    """
    nodes, read = trace.plan.by_name, _values(trace, step)
    given = ((name, nodes[source]) for name, source in node.inputs.items())
    values = {name: read.get(name, np.zeros(x.shape, int if x.is_exact else float)) for name, x in given}  # positions
    nothing = np.zeros(nodes[node.inputs[argument]].shape)
    one = nothing.copy()
    one[tuple(min(at, size - 1) for at, size in zip(cell[len(cell) - one.ndim :], one.shape, strict=True))] = 1
    assert node.function is not None
    with np.errstate(all="ignore"):
        of_one, of_nothing = (node.function(**(values | {argument: x}), **node.options) for x in (one, nothing))
        growth: Array = np.nan_to_num(of_one - of_nothing)  # a hidden score is −∞ whatever it was
    return growth


def _places(trace: Trace, step: Step, found: tuple[Array, ...]) -> str:
    """Where a number is: `head 0, query cat, e1`."""
    axes = zip(step.axes, step.value.shape, found, strict=True)
    several = [(letter, int(index[0])) for letter, size, index in axes if size > 1 or letter not in COUNTED_FROM_0]

    def place(letter: str, at: int) -> str:
        if letter in _NOUNS:
            return f"{_NOUNS[letter]} {trace.numbered_labels[letter][at]}"
        return f"{AXIS_NOUNS[letter]} {at}" if letter in COUNTED_FROM_0 else f"{letter}{at + 1}"

    return ", ".join(place(letter, at) for letter, at in several)


def _what_is_added(step: Step, found: tuple[Array, ...]) -> str:
    """Over what a sum goes: `2 heads × 3 queries`, or how many numbers where they fill no part of the axes."""
    lengths = [(letter, len(set(index.tolist()))) for letter, index in zip(step.axes, found, strict=True)]
    added = [(letter, length) for letter, length in lengths if length > 1]
    count = len(found[0])
    if not added or count != np.prod([length for _, length in added]):
        return f"{count_of(count, 'number')} of {step.symbol}"
    return count_entries(*zip(*added, strict=True))

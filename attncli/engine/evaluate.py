"""One node of a plan evaluated: its function applied to the values of its inputs, rounded once at its end."""

from collections.abc import Callable, Mapping

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.plan.graph import Node
from attncli.problem.spec import ProblemSpec


def evaluate(
    node: Node,
    values: Mapping[str, Array],
    precision: Precision,
    keep: Callable[[str, Array], None] | None = None,
) -> Array:
    """The value of a computed node, from those of its inputs by name.

    Functions compute in the wider type of `precision`, and their result is rounded; those of exact nodes only count or
    move numbers, whose type stays. `keep(name, value)` gets each inner quantity, rounded, under the name of its node.
    """
    assert node.function is not None
    arguments = node.arguments(values)
    if node.is_exact:
        return np.asarray(node.function(**arguments, **node.options))
    arguments = {name: precision.computing(x) for name, x in arguments.items()}
    if keep is None or not node.taps:
        return precision.stored(np.asarray(node.function(**arguments, **node.options)))

    def tap(name: str, value: Array) -> Array:
        keep(node.taps[name], precision.stored(value))
        return value  # the kept value is rounded; the function goes on with the unrounded one

    return precision.stored(np.asarray(node.function(**arguments, **node.options, tap=tap)))


def evaluate_input(node: Node, problem: ProblemSpec, precision: Precision) -> Array:
    """The array of a problem that an input node names, in the type that is stored."""
    key, *parameter = node.source
    array: Array = getattr(problem, key)
    for name in parameter:  # of an operator
        array = getattr(problem, key).given[name]
    if node.function is not None:
        array = node.function(array, **node.options)
    with np.errstate(over="ignore"):
        return precision.stored(array)

"""One node of a plan evaluated: its function applied to the values of its inputs, and its result rounded or not."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.products import product_in_parts
from attncli.ops.records import MATMUL, TAP
from attncli.ops.registry import failures_named
from attncli.plan.graph import Node
from attncli.problem.spec import ProblemSpec


def call(node: Node, arguments: Mapping[str, Any]) -> Array:
    """The result of a node's function for arrays, and for a tap and how to multiply where it takes them.

    Raises AttnError where an operator that is not one of this package's fails, or returns something else than a plan
    expects of it: true and false of a mask, numbers of any other, with the axes of the node.
    """
    assert node.function is not None
    if node.is_built_in:
        return np.asarray(node.function(**arguments, **node.options))
    record = node.record
    assert record is not None
    with failures_named(record, "function"):
        result = np.asarray(node.function(**arguments, **node.options))
    kinds, what = ("b", "true and false") if record.kind == "mask" else ("fiu", "real numbers")
    if result.dtype.kind not in kinds or result.ndim != len(node.axes):
        found = f"{result.ndim} axes of {result.dtype}"
        hint = f"expected {what} with the axes [{' '.join(node.letters)}]"
        raise AttnError(f"its function returned {found}", where=f"{record.kind} {record.name}", hint=hint)
    return result


def evaluate(
    node: Node,
    values: Mapping[str, Array],
    precision: Precision,
    keep: Callable[[str, Array], None] | None = None,
) -> Array:
    """The value of a computed node, from those of its inputs by name, rounded once.

    See `evaluate_wide` for the rest.
    """
    if node.is_identity:
        return values[node.inputs["x"]]
    value = evaluate_wide(node, values, precision, keep)
    return value if node.is_exact else precision.round(value)


def evaluate_wide(
    node: Node,
    values: Mapping[str, Array],
    precision: Precision,
    keep: Callable[[str, Array], None] | None = None,
) -> Array:
    """The value of a computed node, from those of its inputs by name, in the wider type of `precision`.

    Functions of exact nodes only count or move numbers, whose type stays. `keep(name, value)` gets each inner quantity,
    rounded, under the name of its node.
    """
    if node.is_exact:
        return call(node, node.arguments(values))
    arguments: dict[str, Any] = {name: precision.widen(values[source]) for name, source in node.inputs.items()}
    node = with_digits_of(node, precision)
    if precision.sums_in_parts and node.record is not None and node.record.takes_matmul:
        arguments[MATMUL] = product_in_parts
    if keep is not None and node.taps:

        def tap(name: str, value: Array) -> Array:
            keep(node.taps[name], precision.round(value))
            return value  # the kept value is rounded; the function goes on with the unrounded one

        arguments[TAP] = tap
    return call(node, arguments)


def with_scalars(options: Mapping[str, Any], scalar: Callable[[float], Any]) -> dict[str, Any]:
    """Options whose floats are numbers of another type, so that what is computed from them alone has its digits.

    >>> with_scalars({"sigma": 1.5, "heads": 2}, str)
    {'sigma': '1.5', 'heads': 2}
    """
    return {name: scalar(value) if type(value) is float else value for name, value in options.items()}


def with_digits_of(node: Node, precision: Precision) -> Node:
    """The node with numbers among its options that have all the digits of the type, where these are more."""
    if not precision.is_extended:
        return node
    return replace(node, options=with_scalars(node.options, precision.scalar))


def evaluate_input(node: Node, problem: ProblemSpec, precision: Precision) -> Array:
    """The array of a problem that an input node names, in the type that is stored."""
    return precision.round(apply_input_function(node, input_array(node, problem)))


def input_array(node: Node, problem: ProblemSpec) -> Array:
    """The array of a problem, or of an operator of it, that an input node names."""
    key = node.source[0]
    array: Array = getattr(problem, key)
    for name in node.source[1:]:  # of an operator
        array = getattr(problem, key).given[name]
    return array


def apply_input_function(node: Node, array: Array) -> Array:
    """The array of an input node with the axes and rows that the node has."""
    return array if node.function is None else node.function(array, **node.options)

"""Small problems with many digits: a plan's functions on mpmath numbers, rounded once at the end."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from attncli.base.errors import AttnError, missing_package
from attncli.base.lazy_numpy import Array, np
from attncli.engine.dense import evaluate_input, with_scalars
from attncli.engine.digits import Digits, DigitsArray
from attncli.ops import elementwise
from attncli.ops.registry import failures_named
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import ProblemSpec

DIGITS = 50
MAX_OPERATIONS = 2**19  # they take two to three seconds


def has_many_digits() -> bool:
    """Whether the package mpmath is installed."""
    return find_spec("mpmath") is not None


def run_with_digits(
    plan: Plan, problem: ProblemSpec, names: Iterable[str], *, digits: int = DIGITS, dtype: str = "float64"
) -> Mapping[str, Array]:
    """The values of nodes or results, computed with so many decimal digits and rounded once, to float64 or longdouble.

    Inputs are first rounded to the problem's type, as elsewhere. Raises AttnError if the package mpmath is missing, the
    problem needs more than MAX_OPERATIONS, or an operator, which it names, can't compute with many digits.
    """
    names = list(names)
    if not has_many_digits():
        raise missing_package("mpmath", "reference", needs="many digits need")
    values = compute_with_digits(plan, problem, names, Digits(digits, MAX_OPERATIONS))
    return {
        name: value.rounded(dtype) if isinstance(value, DigitsArray) else value
        for name, value in ((name, values[plan.resolve(name)]) for name in names)
    }


def compute_with_digits(
    plan: Plan, problem: ProblemSpec, names: Iterable[str], digits: Digits
) -> Mapping[str, Array | DigitsArray]:
    """The values of the required nodes, by name: NumPy booleans and indices, other numbers with many digits.

    Raises AttnError like `run_with_digits`.
    """
    needed, values = plan.needed_for(names), dict[str, Any]()
    for node in plan.nodes:
        if node.name not in needed or node.tapped_from is not None:
            continue
        if node.is_input:
            with np.errstate(over="ignore"):
                array = evaluate_input(node, problem, problem.precision)
            with _errors_named(node, digits):
                values[node.name] = digits.array(array) if array.dtype.kind == "f" else array
        else:
            values[node.name] = evaluate_with_digits(_with_exact_scale(node, problem, digits), values, digits)
    return values


def evaluate_with_digits(node: Node, values: dict[str, Any], digits: Digits) -> Any:
    """The value of a computed node, from its inputs' values by name; adds its inner quantities to them.

    Raises AttnError, which names the operator, if it can't be computed with many digits.
    """
    assert node.function is not None
    record = node.record
    arguments: dict[str, Any] = {name: values[source] for name, source in node.inputs.items()}
    options: dict[str, Any] = dict(node.options)
    if not node.is_exact and not node.is_boolean:
        options = with_scalars(options, digits.array)
    computes_with_positions = record is not None and (record.acts_on == "embeddings" or record.kind == "query_scale")
    if computes_with_positions:
        arguments = {name: digits.array(value) for name, value in arguments.items()}
    if node.taps:
        options["tap"] = lambda name, value: values.setdefault(node.taps[name], value) if name in node.taps else value
    with _errors_named(node, digits):
        return _result(node, node.function(**arguments, **options), digits)


@contextmanager
def _errors_named(node: Node, digits: Digits) -> Iterator[None]:
    """A block that evaluates a node; raises AttnError, which names it, if that fails."""
    record = node.record
    where = record.title if record is not None else f"step {node.name}"
    try:
        with np.errstate(all="ignore"), nullcontext() if record is None else failures_named(record, "function"):
            yield
    except AttnError as error:
        raise AttnError(f"can't be computed with {digits.count} digits ({error.message})", where=where) from error


def _with_exact_scale(node: Node, problem: ProblemSpec, digits: Digits) -> Node:
    """The node; a scale 1/√d, which a plan has in the problem's type, gets many digits."""
    if node.function is not elementwise.scale or problem.scale is not None:
        return node
    return replace(node, options={"scale": 1 / np.sqrt(digits.type(problem.scaled_features))})


def _result(node: Node, value: Any, digits: Digits) -> Any:
    """The result of a function; raises DigitsError if it has only double precision.

    Results of exact nodes, such as random numbers, count as given.
    """
    result = digits.result(value)
    if isinstance(result, np.ndarray) and result.dtype.kind == "f":
        return digits.array(result if node.is_exact else digits.operand(result))
    return result

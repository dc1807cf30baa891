"""The dense engine: it evaluates every node of a plan in order, rounds its result, and keeps every step.

If BLAS has one thread, the threads for blocks compute projections of many rows in slices. Several BLAS threads would
take as long, but they busy-wait between products, and keep the cores from blocks. If BLAS can't be limited to one
thread, there are no slices: its threads would split each slice again, few rows differently from many, so that equal
rows would have different last digits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from math import prod
from types import EllipsisType
from typing import Any

from attncli.base.axes import format_lengths
from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, all_true, np
from attncli.base.memory import keep_freed_memory
from attncli.base.text import count_of
from attncli.engine.options import BlockSizes
from attncli.ops.products import product_in_parts
from attncli.ops.records import MATMUL, TAP
from attncli.ops.registry import failures_named
from attncli.ops.structural import project
from attncli.plan.graph import Node, Plan
from attncli.plan.trace import Step
from attncli.problem.spec import ProblemSpec

KEPT_BYTES = 4 * 8 * BlockSizes().dense_cells  # four tables of float64, for the largest problem that is computed whole
RunAll = Callable[[Sequence[Callable[[], None]]], None]  # calls functions, in any order and in parallel
MIN_PRODUCTS = 2**21  # multiply-adds in most slices, and at least half in each: below 10⁶ BLAS sums differently
MAX_PARTS = 8  # slices of a projection, whatever the number of threads
ROWS = 64  # slices begin at multiples: BLAS takes rows in groups, and sums an incomplete last group differently

Part = tuple[slice | EllipsisType, ...]


class DenseEngine:
    """Evaluates nodes in order, each from earlier ones, and keeps their values and warnings by name.

    Nodes read rounded values. With `has_wide_tables` nodes from the score to the context read unrounded tables, like
    tiles; analyses that start from kept tables, or measure the effect of rounding, do without. With `run_all` large
    projections are computed in slices, in parallel.
    """

    def __init__(
        self,
        plan: Plan,
        problem: ProblemSpec,
        precision: Precision,
        *,
        has_wide_tables: bool = False,
        run_all: RunAll | None = None,
    ) -> None:
        self.plan = plan
        self.problem = problem
        self.precision = precision
        self.values: dict[str, Array] = {}
        self.notes: dict[str, tuple[str, ...]] = {}
        self._has_wide_tables = has_wide_tables
        self._run_all = run_all
        self._wide_tables: dict[str, Array] = {}  # unrounded tables that a later node reads

    def run(self, nodes: Iterable[Node]) -> None:
        """Evaluate nodes in order, with their inner quantities; raises AttnError if memory does not suffice."""
        keep_freed_memory(KEPT_BYTES)
        weights = self.plan.results.get("weights")
        with np.errstate(all="ignore"):  # `engine.nonfinite` reports it
            for node in nodes:
                if node.notes:
                    self.notes[node.name] = node.notes
                if node.is_input:
                    self.values[node.name] = evaluate_input(node, self.problem, self.precision)
                elif node.tapped_from is None:
                    self.values[node.name] = self._computed(node)
                if node.name == weights and (notes := self._empty_rows(node)):
                    self.notes[node.name] = (*self.notes.get(node.name, ()), *notes)

    def _computed(self, node: Node) -> Array:
        """The value of a computed node; it keeps inner quantities."""
        try:
            if self._run_all is not None and (parts := projection_parts(node, self.plan)):
                return project_in_parts(node, self.values, self.precision, parts, self._run_all)
            if self._has_wide_tables:
                return self._computed_of_wide_tables(node)
            return evaluate(node, self.values, self.precision, self.values.__setitem__)
        except MemoryError:
            hint = "compute some of the queries with only"
            raise AttnError(f"there is not enough memory for {node.name}", hint=hint) from None

    def _computed_of_wide_tables(self, node: Node) -> Array:
        """The value of a node from unrounded tables, if it reads any."""
        value = evaluate_wide(node, self.values | self._wide_tables, self.precision, self.values.__setitem__)
        if node.is_pair_table:
            self._wide_tables[node.name] = value
        for name in self.plan.read_last.get(node.name, ()):
            self._wide_tables.pop(name, None)
        return self.precision.round(value)

    def _empty_rows(self, node: Node) -> tuple[str, ...]:
        """The warning about queries that see no key, on the weights."""
        weights = self.values[self.plan.attending_weights]
        if all_true(weights[..., 0]):  # the fast path: usually every query sees the first key
            return ()
        empty = ~(weights != 0).any(axis=-1)
        if not empty.any():  # numbering the labels of many queries takes time
            return ()
        from attncli.plan.diagnostics import empty_rows_warning  # noqa: PLC0415 - most queries attend to some key

        return empty_rows_warning(self.plan, empty, node.letters[:-1], self.problem.numbered_query_labels)

    def steps(self) -> Sequence[Step]:
        """The evaluated steps, in the order of the plan."""
        return [
            Step(node, self.values[node.name], self.notes.get(node.name, ()))
            for node in self.plan.nodes
            if node.name in self.values
        ]


def call(node: Node, arguments: Mapping[str, Any]) -> Array:
    """The result of a node's function for arrays, with a tap and a matrix product if it takes them.

    Raises AttnError if another package's operator fails, or its result is wrong: a mask must return booleans, any other
    operator numbers, with the axes of the node.
    """
    assert node.function is not None
    if node.is_built_in:
        return np.asarray(node.function(**arguments, **node.options))
    record = node.record
    assert record is not None
    own = {name: value.copy() if hasattr(value, "copy") else value for name, value in arguments.items()}  # to overwrite
    with failures_named(record, "function"):
        result = np.asarray(node.function(**own, **node.options))
    kinds, what = ("b", "true and false") if record.kind == "mask" else ("fiu", "real numbers")
    if result.dtype.kind not in kinds or result.ndim != len(node.axes):
        found = f"{count_of(result.ndim, 'axis')} of {result.dtype}"
        hint = f"expected {what} with the axes [{' '.join(node.letters)}]"
        raise AttnError(f"its function returned {found}", where=record.title, hint=hint)
    lengths = dict[str, int]()
    for name, letters in record.shapes.arrays.items():
        if name in own:
            lengths |= dict(zip(reversed(letters), reversed(np.shape(own[name])), strict=False))
    for letter, size in zip(reversed(record.shapes.result), reversed(result.shape), strict=False):
        if size not in (1, lengths.get(letter, size)):
            found, hint = (
                format_lengths(result.shape),
                f"expected [{' '.join(node.letters)}], {letter} = {lengths[letter]}",
            )
            message = f"its function returned the shape {found}"
            raise AttnError(message, where=record.title, hint=hint)
    return result


def evaluate(
    node: Node,
    values: Mapping[str, Array],
    precision: Precision,
    keep: Callable[[str, Array], None] | None = None,
) -> Array:
    """The value of a computed node, from its inputs' values by name, rounded once.

    The rest is as in `evaluate_wide`.
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
    """The value of a computed node, from its inputs' values by name, in the wider type of `precision`.

    Functions of exact nodes only count or move numbers, whose type stays. `keep(name, value)` gets each rounded inner
    quantity with its node's name.
    """
    if node.is_exact:
        return call(node, node.arguments(values))
    arguments: dict[str, Any] = {name: precision.widen(values[source]) for name, source in node.inputs.items()}
    node = with_digits_of(node, precision)
    if precision.sums_in_parts and node.record is not None and node.record.takes_matmul:
        arguments[MATMUL] = product_in_parts
    if keep is not None and node.taps:

        def tap(name: str, value: Array) -> Array:
            if name in node.taps:
                keep(node.taps[name], precision.round(value))
            return value  # the kept value is rounded; the function continues with the unrounded one

        arguments[TAP] = tap
    return call(node, arguments)


def with_scalars(options: Mapping[str, Any], scalar: Callable[[float], Any]) -> dict[str, Any]:
    """Options with floats of another type, so that results of options alone have its digits.

    >>> with_scalars({"sigma": 1.5, "heads": 2}, str)
    {'sigma': '1.5', 'heads': 2}
    """
    return {name: scalar(value) if type(value) is float else value for name, value in options.items()}


def with_digits_of(node: Node, precision: Precision) -> Node:
    """The node with options in the type's digits, if it has more than Python's floats."""
    if not precision.is_extended:
        return node
    return replace(node, options=with_scalars(node.options, precision.scalar))


def evaluate_input(node: Node, problem: ProblemSpec, precision: Precision) -> Array:
    """The array of a problem for an input node, in the stored type."""
    return precision.round(apply_input_function(node, input_array(node, problem)))


def input_array(node: Node, problem: ProblemSpec) -> Array:
    """The array of a problem, or of its operator, for an input node."""
    key = node.source[0]
    array: Array = getattr(problem, key)
    for name in node.source[1:]:  # of an operator
        array = getattr(problem, key).given[name]
    return array


def apply_input_function(node: Node, array: Array) -> Array:
    """The array of an input node, with the node's axes and rows."""
    return array if node.function is None else node.function(array, **node.options)


def projection_parts(node: Node, plan: Plan) -> Sequence[Part]:
    """The slices of a projection by a matrix, if it takes long enough for several calls; otherwise none.

    Each has some items of the first axis, or some rows of one if items are few. Equal rows have equal projections in
    any slice, except some of the last rows, as in any product.
    """
    if node.function is not project or "w" not in node.inputs:
        return ()
    x, w = (plan.by_name[node.inputs[argument]] for argument in ("x", "w"))
    count = min(prod(x.shape) * w.shape[-1] // MIN_PRODUCTS, MAX_PARTS)
    if len(w.shape) != 2 or count < 2:
        return ()
    *before, rows, _ = x.shape
    items: Sequence[Part] = [(some,) for some in _split(before[0], count)] if before else [()]
    row_parts = _split(rows, count // len(items), ROWS)
    parts = [(*some, ..., part, slice(None)) for some, part in product(items, row_parts)]
    return parts if len(parts) > 1 else ()


def project_in_parts(
    node: Node, values: Mapping[str, Array], precision: Precision, parts: Sequence[Part], run_all: RunAll
) -> Array:
    """The rounded value of a projection; each slice is computed as `evaluate` computes the whole."""
    others = {argument: precision.widen(values[name]) for argument, name in node.inputs.items() if argument != "x"}
    x = values[node.inputs["x"]]
    result = np.empty((*x.shape[:-1], others["w"].shape[-1]), precision.numpy_name)

    def compute(part: Part) -> None:
        with np.errstate(all="ignore"):  # per thread
            result[part] = precision.round(call(node, {"x": precision.widen(x[part]), **others}))

    run_all([partial(compute, part) for part in parts])
    return result


def _split(length: int, count: int, alignment: int = 1) -> Sequence[slice]:
    """At most so many slices of an axis, of about the same length, that begin at multiples of an alignment."""
    count = max(min(count, length // alignment), 1)
    ends = [length * number // count // alignment * alignment for number in range(count)]
    return [slice(first, end) for first, end in pairwise([*ends, length])]
